"""Finds the JSON object that a model means among its prose, fences and false starts.

In flows text, out flows the one object in it; in linear time, because a text is read once and never from each of its
braces anew.
"""

import json
import re
from typing import Any

from distrl.core.vetting import MAX_OUTPUT_CHARS, TWO_ACTIONS
from distrl.policies.codec.quotes import DOUBLE_QUOTED, QUOTED, quote, unquote

MAX_DEPTH = 32
"""No action needs more nesting."""

Fields = dict[str, Any]
"""A JSON object."""

_TOKEN = re.compile(DOUBLE_QUOTED + r'|["{}\[\]]', re.DOTALL)
_STRING = re.compile(QUOTED + r"""|["']""", re.DOTALL)


class NotOneObjectError(ValueError):
    """The text does not hold exactly one JSON object; the message says what it holds."""


class _ContradictionError(Exception):
    """A key has two values."""


def the_object(text: str) -> Fields:
    """The only object in the text; the same object twice is a stutter and counts once. Raises `NotOneObjectError`."""
    if len(text) > MAX_OUTPUT_CHARS:
        raise NotOneObjectError(f"{len(text)} characters; at most {MAX_OUTPUT_CHARS} are read")
    found: Fields | None = None
    start = text.find("{")
    while start >= 0:
        end = _end_of_object(text, start)
        if end < 0:
            break
        fields = _parse(text[start:end])
        if fields is not None:
            if found is not None and fields != found:
                raise NotOneObjectError(TWO_ACTIONS)
            found = fields
        start = text.find("{", end)
    if found is None:
        raise NotOneObjectError("an unfinished JSON object" if start >= 0 else "no JSON object")
    return found


def _end_of_object(text: str, start: int) -> int:
    """Just after the brace that closes the one at `start`, or -1."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] == '"':
            return -1
        if token[0] in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise NotOneObjectError(f"JSON nested more than {MAX_DEPTH} deep")
        elif token[0] in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def _parse(span: str) -> Fields | None:
    """The object, or None for braces that are prose. Python's single quotes are forgiven."""
    fields = _loads(span)
    if fields is not None or "'" not in span:
        return fields
    try:
        forgiven = _STRING.sub(lambda match: quote(unquote(match[0])), span)
    except ValueError:
        return None
    return _loads(forgiven)


def _loads(span: str) -> Fields | None:
    try:
        fields = _DECODER.decode(span)
    except _ContradictionError as error:
        raise NotOneObjectError(str(error)) from None
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _without_contradictions(pairs: list[tuple[str, Any]]) -> Fields:
    fields: Fields = {}
    for key, value in pairs:
        if key in fields and fields[key] != value:
            raise _ContradictionError(f"two values for {key[:40]!r}")
        fields[key] = value
    return fields


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_without_contradictions)

"""The answer of a judge: text of a model in, success, failure or unknown out. It never believes more than is written.

A question carries a nonce that is drawn for it alone, and the answer has to end with one JSON object that repeats it:

    {"nonce": "5f2c...", "verdict": "success", "reason": "the cart shows the mouse"}

Nothing on a screen can know the nonce, so text copied from a screen is no verdict. Whatever is not exactly such an
object is unknown: a word like "unsuccessful", another language, two verdicts that differ, words after the verdict, a
refusal, nothing at all. A doubt costs a question; a success that was none would be learned from.
"""

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any

import msgspec

from distrl.core.calls.chat import printable
from distrl.core.types import Ruling

MAX_ANSWER_CHARS = 20_000
"""A longer answer is not read: no model that was asked for a sentence writes so much."""
MAX_BRACES = 500
"""Objects that are looked for in an answer; an answer of nothing but braces must not cost seconds."""
MAX_REASON_CHARS = 500
NONCE_BYTES = 8


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer says. `is_exact` is False if it could not be read; then the ruling is unknown."""

    ruling: Ruling
    reason: str
    is_exact: bool


def new_nonce() -> str:
    """A word that nobody can guess."""
    return secrets.token_hex(NONCE_BYTES)


def write_answer(ruling: Ruling, *, nonce: str, reason: str) -> str:
    """The answer that is expected; what examples show."""
    return json.dumps({"nonce": nonce, "verdict": ruling.value, "reason": reason}, ensure_ascii=False)


def read_answer(text: str, *, nonce: str) -> Reading:
    """The last exact verdict of an answer, if the answer ends with it and no other exact one contradicts."""
    if not text.strip():
        return _unreadable("an empty answer")
    if len(text) > MAX_ANSWER_CHARS:
        return _unreadable(f"an answer of {len(text):,} characters")
    body = _without_closing_fence(text)
    try:
        found = list(_objects(body))
    except ValueError as error:
        return _unreadable(str(error))
    if not found or found[-1][1] != len(body):
        return _unreadable("it does not end with a verdict")
    exact = [verdict for value, _ in found if (verdict := _exact(value, nonce)) is not None]
    last = _exact(found[-1][0], nonce)
    if last is None:
        return _unreadable("what it ends with is not the verdict that was asked for")
    # A verdict that was begun and not ended may hold another one between its quotes.
    num_begun = len(re.findall(rf'"nonce"\s*:\s*"{re.escape(nonce)}"', body))
    if len({verdict.ruling for verdict in exact}) > 1 or num_begun > len(exact):
        return _unreadable("it gives more than one verdict")
    return last


def _unreadable(why: str) -> Reading:
    return Reading(ruling=Ruling.UNKNOWN, reason=f"unreadable: {why}", is_exact=False)


def _without_closing_fence(text: str) -> str:
    """Without the end of a Markdown code block, into which many models put what they are asked to write."""
    body = text.rstrip()
    return body.removesuffix("```").rstrip()


def _objects(text: str) -> Iterator[tuple[Any, int]]:
    """All JSON objects that stand in a text and not within each other, each with the place after it.

    What is quoted inside a string of an object belongs to that object and is not found.
    """
    place, tries = text.find("{"), 0
    while place != -1:
        tries += 1
        if tries > MAX_BRACES:
            raise ValueError("more braces than an answer has")
        try:
            value, end = _DECODER.raw_decode(text, place)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        except ValueError:
            end = place + 1
        else:
            yield value, end
        place = text.find("{", end)


class _Twice(dict[str, Any]):
    """An object that names a key twice: readers differ in which of them counts, so none does."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else _Twice(made)


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)


def _exact(value: Any, nonce: str) -> Reading | None:
    """The verdict that an object is, if it is one: these keys, this nonce, one of three words as they are written."""
    if isinstance(value, _Twice) or not isinstance(value, dict) or set(value) not in _KEYS:
        return None
    word, reason = value["verdict"], value.get("reason", "")
    if not nonce or value["nonce"] != nonce or not isinstance(word, str) or not isinstance(reason, str):
        return None
    if word not in _WORDS:
        return None
    return Reading(ruling=Ruling(word), reason=printable(reason[:MAX_REASON_CHARS]), is_exact=True)


_KEYS = ({"nonce", "verdict"}, {"nonce", "verdict", "reason"})
_WORDS = frozenset(ruling.value for ruling in Ruling)

"""Quoted strings as models write them: JSON's, and the single-quoted ones of Python.

In flows a quoted token, out flows what it says.
"""

import json
import re

DOUBLE_QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""Matches one JSON string (with `re.DOTALL`); possessive, so that a missing end quote costs one pass and no more."""

QUOTED = DOUBLE_QUOTED + r"|'[^'\\]*+(?:\\.[^'\\]*+)*+'"
"""Matches a string in either kind of quotes."""

_INNER = re.compile(r'\\.|"', re.DOTALL)


def quote(text: str) -> str:
    """The text as a JSON string; letters and emoji stay readable."""
    return json.dumps(text, ensure_ascii=False)


def unquote(token: str) -> str:
    """What a quoted token says; raises ValueError for a lone quote and for an escape that JSON does not know."""
    if len(token) < 2:
        raise ValueError("a quote that is not closed")

    def to_json(match: re.Match[str]) -> str:
        return {r"\'": "'", '"': r"\""}.get(match[0], match[0])

    text: str = json.loads(f'"{_INNER.sub(to_json, token[1:-1])}"', strict=False)
    return text

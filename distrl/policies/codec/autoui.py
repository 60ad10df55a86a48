"""`autoui`, the format of the AitW, AutoUI, DigiRL and DistRL papers.

    Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.8497, 0.5964]", "lift_point": "[0.8497, 0.5964]",
    "typed_text": ""

(on one line). Points are shares of the screen with y BEFORE x. Strings are escaped as JSON's, so that commas, quotes
and newlines in typed text survive; the authors' release splits at commas instead. Five action types are ours, because
the format has no words for them: LONG_POINT, DRAG (a swipe too short to be told from a tap), OPEN_APP, WAIT, INVALID.
"""

import math
import re
from typing import Final

from distrl.core.types import (
    Action,
    Button,
    Claim,
    Finish,
    Invalid,
    LongPress,
    OpenApp,
    Press,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from distrl.core.vetting import MAX_OUTPUT_CHARS, TWO_ACTIONS, invalid, vetted
from distrl.policies.codec.quotes import QUOTED, quote, unquote

TAP_DISTANCE: Final = 0.04
"""Two points of a DUAL_POINT at most this far apart, in shares of the screen, are a tap (the bound of AitW)."""

_NOWHERE: Final = (-1.0, -1.0)
_BUTTONS: Final = {f"PRESS_{button}": button for button in Button}
_CLAIMS: Final = {f"STATUS_TASK_{claim}": claim for claim in Claim}
_MARKER: Final = re.compile(r"action\s{0,9}decision\s{0,9}:", re.IGNORECASE)
_START: Final = re.compile(r"""["']?\baction_type["']?\s{0,99}:\s{0,99}""", re.IGNORECASE)
_KEY: Final = re.compile(
    r"""[\s,{]{0,99}["']?\b(touch_point|lift_point|typed_text|invalid_reason)["']?\s{0,99}:\s{0,99}""", re.IGNORECASE
)
_VALUE: Final = re.compile(QUOTED + r"""|\[[^\[\]]{0,99}\]|\([^()]{0,99}\)|[^\s,;{}\[\]()"']{1,99}""", re.DOTALL)
_POINT: Final = re.compile(r"\s{0,9}[\[(]([^\[\](),]{1,64}),([^\[\](),]{1,64})[\])]\s{0,9}")

_Point = tuple[float, float]
_Decision = dict[str, str]


class AutoUICodec:
    """The papers' format; reading forgives what models really write (docs/actions.md lists it)."""

    name = "autoui"

    def encode(self, action: Action) -> str:
        """The action as `Action Decision: ...` on one line, with every digit of its coordinates."""
        match vetted(action, raw=repr(action)):
            case Tap(x=x, y=y):
                return _line("DUAL_POINT", touch=(y, x), lift=(y, x))
            case LongPress(x=x, y=y):
                return _line("LONG_POINT", touch=(y, x), lift=(y, x))
            case Swipe(x=x, y=y, to_x=to_x, to_y=to_y):
                touch, lift = (y, x), (to_y, to_x)
                return _line("DRAG" if _is_tap(touch, lift) else "DUAL_POINT", touch=touch, lift=lift)
            case TypeText(text=text):
                return _line("TYPE", text=text)
            case Press(button=button):
                return _line(f"PRESS_{button}")
            case OpenApp(app=app):
                return _line("OPEN_APP", text=app)
            case Wait():
                return _line("WAIT")
            case Finish(claim=claim):
                return _line(f"STATUS_TASK_{claim}")
            case Invalid(raw=raw, reason=reason):
                return _line("INVALID", text=raw) + f', "invalid_reason": {quote(reason)}'

    def decode(self, text: str) -> Action:
        """The only decision in the text; the same decision twice is a stutter and counts once."""
        try:
            actions = [_action(decision) for decision in _decisions(text)]
        except ValueError as error:
            return invalid(text, str(error))
        if not actions:
            return invalid(text, "no action decision")
        if any(action != actions[0] for action in actions):
            return invalid(text, TWO_ACTIONS)
        return vetted(actions[0], raw=text)


def _line(action_type: str, *, touch: _Point = _NOWHERE, lift: _Point = _NOWHERE, text: str = "") -> str:
    return (
        f'Action Decision: "action_type": "{action_type}", "touch_point": "[{touch[0]!r}, {touch[1]!r}]", '
        f'"lift_point": "[{lift[0]!r}, {lift[1]!r}]", "typed_text": {quote(text)}'
    )


def _is_tap(touch: _Point, lift: _Point) -> bool:
    return math.dist(touch, lift) <= TAP_DISTANCE


def _decisions(text: str) -> list[_Decision]:
    """The fields of each decision, as they were written. What precedes the marker is reasoning and not read."""
    if len(text) > MAX_OUTPUT_CHARS:
        raise ValueError(f"{len(text)} characters; at most {MAX_OUTPUT_CHARS} are read")
    marker = _MARKER.search(text)
    start = _START.search(text, marker.end() if marker else 0)
    decisions: list[_Decision] = []
    while start:
        decision, end = _fields(text, start)
        decisions.append(decision)
        start = _START.search(text, end)
        _require_no_quote(text, end, start.start() if start else len(text))
    return decisions


def _fields(text: str, start: re.Match[str]) -> tuple[_Decision, int]:
    """The fields from an action_type on, and where they end."""
    decision: _Decision = {}
    name, position = "action_type", start.end()
    while True:
        value = _VALUE.match(text, position)
        if value is None:
            raise ValueError(f"{name} has no readable value")
        if decision.setdefault(name, value[0]) != value[0]:
            raise ValueError(f"two values for {name}")
        key = _KEY.match(text, value.end())
        if key is None:
            return decision, value.end()
        name, position = key[1].lower(), key.end()


def _require_no_quote(text: str, start: int, end: int) -> None:
    """A quote left over on the line means that typed text was not escaped: what was read is only a part of it."""
    quote_mark = text[start - 1]
    line_end = text.find("\n", start, end)
    if quote_mark in "\"'" and quote_mark in text[start : line_end if line_end >= 0 else end]:
        raise ValueError("a quote after the end of the action: is the typed text escaped?")


def _action(decision: _Decision) -> Action:
    """What one decision means; raises ValueError when it means nothing."""
    if "action_type" not in decision:
        raise ValueError("no action_type")
    action_type = re.sub(r"[\s-]", "_", decision["action_type"].strip("\"' ")).upper()
    if action_type in ("DUAL_POINT", "DRAG"):
        touch, lift = _point(decision, "touch_point"), _point(decision, "lift_point")
        if action_type == "DUAL_POINT" and _is_tap(touch, lift):
            return Tap(y=touch[0], x=touch[1])
        return Swipe(y=touch[0], x=touch[1], to_y=lift[0], to_x=lift[1])
    if action_type == "LONG_POINT":
        y, x = _point(decision, "touch_point")
        return LongPress(x=x, y=y)
    if action_type == "TYPE":
        return TypeText(text=_string(decision, "typed_text"))
    if action_type == "OPEN_APP":
        return OpenApp(app=_string(decision, "typed_text"))
    if action_type == "WAIT":
        return Wait()
    if action_type == "INVALID":
        return Invalid(raw=_string(decision, "typed_text"), reason=_string(decision, "invalid_reason"))
    if action_type in _BUTTONS:
        return Press(button=_BUTTONS[action_type])
    if action_type in _CLAIMS:
        return Finish(claim=_CLAIMS[action_type])
    raise ValueError(f"unknown action_type {action_type[:40]!r}")


def _point(decision: _Decision, name: str) -> _Point:
    written = decision.get(name, "")
    numbers = _POINT.fullmatch(written.strip("\"'"))
    if numbers is None:
        raise ValueError(f"{name} is not a point: {written[:40]!r}")
    y, x = float(numbers[1]), float(numbers[2])
    if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0):
        raise ValueError(f"{name} must lie in [0, 1], got [{y!r}, {x!r}]")
    return y, x


def _string(decision: _Decision, name: str) -> str:
    written = decision.get(name, "")
    if not written.startswith(('"', "'")):
        raise ValueError(f"{name} must be a quoted string")
    return unquote(written)

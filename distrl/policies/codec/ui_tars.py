"""`ui_tars`: the calls of the UI-TARS models, e.g. click(point='<point>500 250</point>').

Coordinates count in an image of `width` x `height`: 1000 x 1000 for UI-TARS 1.0, the size of the picture as the model
was shown it for UI-TARS 1.5. They are written and read as exact decimals, so that no digit is lost on the way. What
stands before `Action:` is thought and is not read. Four calls are ours or borrowed, because its phone has no words for
them: press_enter() and wait() (of its other prompts), call_user() for a task that is impossible, and invalid(...).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
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

SCROLL_SHARE: Final = 0.5
"""How far a scroll moves the finger, in shares of the screen, where the edge is not nearer."""

_PLAIN: Final[dict[str, Action]] = {
    "press_back": Press(button=Button.BACK),
    "press_home": Press(button=Button.HOME),
    "press_enter": Press(button=Button.ENTER),
    "wait": Wait(),
    "finished": Finish(claim=Claim.COMPLETE),
    "call_user": Finish(claim=Claim.IMPOSSIBLE),
}
_TAPS: Final[Mapping[str, type[Tap | LongPress]]] = {"click": Tap, "left_single": Tap, "long_press": LongPress}
_OTHERS: Final = ("type", "scroll", "drag", "open_app", "invalid")
_FOREIGN: Final = ("left_double", "right_single", "hotkey", "select", "hover")
_FINGER: Final = {"down": (0.0, -1.0), "up": (0.0, 1.0), "right": (-1.0, 0.0), "left": (1.0, 0.0)}
_MARKER: Final = re.compile(r"\bAction\s{0,9}:", re.IGNORECASE)
_CALL: Final = re.compile(rf"\b({'|'.join((*_PLAIN, *_TAPS, *_OTHERS, *_FOREIGN))})\s{{0,9}}\(", re.IGNORECASE)
_ARGUMENT: Final = re.compile(rf"[\s,]{{0,99}}([a-z_]{{1,20}})\s{{0,9}}=\s{{0,9}}({QUOTED})", re.DOTALL | re.IGNORECASE)
_END: Final = re.compile(r"[\s,]{0,99}\)")
_NUMBER: Final = r"-?(?:\d{1,24}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?"
_NUMBERS: Final = re.compile(rf"[\[(]?\s{{0,9}}({_NUMBER}(?:[\s,]{{1,9}}{_NUMBER}){{1,3}})\s{{0,9}}[\])]?")
_TAGS: Final = re.compile(r"</?(?:point|bbox)>|<\|box_(?:start|end)\|>")

_Call = tuple[str, dict[str, str]]
_Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class UITarsCodec:
    """The format of UI-TARS for a phone, with coordinates in an image of this size."""

    width: int = 1000
    height: int = 1000

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise ValueError(f"an image has at least one pixel, got {self.width} x {self.height}")

    @property
    def name(self) -> str:
        """The name in configurations."""
        return "ui_tars"

    def encode(self, action: Action) -> str:
        """The action as one call, after `Action: `."""
        return f"Action: {self._call(vetted(action, raw=repr(action)))}"

    def decode(self, text: str) -> Action:
        """The only call in the text; the same call twice is a stutter and counts once."""
        try:
            actions = [self._action(call) for call in _calls(text)]
        except (ValueError, ArithmeticError) as error:
            return invalid(text, str(error))
        if not actions:
            return invalid(text, "no call of an action")
        if any(action != actions[0] for action in actions):
            return invalid(text, TWO_ACTIONS)
        return vetted(actions[0], raw=text)

    def _call(self, action: Action) -> str:
        match action:
            case Tap(x=x, y=y):
                return f"click(point={self._written(x, y)})"
            case LongPress(x=x, y=y):
                return f"long_press(point={self._written(x, y)})"
            case Swipe(x=x, y=y, to_x=to_x, to_y=to_y):
                return f"drag(start_point={self._written(x, y)}, end_point={self._written(to_x, to_y)})"
            case TypeText(text=text):
                return f"type(content={_single_quoted(text)})"
            case OpenApp(app=app):
                return f"open_app(app_name={_single_quoted(app)})"
            case Invalid(raw=raw, reason=reason):
                return f"invalid(content={_single_quoted(raw)}, reason={_single_quoted(reason)})"
            case _:
                return next(f"{name}()" for name, plain in _PLAIN.items() if plain == action)

    def _written(self, x: float, y: float) -> str:
        """A point in the image's own measure, exactly: a decimal times a whole number is a decimal."""
        return f"'<point>{_decimal(x, self.width)} {_decimal(y, self.height)}</point>'"

    def _action(self, call: _Call) -> Action:
        """What one call means; raises ValueError when it means nothing."""
        name, arguments = call
        if name in _PLAIN:
            return _PLAIN[name]
        if name in _TAPS:
            x, y = self._point(arguments, "point", "start_box")
            return _TAPS[name](x=x, y=y)
        if name == "drag":
            x, y = self._point(arguments, "start_point", "start_box")
            to_x, to_y = self._point(arguments, "end_point", "end_box")
            return Swipe(x=x, y=y, to_x=to_x, to_y=to_y)
        if name == "scroll":
            return self._scroll(arguments)
        if name == "type":
            return TypeText(text=_argument(arguments, "content"))
        if name == "open_app":
            return OpenApp(app=_argument(arguments, "app_name"))
        if name == "invalid":
            return Invalid(raw=_argument(arguments, "content"), reason=_argument(arguments, "reason"))
        raise ValueError(f"a phone has no {name}")

    def _scroll(self, arguments: dict[str, str]) -> Swipe:
        """A scroll shows what lies in its direction, so the finger moves the other way."""
        direction = _argument(arguments, "direction").strip().lower()
        if direction not in _FINGER:
            raise ValueError("direction must be up, down, left or right")
        is_placed = "point" in arguments or "start_box" in arguments
        x, y = self._point(arguments, "point", "start_box") if is_placed else (0.5, 0.5)
        across, down = (SCROLL_SHARE * share for share in _FINGER[direction])
        return Swipe(x=x, y=y, to_x=min(max(x + across, 0.0), 1.0), to_y=min(max(y + down, 0.0), 1.0))

    def _point(self, arguments: dict[str, str], *names: str) -> _Point:
        """A point, or the middle of a box, in shares of the image."""
        written = _TAGS.sub(" ", _argument(arguments, *names))[:400].strip()
        found = _NUMBERS.fullmatch(written)
        numbers = [Fraction(Decimal(n)) for n in re.split(r"[\s,]+", found[1])] if found else []
        if len(numbers) == 4:
            numbers = [(numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2]
        if len(numbers) != 2:
            raise ValueError(f"{names[0]} is not a point: {written[:40]!r}")
        x, y = numbers[0] / self.width, numbers[1] / self.height
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise ValueError(f"{names[0]} must lie in an image of {self.width} x {self.height}, got {written[:40]!r}")
        return float(x), float(y)


def _decimal(share: float, size: int) -> str:
    """Their product without an error, as a plain number where that is short."""
    product = (Decimal(repr(share)) * size).normalize()
    return f"{product:f}" if -20 < product.adjusted() < 20 else str(product)


def _single_quoted(text: str) -> str:
    return "'" + quote(text)[1:-1].replace("'", r"\'") + "'"


def _calls(text: str) -> list[_Call]:
    """The calls with their arguments as they were written. What precedes the marker is thought and not read."""
    if len(text) > MAX_OUTPUT_CHARS:
        raise ValueError(f"{len(text)} characters; at most {MAX_OUTPUT_CHARS} are read")
    marker = _MARKER.search(text)
    start = _CALL.search(text, marker.end() if marker else 0)
    calls: list[_Call] = []
    while start:
        arguments: dict[str, str] = {}
        position = start.end()
        while found := _ARGUMENT.match(text, position):
            if arguments.setdefault(found[1].lower(), found[2]) != found[2]:
                raise ValueError(f"two values for {found[1]}")
            position = found.end()
        end = _END.match(text, position)
        if end is None:
            raise ValueError(f"the call of {start[1]} cannot be read to its end: is its text escaped?")
        calls.append((start[1].lower(), arguments))
        start = _CALL.search(text, end.end())
    return calls


def _argument(arguments: dict[str, str], *names: str) -> str:
    """What the first of these arguments says that there is."""
    for name in names:
        if name in arguments:
            return unquote(arguments[name])
    raise ValueError(f"{names[0]} is missing")

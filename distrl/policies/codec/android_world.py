"""`android_world`: AndroidWorld's JSON actions, e.g. {"action_type":"click","x":540,"y":1200}.

Its coordinates are pixels, so a codec is made for one size of screen; its indices point into a list of elements, so
they are read by a codec that has the list (`dataclasses.replace(codec, elements=observation.elements)`). What its words
cannot hold (fractions of a pixel, the ends of a free swipe, the reason of an `Invalid`) travels in one extra key,
`distrl`, which is absent where it is not needed and can be dropped before AndroidWorld's own parser sees the object.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from distrl.core.types import (
    Action,
    Button,
    Claim,
    Element,
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
from distrl.core.vetting import invalid, vetted
from distrl.policies.codec.json_objects import Fields, NotOneObjectError, the_object

EXACT_KEY: Final = "distrl"
"""The extra key of an object: what AndroidWorld's own keys cannot express."""

INEXPRESSIBLE: Final = "inexpressible: "
"""How the reason begins when a text is good AndroidWorld but no action of ours."""

_KEYS: Final = ("action_type", "index", "x", "y", "text", "direction", "app_name", "goal_status")
_BUTTONS: Final = {
    "navigate_back": Button.BACK,
    "navigate_home": Button.HOME,
    "keyboard_enter": Button.ENTER,
}
_CLAIMS: Final = {"complete": Claim.COMPLETE, "infeasible": Claim.IMPOSSIBLE}
_BUTTON_NAMES: Final = {button: name for name, button in _BUTTONS.items()}
_CLAIM_NAMES: Final = {claim: name for name, claim in _CLAIMS.items()}

_Box = tuple[float, float, float, float]
_SCREEN: Final[_Box] = (0.0, 0.0, 1.0, 1.0)

# AndroidWorld's executor draws "swipe left" from the left edge to the right one; a text means here what it does there.
_SWIPES: Final = {
    "down": Swipe(x=0.5, y=0.0, to_x=0.5, to_y=1.0),
    "up": Swipe(x=0.5, y=1.0, to_x=0.5, to_y=0.0),
    "left": Swipe(x=0.0, y=0.5, to_x=1.0, to_y=0.5),
    "right": Swipe(x=1.0, y=0.5, to_x=0.0, to_y=0.5),
}


class _UnreadableError(ValueError):
    """The object is no action of ours; the message is the reason."""


@dataclass(frozen=True, kw_only=True)
class AndroidWorldCodec:
    """AndroidWorld's format on a screen of `width` x `height` pixels, whose indices point into `elements`."""

    width: int = 1080
    height: int = 2400
    elements: tuple[Element, ...] = ()

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise ValueError(f"a screen has at least one pixel, got {self.width} x {self.height}")

    @property
    def name(self) -> str:
        """The name in configurations."""
        return "android_world"

    def encode(self, action: Action) -> str:
        """The action as one line of JSON; what AndroidWorld alone can express is given back as it came."""
        action = vetted(action, raw=repr(action))
        if (
            isinstance(action, Invalid)
            and action.reason.startswith(INEXPRESSIBLE)
            and self.decode(action.raw) == action
        ):
            return action.raw
        return _dump(self._fields(action))

    def decode(self, text: str) -> Action:
        """The one action of ours that the text means. Typing at a point is two actions and therefore `Invalid`."""
        try:
            fields = the_object(text)
        except NotOneObjectError as error:
            return invalid(text, str(error))
        try:
            return vetted(self._action(fields), raw=text)
        except _UnreadableError as error:
            reason = str(error)
            return invalid(_dump(fields) if reason.startswith(INEXPRESSIBLE) else text, reason)
        except (ValueError, OverflowError) as error:
            return invalid(text, str(error))

    def decode_all(self, text: str) -> tuple[Action, ...]:
        """All that AndroidWorld does for the text: its input_text taps the point if there is one, types, and enters."""
        try:
            fields = the_object(text)
            if fields.get("action_type") != "input_text":
                return (self.decode(text),)
            taps = (Tap(**self._point(fields)),) if _is_placed(fields) else ()
            typing = self.decode(_dump({key: fields[key] for key in fields if key not in ("x", "y", "index")}))
        except (ValueError, OverflowError) as error:
            return (invalid(text, str(error)),)
        return (typing,) if isinstance(typing, Invalid) else (*taps, typing, Press(button=Button.ENTER))

    def _fields(self, action: Action) -> Fields:
        match action:
            case Tap(x=x, y=y):
                return {"action_type": "click", **self._pixels(x, y)}
            case LongPress(x=x, y=y):
                return {"action_type": "long_press", **self._pixels(x, y)}
            case Swipe():
                return _swipe_fields(action)
            case TypeText(text=text):
                return {"action_type": "input_text", "text": text}
            case Press(button=button):
                return {"action_type": _BUTTON_NAMES[button]}
            case OpenApp(app=app):
                return {"action_type": "open_app", "app_name": app}
            case Wait():
                return {"action_type": "wait"}
            case Finish(claim=claim):
                return {"action_type": "status", "goal_status": _CLAIM_NAMES[claim]}
            case Invalid(raw=raw, reason=reason):
                return {"action_type": "unknown", EXACT_KEY: {"raw": raw, "reason": reason}}

    def _pixels(self, x: float, y: float) -> Fields:
        """The pixel of a point, and the point itself where the pixel is not exactly it."""
        column, row = min(round(x * self.width), self.width - 1), min(round(y * self.height), self.height - 1)
        pixel = {"x": column, "y": row}
        is_exact = column / self.width == x and row / self.height == y
        return pixel if is_exact else {**pixel, EXACT_KEY: {"x": x, "y": y}}

    def _action(self, fields: Fields) -> Action:
        """What an object means; raises ValueError when it is no action of ours."""
        action = self._exact_action(fields)
        if action is not None:
            return action
        kind = fields.get("action_type")
        match kind:
            case "click":
                return Tap(**self._point(fields))
            case "long_press":
                return LongPress(**self._point(fields))
            case "scroll":
                return _scroll(self._box(fields), _direction(fields))
            case "swipe":
                return _SWIPES[_direction(fields)]
            case "input_text":
                return _typing(fields)
            case "open_app":
                return OpenApp(app=_string(fields, "app_name"))
            case "wait":
                return Wait()
            case "status":
                return Finish(claim=_claim(fields))
            case "double_tap" | "answer" | "unknown":
                raise _UnreadableError(f"{INEXPRESSIBLE}there is no action for {kind!r}")
            case str() if kind in _BUTTONS:
                return Press(button=_BUTTONS[kind])
        raise ValueError(f"unknown action_type {str(kind)[:40]!r}")

    def _exact_action(self, fields: Fields) -> Action | None:
        """The action that the extra key spells out; it is believed only if it is written with these very fields."""
        exact = fields.get(EXACT_KEY)
        if not isinstance(exact, dict):
            return None
        action: Action
        match fields.get("action_type"):
            case "click":
                action = Tap(**_numbers(exact, "x", "y"))
            case "long_press":
                action = LongPress(**_numbers(exact, "x", "y"))
            case "swipe":
                action = Swipe(**_numbers(exact, "x", "y", "to_x", "to_y"))
            case "unknown":
                return Invalid(raw=_string(exact, "raw"), reason=_string(exact, "reason"))
            case _:
                return None
        written = self._fields(action)
        if any(fields.get(key) != written.get(key) for key in _KEYS):
            raise ValueError(f"the key {EXACT_KEY!r} contradicts the others")
        return action

    def _point(self, fields: Fields) -> dict[str, float]:
        """The point of an action, from its pixels or from its element."""
        if fields.get("index") is not None:
            left, top, right, bottom = self._box(fields)
            return {"x": (left + right) / 2, "y": (top + bottom) / 2}
        pixel = _numbers(fields, "x", "y")
        for name, size in (("x", self.width), ("y", self.height)):
            if not 0 <= pixel[name] < size:
                raise ValueError(f"{name} must lie in [0, {size - 1}] pixels, got {pixel[name]!r}")
        return {"x": pixel["x"] / self.width, "y": pixel["y"] / self.height}

    def _box(self, fields: Fields) -> _Box:
        """The box of the element that is meant, or the whole screen."""
        index = fields.get("index")
        if index is None:
            return _SCREEN
        if fields.get("x") is not None or fields.get("y") is not None:
            raise ValueError("either an index or x and y, not both")
        if isinstance(index, str) and index.isascii() and index.isdecimal() and len(index) < 9:
            index = int(index)
        if isinstance(index, bool) or not isinstance(index, int):
            raise ValueError("index must be a whole number")
        if not 0 <= index < len(self.elements):
            raise ValueError(f"no element has this index; the codec knows {len(self.elements)} elements")
        return self.elements[index].box


def _dump(fields: Fields) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _scroll(box: _Box, direction: str) -> Swipe:
    """A scroll shows what lies in its direction, so the finger moves the other way: from the middle to an edge."""
    left, top, right, bottom = box
    x, y = (left + right) / 2, (top + bottom) / 2
    to_x, to_y = {"down": (x, top), "up": (x, bottom), "right": (left, y), "left": (right, y)}[direction]
    return Swipe(x=x, y=y, to_x=to_x, to_y=to_y)


def _swipe_fields(swipe: Swipe) -> Fields:
    """One of the eight gestures that AndroidWorld can name, or the nearest of them and the exact ends."""
    for direction, gesture in _SWIPES.items():
        if swipe == gesture:
            return {"action_type": "swipe", "direction": direction}
        if swipe == _scroll(_SCREEN, direction):
            return {"action_type": "scroll", "direction": direction}
    right, down = swipe.to_x - swipe.x, swipe.to_y - swipe.y
    across = "left" if right > 0 else "right"
    direction = across if abs(right) > abs(down) else "down" if down > 0 else "up"
    exact = {"x": swipe.x, "y": swipe.y, "to_x": swipe.to_x, "to_y": swipe.to_y}
    return {"action_type": "swipe", "direction": direction, EXACT_KEY: exact}


def _typing(fields: Fields) -> TypeText:
    if _is_placed(fields):
        raise _UnreadableError(f"{INEXPRESSIBLE}typing at a point is two actions: click it, then input_text without it")
    if fields.get("clear_text"):
        raise _UnreadableError(f"{INEXPRESSIBLE}there is no action that clears a field")
    return TypeText(text=_string(fields, "text"))


def _is_placed(fields: Fields) -> bool:
    return any(fields.get(key) is not None for key in ("x", "y", "index"))


def _direction(fields: Fields) -> str:
    direction = fields.get("direction")
    if not isinstance(direction, str) or direction not in _SWIPES:
        raise ValueError("direction must be up, down, left or right")
    return direction


def _claim(fields: Fields) -> Claim:
    status = fields.get("goal_status")
    if not isinstance(status, str) or status not in _CLAIMS:
        raise ValueError("goal_status must be complete or infeasible")
    return _CLAIMS[status]


def _string(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    return value


def _numbers(fields: Fields, *names: str) -> dict[str, float]:
    values: dict[str, Any] = {name: fields.get(name) for name in names}
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} must be a number")
    return {name: float(value) for name, value in values.items()}

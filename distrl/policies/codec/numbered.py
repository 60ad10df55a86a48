"""`numbered`: the shortest answers, for models that read the elements of a screen as numbered lines.

`3` taps the third element, `hold 3` holds it; `type hello`, `swipe up`, `open Clock`, `back`, `home`, `enter`, `wait`,
`done` and `impossible` are the rest. A number means an element of one screen, so it is read and written by a codec that
has the elements (`dataclasses.replace(codec, elements=observation.elements)`); a point that is the middle of none is
written with its coordinates (`tap 0.5 0.25`). Text that a line cannot hold as it is stands in quotes as in JSON.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
from distrl.core.vetting import MAX_OUTPUT_CHARS, TWO_ACTIONS, invalid, vetted
from distrl.policies.codec.quotes import DOUBLE_QUOTED, quote, unquote

PLAIN: Final[Mapping[str, Action]] = {
    "back": Press(button=Button.BACK),
    "home": Press(button=Button.HOME),
    "enter": Press(button=Button.ENTER),
    "wait": Wait(),
    "done": Finish(claim=Claim.COMPLETE),
    "impossible": Finish(claim=Claim.IMPOSSIBLE),
    "swipe up": Swipe(x=0.5, y=0.62, to_x=0.5, to_y=0.3),
    "swipe down": Swipe(x=0.5, y=0.3, to_x=0.5, to_y=0.62),
    "swipe left": Swipe(x=0.8, y=0.45, to_x=0.2, to_y=0.45),
    "swipe right": Swipe(x=0.2, y=0.45, to_x=0.8, to_y=0.45),
}
"""The answers that take nothing; a swipe is named after the way that the finger moves."""

MAX_LABEL_CHARS: Final = 80
"""As much of a long text on a screen as its line shows."""

_WORDS: Final = {action: word for word, action in PLAIN.items()}
TOUCHES: Final[Mapping[str, type[Tap | LongPress]]] = {"tap": Tap, "click": Tap, "hold": LongPress}
_TOUCH: Final = re.compile(
    r"(?:answer\s{0,9}:\s{0,9})?(?:(tap|click|hold)\s{0,9})?[\[(]?(\d{1,4})[\])]?(?:\s{0,9}[.:]?\s{1,9}(.{1,999}))?\.?",
    re.IGNORECASE,
)
SHARES: Final = re.compile(r"(tap|hold|swipe)((?:\s{1,9}[0-9.eE+-]{1,40}){2,4})", re.IGNORECASE)
_TEXT: Final = re.compile(r"(type|open)\s(.*)", re.DOTALL | re.IGNORECASE)
_PAIR: Final = re.compile(rf"invalid ({DOUBLE_QUOTED}) ({DOUBLE_QUOTED})", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class NumberedCodec:
    """Answers that name an element by its number, counted from 1."""

    elements: tuple[Element, ...] = ()

    @property
    def name(self) -> str:
        """The name in configurations."""
        return "numbered"

    def encode(self, action: Action) -> str:
        """The action as one short line."""
        action = vetted(action, raw=repr(action))
        match action:
            case Tap(x=x, y=y):
                return self._touching("tap", x, y)
            case LongPress(x=x, y=y):
                return self._touching("hold", x, y)
            case TypeText(text=text):
                return f"type {_on_a_line(text)}"
            case OpenApp(app=app):
                return f"open {_on_a_line(app)}"
            case Invalid(raw=raw, reason=reason):
                return f"invalid {quote(raw)} {quote(reason)}"
            case Swipe(x=x, y=y, to_x=to_x, to_y=to_y) if action not in _WORDS:
                return f"swipe {x!r} {y!r} {to_x!r} {to_y!r}"
            case _:
                return _WORDS[action]

    def decode(self, text: str) -> Action:
        """The only line that is an answer; the same one twice is a stutter and counts once, other lines are prose."""
        if len(text) > MAX_OUTPUT_CHARS:
            return invalid(text, f"{len(text)} characters; at most {MAX_OUTPUT_CHARS} are read")
        actions: list[Action] = []
        try:
            for line in text.split("\n"):
                action = self._action(line.strip())
                if action is not None:
                    actions.append(action)
        except (ValueError, OverflowError) as error:
            return invalid(text, str(error))
        if not actions:
            return invalid(text, "no line is an answer")
        if any(action != actions[0] for action in actions):
            return invalid(text, TWO_ACTIONS)
        return vetted(actions[0], raw=text)

    def _touching(self, verb: str, x: float, y: float) -> str:
        """A touch by what it touches the middle of, or by its point."""
        centers = (number for number, element in enumerate(self.elements, 1) if element.center == (x, y))
        number = next(centers, None)
        return f"{verb} {x!r} {y!r}" if number is None else self._call(verb, number)

    def _call(self, verb: str, number: int) -> str:
        """How a touch of this element is written."""
        return f"{number}" if verb == "tap" else f"{verb} {number}"

    def _action(self, line: str) -> Action | None:
        """What a line means, None if it is prose; raises ValueError for an answer that cannot be meant."""
        plain = PLAIN.get(" ".join(line.rstrip(".").lower().split())) if len(line) < 40 else None
        if plain is not None:
            return plain
        if found := _TEXT.fullmatch(line):
            said = unquote(found[2]) if re.fullmatch(DOUBLE_QUOTED, found[2], re.DOTALL) else found[2]
            return TypeText(text=said) if found[1].lower() == "type" else OpenApp(app=said)
        if found := SHARES.fullmatch(line):
            return _placed(found[1].lower(), [float(share) for share in found[2].split()])
        if found := _PAIR.fullmatch(line):
            return Invalid(raw=unquote(found[1]), reason=unquote(found[2]))
        return self._touch(line)

    def _touch(self, line: str) -> Action | None:
        found = _TOUCH.fullmatch(line) if len(line) < 2000 else None
        if found is None:
            return None
        number, label = int(found[2]), (found[3] or "").rstrip(". ")
        if not 1 <= number <= len(self.elements):
            raise ValueError(f"no element has the number {number}; there are {len(self.elements)}")
        element = self.elements[number - 1]
        if label and label != label_of(element).rstrip(". "):
            return None
        x, y = element.center
        return TOUCHES[(found[1] or "tap").lower()](x=x, y=y)


def label_of(element: Element, *, max_chars: int = MAX_LABEL_CHARS) -> str:
    """An element as the line beside its number: what it says, and what it is where that tells something."""
    text = text_of(element)
    return marked(text if len(text) <= max_chars else f"{text[: max_chars - 1]}…", element)


def text_of(element: Element) -> str:
    """What an element says, on one line; what it is if it says nothing."""
    return " ".join(element.text.split()) or element.kind


def marked(text: str, element: Element) -> str:
    """A text, and of an element what the text does not tell."""
    marks = [
        "field" if element.editable and text != "field" else "",
        "focused" if element.focused else "",
        "" if element.checked is None else "on" if element.checked else "off",
        "" if element.enabled else "disabled",
    ]
    shown = ", ".join(mark for mark in marks if mark)
    return f"{text} ({shown})" if shown else text


def _on_a_line(text: str) -> str:
    """The text as it is, or in quotes where reading the line would change it."""
    is_plain = bool(text) and text == text.strip() and not any(char in text for char in '\n"\\{}')
    return text if is_plain else quote(text)


def _placed(verb: str, shares: list[float]) -> Action:
    if verb == "swipe" and len(shares) == 4:
        return Swipe(x=shares[0], y=shares[1], to_x=shares[2], to_y=shares[3])
    if verb != "swipe" and len(shares) == 2:
        return TOUCHES[verb](x=shares[0], y=shares[1])
    raise ValueError(f"{verb} with {len(shares)} coordinates")

"""`named`: answers that say what to touch, for small language models, which copy a name more easily than they count.

`tap Alarm` touches what the screen calls so, `hold Alarm` holds it; all other answers are those of `numbered`. Names
are short, and no two elements of a screen have the same: the second `Delete` is `Delete (2)`.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from distrl.core.types import Action, Element
from distrl.policies.codec.numbered import SHARES, TOUCHES, NumberedCodec, marked, text_of

MAX_NAME_CHARS: Final = 32
"""As much of a text as its name has, in whole words if there are several."""

_TOUCH: Final = re.compile(r"(tap|click|hold)\s{1,9}(\S.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class NamedCodec(NumberedCodec):
    """Answers that name an element as its line does."""

    @property
    def name(self) -> str:
        """The name in configurations."""
        return "named"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the elements are called, in their order."""
        names: dict[str, None] = {}
        for element in self.elements:
            called, count = _called(element), 1
            name = called
            while name in names:
                count += 1
                name = f"{called} ({count})"
            names[name] = None
        return tuple(names)

    @property
    def lines(self) -> list[str]:
        """The same as a model is shown them, with what the names do not tell: `Wi-Fi (on)`."""
        return [marked(name, element) for name, element in zip(self.names, self.elements, strict=True)]

    def _call(self, verb: str, number: int) -> str:
        return f"{verb} {self.names[number - 1]}"

    def _touch(self, line: str) -> Action | None:
        """Whole lines are forgiven, and a full stop."""
        found = _TOUCH.fullmatch(line)
        if found is None:
            return None
        places = dict(zip([*self.lines, *self.names], [*self.elements, *self.elements], strict=True))
        element = places.get(found[2]) or places.get(found[2].removesuffix("."))
        if element is None:
            return None
        x, y = element.center
        return TOUCHES[found[1].lower()](x=x, y=y)


def _called(element: Element) -> str:
    """What one element is called, whatever others are; never like a point, which would be taken for one."""
    first, *others = text_of(element).split() or ["element"]
    text = first[:MAX_NAME_CHARS]
    for word in others:
        if len(text) + 1 + len(word) > MAX_NAME_CHARS:
            break
        text = f"{text} {word}"
    return f"{text} (text)" if SHARES.fullmatch(f"tap {text}") else text

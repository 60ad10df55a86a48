"""What is worth imitating: an expert's demonstrations and own successes in, examples out, all templates alike.

Own successes are here as long as replay keeps them; demonstrations never go.
"""

import itertools
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Protocol

import msgspec

SHOWN_AT_ONCE = 4
"""Demonstrations that are looked at with each arrival: making all of them at the start would keep everybody waiting."""


class Example(Protocol):
    """A solved trajectory in the policy's own numbers: moments, and what to choose in each."""

    @property
    def template(self) -> str:
        """What kind of task it solves."""
        ...

    @property
    def moments(self) -> Sequence[Any]:
        """One for each choice."""
        ...

    @property
    def choices(self) -> Any:
        """What was done."""
        ...


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """An expert's example."""

    template: str
    moments: Sequence[Any]
    choices: Any


class Successes:
    """Examples by template, in the order in which they came, demonstrations first."""

    def __init__(self, demonstrations: Iterable[Example] = ()) -> None:
        self._demonstrations = iter(demonstrations)
        self._shown: dict[str, list[Example]] = {}
        self._own: dict[str, dict[str, Example]] = {}
        self.num_shown = 0
        self.num_missed = 0
        """Demonstrations that a life before this one has looked at; they are looked at again as soon as it matters."""

    def look_at(self, count: int = SHOWN_AT_ONCE) -> None:
        """So many more demonstrations, if there are any."""
        count, self.num_missed = count + self.num_missed, 0
        for example in itertools.islice(self._demonstrations, count):
            self._shown.setdefault(example.template, []).append(example)
            self.num_shown += 1

    def add(self, name: str, example: Example) -> None:
        """One more of one's own."""
        self._own.setdefault(example.template, {})[name] = example

    def remove(self, name: str, template: str) -> None:
        """One that is no longer kept; it may not have been here."""
        own = self._own.get(template, {})
        own.pop(name, None)
        if not own:
            self._own.pop(template, None)

    def draw(self, count: int, rng: Random) -> list[Example]:
        """So many, by template first: what is rarely solved is imitated as often as what always is."""
        self.look_at(0)
        templates = sorted({*self._shown, *self._own})
        drawn = [rng.choice(templates) for _ in range(count if templates else 0)]
        return [rng.choice((*self._shown.get(name, ()), *self._own.get(name, {}).values())) for name in drawn]

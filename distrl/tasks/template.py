"""A template: a kind of request that can be made in many ways.

It draws parameters, words them as an instruction, arranges the phone, checks the phone's state and tells the scripted
expert what to do on which page. It sees a phone as plain data only, never its code.

    TEMPLATE = Template(
        name="create_note", suite="general", difficulty=2,
        phrasings=("Create a note called {title} that says {body}", ...),
        draw=lambda d: {"title": d.pick(TITLES), "body": d.pick(BODIES)},
        check=lambda p, inspect: any(same(n["title"], p["title"]) for n in inspect("notes")["notes"]),
        plan=lambda p: plan("Notes", on("notes/home", tap(id="fab")), on("notes/edit", field("title", p["title"]))),
    )
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import msgspec

from distrl.core.interfaces import Plain
from distrl.core.seeds import derive_seed
from distrl.tasks.plan import Plan

Params = dict[str, str]
Inspect = Callable[[str], Plain]
"""Reads the state of an app: `inspect("clock")["alarms"]`."""


class Pool(msgspec.Struct, frozen=True):
    """Words to fill in. About one in five is kept for the test split, which so asks for names never seen before."""

    words: tuple[str, ...]

    @property
    def seen(self) -> tuple[str, ...]:
        """What the training split draws from."""
        return tuple(word for word in self.words if not is_held_out(word))

    @property
    def held_out(self) -> tuple[str, ...]:
        """What only the test split draws."""
        return tuple(word for word in self.words if is_held_out(word))


@cache
def is_held_out(word: str) -> bool:
    """Whether training never shows this word; by the word itself, so that all pools agree."""
    return derive_seed(2, "held out", word.casefold()) % 5 == 0


def pool(*words: str) -> Pool:
    """A pool of these words."""
    assert len(set(words)) == len(words), "a pool holds each word once"
    return Pool(words)


class Draw:
    """Draws the parameters of one task, from the words of its split."""

    def __init__(self, rng: Random, *, is_test: bool) -> None:
        self.rng = rng
        self.is_test = is_test

    def pick(self, words: Pool) -> str:
        """A word of the pool: training draws seen words, the test draws held-out ones half of the time."""
        if self.is_test and words.held_out and self.rng.random() < 0.5:
            return self.rng.choice(words.held_out)
        return self.rng.choice(words.seen)

    def pick_two(self, words: Pool) -> tuple[str, str]:
        """Two different words."""
        first = self.pick(words)
        while (second := self.pick(words)) == first:
            pass
        return first, second

    def choice(self, values: Sequence[str]) -> str:
        """One of some values that belong to both splits."""
        return self.rng.choice(values)

    def number(self, low: int, high: int, step: int = 1) -> str:
        """A number between these, both included."""
        return str(self.rng.randrange(low, high + 1, step))

    def time(self, *, low: int = 5, high: int = 22) -> str:
        """A time of day as H:MM, between these hours, on five minutes."""
        return f"{self.rng.randint(low, high)}:{self.rng.randrange(0, 60, 5):02d}"

    def phone_number(self) -> str:
        """A number like 555-0142."""
        return f"555-{self.rng.randrange(10000):04d}"


class Keep(msgspec.Struct, frozen=True):
    """A list that a task starts with (its world sets it) and of which only the entries asked for may change.

    `field` of `app` is a list of records with a `key`, or of words, or a dictionary by word. Entries whose key is the
    value of a parameter may change; all others must be there in the end as they were.
    """

    app: str
    field: str
    key: str = ""

    def holds(self, params: Params, world: Plain, inspect: Inspect) -> bool:
        """Whether nothing was changed that was not asked for."""
        asked = {" ".join(value.split()).casefold() for value in params.values()}
        before, after = world[self.app][self.field], inspect(self.app)[self.field]
        if isinstance(before, Mapping):
            return all(after.get(name) == value for name, value in before.items() if name.casefold() not in asked)
        kept = [entry for entry in before if str(entry[self.key] if self.key else entry).casefold() not in asked]
        return all(any(_is_still(old, new) for new in after) for old in kept)


def _is_still(old: Any, new: Any) -> bool:
    """Whether a record has all the fields it started with; a word is itself."""
    if isinstance(old, Mapping):
        return all(new.get(name) == value for name, value in old.items())
    return bool(old == new)


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of request. `unseen` templates appear in the test split only."""

    name: str
    suite: str
    difficulty: int
    phrasings: tuple[str, ...]
    draw: Callable[[Draw], Params]
    check: Callable[[Params, Inspect], bool]
    plan: Callable[[Params], Plan]
    world: Callable[[Params, Random], Plain] = lambda params, rng: {}
    keeps: tuple[Keep, ...] = ()
    unseen: bool = False
    max_steps: int = 15

    def __hash__(self) -> int:
        return hash(self.name)

    def visible(self, params: Params) -> tuple[tuple[str, str], ...]:
        """The parameters that the instruction names: what makes two tasks the same to a reader."""
        words = "".join(self.phrasings)
        return tuple(sorted((name, value) for name, value in params.items() if f"{{{name}}}" in words))


def same(a: object, b: object) -> bool:
    """Equal to a person: case and surrounding or repeated spaces do not count."""
    return " ".join(str(a).split()).casefold() == " ".join(str(b).split()).casefold()


def front(inspect: Inspect) -> tuple[str, str, str]:
    """The page in front: app, page and what it was opened with. A pop-up above it does not count."""
    phone = inspect("phone")
    app = str(phone["foreground"])
    stack = phone["stacks"].get(app) or [{"name": "home", "arg": ""}]
    return app, str(stack[-1]["name"]), str(stack[-1]["arg"])

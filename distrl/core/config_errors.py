"""What is wrong with a configuration, said so that it can be mended without looking anything up.

In: the details pydantic gives for one failed validation. Out: a `Mistake` per detail, which reads
`file:line: key: what is wrong (expected ..., got ...); did you mean X?`.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

from distrl.core.errors import UserError

Key = tuple[str, ...]
"""A key as its parts: `phone.scale` is ("phone", "scale")."""

EXPECTATIONS: Mapping[str, str] = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "an array",
    "model_type": "a table",
    "string_type": "a string",
    "string_too_short": "a string that is not empty",
    "tuple_type": "an array",
}
MAX_SHOWN_CHARS = 60
MAX_SHOWN_BITS = 128


class Mistake(NamedTuple):
    """One thing to mend, and where."""

    place: str
    key: str
    problem: str
    suggestion: str = ""

    def __str__(self) -> str:
        where = f"{self.place}: {self.key}" if self.key else self.place
        hint = f"; did you mean {self.suggestion}?" if self.suggestion else ""
        return f"{where}: {self.problem}{hint}"


class ConfigError(UserError):
    """A configuration that cannot be used, with everything that is wrong with it."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        noun = "mistake" if len(mistakes) == 1 else "mistakes"
        super().__init__("\n".join([f"{len(mistakes)} {noun} in the configuration", *map(str, mistakes)]))
        self.mistakes = tuple(mistakes)


def describe(detail: ErrorDetails, *, place: Callable[[Key], str], known: Sequence[str]) -> Mistake:
    """One of pydantic's details in our words; `known` are all dotted keys there are."""
    parts = tuple(str(part) for part in detail["loc"])
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(".")
    kind, got = detail["type"], detail["input"]
    suggestion = ""
    if kind == "extra_forbidden":
        siblings = _siblings(key, known)
        problem = f"unknown key (expected one of {', '.join(siblings)}, got {parts[-1]})"
        suggestion = _nearest_key(key, known)
    elif kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))
        problem = f"unknown value (expected one of {', '.join(choices)}, got {show(got)})"
        suggestion = _nearest(str(got), choices)
    elif kind == "value_error":  # raised by a validator of ours, in our words
        problem = detail["msg"].removeprefix("Value error, ")
    elif kind in EXPECTATIONS:
        problem = f"wrong value (expected {EXPECTATIONS[kind]}, got {show(got)})"
    else:
        expected = detail["msg"].removeprefix("Input should be ")
        problem = f"wrong value (expected {expected}, got {show(got)})"
    return Mistake(place=place(parts), key=key, problem=problem, suggestion=suggestion)


def show(value: Any) -> str:
    """A value as it would stand in TOML, cut to a readable length."""
    match value:
        case bool():
            text = str(value).lower()
        case int() if value.bit_length() > MAX_SHOWN_BITS:
            return "a huge number"
        case str():
            text = f'"{value}"'
        case Mapping():
            return "a table"
        case list() | tuple():
            text = f"[{', '.join(show(item) for item in value)}]"
        case _:
            text = str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 3] + "..."


def _siblings(key: str, known: Sequence[str]) -> list[str]:
    """The names that may stand where this key stands."""
    table = key.rpartition(".")[0]
    return [name.rpartition(".")[2] for name in known if name.rpartition(".")[0] == table]


def _nearest_key(key: str, known: Sequence[str]) -> str:
    """The dotted key that was meant: one of the same table if any is near, else one of the same name elsewhere."""
    table, dot, name = key.rpartition(".")
    if near := _nearest(name, _siblings(key, known)):
        return f"{table}{dot}{near}"
    leaves = {other.rpartition(".")[2]: other for other in known}
    return leaves.get(_nearest(name, list(leaves)), "")


def _nearest(word: str, choices: Sequence[str]) -> str:
    """The most similar choice, or nothing if none is similar."""
    return next(iter(difflib.get_close_matches(word, choices, n=1, cutoff=0.6)), "")

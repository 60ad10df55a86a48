"""Where configuration comes from: a TOML file, the environment, the command line.

Each reader returns its sources and the mistakes that kept it from reading more; nothing is raised, so that all
mistakes of all sources can be told at once. A `Source` is nested values and a way to say where each key stands.

Environment variables, `DISTRL_` taken off:
  PHONE__SCALE  two underscores separate levels: always configuration, an unknown key is a mistake
  SEED          one word: configuration, unless it is one of `OPTION_VARIABLES`
  PHONE_SCALE   single underscores: an option of a verb (`distrl phone --scale`), never configuration
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from distrl.core.config_errors import Key, Mistake

PREFIX = "DISTRL_"
OPTION_VARIABLES = frozenset({"CONFIG", "QUIET", "VERBOSE", "VERSION"})
"""Variables of one word that are options of `distrl` itself."""


MAX_FILE_BYTES = 1_000_000
"""No configuration is larger."""


class Source(NamedTuple):
    """Values by key, and where each key was written."""

    values: dict[str, Any]
    place: Callable[[Key], str]
    replaces: Key = ()

    def apply_to(self, merged: dict[str, Any]) -> None:
        """Lay these values over what is there; the key in `replaces` is set as a whole, tables included."""
        _merge(merged, self.values, self.replaces)


Reading = tuple[list[Source], list[Mistake]]


def _merge(below: dict[str, Any], above: dict[str, Any], replaces: Key) -> None:
    """Lay tables over tables; anything else, and the end of `replaces`, wins over what was below."""
    for name, value in above.items():
        is_replaced = replaces == (name,)
        if isinstance(value, dict) and not is_replaced:
            inner = below.get(name)
            below[name] = inner if isinstance(inner, dict) else {}
            _merge(below[name], value, replaces[1:])
        else:
            below[name] = value


# ---------------------------------------------------------------- the file


def from_file(path: Path | None) -> Reading:
    """The values of a TOML file; no path, no values."""
    if path is None:
        return [], []
    try:
        if path.exists() and not path.is_file():
            return [], [Mistake(place=str(path), key="", problem="is not a file")]
        if path.stat().st_size > MAX_FILE_BYTES:
            return [], [Mistake(place=str(path), key="", problem=f"is larger than {MAX_FILE_BYTES:,} bytes")]
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        return [], [Mistake(place=str(path), key="", problem=f"cannot be read: {error.strerror or error}")]
    except UnicodeDecodeError as error:
        return [], [Mistake(place=str(path), key="", problem=f"is not UTF-8 text (byte {error.start})")]
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return [], [_syntax_mistake(path, text, error)]
    lines: dict[Key, int] = {}

    def place(key: Key) -> str:
        if not lines:
            lines.update(key_lines(text))
        known = (key[:length] for length in range(len(key), 0, -1))
        return f"{path}:{next((lines[prefix] for prefix in known if prefix in lines), 1)}"

    return [Source(values=values, place=place)], []


def _syntax_mistake(path: Path, text: str, error: Exception) -> Mistake:
    """What tomllib said, with its position where an editor looks for it."""
    if isinstance(error, RecursionError):
        return Mistake(place=f"{path}:1", key="", problem="not valid TOML: nested too deeply")
    message = str(error)
    if at := re.search(r" \(at line (\d+), column (\d+)\)$", message):
        place, message = f"{path}:{at[1]}:{at[2]}", message[: at.start()]
    else:
        lines = text.rstrip("\n").split("\n")
        place, message = f"{path}:{len(lines)}:{len(lines[-1]) + 1}", message.removesuffix(" (at end of document)")
    return Mistake(place=place, key="", problem=f"not valid TOML: {message[:1].lower()}{message[1:]}")


_LAST_CHARACTERS = ("]", "}", '"', "'")


def key_lines(text: str) -> dict[Key, int]:
    """The line on which each key of a valid TOML text first appears; keys of an inline table share its line.

    A statement is the fewest lines that parse, which holds for arrays and strings over several lines as well.
    """
    found: dict[Key, int] = {}
    header: Key = ()
    statement, first = "", 1
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not statement:
            first = number
        statement += line + "\n"
        if first != number and not line.rstrip().endswith(_LAST_CHARACTERS):
            # The middle of an array or a string: trying to parse after each of its lines would take quadratic time.
            continue
        try:
            parsed = tomllib.loads(statement)
        except ValueError:
            continue
        keys = list(_keys_of(parsed))
        if statement.lstrip().startswith("["):
            header = max(keys, key=len)
            inside: Key = ()
        else:
            inside = header
        for key in keys:
            found.setdefault(inside + key, first)
        statement = ""
    return found


def _keys_of(values: Any) -> Iterable[Key]:
    """All keys of nested tables; the tables of an array count as the array itself."""
    if isinstance(values, list):
        for item in values:
            yield from _keys_of(item)
    elif isinstance(values, dict):
        for name, value in values.items():
            yield (name,)
            yield from ((name, *rest) for rest in _keys_of(value))


# ---------------------------------------------------------------- environment and command line


def from_environment(environ: Mapping[str, str], *, sections: Sequence[str]) -> Reading:
    """One source per configuration variable; `sections` are the keys of the first level."""
    sources: list[Source] = []
    mistakes: list[Mistake] = []
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX)
        if not variable.startswith(PREFIX) or ("_" in name and "__" not in name) or name in OPTION_VARIABLES:
            continue
        key = tuple(part.lower() for part in name.split("__"))
        if "__" not in name and key[0] not in sections:
            known = {PREFIX + word.upper() for word in sections} | {PREFIX + word for word in OPTION_VARIABLES}
            near = difflib.get_close_matches(variable, known, n=1)
            mistakes.append(
                Mistake(place=variable, key=key[0], problem="unknown variable", suggestion=near[0] if near else "")
            )
        elif not all(key):
            mistakes.append(Mistake(place=variable, key=".".join(key), problem="has an empty level"))
        else:
            sources.append(_single(key, parse_value(environ[variable]), variable))
    return sources, mistakes


def from_overrides(overrides: Sequence[str]) -> Reading:
    """One source per `key=value`, the key dotted as in TOML."""
    sources: list[Source] = []
    mistakes: list[Mistake] = []
    for override in overrides:
        place = f"--set {override}"
        name, equals, value = override.partition("=")
        key = _parse_key(name.strip())
        if equals and key:
            sources.append(_single(key, parse_value(value.strip()), place))
        else:
            problem = "is not an override (expected key=value, such as phone.scale=0.5)"
            mistakes.append(Mistake(place=place, key="", problem=problem))
    return sources, mistakes


def parse_value(text: str) -> Any:
    """A TOML value; what is none, such as a bare word, is text."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    # A line break in the text could smuggle in further keys.
    return parsed["value"] if len(parsed) == 1 else text


def _parse_key(text: str) -> Key:
    """The parts of a dotted TOML key, quoted parts included; empty if it is none."""
    try:
        parsed = tomllib.loads(f"{text} = 0")
    except (ValueError, RecursionError):
        return ()
    keys = list(_keys_of(parsed))
    longest = max(keys, key=len)
    return longest if len(keys) == len(longest) else ()


def _single(key: Key, value: Any, place: str) -> Source:
    """A source that sets one key."""
    nested = value
    for part in reversed(key):
        nested = {part: nested}
    return Source(values=nested, place=lambda _: place, replaces=key)

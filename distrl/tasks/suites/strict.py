"""What the checks of several suites share: lists in which nothing but what was asked for may change, come or go."""

from collections.abc import Mapping
from typing import Any

from distrl.core.interfaces import Plain
from distrl.tasks.template import Inspect, Keep, Params, same

LOOKED_AT = ("unread", "heard")
"""Fields that change when somebody only looks."""


class Only(Keep, frozen=True, kw_only=True):
    """Stricter than `Keep`: nothing may be added either that was not asked for. To have looked at something is fine.

    With `whole` nothing was asked for: all of it stays as it was. With `grows` additions are checked elsewhere.
    `field` may also be a single value, which stays.
    """

    whole: bool = False
    grows: bool = False

    def holds(self, params: Params, world: Plain, inspect: Inspect) -> bool:
        """Whether nothing else was changed, added or lost."""
        asked = set() if self.whole else {plain_word(value) for value in params.values()}
        before, after = world[self.app][self.field], inspect(self.app)[self.field]
        if isinstance(before, Mapping):
            before, after = list(before.items()), list(after.items())
            old, new = ([e for e in entries if plain_word(e[0]) not in asked] for entries in (before, after))
        elif isinstance(before, list):
            old, new = ([e for e in entries if plain_word(self._key(e)) not in asked] for entries in (before, after))
        else:
            return bool(before == after)
        is_kept = all(any(_is_still(a, b) for b in new) for a in old)
        return is_kept and (self.grows or len(old) == len(new))

    def _key(self, entry: Any) -> object:
        return entry.get(self.key, "") if self.key else entry


def plain_word(value: object) -> str:
    """A word without what people write in different ways: case, spaces, hyphens."""
    return " ".join(str(value).replace("-", "").split()).casefold()


def alike(a: object, b: object) -> bool:
    """The same text to a person: a full stop at the end does not count either."""
    return same(str(a).rstrip(" .!"), str(b).rstrip(" .!"))


def same_number(a: str, b: str) -> bool:
    """The same phone number, whatever stands between its digits."""
    return "".join(filter(str.isdigit, a)) == "".join(filter(str.isdigit, b))


def _is_still(old: Any, new: Any) -> bool:
    if isinstance(old, Mapping):
        return all(new.get(name) == value for name, value in old.items() if name not in LOOKED_AT)
    return bool(old == new)

"""A cache bounded by bytes: pictures differ in size by a factor of a hundred, so counting them bounds nothing."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R", bound=bytes)


def cached_bytes(max_bytes: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep what a function of hashable positional arguments gave, the least recently used going first."""

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        kept: OrderedDict[Hashable, R] = OrderedDict()
        size = 0

        @wraps(fn)
        def cached(*args: P.args, **kwargs: P.kwargs) -> R:
            nonlocal size
            assert not kwargs, "arguments are positional, so that equal calls have equal keys"
            found = kept.get(args)
            if found is not None:
                kept.move_to_end(args)
                return found
            made = fn(*args, **kwargs)
            kept[args] = made
            size += len(made)
            while size > max_bytes and len(kept) > 1:
                size -= len(kept.popitem(last=False)[1])
            return made

        return cached

    return decorate

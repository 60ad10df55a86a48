"""What a screen is made of: four immutable nodes and the view of a page.

A page function builds them from state; layout gives them places, paint gives them colours. All are hashable values, so
that equal widgets share one layout and one sprite; they are never part of a cycle, so the garbage collector leaves them
alone. What a touch does is a value too: `Do`, a function with arguments.
"""

from collections.abc import Callable
from typing import Any

import msgspec


class Do(msgspec.Struct, frozen=True, gc=False):
    """What happens when a widget is touched: `fn(ui, *args)`."""

    fn: Callable[..., None]
    args: tuple[Any, ...] = ()


class Text(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Words. `size` is in logical pixels; `lines` is how many it may wrap to before it ends in an ellipsis."""

    text: str
    size: int = 48
    color: str = "text"
    weight: str = "regular"
    align: str = "left"
    lines: int = 1


class Icon(msgspec.Struct, frozen=True, gc=False):
    """A Material icon, by its name with underscores."""

    name: str
    size: int = 72
    color: str = "text2"


class Picture(msgspec.Struct, frozen=True, gc=False):
    """A drawn image: `photo`, `map` or `product`; `detail` selects which one."""

    kind: str
    detail: str
    width: int
    height: int
    radius: int = 24


class Box(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A rectangle that holds others, in a column or a row, and may be touched.

    In a row, children take their natural width and those with `grow` share the rest; in a column they take the whole
    width unless they have one of their own. A box with a handler or an `id` is an element of the ui tree.
    """

    children: tuple["Node", ...] = ()
    row: bool = False
    gap: int = 0
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)
    fill: str = ""
    radius: int = 0
    border: str = ""
    width: int = 0
    height: int = 0
    grow: int = 0
    align: str = "start"
    justify: str = "start"
    tap: Do | None = None
    hold: Do | None = None
    submit: Do | None = None
    id: str = ""
    kind: str = "button"
    label: str = ""
    checked: bool | None = None
    enabled: bool = True
    editable: bool = False
    focused: bool = False


Node = Text | Icon | Picture | Box


class View(msgspec.Struct, frozen=True, gc=False, kw_only=True, cache_hash=True):
    """A page as it should look now: a bar, a scrolling body of blocks, a bottom bar and a floating button."""

    body: tuple[Box, ...]
    bar: Box | None = None
    bottom: Box | None = None
    fab: Box | None = None
    fill: str = "bg"
    dialog: bool = False
    cancellable: bool = True
    starts_at_end: bool = False
    swipe_left: Do | None = None
    swipe_right: Do | None = None
    swipe_up: Do | None = None
    swipe_down: Do | None = None

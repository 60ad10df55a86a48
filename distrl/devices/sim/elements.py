"""The ui tree: what is on a screen as `Element`s, and the candidates among them."""

from collections.abc import Sequence

import msgspec

from distrl.core.types import Element
from distrl.devices.sim.nodes import Box

WIDTH, HEIGHT = 1080, 2400
MAX_CANDIDATES = 64


class Hit(msgspec.Struct, frozen=True, gc=False):
    """An element of the ui tree in logical pixels; `box` is what to touch, and is None for plain text."""

    x0: int
    y0: int
    x1: int
    y1: int
    text: str
    box: Box | None


def elements_of(hits: Sequence[Hit]) -> tuple[Element, ...]:
    """Everything visible, from top to bottom and left to right; keys of the keyboard last."""
    made = [_element(hit) for hit in hits]
    made.sort(key=lambda e: (e.kind == "key", e.box[1], e.box[0]))
    return tuple(made)


def _element(hit: Hit) -> Element:
    box = hit.box
    place = (hit.x0 / WIDTH, hit.y0 / HEIGHT, hit.x1 / WIDTH, hit.y1 / HEIGHT)
    if box is None:
        return Element(box=place, text=hit.text, kind="text", clickable=False)
    return Element(
        box=place,
        text=hit.text,
        kind=box.kind,
        id=box.id,
        enabled=box.enabled,
        clickable=box.tap is not None,
        checked=box.checked,
        editable=box.editable,
        focused=box.focused,
    )


def candidates(elements: tuple[Element, ...]) -> tuple[Element, ...]:
    """At most 64, in reading order. Letter keys are left out (typing is an action), then plain text gives way."""
    kept = [e for e in elements if e.kind != "key" or e.id in ("key:enter", "key:hide")]
    if len(kept) > MAX_CANDIDATES:
        spare = len(kept) - MAX_CANDIDATES
        plain = [i for i, e in enumerate(kept) if not e.clickable][-spare:]
        dropped = set(plain)
        kept = [e for i, e in enumerate(kept) if i not in dropped]
    return tuple(kept[:MAX_CANDIDATES])

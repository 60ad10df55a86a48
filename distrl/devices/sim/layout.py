"""Layout: a block and a width in, places for every node out.

A block is one box of a page's body, or a whole bar. Its layout depends on nothing but its value, the width and the font
scale, so it is computed once and shared by all phones.
"""

from functools import lru_cache

import msgspec

from distrl.devices.sim.fonts import text_width
from distrl.devices.sim.nodes import Box, Icon, Node, Picture, Text


class Placed(msgspec.Struct, frozen=True, gc=False):
    """A node with its rectangle, in logical pixels relative to the block."""

    node: Node
    x: int
    y: int
    w: int
    h: int
    lines: tuple[str, ...] = ()


class Laid(msgspec.Struct, frozen=True, gc=False):
    """A block with a place for everything in it; `touchable` are the boxes and texts of the ui tree."""

    height: int
    width: int
    placed: tuple[Placed, ...]
    touchable: tuple[tuple[Placed, str], ...]


class Sized(msgspec.Struct, frozen=True, gc=False):
    """A node with its size; texts also with their lines, boxes with their children."""

    w: int
    h: int
    lines: tuple[str, ...] = ()
    children: tuple["Sized", ...] = ()


@lru_cache(maxsize=4096)
def lay_out(block: Box, width: int, font_scale: float) -> Laid:
    """Places for a block of this width."""
    placing = _Placing()
    sized = size_up(block, width, font_scale)
    placing.place(block, sized, 0, 0, None)
    return Laid(sized.h, width, tuple(placing.placed), tuple(placing.touchable()))


@lru_cache(maxsize=8192)
def size_up(block: Box, width: int, font_scale: float) -> Sized:
    """The sizes of a block and all in it."""
    return _size(block, width, font_scale)


def line_height(size: float) -> int:
    """The height of one line of text."""
    return int(size * 1.28)


def wrap(text: str, size: float, weight: str, width: int, max_lines: int) -> tuple[str, ...]:
    """Break text into lines of at most this width; the last ends in an ellipsis when something is left out."""
    if "\n" not in text and (max_lines == 1 or text_width(text, size, weight) <= width):
        return (_shorten(text, size, weight, width),)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        words = paragraph.split(" ")
        current = words[0]
        for word in words[1:]:
            if text_width(current + " " + word, size, weight) <= width:
                current += " " + word
            else:
                lines.append(current)
                current = word
        lines.append(current)
    shown = lines[:max_lines]
    if len(lines) > max_lines:
        shown[-1] += "…"
    return tuple(_shorten(line, size, weight, width) for line in shown)


def _shorten(line: str, size: float, weight: str, width: int) -> str:
    if text_width(line, size, weight) <= width:
        return line
    stem = line.rstrip("…")
    low, high = 0, len(stem)
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(stem[:middle] + "…", size, weight) <= width:
            low = middle
        else:
            high = middle - 1
    return stem[:low].rstrip() + "…"


def _natural_width(node: Node, font_scale: float) -> int:
    """The width a node would like to have."""
    if isinstance(node, Text):
        size = node.size * font_scale
        return max(int(text_width(line, size, node.weight)) + 2 for line in node.text.split("\n"))
    if isinstance(node, Icon):
        return node.size
    if isinstance(node, Picture) or node.width:
        return node.width
    widths = [_natural_width(child, font_scale) for child in node.children]
    inner = sum(widths) + node.gap * max(len(widths) - 1, 0) if node.row else max(widths, default=0)
    return inner + node.pad[0] + node.pad[2]


def _size(node: Node, width: int, font_scale: float) -> Sized:
    """The height that a node takes at this width, and the sizes of what is in it."""
    if isinstance(node, Text):
        size = node.size * font_scale
        lines = wrap(node.text, size, node.weight, width, node.lines)
        return Sized(width, len(lines) * line_height(size), lines)
    if isinstance(node, Icon):
        return Sized(width, node.size)
    if isinstance(node, Picture):
        return Sized(width, node.height)
    left, top, right, bottom = node.pad
    if not node.children:
        return Sized(width, max(node.height, top + bottom))
    widths = _child_widths(node, width - left - right, font_scale)
    children = tuple([_size(child, w, font_scale) for child, w in zip(node.children, widths, strict=True)])
    heights = [child.h for child in children]
    content = max(heights) if node.row else sum(heights) + node.gap * (len(heights) - 1)
    return Sized(width, max(node.height, content + top + bottom), (), children)


def _child_widths(box: Box, inner: int, font_scale: float) -> list[int]:
    if not box.row:
        return [_width_in_column(child, box, inner, font_scale) for child in box.children]
    grows = [child.grow if isinstance(child, Box) else 0 for child in box.children]
    widths = [
        0 if grow else min(_natural_width(child, font_scale), inner)
        for child, grow in zip(box.children, grows, strict=True)
    ]
    rest = inner - sum(widths) - box.gap * (len(widths) - 1)
    if any(grows):
        share = max(rest, 0) / sum(grows)
        return [int(share * grow) if grow else w for w, grow in zip(widths, grows, strict=True)]
    if rest < 0:
        # Nothing may leave the screen: the widest child gives way.
        widest = widths.index(max(widths))
        widths[widest] = max(widths[widest] + rest, 0)
    return widths


def _width_in_column(child: Node, box: Box, inner: int, font_scale: float) -> int:
    """All of the column, unless the child has a width of its own or the column aligns its children."""
    if isinstance(child, Text):
        return inner
    if isinstance(child, Icon):
        return min(child.size, inner)
    if child.width:
        return min(child.width, inner)
    return inner if box.align == "start" else min(_natural_width(child, font_scale), inner)


def _offset(how: str, room: int) -> int:
    return room // 2 if how == "center" else room if how == "end" else 0


def _is_element(box: Box) -> bool:
    return bool(box.tap or box.hold or box.id or box.editable)


class _Placing:
    """Gives every node its place, and every text to the innermost element around it."""

    def __init__(self) -> None:
        self.placed: list[Placed] = []
        self._elements: list[tuple[Placed, list[str]]] = []

    def place(self, node: Node, sized: Sized, x: int, y: int, words: list[str] | None) -> None:
        """Place a node and all in it; `words` collects the texts of the element it is in."""
        placed = Placed(node, x, y, sized.w, sized.h, sized.lines)
        self.placed.append(placed)
        if isinstance(node, Text):
            if words is not None:
                words.append(node.text)
            elif node.text.strip():
                self._elements.append((placed, [node.text]))
        elif isinstance(node, Box):
            if _is_element(node):
                words = [node.label] if node.label else []
                self._elements.append((placed, words))
                # With a label of its own, an element does not speak the words in it.
                words = [] if node.label else words
            if node.children:
                self._place_children(node, sized, x, y, words)

    def _place_children(self, box: Box, sized: Sized, x: int, y: int, words: list[str] | None) -> None:
        left, top, right, bottom = box.pad
        inner_w, inner_h = sized.w - left - right, sized.h - top - bottom
        sizes = [child.w if box.row else child.h for child in sized.children]
        free = (inner_w if box.row else inner_h) - sum(sizes) - box.gap * (len(sizes) - 1)
        spread = free // (len(sizes) - 1) if box.justify == "between" and len(sizes) > 1 and free > 0 else 0
        at = max(_offset(box.justify, free), 0)
        for child, its in zip(box.children, sized.children, strict=True):
            if box.row:
                if isinstance(child, Box) and child.align == "stretch":
                    its = Sized(its.w, inner_h, its.lines, its.children)
                self.place(child, its, x + left + at, y + top + (inner_h - its.h) // 2, words)
                at += its.w + box.gap + spread
            else:
                self.place(child, its, x + left + _offset(box.align, inner_w - its.w), y + top + at, words)
                at += its.h + box.gap + spread

    def touchable(self) -> list[tuple[Placed, str]]:
        """The elements in the order of the tree, each with the text it shows."""
        return [(placed, "\n".join(words)) for placed, words in self._elements]

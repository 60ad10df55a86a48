"""Paint: a laid-out block in, its sprite out.

A sprite is the picture of one block at one scale on one background. Frames are put together from sprites by copying, so
what does not change is never drawn twice.
"""

from functools import lru_cache

import msgspec
from PIL import Image

from distrl.devices.sim.caching import cached_bytes
from distrl.devices.sim.fonts import corner_masks, icon_mask, line_reach, round_mask, word_masks
from distrl.devices.sim.layout import Laid, Placed, lay_out, line_height
from distrl.devices.sim.nodes import Box, Icon, Picture, Text
from distrl.devices.sim.pictures import picture, wallpaper
from distrl.devices.sim.theme import Rgb, resolve


class Style(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """How everything is drawn on one phone."""

    scale: float
    dark: bool
    font_scale: float

    def px(self, logical: float) -> int:
        """Logical to drawn pixels."""
        return round(logical * self.scale)


@cached_bytes(max_bytes=160_000_000)
def sprite(block: Box, width: int, background: str, style: Style) -> bytes:
    """The picture of a block on a plain background, as raw RGB."""
    laid = lay_out(block, width, style.font_scale)
    image = Image.new("RGB", (style.px(laid.width), style.px(laid.height)), resolve(background, style.dark))
    paint(image, laid, style)
    return image.tobytes()


@lru_cache(maxsize=64)
def floating_sprite(block: Box, width: int, style: Style) -> tuple[Image.Image, Image.Image]:
    """The picture of a block that floats over others, and the mask of its outline."""
    laid = lay_out(block, width, style.font_scale)
    size = (style.px(laid.width), style.px(laid.height))
    image = Image.new("RGB", size, resolve(block.fill or "surface", style.dark))
    paint(image, laid, style)
    return image, round_mask(size[0], size[1], style.px(block.radius))


@lru_cache(maxsize=24)
def wallpaper_sprite(block: Box, width: int, index: int, height: int, style: Style) -> Image.Image:
    """A block drawn on the launcher's wallpaper."""
    laid = lay_out(block, width, style.font_scale)
    image = wallpaper(index, style.px(width), style.px(height)).copy()
    paint(image, laid, style)
    return image


def paint(image: Image.Image, laid: Laid, style: Style) -> None:
    """Draw every node of a block, parents before children."""
    for item in laid.placed:
        match item.node:
            case Box():
                _paint_box(image, item, item.node, style)
            case Text():
                _paint_text(image, item, item.node, style)
            case Icon():
                mask = icon_mask(item.node.name, max(style.px(item.node.size), 1))
                _stamp(image, resolve(item.node.color, style.dark), style.px(item.x), style.px(item.y), mask)
            case Picture():
                _paint_picture(image, item, item.node, style)


def _paint_box(image: Image.Image, item: Placed, box: Box, style: Style) -> None:
    if not box.fill and not box.border:
        return
    x, y = style.px(item.x), style.px(item.y)
    w, h = style.px(item.x + item.w) - x, style.px(item.y + item.h) - y
    if w <= 0 or h <= 0:
        return
    radius = style.px(box.radius)
    if box.border:
        _fill(image, (x, y, w, h), radius, resolve(box.border, style.dark))
        line = max(style.px(4), 1)
        x, y, w, h, radius = x + line, y + line, w - 2 * line, h - 2 * line, radius - line
    _fill(image, (x, y, w, h), radius, resolve(box.fill or "bg", style.dark))


def _stamp(image: Image.Image, color: Rgb, x: int, y: int, mask: Image.Image) -> None:
    """Colour through a mask. The core's own call: `Image.paste` spends twice the time on looking at its arguments."""
    image.im.paste(color, (x, y, x + mask.width, y + mask.height), mask.im)


def _fill(image: Image.Image, rect: tuple[int, int, int, int], radius: int, color: Rgb) -> None:
    """A rectangle, its corners round. Large ones are filled plainly between their corners, which is much faster."""
    x, y, w, h = rect
    r = min(radius, w // 2, h // 2)
    if r <= 0:
        image.paste(color, (x, y, x + w, y + h))
    elif w * h < 1500:
        _stamp(image, color, x, y, round_mask(w, h, r))
    else:
        image.paste(color, (x, y + r, x + w, y + h - r))
        image.paste(color, (x + r, y, x + w - r, y + r))
        image.paste(color, (x + r, y + h - r, x + w - r, y + h))
        places = ((x, y), (x + w - r, y), (x, y + h - r), (x + w - r, y + h - r))
        for corner, (left, top) in zip(corner_masks(r), places, strict=True):
            _stamp(image, color, left, top, corner)


def _paint_text(image: Image.Image, item: Placed, node: Text, style: Style) -> None:
    size = node.size * style.font_scale
    color = resolve(node.color, style.dark)
    above, _ = line_reach(size * style.scale)
    top = item.y
    for line in item.lines:
        words, width = word_masks(line, size * style.scale, node.weight)
        room = max(style.px(item.w) - width, 0)
        start = style.px(item.x) + (room // 2 if node.align == "center" else room if node.align == "right" else 0)
        y = style.px(top + line_height(size) * 0.5 + size * 0.36) - above
        for mask, x in words:
            _stamp(image, color, start + x, y, mask)
        top += line_height(size)


def _paint_picture(image: Image.Image, item: Placed, node: Picture, style: Style) -> None:
    w, h = style.px(item.w), style.px(item.h)
    if w > 0 and h > 0:
        drawn = picture(node.kind, node.detail, w, h)
        image.paste(drawn, (style.px(item.x), style.px(item.y)), round_mask(w, h, style.px(node.radius)))

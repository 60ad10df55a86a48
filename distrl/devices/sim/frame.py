"""A frame: the views of a phone in, one picture and its ui tree out.

Layers lie on each other: the page, its dialogs, system pop-ups. Each layer is a list of pieces, a piece is a block at a
place. Pieces are values, so an unchanged screen is found in the cache and a changed one is put together from sprites.
"""

from functools import lru_cache

import msgspec
import numpy as np
from PIL import Image

from distrl.core.types import Element
from distrl.devices.sim.caching import cached_bytes
from distrl.devices.sim.elements import HEIGHT, WIDTH, Hit, elements_of
from distrl.devices.sim.layout import lay_out, size_up
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.paint import Style, floating_sprite, sprite, wallpaper_sprite
from distrl.devices.sim.theme import resolve

STATUS_H = 100
DIALOG_W = 888


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A block at a height, across the screen; what begins above `low` is covered from above, `high` cuts it off."""

    block: Box
    y: int
    low: int = 0
    high: int = HEIGHT


class Floating(msgspec.Struct, frozen=True, gc=False):
    """A block that lies over others, with a smooth outline."""

    block: Box
    x: int
    y: int
    width: int


class Layer(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Pieces on a background. Without a `fill` the layers below show through, dimmed."""

    fill: str
    pieces: tuple[Piece, ...]
    floating: tuple[Floating, ...] = ()


class Chrome(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds every page: status bar, navigation, keyboard, toast."""

    clock: str
    status_icons: tuple[str, ...]
    battery: str = ""
    navigation: Box
    keyboard: Box | None = None
    toast: str = ""


class Frame(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A whole screen: what to draw, what can be touched, how far the top view can scroll."""

    layers: tuple[Layer, ...]
    hits: tuple[Hit, ...]
    elements: tuple[Element, ...]
    max_scroll: int
    viewport: tuple[int, int]
    top: View


@lru_cache(maxsize=512)
def compose(views: tuple[View, ...], scrolls: tuple[int, ...], chrome: Chrome, font_scale: float) -> Frame:
    """Put views on top of each other; only the topmost can be touched, and it alone has the keyboard."""
    layers: list[Layer] = []
    hits: list[Hit] = []
    max_scroll, viewport = 0, (0, HEIGHT)
    for index, (view, scroll) in enumerate(zip(views, scrolls, strict=True)):
        is_top = index == len(views) - 1
        if view.dialog:
            layer, hits, max_scroll, viewport = _dialog_layer(view, chrome if is_top else None, font_scale)
        else:
            layer, hits, max_scroll, viewport = _page_layer(view, scroll, chrome, font_scale, is_top)
        layers.append(layer)
    if chrome.toast:
        last, toast = layers[-1], _toast(chrome.toast, font_scale)
        layers[-1] = Layer(last.fill, last.pieces, (*last.floating, toast))
        hits += _hits(toast.block, (toast.x, toast.y, toast.width), font_scale, (0, HEIGHT))
    return Frame(tuple(layers), tuple(hits), elements_of(hits), max_scroll, viewport, views[-1])


def _page_layer(
    view: View, scroll: int, chrome: Chrome, font_scale: float, is_top: bool
) -> tuple[Layer, list[Hit], int, tuple[int, int]]:
    def height(block: Box) -> int:
        return size_up(block, WIDTH, font_scale).h

    keys = chrome.keyboard if is_top else None
    nav_h = height(chrome.navigation)
    floor = HEIGHT - nav_h - (height(keys) if keys else 0)
    bottom_h = height(view.bottom) if view.bottom else 0
    top = STATUS_H + (height(view.bar) if view.bar else 0)
    viewport = (top, floor - bottom_h)
    heights = [height(block) for block in view.body]
    spare = 200 if view.fab else 0
    max_scroll = max(sum(heights) + spare - (viewport[1] - viewport[0]), 0)
    y = top - min(scroll, max_scroll)
    pieces: list[Piece] = []
    hits: list[Hit] = []
    for block, block_h in zip(view.body, heights, strict=True):
        if y + block_h > viewport[0] and y < viewport[1]:
            pieces.append(Piece(block, y, *viewport))
            hits += _hits(block, (0, y, WIDTH), font_scale, viewport)
        y += block_h
    fixed = [Piece(_status(chrome, view.fill), 0)]
    if view.bar:
        fixed.append(Piece(view.bar, STATUS_H))
    if view.bottom:
        fixed.append(Piece(view.bottom, floor - bottom_h))
    if keys:
        fixed.append(Piece(keys, floor))
    nav_fill = "keyboard" if keys else view.bottom.fill if view.bottom and view.bottom.fill else view.fill
    fixed.append(Piece(_filled(chrome.navigation, nav_fill), HEIGHT - nav_h))
    for piece in fixed[1:]:
        hits += _hits(piece.block, (0, piece.y, WIDTH), font_scale, (0, HEIGHT))
    floating: tuple[Floating, ...] = ()
    if view.fab:
        x, y = WIDTH - view.fab.width - 56, viewport[1] - view.fab.height - 56
        floating = (Floating(view.fab, x, y, view.fab.width),)
        hits += _hits(view.fab, (x, y, view.fab.width), font_scale, (0, HEIGHT))
    return Layer(view.fill, (*pieces, *fixed), floating), hits, max_scroll, viewport


def _filled(block: Box, fill: str) -> Box:
    return msgspec.structs.replace(block, fill="" if fill.startswith("wallpaper") else fill)


def _dialog_layer(
    view: View, chrome: Chrome | None, font_scale: float
) -> tuple[Layer, list[Hit], int, tuple[int, int]]:
    block = view.body[0]
    laid = lay_out(block, DIALOG_W, font_scale)
    keys = chrome.keyboard if chrome else None
    room = HEIGHT - (size_up(keys, WIDTH, font_scale).h if keys else 0)
    x, y = (WIDTH - DIALOG_W) // 2, max((room - laid.height) // 2, STATUS_H)
    hits = _hits(block, (x, y, DIALOG_W), font_scale, (0, HEIGHT))
    pieces: tuple[Piece, ...] = ()
    if keys:
        pieces = (Piece(keys, room),)
        hits += _hits(keys, (0, room, WIDTH), font_scale, (0, HEIGHT))
    return Layer("", pieces, (Floating(block, x, y, DIALOG_W),)), hits, 0, (y, y + laid.height)


@lru_cache(maxsize=256)
def _status(chrome: Chrome, fill: str) -> Box:
    on_picture = fill.startswith("wallpaper") or fill == "#000000"
    color = "#FFFFFF" if on_picture else "text"
    icons: tuple[Node, ...] = tuple(Icon(name, 54, color) for name in chrome.status_icons)
    words = Text(chrome.clock, 46, color, "medium")
    battery = (Text(chrome.battery, 42, color, "medium"),) if chrome.battery else ()
    return Box(
        (Box((words,), grow=1), *icons, *battery),
        row=True,
        gap=14,
        pad=(60, 20, 48, 4),
        height=STATUS_H,
        fill="" if fill.startswith("wallpaper") else fill,
    )


@lru_cache(maxsize=256)
def _toast(text: str, font_scale: float) -> Floating:
    words = Text(text, 46, "on_toast", align="center", lines=2)
    block = Box((words,), pad=(48, 28, 48, 28), fill="toast", radius=56)
    width = 760
    height = size_up(block, width, font_scale).h
    return Floating(block, (WIDTH - width) // 2, HEIGHT - 220 - height, width)


def _hits(block: Box, place: tuple[int, int, int], font_scale: float, clip: tuple[int, int]) -> list[Hit]:
    """The elements of a block at (x, y, width) that show enough of themselves to be read and touched."""
    found = []
    x, y, width = place
    low, high = clip
    for placed, text in lay_out(block, width, font_scale).touchable:
        x0, y0 = x + placed.x, y + placed.y
        y1 = y0 + placed.h
        if y0 < low or y1 > high:
            y0, y1 = max(y0, low), min(y1, high)
            if y1 - y0 < 40:
                continue
        node = placed.node
        found.append(Hit(x0, y0, x0 + placed.w, y1, text, node if isinstance(node, Box) else None))
    return found


@cached_bytes(max_bytes=64_000_000)
def draw(layers: tuple[Layer, ...], style: Style) -> bytes:
    """Some layers as raw RGB, row by row.

    Sprites are as wide as the screen, so a screen is their rows one after the other: memory is written once.
    """
    layer = layers[-1]
    if layer.fill.startswith("wallpaper"):
        data = wallpaper_sprite(
            _merge(layer.pieces, style.font_scale), WIDTH, int(layer.fill[9:]), HEIGHT, style
        ).tobytes()
    elif layer.fill:
        data = _stack(layer.pieces, layer.fill, _blank(layer.fill, style), style)
    else:
        below = np.frombuffer(draw(layers[:-1], style), np.uint8)
        data = _stack(layer.pieces, "bg", ((below >> 2) + (below >> 3)).tobytes(), style)
    for floating in layer.floating:
        data = _lay_over(data, floating, style)
    return data


@lru_cache(maxsize=32)
def _blank(fill: str, style: Style) -> bytes:
    return Image.new("RGB", (style.px(WIDTH), style.px(HEIGHT)), resolve(fill, style.dark)).tobytes()


def _stack(pieces: tuple[Piece, ...], background: str, blank: bytes, style: Style) -> bytes:
    """The rows of all pieces, and of a blank screen where there are none."""
    row = style.px(WIDTH) * 3
    filled = 0
    parts: list[bytes | memoryview] = []
    empty = memoryview(blank)
    for piece in sorted(pieces, key=lambda piece: max(piece.y, piece.low)):
        drawn = sprite(piece.block, WIDTH, background, style)
        y = style.px(piece.y)
        first = max(y, filled)
        last = min(y + len(drawn) // row, style.px(piece.high))
        if last > first:
            parts += [empty[filled * row : first * row], memoryview(drawn)[(first - y) * row : (last - y) * row]]
            filled = last
    parts.append(empty[filled * row :])
    return b"".join(parts)


def _lay_over(data: bytes, floating: Floating, style: Style) -> bytes:
    """A screen with a block laid over it."""
    picture, mask = floating_sprite(floating.block, floating.width, style)
    row, top = style.px(WIDTH) * 3, style.px(floating.y)
    start, end = top * row, (top + picture.height) * row
    strip = Image.frombytes("RGB", (row // 3, len(data[start:end]) // row), data[start:end])
    strip.paste(picture, (style.px(floating.x), 0), mask)
    return b"".join((memoryview(data)[:start], strip.tobytes(), memoryview(data)[end:]))


def _merge(pieces: tuple[Piece, ...], font_scale: float) -> Box:
    """Pieces that lie on a wallpaper as one block, so that their text is drawn on the picture itself."""
    children: list[Node] = []
    y = 0
    for piece in sorted(pieces, key=lambda p: p.y):
        if piece.y > y:
            children.append(Box(height=piece.y - y))
        children.append(piece.block)
        y = piece.y + size_up(piece.block, WIDTH, font_scale).h
    return Box(tuple(children))

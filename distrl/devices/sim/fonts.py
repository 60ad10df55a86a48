"""Fonts: the widths and the masks of words and icons, each computed once.

Small text is drawn four times as large and averaged down: letters keep the spacing of the full-size phone instead of
snapping to whole pixels, so that the layout holds at every scale. Words are put together from characters and kept,
since most come again.
"""

from functools import lru_cache
from pathlib import Path

import font_roboto
import fonticon_mdi7
import numpy as np
import numpy.typing as npt
from fonticon_mdi7 import MDI7
from PIL import Image, ImageDraw, ImageFont

from distrl.core.errors import UnknownNameError

Mask = npt.NDArray[np.uint8]
_ROBOTO = {"regular": "Roboto", "medium": "RobotoMedium", "bold": "RobotoBold", "light": "RobotoLight"}
_ICON_FILE = Path(fonticon_mdi7.__file__).parent / "fonts" / "materialdesignicons-webfont.ttf"


@lru_cache(maxsize=512)
def _font(weight: str, pixels: int) -> ImageFont.FreeTypeFont:
    path = _ICON_FILE if weight == "icon" else font_roboto.font_files[_ROBOTO[weight]]
    return ImageFont.truetype(str(path), pixels, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=4096)
def _advance(character: str, pixels: int, weight: str) -> float:
    return _font(weight, pixels).getlength(character)


@lru_cache(maxsize=32768)
def text_width(text: str, size: float, weight: str) -> float:
    """The width of a run in logical pixels."""
    pixels = round(size)
    return sum(_advance(character, pixels, weight) for character in text)


def _oversampling(pixels: float) -> int:
    return 4 if pixels < 24 else 2 if pixels < 60 else 1


@lru_cache(maxsize=4096)
def _large_glyph(character: str, weight: str, size: int) -> tuple[Image.Image, int, int] | None:
    """A character at the oversampled size, with its place from the pen and the baseline; None for a blank."""
    font = _font(weight, size)
    left, top, right, bottom = (int(v) for v in font.getbbox(character, anchor="ls"))
    if right <= left or bottom <= top:
        return None
    drawn = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(drawn).text((-left, -top), character, fill=255, font=font, anchor="ls")
    return drawn, left, top


@lru_cache(maxsize=16384)
def _glyph(character: str, weight: str, size: int, k: int, phase: int) -> tuple[Mask, int, int] | None:
    """A character averaged down k times, `phase` large pixels right of the pen, with its place in final pixels."""
    large = _large_glyph(character, weight, size)
    if large is None:
        return None
    drawn, left, top = large
    x, y = (left + phase) // k, top // k
    width, height = -(-(left + phase + drawn.width) // k) - x, -(-(top + drawn.height) // k) - y
    padded = Image.new("L", (width * k, height * k))
    padded.paste(drawn, (left + phase - x * k, top - y * k))
    return np.asarray(padded.reduce(k) if k > 1 else padded), x, y


@lru_cache(maxsize=16384)
def _word_mask(word: str, pixels: float, weight: str) -> tuple[Image.Image, float]:
    """The mask of one word, a pixel wider to the left than its pen, and how far the pen moves."""
    k = _oversampling(pixels)
    size = max(round(pixels * k), 1)
    above, below = line_reach(pixels)
    length = sum(_advance(character, size, weight) for character in word)
    mask = np.zeros((above + below, int(length) // k + 4), np.uint8)
    pen = float(k)
    for character in word:
        at = round(pen)
        glyph = _glyph(character, weight, size, k, at % k)
        if glyph:
            drawn, x, y = glyph[0], max(at // k + glyph[1], 0), max(above + glyph[2], 0)
            place = mask[y : y + drawn.shape[0], x : x + drawn.shape[1]]
            np.maximum(place, drawn[: place.shape[0], : place.shape[1]], out=place)
        pen += _advance(character, size, weight)
    return Image.fromarray(mask), length / k


def line_reach(pixels: float) -> tuple[int, int]:
    """How far masks of this size reach above and below the baseline."""
    return round(pixels * 1.05), round(pixels * 0.3)


@lru_cache(maxsize=16384)
def word_masks(text: str, pixels: float, weight: str) -> tuple[tuple[tuple[Image.Image, int], ...], int]:
    """The masks of a run's words, each with its place from the start of the run, and the width of the run."""
    blank = _advance(" ", max(round(pixels * _oversampling(pixels)), 1), weight) / _oversampling(pixels)
    pen = 0.0
    placed = []
    for word in text.split(" "):
        mask, length = _word_mask(word, pixels, weight)
        if word:
            placed.append((mask, round(pen) - 1))
        pen += length + blank
    return tuple(placed), round(pen - blank)


@lru_cache(maxsize=2048)
def icon_mask(name: str, pixels: int) -> Image.Image:
    """The square mask of an icon."""
    glyph = getattr(MDI7, name, None)
    if not isinstance(glyph, str):
        raise UnknownNameError("icon", name, [n for n in dir(MDI7) if not n.startswith("_")])
    k = _oversampling(pixels)
    mask = Image.new("L", (pixels * k, pixels * k))
    character = glyph.rpartition(".")[2] if len(glyph) > 1 else glyph
    ImageDraw.Draw(mask).text((pixels * k / 2,) * 2, character, fill=255, font=_font("icon", pixels * k), anchor="mm")
    return mask.reduce(k) if k > 1 else mask


@lru_cache(maxsize=128)
def _disc(radius: int) -> Image.Image:
    disc = Image.new("L", (radius * 8, radius * 8))
    ImageDraw.Draw(disc).ellipse((0, 0, radius * 8 - 1, radius * 8 - 1), fill=255)
    return disc.reduce(4)


@lru_cache(maxsize=512)
def corner_masks(radius: int) -> tuple[Image.Image, Image.Image, Image.Image, Image.Image]:
    """The round corners of a rectangle: top left, top right, bottom left, bottom right."""
    disc, r = _disc(radius), radius
    boxes = ((0, 0, r, r), (r, 0, 2 * r, r), (0, r, r, 2 * r), (r, r, 2 * r, 2 * r))
    first, second, third, fourth = (disc.crop(box) for box in boxes)
    return first, second, third, fourth


@lru_cache(maxsize=1024)
def round_mask(width: int, height: int, radius: int) -> Image.Image:
    """The mask of a rectangle with smooth round corners."""
    mask = Image.new("L", (width, height), 255)
    r = min(radius, width // 2, height // 2)
    if r <= 0:
        return mask
    places = ((0, 0), (width - r, 0), (0, height - r), (width - r, height - r))
    for corner, place in zip(corner_masks(r), places, strict=True):
        mask.paste(corner, place)
    return mask

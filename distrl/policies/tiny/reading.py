"""From pixels to words that can be compared: a crop of the screen in, pictures of its words in one canonical form out.

Nothing here knows letters. Ink is what differs from the background; blank columns and rows separate blocks, lines and
words; each word is cut to its ink and brought to one height, so that a word looks alike in every size, colour and
weight. A word of an instruction is drawn once and takes the same form: whether two words are the same is left to the
encoder.
"""

import re
from functools import lru_cache
from itertools import pairwise, product

import font_roboto
import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

Pixels = npt.NDArray[np.uint8]

HEIGHT, WIDTH = 16, 112
"""The canonical form of a word; longer ones are squeezed."""
MAX_SEGMENTS = 24
_GREY = np.array((77, 151, 28), np.float32) / 256
_INK, _CLEAR, _FAINT, _FRINGE, _SAME = 40, 72, 128, 8, 2
_BLOCK_GAP, _BAR_GAP, _PICTURE_GAP = 7, 4, 3
_CORNER = 8
_OUTLINE = 3
_TILE = (16, 40)
_ALIKE, _ENOUGH = 8, 0.2
_EDGE, _BAND = 12, 14
"""By how much colours differ at an edge, and how many rows a band has at least."""
_LINE = 17
"""No line of text is taller."""
_LARGEST, _LARGE_GAP = 40, 0.45
"""No number is taller; and how far its digits may stand apart, in heights."""
_WORD_GAPS = (0.24, 0.34)
_STROKE = (0.45, 0.7)
"""How wide a stroke is, and how far from the rest of its number, in heights of the line."""
_COMMA = 0.4
"""How high a comma may be, in heights of its word."""
_DRAW_PIXELS, _OVERSAMPLING = 11.0, 4
_MARKS = re.compile(b"\x01+")


class Cut(msgspec.Struct, frozen=True):
    """What may be a word: its ink in the size it has there, and from where to where in which stretch of a line.

    The stretch is None for what is read once more, across several.
    """

    ink: Pixels
    start: int
    end: int
    stretch: int | None


_Place = tuple[int | None, int, int, int, int]
"""The stretch, and from where to where down and across."""


def read_words(crop: Pixels) -> list[Pixels]:
    """The words (and other marks) of a crop, in reading order, each in canonical form."""
    return [canonical(cut.ink) for cut in find_words(ink_of(crop))]


def find_words(ink: Pixels) -> list[Cut]:
    """Each word of a crop's ink, cut in more than one way where it is not clear where a word ends."""
    found: list[_Place] = []
    clear = ink > _CLEAR
    if picture := _picture(clear):
        _cut_blocks(clear[:, :picture], 0, 0, found)
        _cut_blocks(clear[:, picture:], 0, picture, found)
    else:
        _cut_blocks(ink > _INK, 0, 0, found)
    return [Cut(ink[y0:y1, x0:x1], x0, x1, stretch) for stretch, y0, y1, x0, x1 in found[:MAX_SEGMENTS]]


def draw_word(text: str, *, pixels: float = _DRAW_PIXELS, weight: str = "Roboto") -> Pixels:
    """A word of an instruction in canonical form."""
    return canonical(trim(draw_ink(text, pixels=pixels, weight=weight)))


def draw_ink(text: str, *, pixels: float, weight: str, phase: int = 0) -> Pixels:
    """A text as a phone would show it: drawn large, some sub-pixels to the right, then averaged down."""
    k = _OVERSAMPLING
    size = max(round(pixels * k), 1)
    font = _font(weight, size)
    width = int(sum(font.getlength(c) for c in text)) + 4 * k + phase
    drawn = Image.new("L", (-(-width // k) * k, -(-size * 3 // (2 * k)) * k))
    pen = float(2 * k + phase)
    draw = ImageDraw.Draw(drawn)
    for character in text:
        draw.text((round(pen), size * 1.1), character, fill=255, font=font, anchor="ls")
        pen += font.getlength(character)
    return np.asarray(drawn.reduce(k))


@lru_cache(maxsize=256)
def _font(weight: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(font_roboto.font_files[weight]), size, layout_engine=ImageFont.Layout.BASIC)


def ink_of(crop: Pixels) -> Pixels:
    """How far each pixel is from the background around it, stretched to 0..255, without outlines and corners."""
    grey = (crop @ _GREY).astype(np.int16)  # sums of 256ths are exact; whole numbers would be slow
    ink = np.abs(grey - _background(grey))
    top = int(ink.max(initial=0))
    if top < 24:
        return np.zeros(grey.shape, np.uint8)
    stretched: Pixels = (ink.astype(np.int32) * 255 // top).astype(np.uint8)
    _clear_outline(stretched)
    return stretched


def _background(grey: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """Of each band by itself: a picture above a caption has another one, and ends where it ends."""
    return np.concatenate([_band_background(band) for band in np.split(grey, _edges(grey))])


def _edges(grey: npt.NDArray[np.int16]) -> list[int]:
    """The rows at which most of the crop becomes another colour."""
    middle = grey.shape[1] // 2
    colour = np.partition(grey, middle, axis=1)[:, middle]
    edges: list[int] = []
    for row in (np.flatnonzero(np.abs(np.diff(colour)) > _EDGE) + 1).tolist():
        if row - (edges[-1] if edges else 0) >= _BAND and len(grey) - row >= _BAND:
            edges.append(row)
    return edges


def _band_background(grey: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """The median of each tile: text covers less than half of what is around it; a wallpaper changes slowly.

    Where enough of a tile is as most of the crop is, that is the background: a badge or a picture may cover the rest.
    """
    height, width = grey.shape
    rows, columns = max(round(height / _TILE[0]), 1), max(round(width / _TILE[1]), 1)
    common = _median(grey)
    if rows == columns == 1:
        return np.full_like(grey, common)
    tall, wide = -(-height // rows), -(-width // columns)
    padded = _extended(_extended(grey, rows * tall, 0), columns * wide, 1)
    tiles = padded.reshape(rows, tall, columns, wide).transpose(0, 2, 1, 3).reshape(rows, columns, -1)
    medians = np.partition(tiles, tiles.shape[2] // 2, axis=2)[:, :, tiles.shape[2] // 2]
    medians[(np.abs(tiles - common) < _ALIKE).mean(axis=2) > _ENOUGH] = common
    return medians.repeat(tall, axis=0).repeat(wide, axis=1)[:height, :width]


def _extended(grey: npt.NDArray[np.int16], size: int, axis: int) -> npt.NDArray[np.int16]:
    """So many rows or columns; the last one again and again where there are fewer."""
    have = grey.shape[axis]
    return grey if have == size else grey.take(np.minimum(np.arange(size), have - 1), axis=axis)


def _median(grey: npt.NDArray[np.int16]) -> int:
    flat = grey.ravel()
    return int(np.partition(flat, len(flat) // 2)[len(flat) // 2])


def _clear_outline(ink: Pixels) -> None:
    """The frame of a card or field, and what shines through at round corners, are not text.

    A frame has lines above and below: one at the side alone may be the stem of a letter. Corners are round where there
    is a frame, where one colour from behind shows in the very corner of all four, or something faint is in all four.
    The ends of a search field are half circles: what hangs together with either side is cleared row by row.
    """
    views = (ink, ink[::-1], ink.T, ink.T[::-1])
    lines = [_rows_of_line(view) for view in views]
    has_frame = lines[0] > 0 and lines[1] > 0
    is_behind = ink[[0, 0, -1, -1], [0, -1, 0, -1]]
    is_round = has_frame or _FRINGE < is_behind.min() >= is_behind.max() - _SAME
    for view in (ink, ink[:, ::-1]) if is_round else ():
        fringe = np.logical_and.accumulate(view > _FRINGE, axis=1)
        view[fringe & (fringe.sum(axis=1, keepdims=True) <= len(ink) // 2)] = 0
    for view, rows in zip(views[: 4 if has_frame else 2], lines, strict=False):
        view[:rows] = 0
    size = min(*ink.shape, 4 * _CORNER) // 4
    ends = (slice(0, size), slice(len(ink) - size, None)), (slice(0, size), slice(ink.shape[1] - size, None))
    corners = [ink[place] for place in product(*ends)]
    is_faint = all(0 < corner.max(initial=0) < _FAINT for corner in corners)
    for corner, behind, rows in zip(corners, is_behind.tolist(), np.repeat(lines[:2], 2), strict=True):
        is_covered = np.count_nonzero(corner > _INK) >= 0.9 * corner.size
        if (is_round or is_faint or rows or behind > _INK) and size and not is_covered:
            corner[:] = 0


def _rows_of_line(ink: Pixels) -> int:
    """How many rows there are to the end of a line along the upper edge; 0 without one."""
    if len(ink) <= 4 * _OUTLINE:
        return 0
    counts = np.count_nonzero(ink[:_OUTLINE] > _INK, axis=1).tolist()
    return max((row for row, count in enumerate(counts, 1) if count / ink.shape[1] > 0.6), default=0)


def _any(marks: npt.NDArray[np.bool_], axis: int) -> npt.NDArray[np.bool_]:
    return np.logical_or.reduce(marks, axis=axis)  # type: ignore[no-any-return]


def _runs(filled: npt.NDArray[np.bool_], gap: int) -> list[tuple[int, int]]:
    """The stretches of True, where up to `gap - 1` False in between do not count.

    A row is a few hundred marks: as bytes they are searched in a fraction of the time that arrays of them take.
    """
    runs: list[tuple[int, int]] = []
    for found in _MARKS.finditer(filled.tobytes()):
        start, end = found.span()
        if runs and start - runs[-1][1] < gap:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


def _extent(marks: npt.NDArray[np.bool_], axis: int) -> tuple[int, int]:
    """From the first to behind the last row (axis 1) or column (axis 0) with a mark; (0, 0) if there is none."""
    line = _any(marks, axis).tobytes()
    return max(line.find(1), 0), line.rfind(1) + 1


def _cut_blocks(ink: npt.NDArray[np.bool_], top: int, left: int, found: list[_Place]) -> None:
    """Lines first; what is taller than one is cut into columns (a picture beside text), then at its thinnest rows."""
    for y0, y1 in _runs(_any(ink, 1), 1):
        if y1 - y0 < 3:
            continue
        band = ink[y0:y1]
        if y1 - y0 <= _LINE:
            _cut_words(band, top + y0, left, found)
            continue
        columns = _runs(_any(band, 0), _BLOCK_GAP)
        if len(columns) > 1:
            together = {*_strokes(columns, y1 - y0), *_large(band, columns)}
            found += [(None, top + y0, top + y1, left + x0, left + x1) for x0, x1 in sorted(together)]
            for x0, x1 in columns:
                _cut_blocks(band[:, x0:x1], top + y0, left + x0, found)
        elif bar := _bar(band):
            _cut_blocks(band[:, bar:], top + y0, left + bar, found)
        else:
            for line0, line1 in _lines(band):
                _cut_words(band[line0:line1], top + y0 + line0, left, found)


def _picture(clear: npt.NDArray[np.bool_]) -> int:
    """Where a round picture ends that stands close to one line of text, as a pin on a map does; 0 if there is none."""
    runs = _runs(_any(clear, 0), _PICTURE_GAP)
    if len(runs) < 2 or not _PICTURE_GAP <= runs[1][0] - runs[0][1] < _BLOCK_GAP:
        return 0
    (top, bottom), (above, below) = (_extent(clear[:, x0:x1], 1) for x0, x1 in ((0, runs[0][1]), (runs[1][0], None)))
    is_round = 0.8 < (runs[0][1] - runs[0][0]) / (bottom - top) < 1.25
    return runs[0][1] if is_round and bottom - top > _LINE and below - above <= 0.8 * (bottom - top) else 0


def _bar(block: npt.NDArray[np.bool_]) -> int:
    """Where a thin bar to the left of lower text ends, as in a calendar; 0 if there is none."""
    runs = _runs(_any(block, 0), _BAR_GAP)
    if len(runs) < 2 or runs[0][1] - runs[0][0] > _OUTLINE:
        return 0
    top, bottom = _extent(block[:, runs[1][0] :], 1)
    return runs[0][1] if 1.5 * (bottom - top) <= len(block) else 0


def _lines(block: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Lines that touch: a few descenders reach into the next one, so rows with little ink count as blank."""
    counts = block.sum(axis=1)
    lines = [run for run in _runs(counts > 0.15 * counts.max(), 1) if run[1] - run[0] >= 3]
    edges = [0, *((a[1] + b[0] + 1) // 2 for a, b in pairwise(lines)), len(block)]
    return list(pairwise(edges))


def _cut_words(line: npt.NDArray[np.bool_], top: int, left: int, found: list[_Place]) -> None:
    """Each stretch of a line by itself: an icon beside a text is taller, and tells nothing about the gaps in it."""
    for x0, x1 in _runs(_any(line, 0), _BLOCK_GAP):
        y0, y1 = _extent(line[:, x0:x1], 1)
        _cut_stretch(line[y0:y1, x0:x1], top + y0, left + x0, found)


def _cut_stretch(line: npt.NDArray[np.bool_], top: int, left: int, found: list[_Place]) -> None:
    """Words are cut twice, at narrow and at wide gaps: digits stand far apart, small words close together.

    A stroke stands furthest apart: the 1 of 10:07 belongs to what follows, so both are read together once more.
    """
    columns, height = _any(line, 0), line.shape[0]
    narrow, wide = (_runs(columns, max(2, int(height * share))) for share in _WORD_GAPS)
    runs = {*narrow, *wide, *_strokes(wide, height)}
    runs |= {(x0, end) for x0, x1 in runs if (end := _without_comma(line, x0, x1)) < x1}
    stretch = len(found)
    for x0, x1 in sorted(runs):
        y0, y1 = _extent(line[:, x0:x1], 1)
        found.append((stretch, top + y0, top + y1, left + x0, left + x1))


def _without_comma(line: npt.NDArray[np.bool_], x0: int, x1: int) -> int:
    """Where a word ends without the comma behind it, whose ink is all low; it may touch the last letter."""
    top, bottom = _extent(line[:, x0:x1], 1)
    height = bottom - top
    end = x0 + _extent(line[top : bottom - round(_COMMA * height), x0:x1], 0)[1]
    return end if end > x0 and x1 - end <= height else x1


def _strokes(runs: list[tuple[int, int]], height: int) -> list[tuple[int, int]]:
    """A stroke and what follows it closely, as one."""
    return [
        (a[0], b[1])
        for a, b in pairwise(runs)
        if a[1] - a[0] <= _STROKE[0] * height and b[0] - a[1] <= _STROKE[1] * height
    ]


def _large(band: npt.NDArray[np.bool_], columns: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Columns that would be one word if the band were a line: in large numbers a 1 stands far from what follows it."""
    height = len(band)
    runs = _runs(_any(band, 0), int(height * _LARGE_GAP)) if height <= _LARGEST else []
    return [run for run in runs if run not in columns]


def trim(ink: Pixels) -> Pixels:
    """Without the blank rows and columns around it."""
    marks = ink > _INK
    (top, bottom), (left, right) = _extent(marks, 1), _extent(marks, 0)
    return ink[top:bottom, left:right] if bottom else ink[:1, :1]


def canonical(ink: Pixels) -> Pixels:
    """Brought to the canonical height, squeezed if too wide, blank to the right."""
    height, width = ink.shape
    wide = min(max(round(width * HEIGHT / height), 1), WIDTH)
    made = np.zeros((HEIGHT, WIDTH), np.uint8)
    picture = Image.frombytes("L", (width, height), ink.tobytes())
    made[:, :wide] = np.asarray(picture.resize((wide, HEIGHT), Image.Resampling.BILINEAR))
    return made

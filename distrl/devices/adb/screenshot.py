"""What `screencap` sends: bytes in, a checked RGB screen out, or a `DeviceError` that says what is wrong with it."""

import struct

import numpy as np

from distrl.core.errors import DeviceError
from distrl.core.types import Screen

HEADER_BYTES = (16, 12)
"""With a colour space, as since Android 9, and without."""
RGBA_8888, RGBX_8888 = 1, 2
MAX_SIDE = 8192


def screen_of(data: bytes, *, size: tuple[int, int] | None = None) -> Screen:
    """The screen; of this size, if one is known."""
    if len(data) < min(HEADER_BYTES):
        raise DeviceError("bad_screen", f"a screenshot of {len(data)} bytes{_words(data)}")
    width, height, pixel_format = struct.unpack_from("<3I", data)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and pixel_format in (RGBA_8888, RGBX_8888)):
        raise DeviceError("bad_screen", f"what was sent is no screenshot{_words(data)}")
    header = len(data) - width * height * 4
    if header not in HEADER_BYTES:
        raise DeviceError("bad_screen", f"{len(data)} bytes are no {width} x {height} screenshot: it ends too early")
    if size is not None and (width, height) != size:
        raise DeviceError(
            "wrong_size", f"a screenshot of {width} x {height} where {size[0]} x {size[1]} was expected: was it turned?"
        )
    pixels = np.frombuffer(data, np.uint8, offset=header).reshape(height, width, 4)[:, :, :3]
    # A phone's first rows are seldom black, so the whole picture is searched only when they are.
    if not pixels[:4].any() and not pixels.any():
        raise DeviceError("black_screen", "the screenshot is black: is the screen off, or does the app forbid them?")
    return Screen(data=pixels.tobytes(), width=width, height=height)


def _words(data: bytes) -> str:
    """What the device said instead, if it said something."""
    text = data[:200].decode(errors="replace").strip()
    return f": {text}" if text and text.isprintable() else ""

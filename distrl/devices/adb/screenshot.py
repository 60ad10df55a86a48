"""What `screencap` sends: bytes in, a checked RGB screen out, or a `DeviceError` that says what is wrong with it.

A device offers raw pixels, PNG and, if it is new, JPEG. Which is fastest depends on its processor and on the cable, so
the camera tries each once and stays with the fastest. A bad picture is asked for again before it is an error.
"""

import io
import struct
from collections.abc import Awaitable, Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError
from distrl.core.types import Screen

Encoding = Literal["raw", "png", "jpeg"]
COMMANDS: dict[Encoding, str] = {"raw": "screencap", "png": "screencap -p", "jpeg": "screencap -j"}
HEADER_BYTES = (16, 12)
"""With a colour space, as since Android 9, and without."""
RGBA_8888, RGBX_8888 = 1, 2
MAX_SIDE = 8192
TRIES = 3
RETRIED = ("bad_screen", "black_screen", "blank_screen", "wrong_size")
_MAGIC: dict[bytes, Encoding] = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}
Pixels = npt.NDArray[np.uint8]


class Camera:
    """Takes the screens of one device; `take` runs a command on it and gives its output."""

    def __init__(
        self, take: Callable[[str], Awaitable[bytes]], *, clock: Clock, encoding: Encoding | Literal["auto"] = "auto"
    ) -> None:
        self._take = take
        self._clock = clock
        self.encoding: Encoding | None = None if encoding == "auto" else encoding
        """What screens are asked for as; None until it has been tried which is fastest."""

    async def shoot(self, size: tuple[int, int]) -> Screen:
        """The screen now, of this size or turned; a bad one is asked for again, then the error is its own."""
        for tries_left in reversed(range(TRIES)):
            try:
                if self.encoding is None:
                    self.encoding = await self._fastest(size)
                return screen_of(await self._take(COMMANDS[self.encoding]), size=size)
            except DeviceError as error:
                if error.cause not in RETRIED or not tries_left:
                    raise
        raise AssertionError("unreachable")

    async def _fastest(self, size: tuple[int, int]) -> Encoding:
        """Which of the encodings that this device offers takes the least time, from asking to pixels."""
        took_s: dict[Encoding, float] = {}
        for encoding, command in COMMANDS.items():
            began_s = self._clock.now()
            data = await self._take(command)
            if encoding == "raw" or encoding_of(data) == encoding:
                screen_of(data, size=size)
                took_s[encoding] = self._clock.now() - began_s
        return min(took_s, key=lambda encoding: took_s[encoding])


def encoding_of(data: bytes) -> Encoding:
    """Which kind of picture this is."""
    return next((encoding for magic, encoding in _MAGIC.items() if data.startswith(magic)), "raw")


def screen_of(data: bytes, *, size: tuple[int, int] | None = None) -> Screen:
    """The screen; of this size or turned by a quarter, if one is known."""
    pixels = _raw(data) if encoding_of(data) == "raw" else _decoded(data)
    height, width, _ = pixels.shape
    if size is not None and (width, height) not in (size, size[::-1]):
        raise DeviceError(
            "wrong_size",
            f"a screenshot of {width} x {height} where {size[0]} x {size[1]} was expected: was it resized?",
        )
    # A phone's screen is seldom of one colour here and there, so the whole picture is searched only when it is.
    first = pixels[0, 0]
    if (pixels[::16, ::16] == first).all() and (pixels == first).all():
        if not first.any():
            raise DeviceError(
                "black_screen", "the screenshot is black: is the screen off, or does the app forbid them?"
            )
        raise DeviceError("blank_screen", "the screenshot is of one colour: has the app, or the device, gone blank?")
    return Screen(data=pixels.tobytes(), width=width, height=height)


def changed_share(before: Screen, after: Screen) -> float:
    """Which share of the pixels differs."""
    if (before.width, before.height) != (after.width, after.height):
        return 1.0
    if before.data == after.data:
        return 0.0
    one, other = (np.frombuffer(s.data, np.uint8).reshape(-1, 3) for s in (before, after))
    return float((one != other).any(axis=1).mean())


def _raw(data: bytes) -> Pixels:
    if len(data) < min(HEADER_BYTES):
        raise DeviceError("bad_screen", f"a screenshot of {len(data)} bytes{_words(data)}")
    width, height, pixel_format = struct.unpack_from("<3I", data)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and pixel_format in (RGBA_8888, RGBX_8888)):
        raise DeviceError("bad_screen", f"what was sent is no screenshot{_words(data)}")
    header = len(data) - width * height * 4
    if header not in HEADER_BYTES:
        raise DeviceError("bad_screen", f"{len(data)} bytes are no {width} x {height} screenshot: it ends too early")
    return np.frombuffer(data, np.uint8, offset=header).reshape(height, width, 4)[:, :, :3]


def _decoded(data: bytes) -> Pixels:
    try:
        image = Image.open(io.BytesIO(data), formats=["PNG", "JPEG"])
        if max(image.size) > MAX_SIDE:
            raise DeviceError("bad_screen", f"a screenshot of {image.width} x {image.height} pixels")
        return np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DeviceError("bad_screen", f"the screenshot cannot be read: {error}") from error


def _words(data: bytes) -> str:
    """What the device said instead, if it said something."""
    text = data[:200].decode(errors="replace").strip()
    return f": {text}" if text and text.isprintable() else ""

"""Screens: bytes of a device in, an array of pixels out, or a `DeviceError` that says what is wrong with them."""

import io

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from distrl.core.errors import DeviceError
from distrl.core.types import Screen

Pixels = npt.NDArray[np.uint8]
MAX_PIXELS = 4096 * 4096


def check_screen(screen: Screen) -> None:
    """Refuse what must never be shown to a policy: black, truncated, of another size, or no image at all."""
    if screen.encoding != "raw":
        decode_screen(screen)
        return
    if screen.width * screen.height > MAX_PIXELS or len(screen.data) != screen.width * screen.height * 3:
        raise DeviceError("bad_screen", f"{len(screen.data)} bytes are no {screen.width} x {screen.height} screen")
    # A phone's first rows are seldom black, so the whole picture is searched only when they are.
    if not any(screen.data[: 3 * screen.width]) and not np.frombuffer(screen.data, np.uint8).any():
        raise DeviceError("black_screen", "the screenshot is black")


def decode_screen(screen: Screen) -> Pixels:
    """The pixels, height x width x 3."""
    if screen.encoding == "raw":
        return np.frombuffer(screen.data, np.uint8).reshape(screen.height, screen.width, 3)
    try:
        image = Image.open(io.BytesIO(screen.data), formats=[screen.encoding.upper()])
        if image.width * image.height > MAX_PIXELS:
            raise DeviceError("bad_screen", f"a screenshot of {image.width} x {image.height} pixels")
        pixels = np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DeviceError("bad_screen", f"the screenshot cannot be read: {error}") from error
    if pixels.shape != (screen.height, screen.width, 3):
        raise DeviceError(
            "bad_screen", f"a screenshot of {pixels.shape[1]} x {pixels.shape[0]} pixels was not expected"
        )
    if not pixels.any():
        raise DeviceError("black_screen", "the screenshot is black")
    return pixels

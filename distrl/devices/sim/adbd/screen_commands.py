"""Commands that show the screen: `screencap`, `wm`, `uiautomator dump`."""

import io
import struct

import numpy as np
import numpy.typing as npt
from PIL import Image

from distrl.devices.sim.adbd.android import Android, Result, complain, say
from distrl.devices.sim.adbd.hierarchy import hierarchy_of
from distrl.devices.sim.elements import HEIGHT, WIDTH

RGBA_8888 = 1
SRGB = 1
HEADER_BYTES = 16
DEFAULT_DUMP = "/sdcard/window_dump.xml"


def screencap(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """The screen: width, height, format, colour space and RGBA, a PNG with -p, a JPEG with -j; or into a file."""
    words = [a for a in arguments if not a.startswith("-")]
    flags = [a for a in arguments if a.startswith("-")]
    if len(words) > 1 or set(flags) - {"-p", "-j"}:
        return complain("usage: screencap [-pj] [FILENAME]\n")
    is_png = "-p" in flags or (bool(words) and words[0].endswith(".png"))
    pixels = _pixels(android)
    if "-j" in flags:
        data = _encoded(pixels, "JPEG", quality=90)
    else:
        data = _encoded(pixels, "PNG", compress_level=1) if is_png else _raw(pixels)
    data = _spoil(android, data)
    if not words:
        return Result(out=data)
    android.files.write(words[0], data)
    return Result()


def _pixels(android: Android) -> npt.NDArray[np.uint8]:
    """The screen as it is held; black while it sleeps."""
    width, height = android.phone.size
    pixels = np.frombuffer(android.phone.render(), np.uint8).reshape(height, width, 3)
    return np.rot90(pixels if android.is_awake else np.zeros_like(pixels), android.rotation)


def _raw(pixels: npt.NDArray[np.uint8]) -> bytes:
    height, width, _ = pixels.shape
    rgba = np.full((height, width, 4), 255, np.uint8)
    rgba[:, :, :3] = pixels
    return struct.pack("<4I", width, height, RGBA_8888, SRGB) + rgba.tobytes()


def _encoded(pixels: npt.NDArray[np.uint8], form: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, form, **options)
    return buffer.getvalue()


def _spoil(android: Android, data: bytes) -> bytes:
    """The screenshot as a broken device sends it, once."""
    fault, android.screen_fault = android.screen_fault, ""
    if fault == "black_screen":
        return data[:HEADER_BYTES] + bytes(len(data) - HEADER_BYTES)
    if fault == "truncated_screen":
        return data[: len(data) // 3]
    return b"\x89PNG\r\n\x1a\n" + data[:200] if fault == "corrupt_screen" else data


def wm(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """Size and density; a phone that is drawn smaller has an override, as after `wm size 360x800`."""
    width, height = android.phone.size
    is_smaller = (width, height) != (WIDTH, HEIGHT)
    if arguments == ["size"]:
        override = f"Override size: {width}x{height}\n" if is_smaller else ""
        return say(f"Physical size: {WIDTH}x{HEIGHT}\n{override}")
    if arguments == ["density"]:
        override = f"Override density: {round(420 * width / WIDTH)}\n" if is_smaller else ""
        return say(f"Physical density: 420\n{override}")
    if arguments == ["dismiss-keyguard"]:
        return Result()
    return complain("usage: wm size|density|dismiss-keyguard\n", status=255)


def uiautomator(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`uiautomator dump [--compressed] [FILE]`: what is on the screen as XML, with Android's spelling."""
    words = [a for a in arguments if not a.startswith("--")]
    if not words or words[0] != "dump" or len(words) > 2:
        return complain("Usage: uiautomator dump [--compressed] [file]\n")
    path = words[1] if len(words) == 2 else DEFAULT_DUMP
    xml = hierarchy_of(android)
    said = f"UI hierchary dumped to: {path}\n"
    if path in ("/dev/tty", "/dev/stdout"):
        return say(xml + said)
    android.files.write(path, xml.encode())
    return say(said)


SCREEN_COMMANDS = {"screencap": screencap, "wm": wm, "uiautomator": uiautomator}

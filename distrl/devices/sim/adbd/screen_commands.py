"""Commands that show the screen: `screencap`, `wm`, `uiautomator dump`."""

import io
import struct

import numpy as np
from PIL import Image

from distrl.devices.sim.adbd.android import Android, Result, complain, say
from distrl.devices.sim.adbd.hierarchy import hierarchy_of
from distrl.devices.sim.elements import HEIGHT, WIDTH

RGBA_8888 = 1
SRGB = 1
HEADER_BYTES = 16
DEFAULT_DUMP = "/sdcard/window_dump.xml"


def screencap(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """The screen: width, height, format, colour space and RGBA, or a PNG with -p; into a file if one is named."""
    words = [a for a in arguments if not a.startswith("-")]
    flags = [a for a in arguments if a.startswith("-")]
    if len(words) > 1 or set(flags) - {"-p"}:
        return complain("usage: screencap [-p] [FILENAME]\n")
    is_png = bool(flags) or (bool(words) and words[0].endswith(".png"))
    data = _spoil(android, _png(android) if is_png else _raw(android))
    if not words:
        return Result(out=data)
    android.files.write(words[0], data)
    return Result()


def _raw(android: Android) -> bytes:
    width, height = android.size
    pixels = np.full((height, width, 4), 255, np.uint8)
    pixels[:, :, :3] = np.frombuffer(android.phone.render(), np.uint8).reshape(height, width, 3)
    return struct.pack("<4I", width, height, RGBA_8888, SRGB) + pixels.tobytes()


def _png(android: Android) -> bytes:
    buffer = io.BytesIO()
    Image.frombytes("RGB", android.size, android.phone.render()).save(buffer, "PNG", compress_level=1)
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
    width, height = android.size
    is_smaller = (width, height) != (WIDTH, HEIGHT)
    if arguments == ["size"]:
        override = f"Override size: {width}x{height}\n" if is_smaller else ""
        return say(f"Physical size: {WIDTH}x{HEIGHT}\n{override}")
    if arguments == ["density"]:
        override = f"Override density: {round(420 * width / WIDTH)}\n" if is_smaller else ""
        return say(f"Physical density: 420\n{override}")
    return complain("usage: wm size|density\n", status=255)


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

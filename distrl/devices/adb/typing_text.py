"""Any text as lines for the device's shell: quoted, so that no shell parses it, and in the ways Android can type it.

Printable ASCII goes through `input text`, whose only escape is `%s` for a space: a text that itself has `%s` is typed
in two pieces. Everything else goes as base64 to the adb keyboard, an input method that has to be installed.
"""

import base64
import re
import shlex
import unicodedata

CHUNK_CHARS = 400
KEYBOARD = "com.android.adbkeyboard/.AdbIME"
HOW_TO_TYPE = (
    "typing anything but printable ASCII needs the input method ADBKeyBoard: install it on the device "
    f"(github.com/senzhk/ADBKeyBoard), then adb shell ime enable {KEYBOARD} and adb shell ime set {KEYBOARD}"
)
_PLAIN = re.compile(r"[ -~]*\Z")
_UNSHOWN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold."""


def is_plain(text: str) -> bool:
    """Whether `input text` can type it."""
    return _PLAIN.match(text) is not None


def plain_lines(text: str) -> list[str]:
    """Lines that type a printable ASCII text."""
    pieces = [piece for part in re.split("(?<=%)(?=s)", text) for piece in _chunks(part)]
    return [quoted("input", "text", piece.replace(" ", "%s")) for piece in pieces]


def broadcast_lines(text: str) -> list[str]:
    """Lines that give any text to the adb keyboard."""
    return [
        quoted("am", "broadcast", "-a", "ADB_INPUT_B64", "--es", "msg", base64.b64encode(piece.encode()).decode())
        for piece in _chunks(text)
    ]


def quoted(*words: str) -> str:
    """A command line in which every word arrives as it is."""
    return " ".join(shlex.quote(word) for word in words)


def _chunks(text: str) -> list[str]:
    return [text[start : start + CHUNK_CHARS] for start in range(0, len(text), CHUNK_CHARS)]


def is_within(typed: str, shown: str) -> bool:
    """Whether a field shows what was typed; as far as a ui tree can: it has no control characters, and one blank."""
    return _plain(typed) in _plain(shown)


def _plain(text: str) -> str:
    return " ".join(re.sub(_UNSHOWN, ".", unicodedata.normalize("NFC", text)).split())

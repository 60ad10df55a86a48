"""`input` and the broadcast of the adb keyboard: coordinates and texts in, touches of the phone out.

With Android's quirks: `%s` is a space, a text that its key map does not know is an exception (so nothing but ASCII can
be typed), a swipe that stays in its place is a long press.
"""

import base64
import binascii
import math

from distrl.core.types import MAX_TEXT_CHARS, Button, LongPress, Press, Swipe, Tap, TypeText
from distrl.devices.sim.adbd.android import KEYBOARD, Android, Result, complain, say
from distrl.devices.sim.app import Ui
from distrl.devices.sim.keyboard import press_key

LONG_PRESS_MS = 500
SOURCES = frozenset("dpad gamepad joystick keyboard mouse navigation stylus touchpad touchscreen trackball".split())
BUTTONS = {"HOME": Button.HOME, "BACK": Button.BACK, "ENTER": Button.ENTER, "NUMPAD_ENTER": Button.ENTER}
NUMBERS = {3: "HOME", 4: "BACK", 66: "ENTER", 160: "NUMPAD_ENTER", 67: "DEL", 62: "SPACE", 61: "TAB"} | {
    **{7 + n: str(n) for n in range(10)},
    **{29 + n: chr(ord("A") + n) for n in range(26)},
    **{26: "POWER", 223: "SLEEP", 224: "WAKEUP"},
}
TYPED = {"SPACE": " ", "TAB": "\t"} | {c: c.lower() for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
IGNORED_NUMBERS = range(0, 320)
NULL_ARRAY = """
Exception occurred while executing 'text':
java.lang.NullPointerException: Attempt to get length of null array
\tat com.android.server.input.InputShellCommand.sendText(InputShellCommand.java:313)
"""


def input_(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`input [source] tap|swipe|text|keyevent ...`."""
    words = arguments[1:] if arguments and arguments[0] in SOURCES else arguments
    kind, rest = (words[0], words[1:]) if words else ("", [])
    if kind == "text" and len(rest) == 1:
        return _text(android, rest[0])
    if kind == "keyevent" and rest:
        return _keys(android, [key for key in rest if not key.startswith("--")])
    numbers = _numbers(rest)
    if kind == "tap" and len(numbers) == 2:
        return _touch(android, (numbers[0], numbers[1]), (numbers[0], numbers[1]), 0)
    if kind in ("swipe", "draganddrop") and len(numbers) in (4, 5):
        duration_ms = numbers[4] if len(numbers) == 5 else 300
        return _touch(android, (numbers[0], numbers[1]), (numbers[2], numbers[3]), duration_ms)
    if kind in ("tap", "swipe", "text", "keyevent", "draganddrop"):
        return complain(f"Error: Invalid arguments for command: {kind}\n", status=255)
    return complain(f"Error: Unknown command: {kind}\n", status=255)


def _numbers(words: list[str]) -> list[float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return []
    return numbers if all(math.isfinite(n) for n in numbers) else []


def _touch(android: Android, start: tuple[float, float], end: tuple[float, float], duration_ms: float) -> Result:
    width, height = android.size
    places = (start[0] / width, start[1] / height), (end[0] / width, end[1] / height)
    if not all(0 <= share <= 1 for place in places for share in place):
        return Result()  # beside the glass nobody feels it
    (x, y), (to_x, to_y) = (android.upright(*place) for place in places)
    if abs(end[0] - start[0]) < 1 and abs(end[1] - start[1]) < 1:
        is_long = duration_ms >= LONG_PRESS_MS
        android.perform(LongPress(x=x, y=y) if is_long else Tap(x=x, y=y))
    else:
        android.perform(Swipe(x=x, y=y, to_x=to_x, to_y=to_y))
    return Result()


def unescape(text: str) -> str:
    """What `input text` types for its argument: every `%s` is a space."""
    return text.replace("%s", " ")


def _text(android: Android, argument: str) -> Result:
    text = unescape(argument)
    if not all(" " <= char <= "~" or char in "\n\t" for char in text):
        return complain(NULL_ARRAY, status=255)
    for start in range(0, len(text), MAX_TEXT_CHARS):
        android.perform(TypeText(text=text[start : start + MAX_TEXT_CHARS]))
    return Result()


def _keys(android: Android, keys: list[str]) -> Result:
    for key in keys:
        name = NUMBERS.get(int(key), key) if key.isdecimal() else key.removeprefix("KEYCODE_")
        if name in ("POWER", "SLEEP", "WAKEUP"):
            android.is_awake = not android.is_awake if name == "POWER" else name == "WAKEUP"
        elif name in BUTTONS:
            android.perform(Press(button=BUTTONS[name]))
        elif name == "DEL":
            if android.phone.system.focus:
                press_key(Ui(android.phone, android.phone.top()), "backspace")
            android.perform(TypeText(text=""))
        elif name in TYPED:
            android.perform(TypeText(text=TYPED[name]))
        elif not (name.isdecimal() and int(name) in IGNORED_NUMBERS) and not name.replace("_", "").isalnum():
            return complain(f"Error: Unknown keycode: {key}\n", status=255)
    return Result()


def broadcast(android: Android, arguments: list[str]) -> Result:
    """`am broadcast -a ADB_INPUT_B64 --es msg BASE64`: typed if the adb keyboard is there and chosen."""
    action = _after(arguments, "-a")
    is_listening = android.has_adb_keyboard and android.settings.get(("secure", "default_input_method")) == KEYBOARD
    if action in ("ADB_INPUT_B64", "ADB_INPUT_TEXT") and is_listening:
        message = _after(arguments, "msg")
        try:
            data = message if action == "ADB_INPUT_TEXT" else base64.b64decode(message, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            data = ""
        android.perform(TypeText(text=data[:MAX_TEXT_CHARS]))
    intent = f"Intent {{ act={action} flg=0x400000 (has extras) }}"
    return say(f"Broadcasting: {intent}\nBroadcast completed: result=0\n")


def _after(words: list[str], word: str) -> str:
    at = words.index(word) + 1 if word in words else len(words)
    return words[at] if at < len(words) else ""


INPUT_COMMANDS = {"input": input_}

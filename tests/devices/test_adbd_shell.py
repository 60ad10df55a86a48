"""The shell of the sim phone: Android's answers and quirks, quotes as a shell takes them, and nothing executed."""

import base64
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.types import OpenApp
from distrl.devices.adb.typing_text import plain_lines, quoted
from distrl.devices.sim.adbd.android import Android, Result
from distrl.devices.sim.adbd.files import MAX_BYTES
from distrl.devices.sim.adbd.input_commands import unescape
from distrl.devices.sim.adbd.services import run
from distrl.devices.sim.adbd.words import Operator, ShellSyntaxError, tokenise
from distrl.runtime.build import make_phone


def android(*, scale: float = 0.25, has_adb_keyboard: bool = True) -> Android:
    phone = make_phone(scale=scale)
    return Android(phone, serial="test", perform=phone.perform, has_adb_keyboard=has_adb_keyboard)


def said(made: Android, line: str) -> str:
    result = run(made, line)
    assert result.status == 0, result
    return result.out.decode()


def focus_notes(made: Android) -> None:
    """The cursor into the body of a new note."""
    made.perform(OpenApp(app="Notes"))
    tap(made, "fab")
    tap(made, "body")


def tap(made: Android, element_id: str) -> None:
    x, y = next(e for e in made.phone.elements() if e.id == element_id).center
    width, height = made.size
    assert run(made, f"input tap {x * width:.0f} {y * height:.0f}").status == 0


def typed(made: Android) -> str:
    return made.phone.top().fields.get(made.phone.system.focus, "")


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("input tap 5 6", ["input", "tap", "5", "6"]),
        ("echo 'a b' \"c d\"", ["echo", "a b", "c d"]),
        ("echo a\\ b ''", ["echo", "a b", ""]),
        ("echo 'it'\"'\"'s'", ["echo", "it's"]),
        ("a;b&&c||d|e", ["a", Operator(";"), "b", Operator("&&"), "c", Operator("||"), "d", Operator("|"), "e"]),
        ("echo ';' '&&' '$(x)' '`y`'", ["echo", ";", "&&", "$(x)", "`y`"]),
        ('echo $HOME/x "$EXTERNAL_STORAGE" $NOTHING', ["echo", "//x", "/sdcard", ""]),
        ("a 2>&1", ["a", Operator("2>&1")]),
        ("echo 12>x", ["echo", "12", Operator(">"), "x"]),
        ("ls # a remark", ["ls"]),
    ],
)
def test_a_line_is_read_as_a_shell_reads_it(line: str, tokens: list[object]) -> None:
    assert tokenise(line) == tokens


@pytest.mark.parametrize("line", ["echo 'a", 'echo "a', "echo $(id)", "echo `id`", 'echo "$(id)"', "(ls)"])
def test_what_a_shell_would_execute_or_miss_is_refused(line: str) -> None:
    with pytest.raises(ShellSyntaxError):
        tokenise(line)
    assert run(android(), line).status == 2


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))), min_size=1))
def test_words_that_our_device_quotes_are_read_as_they_were(words: list[str]) -> None:
    assert tokenise(quoted(*words)) == words


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=1000))
def test_what_input_text_makes_of_our_lines_is_the_text(text: str) -> None:
    lines = [tokenise(line) for line in plain_lines(text)]
    assert all(line[:2] == ["input", "text"] and len(line) == 3 for line in lines)
    assert "".join(unescape(str(line[2])) for line in lines) == text


# ---------------------------------------------------------------- commands


@pytest.mark.parametrize("name", ["sh", "python3", "/bin/sh", "touch", "curl", "nosuch", "su"])
def test_a_command_that_is_none_of_ours_is_not_found(name: str) -> None:
    result = run(android(), f"{name} -c true")
    assert (result.status, result.out) == (127, b"")
    assert b"not found" in result.err


def test_statuses_decide_what_runs_next() -> None:
    made = android()
    assert said(made, "false || echo a && echo b; echo c") == "a\nb\nc\n"
    assert run(made, "true && false").status == 1
    assert run(made, "exit 7").status == 7
    assert run(made, "exit 7; echo on").out == b""
    assert said(made, "nosuch 2>/dev/null; echo $?; echo \"$?\" '$?'") == "127\n0 $?\n"
    assert said(made, "echo x > /sdcard/f; echo y >> /sdcard/f; cat /sdcard/f | grep -v x") == "y\n"
    assert said(made, "nosuch 2>/dev/null; echo on") == "on\n"
    assert said(made, "echo b | grep -E '^(a|b)$'") == "b\n"
    assert run(made, "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! | grep -E '(a+)+$'").status == 2


def test_properties_and_size_are_androids() -> None:
    made = android()
    assert said(made, "getprop sys.boot_completed") == "1\n"
    assert said(made, "getprop no.such") == "\n"
    assert "[ro.serialno]: [test]\n" in said(made, "getprop")
    assert said(made, "wm size") == "Physical size: 1080x2400\nOverride size: 270x600\n"
    assert said(android(scale=1.0), "wm size") == "Physical size: 1080x2400\n"


def test_screencap_has_androids_header_and_the_phones_pixels() -> None:
    made = android()
    data = run(made, "screencap").out
    assert struct.unpack("<4I", data[:16]) == (270, 600, 1, 1)
    pixels = np.frombuffer(data, np.uint8, offset=16).reshape(600, 270, 4)
    assert pixels[:, :, :3].tobytes() == made.phone.render()
    assert (pixels[:, :, 3] == 255).all()
    said(made, "screencap -p /sdcard/s.png")
    assert made.files.read("/sdcard/s.png").startswith(b"\x89PNG") and run(made, "screencap -p").out[:4] == b"\x89PNG"


def test_input_text_types_ascii_takes_percent_s_for_a_space_and_refuses_the_rest() -> None:
    made = android()
    focus_notes(made)
    said(made, "input text 'a%sb c'")
    assert typed(made) == "a b c"
    refused = run(made, "input text 'naïve'")
    assert refused.status == 255
    assert b"NullPointerException" in refused.err
    assert typed(made) == "a b c"
    said(made, "input keyevent 67 KEYCODE_DEL KEYCODE_X")
    assert typed(made) == "a bx"


def test_the_adb_keyboard_types_anything_if_it_is_chosen() -> None:
    line = f"am broadcast -a ADB_INPUT_B64 --es msg {base64.b64encode('naïve 你好'.encode()).decode()}"
    with_it, without = android(), android(has_adb_keyboard=False)
    for made in (with_it, without):
        focus_notes(made)
        assert "result=0" in said(made, line)
    assert typed(with_it) == "naïve 你好"
    assert typed(without) == ""
    assert "adbkeyboard" not in said(without, "pm list packages")


def test_touches_reach_what_they_touch() -> None:
    made = android()
    tap(made, "app:Clock")
    assert "com.distrl.clock/com.distrl.clock.Home" in said(made, "dumpsys window")
    assert "com.distrl.clock/.Home" in said(made, "dumpsys activity activities | grep topResumedActivity")
    said(made, "input keyevent KEYCODE_HOME")
    assert made.phone.activity == "launcher/home"
    said(made, "input touchscreen swipe 250 300 20 300")
    assert run(made, "input tap 5").status == 255
    assert run(made, "input tap nan 5").status == 255
    assert run(made, "input dance").status == 255
    said(made, "input tap 5000 5000")


def test_apps_start_stop_and_are_cleared() -> None:
    made = android()
    assert "package:com.distrl.notes\n" in said(made, "pm list packages notes")
    said(made, "monkey -p com.distrl.notes 1")
    assert made.phone.activity == "notes/home"
    said(made, "am force-stop com.distrl.notes")
    assert made.phone.activity == "launcher/home"
    said(made, "am start -n com.distrl.clock/.Home")
    assert made.phone.activity == "clock/home"
    said(made, "am start -a android.intent.action.MAIN -c android.intent.category.HOME")
    assert made.phone.activity == "launcher/home"
    assert run(made, "monkey -p no.such 1").status == 252
    assert run(made, "am start -n no.such/.X").status == 1
    fresh = made.phone.inspect("notes")
    made.phone.arrange({"notes": {"notes": []}})
    assert made.phone.inspect("notes") != fresh
    assert said(made, "pm clear com.distrl.notes") == "Success\n"
    assert made.phone.inspect("notes") == fresh


def test_settings_are_those_of_the_phone() -> None:
    made = android()
    assert said(made, "settings get global airplane_mode_on") == "0\n"
    said(made, "settings put global airplane_mode_on 1")
    assert made.phone.settings.airplane is True
    said(made, "settings put secure mine 'x y'")
    assert said(made, "settings get secure mine") == "x y\n"
    assert said(made, "settings get system nothing") == "null\n"
    assert run(made, "settings put system screen_brightness much").status == 255


def test_uiautomator_dumps_what_is_on_the_screen() -> None:
    made = android(scale=1.0)
    xml = said(made, "uiautomator dump /dev/tty")
    assert xml.startswith("<?xml")
    assert "UI hierchary dumped to: /dev/tty" in xml
    assert 'bounds="[0,0][1080,2400]"' in xml
    assert 'resource-id="com.distrl.launcher:id/app:Clock"' in xml
    assert said(made, "uiautomator dump") == "UI hierchary dumped to: /sdcard/window_dump.xml\n"
    assert said(made, "cat /sdcard/window_dump.xml") + "UI hierchary dumped to: /dev/tty\n" == xml


def test_the_log_tells_what_was_opened() -> None:
    made = android()
    said(made, "monkey -p com.distrl.clock 1")
    assert "START u0 {cmp=com.distrl.clock/.Home}" in said(made, "logcat -d")
    said(made, "logcat -c")
    assert "clock" not in said(made, "logcat -d")


def test_files_stay_within_the_phones_memory() -> None:
    made = android()
    made.files.write("/sdcard/../../etc/x", b"1")
    assert said(made, "cat /etc/x") == "1"
    made.files.write("/sdcard/big", bytes(MAX_BYTES - 1))
    result: Result = run(made, "echo more > /sdcard/more")
    assert result.status == 1
    assert b"No space left" in result.err
    said(made, "rm -r /sdcard")
    assert said(made, "ls /sdcard") == "Download\n"


def test_an_app_that_fails_is_a_failed_command() -> None:
    phone = make_phone()

    def broken(action: object) -> None:
        raise KeyError("an app of one's own")

    made = Android(phone, serial="test", perform=broken)
    assert run(made, "input tap 5 5").status == 255
    assert said(made, "echo on") == "on\n"

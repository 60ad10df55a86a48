"""The real adb tool and its server against sim phones: what users type, and what comes back."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import adbutils
import numpy as np
import pytest

from distrl.devices.sim.adbd.server import Adbd

from .adb_bench import Done, Tool, listening, make_adbd

pytestmark = pytest.mark.adb

Call = Callable[..., Awaitable[Done]]


def with_phone(adb: Tool, use: Callable[[Call, Adbd], Awaitable[None]], *, scale: float = 0.25) -> None:
    """A phone that the tool is connected to, and a way to call the tool for it."""

    async def main() -> None:
        adbd = make_adbd(scale=scale)
        async with listening(adbd) as port:
            serial = f"127.0.0.1:{port}"
            assert "connected to" in (await adb.run("connect", serial)).text

            async def call(*arguments: str) -> Done:
                return await adb.run("-s", serial, *arguments)

            await use(call, adbd)
            await adb.run("disconnect", serial)

    asyncio.run(main())


def test_a_phone_is_listed_as_a_device(adb: Tool) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        assert (await call("get-state")).text == "device\n"
        assert "model:Phone_P8" in (await call("devices", "-l")).text

    with_phone(adb, use)


def test_a_shell_command_gives_its_output_its_errors_and_its_exit_status(adb: Tool) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        assert (await call("shell", "getprop", "sys.boot_completed")).out == b"1\n"
        assert (await call("shell", "exit 7")).status == 7
        missing = await call("shell", "nosuch")
        assert (missing.status, missing.out) == (127, b"")
        assert "not found" in missing.err
        old = await call("shell", "-x", "nosuch; echo on")
        assert old.out == b"/system/bin/sh: nosuch: inaccessible or not found\non\n"

    with_phone(adb, use)


def test_exec_out_screencap_is_the_phones_pixels(adb: Tool) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        raw = (await call("exec-out", "screencap")).out
        assert struct.unpack("<4I", raw[:16]) == (270, 600, 1, 1)
        pixels = np.frombuffer(raw, np.uint8, offset=16).reshape(600, 270, 4)[:, :, :3]
        assert pixels.tobytes() == adbd.android.phone.render()
        assert (await call("exec-out", "screencap -p")).out.startswith(b"\x89PNG\r\n\x1a\n")

    with_phone(adb, use)


def test_files_go_there_and_back(adb: Tool, tmp_path: Path) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        data = bytes(range(256)) * 1000
        (tmp_path / "there").write_bytes(data)
        assert (await call("push", str(tmp_path / "there"), "/sdcard/there.bin")).status == 0
        assert adbd.android.files.read("/sdcard/there.bin") == data
        assert (await call("pull", "/sdcard/there.bin", str(tmp_path / "back"))).status == 0
        assert (tmp_path / "back").read_bytes() == data
        missing = await call("pull", "/sdcard/missing", str(tmp_path / "missing"))
        assert missing.status != 0
        assert not (tmp_path / "missing").exists()

    with_phone(adb, use)


def test_a_folder_goes_there_and_back(adb: Tool, tmp_path: Path) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        (tmp_path / "folder" / "inner").mkdir(parents=True)
        (tmp_path / "folder" / "inner" / "a").write_text("a")
        assert (await call("push", str(tmp_path / "folder"), "/sdcard")).status == 0
        assert (await call("shell", "ls /sdcard/folder/inner")).text == "a\n"
        assert (await call("pull", "/sdcard/folder", str(tmp_path / "back"))).status == 0
        assert (tmp_path / "back" / "inner" / "a").read_text() == "a"

    with_phone(adb, use)


def test_input_moves_the_phone_and_the_dump_shows_it(adb: Tool) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        assert "app:Clock" in (await call("exec-out", "uiautomator dump /dev/tty")).text
        element = next(e for e in adbd.android.phone.elements() if e.id == "app:Clock")
        x, y = element.center
        await call("shell", "input", "tap", str(round(x * 1080)), str(round(y * 2400)))
        assert adbd.android.phone.activity == "clock/home"
        focus = await call("shell", "dumpsys window | grep mCurrentFocus")
        assert "com.distrl.clock/com.distrl.clock.Home" in focus.text
        await call("shell", "input", "keyevent", "KEYCODE_HOME")
        assert adbd.android.phone.activity == "launcher/home"

    with_phone(adb, use, scale=1.0)


def test_the_log_can_be_read_and_followed(adb: Tool) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        assert "sys.boot_completed=1" in (await call("logcat", "-d")).text
        following = asyncio.create_task(call("exec-out", "logcat"))
        await asyncio.sleep(0.3)
        await call("shell", "monkey", "-p", "com.distrl.clock", "1")
        await asyncio.sleep(0.3)
        await adbd.drop()
        assert "START u0 {cmp=com.distrl.clock/.Home}" in (await following).text

    with_phone(adb, use)


def test_many_commands_run_at_once_on_one_connection(adb: Tool) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        done = await asyncio.gather(*(call("shell", f"echo {number}") for number in range(12)))
        assert [d.text for d in done] == [f"{number}\n" for number in range(12)]
        assert len(adbd._connections) == 1

    with_phone(adb, use)


def test_adbutils_drives_the_phone_as_it_is(adb: Tool) -> None:
    def drive(serial: str) -> None:
        device = adbutils.AdbClient(port=adb.port).device(serial)
        assert device.window_size() == (1080, 2400)
        assert device.is_screen_on()
        device.app_start("com.distrl.clock")
        assert device.app_current().package == "com.distrl.clock"
        assert device.shell2("nosuch").returncode == 127
        assert device.screenshot().size == (1080, 2400)
        assert "<hierarchy" in device.dump_hierarchy()
        device.sync.push(b"abc", "/sdcard/a.txt")
        assert device.sync.read_text("/sdcard/a.txt") == "abc"
        device.keyevent("HOME")
        assert device.app_current().package == "com.distrl.launcher"
        assert "com.distrl.clock" in device.list_packages()

    async def use(call: Call, adbd: Adbd) -> None:
        serial = (await call("get-serialno")).text.strip()
        await asyncio.to_thread(drive, serial)

    with_phone(adb, use, scale=1.0)


def test_an_interactive_shell_is_explained(adb: Tool) -> None:
    async def use(call: Call, adbd: Adbd) -> None:
        done = await call("shell")
        assert done.status == 1
        assert "give the command" in done.err

    with_phone(adb, use)

"""Our device through the real adb server: which picture, which way up, awake, what was typed, whose adb."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from distrl.core.clock import LoopClock
from distrl.core.errors import DeviceError, SetupError, UserError
from distrl.core.types import Action, Button, Element, OpenApp, Press, Screen, Swipe, Tap, TypeText, Wait
from distrl.devices.adb.device import AdbDevice, AdbOptions
from distrl.devices.adb.hierarchy import focused_field
from distrl.devices.adb.screenshot import Camera, changed_share, screen_of
from distrl.devices.adb.server import AdbServer
from distrl.devices.adb.sim_phone import OwnSimPhone, SimBehindAdb
from distrl.devices.sim.adbd.server import Adbd
from distrl.runtime.build import make_phone

from .adb_bench import INSTANT, Tool, cause_of, connected, focus_notes, listening, make_adbd
from .conftest import make_tool

pytestmark = pytest.mark.adb
Use = Callable[[AdbDevice, Adbd], Awaitable[Any]]


def with_device(adb: Tool, use: Use, *, adbd: Adbd | None = None, options: AdbOptions = INSTANT) -> Any:
    async def main() -> Any:
        phone = adbd or make_adbd()
        async with connected(adb, phone, options=options) as device:
            return await use(device, phone)

    return asyncio.run(main())


# ---------------------------------------------------------------- pictures


@pytest.mark.parametrize("encoding", ["raw", "png", "jpeg"])
def test_screens_come_in_every_encoding_that_a_device_offers(adb: Tool, encoding: Any) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        screen = await device.screenshot()
        drawn = Screen(data=adbd.android.phone.render(), width=270, height=600)
        assert (screen.width, screen.height) == (270, 600)
        if encoding != "jpeg":
            assert screen == drawn
        near = sum(abs(a - b) for a, b in zip(screen.data[::97], drawn.data[::97], strict=True))
        assert near / len(screen.data[::97]) < 3

    with_device(adb, use, options=AdbOptions(settle_s=0.0, screenshot=encoding))


def test_the_camera_stays_with_the_fastest_picture_and_skips_what_is_not_offered() -> None:
    asked: list[str] = []
    raw = b"\x02\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0" + bytes([1, 2, 3, 255, 4, 5, 6, 255])
    slow = {"screencap": 5.0, "screencap -p": 1.0, "screencap -j": 0.1}

    async def use() -> None:
        import io

        from PIL import Image

        png = io.BytesIO()
        Image.frombytes("RGB", (2, 1), bytes([1, 2, 3, 4, 5, 6])).save(png, "PNG")
        answers = {"screencap": raw, "screencap -p": png.getvalue(), "screencap -j": b"usage: screencap [-hp]"}

        async def take(line: str) -> bytes:
            asked.append(line)
            clock.now_s += slow[line]
            return answers[line]

        from .adb_bench import HandClock

        clock = HandClock()
        camera = Camera(take, clock=clock)
        assert await camera.shoot((2, 1)) == await camera.shoot((2, 1))
        assert camera.encoding == "png"

    asyncio.run(use())
    assert asked == ["screencap", "screencap -p", "screencap -j", "screencap -p", "screencap -p"]


def test_a_bad_picture_is_asked_for_again_and_a_good_one_taken(adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        await device.size()
        adbd.android.due_faults += ["truncated_screen", "corrupt_screen"]
        assert (await device.screenshot()).data == adbd.android.phone.render()
        adbd.android.due_faults += ["truncated_screen"] * 3
        assert (await cause_of(device.screenshot()))[0] == "bad_screen"

    with_device(adb, use, options=AdbOptions(settle_s=0.0, screenshot="raw"))


def test_a_screen_has_settled_when_only_a_cursor_blinks() -> None:
    still = Screen(data=bytes(3000), width=10, height=100)
    blinking = Screen(data=bytes(2997) + b"\xff\xff\xff", width=10, height=100)
    assert changed_share(still, still) == 0.0
    assert changed_share(still, blinking) == 0.001 == AdbOptions().settle_share
    assert changed_share(still, Screen(data=bytes(3000), width=100, height=10)) == 1.0


# ---------------------------------------------------------------- which way up, and awake


def test_a_turned_phone_is_seen_and_touched_as_it_is_held_and_a_reset_turns_it_back(adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        await device.read("settings put system accelerometer_rotation 0; settings put system user_rotation 1")
        seen = await device.observe()
        assert (seen.screen.width, seen.screen.height) == (600, 270)
        icon = next(e for e in seen.elements if e.text == "Clock")
        await device.perform(Tap(x=icon.center[0], y=icon.center[1]))
        assert adbd.android.phone.activity == "clock/home"
        await device.reset()
        seen = await device.observe()
        assert (seen.screen.width, seen.screen.height) == (270, 600)
        assert "launcher" in seen.activity

    with_device(adb, use)


def test_a_phone_that_fell_asleep_is_woken_and_kept_awake(adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        await device.reset()
        assert adbd.android.settings[("global", "stay_on_while_plugged_in")] == "7"
        adbd.android.is_awake = False
        assert (await device.observe()).screen.data == adbd.android.phone.render()
        assert adbd.android.is_awake

    with_device(adb, use)


def test_a_phone_that_may_sleep_is_not_woken(adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        await device.reset()
        assert ("global", "stay_on_while_plugged_in") not in adbd.android.settings
        adbd.android.is_awake = False
        assert (await cause_of(device.observe()))[0] == "black_screen"

    with_device(adb, use, options=AdbOptions(settle_s=0.0, keeps_awake=False))


# ---------------------------------------------------------------- what was typed


def test_a_keyboard_that_is_there_and_not_chosen_is_chosen_for_text_beyond_ascii(adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        adbd.android.settings[("secure", "default_input_method")] = "com.distrl.keyboard/.Keyboard"
        await focus_notes(device, adbd)
        await device.perform(TypeText(text="naïve 👍"))
        assert adbd.android.phone.top().fields["body"] == "naïve 👍"
        assert (await device.focused_field()).text == "naïve 👍"  # type: ignore[union-attr]

    with_device(adb, use)


def test_a_text_that_did_not_arrive_is_noticed_by_reading_the_field(adb: Tool) -> None:
    phone = make_phone()
    is_deaf = False

    def perform(action: Action) -> None:
        if not is_deaf:
            phone.perform(action)

    async def use(device: AdbDevice, adbd: Adbd) -> None:
        nonlocal is_deaf
        await focus_notes(device, adbd)
        is_deaf = True
        assert (await cause_of(device.perform(TypeText(text="naïve"))))[0] == "text_not_typed"
        await device.perform(TypeText(text="plain"))
        assert device.num_texts_not_seen == 2
        is_deaf = False
        await device.perform(TypeText(text="plain"))
        assert device.num_texts_not_seen == 2

    with_device(adb, use, adbd=Adbd(phone, perform=perform))


def test_a_password_is_known_as_one() -> None:
    node = '<node class="android.widget.EditText" focused="true" password="{}" text="x" bounds="[0,0][5,5]" />'
    for flag in (True, False):
        field = focused_field(f"<hierarchy>{node.format(str(flag).lower())}</hierarchy>".encode())
        assert field is not None
        assert field.is_password is flag
    assert focused_field(b"<hierarchy></hierarchy>") is None


# ---------------------------------------------------------------- recipes


def test_a_reset_clears_apps_and_puts_settings_back(adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        phone = adbd.android.phone
        await device.reset()
        before = phone.settings.brightness
        phone.arrange({"settings": {"brightness": 7}, "notes": {"notes": []}})
        await device.reset()
        assert phone.settings.brightness == pytest.approx(before, abs=1)
        assert phone.inspect("notes")["notes"]

    recipe = AdbOptions(settle_s=0.0, clears=("com.distrl.notes",), restores=("system/screen_brightness",))
    with_device(adb, use, options=recipe)


def test_a_package_that_is_missing_is_named_and_is_the_tasks_loss(adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        with pytest.raises(SetupError, match=r"com\.example\.missing .*is it installed"):
            await device.reset()

    with_device(adb, use, options=AdbOptions(settle_s=0.0, clears=("com.example.missing",)))


# ---------------------------------------------------------------- ground truth


def test_a_sim_behind_adb_is_the_sim(adb: Tool) -> None:
    """Same setup, same actions: the same pixels, elements and states as on the phone directly."""
    from distrl.runtime.build import make_setup
    from distrl.tasks.book import load_tasks

    async def main() -> None:
        adbd, near = make_adbd(), make_phone()
        async with listening(adbd) as port:
            server = AdbServer(port=adb.port)
            device = SimBehindAdb(f"127.0.0.1:{port}", server, clock=LoopClock(), options=INSTANT)
            for task in (load_tasks("general", "train")[3], load_tasks("web_shopping", "train")[5]):
                setup = make_setup(task)
                device.arrange(setup.world, seed=setup.seed, variations=setup.variations)
                await device.reset()
                near.wipe(seed=setup.seed, variation_names=setup.variations)
                near.arrange(setup.world)
                for action in (
                    Wait(),
                    Tap(x=0.4, y=0.5),
                    Swipe(x=0.5, y=0.62, to_x=0.5, to_y=0.3),
                    Press(button=Button.HOME),
                    Tap(x=0.15, y=0.95),
                    TypeText(text="red shoes"),
                ):
                    await device.perform(action)
                    near.perform(action)
                    seen = await device.observe()
                    assert seen.screen.data == near.render()
                    assert _shapes(seen.elements) == _shapes(near.candidates())
                    assert await device.inspect("phone") == near.inspect("phone")
            assert await device.inspect("browser") == near.inspect("browser")

    asyncio.run(main())


def _shapes(elements: tuple[Element, ...]) -> list[tuple[Any, ...]]:
    flags = ("text", "kind", "id", "enabled", "clickable", "checked", "editable", "focused")
    return [tuple(getattr(e, flag) for flag in flags) for e in elements]


def test_a_phone_without_the_truth_channel_says_which_judge_to_take(adb: Tool) -> None:
    async def main() -> tuple[str, str]:
        adbd = Adbd(make_adbd().android.phone, has_ground_truth=False)
        async with listening(adbd) as port:
            device = SimBehindAdb(f"127.0.0.1:{port}", AdbServer(port=adb.port), clock=LoopClock(), options=INSTANT)
            return await cause_of(device.reset())

    cause, message = asyncio.run(main())
    assert cause == "no_ground_truth"
    assert "vlm" in message


def test_nonsense_on_the_truth_channel_is_an_error_and_changes_nothing(adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        before = adbd.android.phone.snapshot()
        for line in ("distrl", "distrl arrange @@", "distrl arrange e30=x", "distrl inspect nothing", "distrl fault x"):
            with pytest.raises(DeviceError):
                await device.read(line)
        assert adbd.android.phone.snapshot() == before

    with_device(adb, use)


def test_a_phone_of_its_own_is_started_again_when_it_was_killed_and_ends_with_its_device(adb: Tool) -> None:
    async def main() -> None:
        server = AdbServer(port=adb.port, deadline_s=5.0)
        device = OwnSimPhone("sim-7", server, clock=LoopClock(), options=INSTANT)
        await device.reset()
        first = device.pid
        assert (await device.observe()).elements
        device._process.kill()  # type: ignore[union-attr]
        await device._process.wait()  # type: ignore[union-attr]
        assert (await cause_of(device.observe()))[0] in ("vanish", "offline")
        await device.reset()
        assert device.pid != first
        assert (await device.observe()).elements
        last = device.pid
        await device.close()
        assert not Path(f"/proc/{last}").exists()

    asyncio.run(main())


# ---------------------------------------------------------------- whose adb


def test_debians_adb_drives_the_phone_too(debian_adb: Tool) -> None:
    async def use(device: AdbDevice, adbd: Adbd) -> None:
        serial = device.name
        assert (await debian_adb.run("-s", serial, "get-state")).text == "device\n"
        shown = await debian_adb.run("-s", serial, "exec-out", "screencap")
        assert screen_of(shown.out).data == adbd.android.phone.render()
        assert (await debian_adb.run("-s", serial, "shell", "exit 7")).status == 7
        await debian_adb.run("-s", serial, "shell", "monkey", "-p", "com.distrl.clock", "1")
        assert adbd.android.phone.activity == "clock/home"
        await device.reset()
        await device.perform(OpenApp(app="Notes"))
        assert (await device.observe()).screen.data == adbd.android.phone.render()

    with_device(debian_adb, use)


def test_an_adb_of_another_version_replaces_the_server_and_a_reset_brings_the_phone_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happens to everybody with two SDKs: an adb of another version kills the server and starts its own.

    The two adbs of this test call themselves 41 both, so it is done by hand.
    """
    other = shutil.which("adb")
    if other is None:
        pytest.skip("no adb on the PATH: apt-get install adb")
    tool = make_tool(tmp_path)
    for name in ("HOME", "ANDROID_USER_HOME", "TMPDIR", "ADB_LOCAL_TRANSPORT_MAX_PORT"):
        monkeypatch.setenv(name, tool.environment[name])

    async def main() -> str:
        tool.start()
        async with connected(tool, make_adbd(), deadline_s=5.0) as device:
            before = await device.observe()
            tool.stop()
            another = type(tool)(binary=Path(other), port=tool.port, environment=tool.environment)
            another.start()
            assert "127.0.0.1" not in (await another.run("devices")).text
            cause = (await cause_of(device.observe()))[0]
            await device.reset()
            assert (await device.observe()).screen == before.screen
            return cause

    try:
        assert asyncio.run(main()) == "vanish"
    finally:
        tool.stop()


def test_uiautomator2_is_used_if_it_is_asked_for_and_named_if_it_is_missing(
    adb: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys
    import types

    async def use(device: AdbDevice, adbd: Adbd) -> int:
        with pytest.raises(UserError, match="pip install uiautomator2"):
            await device.observe()
        xml = '<hierarchy><node text="Hi" bounds="[0,0][27,60]" /></hierarchy>'
        phone = types.SimpleNamespace(dump_hierarchy=lambda: xml)
        fake = types.SimpleNamespace(connect=lambda serial: phone if serial == device.name else None)
        monkeypatch.setitem(sys.modules, "uiautomator2", fake)
        assert [e.text for e in (await device.observe()).elements] == ["Hi"]
        monkeypatch.setitem(sys.modules, "uiautomator2", types.SimpleNamespace())
        assert (await device.observe()).ui_tree is None
        return device.num_missing_trees

    assert with_device(adb, use, options=AdbOptions(settle_s=0.0, ui_tree="uiautomator2")) == 1

"""Our device on adb: hostile texts, every way in which phones and screens fail, settling and starting anew."""

import asyncio
import struct
from pathlib import Path

import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.errors import DeviceError
from distrl.core.types import OpenApp, Screen, Tap, TypeText
from distrl.devices.adb.device import AdbDevice, AdbOptions
from distrl.devices.adb.screenshot import screen_of
from distrl.devices.adb.server import AdbServer
from distrl.devices.pool import Pool
from distrl.devices.sim.state import Page

from .adb_bench import HandClock, Tool, cause_of, connected, focus_notes, make_adbd, shot

CANARY = "/tmp/distrl-canary-never"
EVERY_TIME = range(200)
HOSTILE = (
    *("a b", " leading", "trailing ", "  ", "%s", "%%s", "100%", "%s%s", "a%sb%%s%", "%25s", "%d%n"),
    *("'", '"', "''", "\"'\"'", "it's", 'say "hi"', "\\", "\\\\", "\\'", "a\\", "\\n", "\\x41", "\\u0041"),
    *(f"; touch {CANARY}", f"& touch {CANARY} &", f"&& touch {CANARY}", f"|| touch {CANARY}", f"| tee {CANARY}"),
    *(f"$(touch {CANARY})", f"`touch {CANARY}`", f"'; touch {CANARY}; '", f'"; touch {CANARY}; "', f"> {CANARY}"),
    *("$HOME", "${HOME}", "$0", "$$", "!!", "!$", "*", "?", "[a-z]*", "{a,b}", "~", "~root", "#comment", "a #b"),
    *("-", "--", "-n", "--help", "-d 1 text x", "&", "|", ";", "<", "<<EOF", "(", ")", "{}", "^", "=", "A=1 reboot"),
    *("reboot", "<script>alert(1)</script>", "&lt;&#10;&amp;", "../../etc/passwd", "'\"`$;&|<>(){}[]*?!#~\\%^=-"),
    *(
        "two\nlines",
        "tab\there",
        f"\n touch {CANARY}\n",
        "naïve",
        "你好 世界",
        "مرحبا",
        "👍🏽 ok",
        "e\u0301",
        "\u202eabc",
    ),
    *("\x7f", "\u00a0", "\u200b", "\ufeff", "x" * 1500, "é" * 900, " ".join("%s'$(id)" for _ in range(100))),
)


# ---------------------------------------------------------------- typing


def test_there_are_enough_hostile_texts() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 40


@pytest.mark.adb
def test_hostile_texts_arrive_verbatim_and_nothing_is_executed_anywhere(adb: Tool) -> None:
    Path(CANARY).unlink(missing_ok=True)

    async def use() -> dict[str, str]:
        adbd = make_adbd()
        phone = adbd.android.phone
        async with connected(adb, adbd) as device:
            await focus_notes(device, adbd)
            arrived = {}
            for text in HOSTILE:
                phone.top().fields["body"] = ""
                await device.perform(TypeText(text=text))
                arrived[text] = phone.top().fields["body"]
            assert adbd.android.files.stat(CANARY) == (0, 0, 0)
            return arrived

    assert asyncio.run(use()) == {text: text for text in HOSTILE}
    assert not Path(CANARY).exists()


@pytest.mark.adb
def test_app_names_are_never_parsed_by_a_shell(adb: Tool) -> None:
    async def use() -> None:
        adbd = make_adbd()
        async with connected(adb, adbd) as device:
            for text in HOSTILE:
                await device.perform(OpenApp(app=text))
            assert adbd.android.phone.activity == "launcher/home"
            assert adbd.android.files.stat(CANARY) == (0, 0, 0)

    asyncio.run(use())
    assert not Path(CANARY).exists()


@pytest.mark.adb
def test_without_the_adb_keyboard_other_text_is_refused_with_what_to_install(adb: Tool) -> None:
    async def use() -> tuple[str, str]:
        adbd = make_adbd(has_adb_keyboard=False)
        async with connected(adb, adbd) as device:
            await focus_notes(device, adbd)
            await device.perform(TypeText(text="plain"))
            result = await cause_of(device.perform(TypeText(text="naïve")))
            assert adbd.android.phone.top().fields["body"] == "plain"
            return result

    cause, message = asyncio.run(use())
    assert cause == "no_keyboard"
    assert "ADBKeyBoard" in message
    assert "ime set" in message


# ---------------------------------------------------------------- phones that fail


@pytest.mark.adb
@pytest.mark.parametrize(
    ("fault", "cause"),
    [("black_screen", "black_screen"), ("truncated_screen", "bad_screen"), ("corrupt_screen", "bad_screen")],
)
def test_a_spoiled_screenshot_is_never_an_observation(adb: Tool, fault: str, cause: str) -> None:
    async def use() -> tuple[str, str]:
        async with connected(adb, make_adbd(script=dict.fromkeys(EVERY_TIME, fault))) as device:
            return await cause_of(device.observe())

    assert asyncio.run(use())[0] == cause


@pytest.mark.adb
def test_a_phone_that_accepts_and_never_answers_meets_its_deadline(adb: Tool) -> None:
    async def use() -> tuple[str, str, float]:
        async with connected(adb, make_adbd(script={2: "freeze"}), deadline_s=1.0) as device:
            await device.size()
            await device.activity()
            began = asyncio.get_running_loop().time()
            cause, message = await cause_of(device.perform(Tap(x=0.5, y=0.5)))
            took_s = asyncio.get_running_loop().time() - began
            await device.perform(Tap(x=0.5, y=0.5))
            return cause, message, took_s

    cause, message, took_s = asyncio.run(use())
    assert cause == "deadline"
    assert "input tap" in message
    assert 0.9 < took_s < 5


@pytest.mark.adb
def test_a_phone_that_vanishes_is_named_and_back_after_a_reset(adb: Tool) -> None:
    async def use() -> tuple[str, str, str]:
        adbd = make_adbd()
        async with connected(adb, adbd, deadline_s=5.0) as device:
            await device.observe()
            port = int(device.name.rpartition(":")[2])
            await adbd.close()
            await asyncio.sleep(0.3)
            gone = await cause_of(device.observe())
            still = await cause_of(device.reset())
            await adbd.start(port)
            back = await cause_of(device.reset())
            return gone[0], still[0], back[0]

    gone, still, back = asyncio.run(use())
    assert gone in ("vanish", "offline")
    assert still in ("vanish", "offline", "deadline")
    assert back == ""


@pytest.mark.adb
def test_a_phone_that_vanishes_in_the_middle_of_an_answer_is_named(adb: Tool) -> None:
    async def use() -> tuple[str, str]:
        async with connected(adb, make_adbd(script={1: "vanish"}), deadline_s=5.0) as device:
            await device.size()
            return await cause_of(device.activity())

    cause, message = asyncio.run(use())
    assert cause in ("vanish", "offline"), message


@pytest.mark.adb
def test_a_phone_that_does_not_trust_us_says_what_to_do(adb: Tool) -> None:
    async def use() -> tuple[str, str]:
        async with connected(adb, make_adbd(script={1: "unauthorized"}), deadline_s=5.0) as device:
            await device.size()
            await cause_of(device.activity())
            for _ in range(10):  # on a busy machine the server may still be taking the lost connection off its list
                first = await cause_of(device.reset())
                if first[0] != "vanish":
                    break
            assert first[0] == "unauthorized", first
            cause, message = await cause_of(device.activity())
            return cause, message

    cause, message = asyncio.run(use())
    assert cause == "unauthorized"
    assert "allow USB debugging" in message


@pytest.mark.adb
def test_a_phone_that_is_offline_is_named_and_back_after_its_half_minute(adb: Tool) -> None:
    async def use() -> tuple[str, str, str]:
        clock = HandClock()
        async with connected(adb, make_adbd(script={1: "offline"}, clock=clock), deadline_s=2.0) as device:
            await device.size()
            first = await cause_of(device.activity())
            await asyncio.sleep(0.3)
            second = await cause_of(device.activity())
            clock.now_s = 31.0
            return first[0], second[0], (await cause_of(device.reset()))[0]

    first, second, third = asyncio.run(use())
    assert first in ("vanish", "offline")
    assert second == "offline"
    assert third == ""


@pytest.mark.adb
def test_an_app_that_crashes_ends_the_episode_or_is_shown_where_that_is_part_of_the_task(adb: Tool) -> None:
    async def use(*, aborts: bool) -> tuple[str, str]:
        options = AdbOptions(settle_s=0.0, aborts_on_dialogs=aborts)
        adbd = make_adbd(script={2: "app_crash"})
        async with connected(adb, adbd, options=options) as device:
            await device.perform(OpenApp(app="Notes"))
            shown = ""
            if not aborts:
                shown = await device.activity()
            cause = (await cause_of(device.observe()))[0]
            adbd.android.phone.open_app("clock")
            adbd.android.phone.push(Page("system", "not_responding", "clock"))
            await device.reset()
            assert "launcher" in await device.activity()
            return shown, cause

    assert asyncio.run(use(aborts=False)) == ("com.distrl.notes/ApplicationError", "")
    assert asyncio.run(use(aborts=True)) == ("", "app_dialog")


@pytest.mark.adb
def test_a_screenshot_that_drips_meets_its_deadline(adb: Tool) -> None:
    async def use() -> tuple[str, str]:
        async with connected(adb, make_adbd(script={1: "slow_drip"}), deadline_s=1.0) as device:
            await device.size()
            result = await cause_of(device.screenshot())
            await device.screenshot()
            return result

    cause, message = asyncio.run(use())
    assert cause == "deadline"
    assert "screencap" in message


@pytest.mark.adb
def test_the_pool_heals_a_phone_whose_cable_was_pulled(adb: Tool) -> None:
    async def use() -> tuple[dict[str, int], int]:
        adbd = make_adbd()
        async with connected(adb, adbd, deadline_s=5.0) as device:
            pool = Pool({device.name: lambda: device}, clock=LoopClock())
            async with pool.lease() as leased:
                await leased.observe()
                await adbd.drop()
                while True:  # until the server has noticed, and then the lease ends with the error
                    await leased.observe()
            async with pool.lease() as leased:
                seen = await leased.observe()
            await pool.close()
            return dict(pool.failures_by_cause), len(seen.elements)

    causes, num_elements = asyncio.run(use())
    assert causes
    assert set(causes) <= {"vanish", "offline"}
    assert num_elements > 0


# ---------------------------------------------------------------- screens


def test_screens_with_and_without_a_colour_space_are_read() -> None:
    for header in (12, 16):
        pixels = bytes([90]) * 3 + bytes([200]) * 69
        assert screen_of(shot(4, 6, header=header)) == Screen(data=pixels, width=4, height=6)


def test_a_screen_that_is_turned_by_a_quarter_is_a_screen() -> None:
    assert (screen_of(shot(6, 4), size=(4, 6)).width, screen_of(shot(4, 6), size=(4, 6)).width) == (6, 4)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"", "bad_screen"),
        (b"sh: screencap: out of memory", "bad_screen"),
        (shot(4, 6)[:-1], "bad_screen"),
        (shot(4, 6) + b"\n", "bad_screen"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "bad_screen"),
        (shot(4, 6, value=0, first=0), "black_screen"),
        (shot(4, 6, value=255, first=255), "blank_screen"),
        (shot(6, 6), "wrong_size"),
        (struct.pack("<4I", 2**31, 2**31, 1, 1), "bad_screen"),
    ],
)
def test_bad_screens_are_refused_by_cause(data: bytes, cause: str) -> None:
    with pytest.raises(DeviceError) as error:
        screen_of(data, size=(4, 6))
    assert error.value.cause == cause


class Moving(AdbDevice):
    """A device whose screen changes so many times; each look takes a moment of virtual time."""

    def __init__(self, changes: int, options: AdbOptions) -> None:
        super().__init__("moving", AdbServer(port=1), clock=LoopClock(), options=options)
        self.looks = 0
        self._changes = changes

    async def screenshot(self) -> Screen:
        await asyncio.sleep(0.05)
        self.looks += 1
        return Screen(data=bytes([min(self.looks, self._changes)]) * 3, width=1, height=1)


@pytest.mark.parametrize(
    ("changes", "settle_s", "looks", "took_s"),
    [(1, 3.0, 2, 0.25), (5, 3.0, 6, 1.05), (1000, 1.0, 6, 1.05), (1000, 0.0, 1, 0.05)],
)
def test_a_screen_is_taken_when_it_stops_changing_or_time_is_up(
    changes: int, settle_s: float, looks: int, took_s: float
) -> None:
    async def use() -> tuple[int, float]:
        device = Moving(changes, AdbOptions(settle_s=settle_s, settle_poll_s=0.15))
        await device._settled()
        return device.looks, asyncio.get_running_loop().time()

    seen, time_s = run_virtual(use())
    assert seen == looks
    assert time_s == pytest.approx(took_s)


@pytest.mark.adb
def test_a_reset_clears_the_data_of_the_packages_it_is_told(adb: Tool) -> None:
    async def use() -> None:
        adbd = make_adbd()
        phone = adbd.android.phone
        fresh = phone.inspect("notes")
        options = AdbOptions(settle_s=0.0, clears=("com.distrl.notes",))
        async with connected(adb, adbd, options=options) as device:
            phone.arrange({"notes": {"notes": []}})
            await device.reset()
            assert phone.inspect("notes") == fresh

    asyncio.run(use())

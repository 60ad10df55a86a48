"""Somebody's phone: what is refused, when it rests, and the stop key; on the sim, told to be guarded."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from distrl.core.clock import LoopClock
from distrl.core.types import Button, OpenApp, Press, Tap, TypeText
from distrl.devices.adb.device import AdbOptions
from distrl.devices.adb.guard import GuardedPhone, Safety
from distrl.devices.adb.server import AdbServer
from distrl.devices.sim.adbd.server import Adbd

from .adb_bench import INSTANT, Tool, cause_of, listening, make_adbd

pytestmark = pytest.mark.adb
ON = Safety(is_on=True)


def guarded(
    adb: Tool,
    use: Callable[[GuardedPhone, Adbd], Awaitable[None]],
    safety: Safety = ON,
    allows: str = "",
    **properties: str,
) -> None:
    async def main() -> None:
        adbd = make_adbd()
        adbd.android.properties = properties
        async with listening(adbd) as port:
            server = AdbServer(port=adb.port)
            device = GuardedPhone(f"127.0.0.1:{port}", server, safety, clock=LoopClock(), options=INSTANT)
            device.permit(frozenset(allows.split()))
            await device.reset()
            await device.observe()
            await use(device, adbd)

    asyncio.run(main())


async def open_password(device: GuardedPhone, adbd: Adbd) -> None:
    from distrl.devices.sim.state import Page

    phone = adbd.android.phone
    phone.open_app("settings")
    phone.push(Page("settings", "wifi_password", "Guest"))
    phone.system.focus = "password"
    phone._changed()


def test_nothing_is_typed_into_a_password_field_unless_the_task_is_about_it(adb: Tool) -> None:
    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        await open_password(device, adbd)
        await device.perform(TypeText(text="hunter2"))
        typed.append(adbd.android.phone.top().fields.get("password", ""))
        counts.append(device.refusals["password"])

    typed: list[str] = []
    counts: list[int] = []
    guarded(adb, use)
    guarded(adb, use, allows="password")
    assert (typed, counts) == (["", "hunter2"], [1, 0])


@pytest.mark.parametrize(("app", "kind"), [("Messages", "message"), ("Store", "install"), ("Mail", "message")])
def test_apps_for_messages_and_installing_do_not_open_unless_allowed(adb: Tool, app: str, kind: str) -> None:
    async def refused(device: GuardedPhone, adbd: Adbd) -> None:
        await device.perform(OpenApp(app=app))
        assert adbd.android.phone.activity == "launcher/home"
        assert device.refusals == {"package": 1}

    async def allowed(device: GuardedPhone, adbd: Adbd) -> None:
        await device.perform(OpenApp(app=app))
        assert (await device.observe()).activity.startswith(f"com.distrl.{app.lower()}")
        assert not device.refusals

    guarded(adb, refused)
    guarded(adb, allowed, allows=kind)
    guarded(adb, allowed, Safety(is_on=True, allows=(kind,)))


def test_an_app_that_came_to_the_front_all_the_same_is_left_before_anything_is_seen(adb: Tool) -> None:
    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        adbd.android.phone.open_app("messages")
        assert "launcher" in (await device.observe()).activity
        assert device.refusals["package"] >= 1

    guarded(adb, use)


def test_only_the_apps_on_the_list_are_used_if_there_is_one(adb: Tool) -> None:
    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        await device.perform(OpenApp(app="Notes"))
        assert "launcher" in (await device.observe()).activity
        await device.perform(OpenApp(app="Clock"))
        assert "clock" in (await device.observe()).activity

    guarded(adb, use, Safety(is_on=True, packages=("com.distrl.clock",)))


def test_a_button_that_sends_pays_or_installs_is_not_touched(adb: Tool) -> None:
    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        from distrl.core.types import Element

        box = (0.1, 0.1, 0.9, 0.2)
        for text, kind in (("Send", "message"), ("Pay now", "payment"), ("BUY NOW", "payment"), ("Install", "install")):
            device._elements = (Element(box=box, text=text, kind="button"),)
            before = device.refusals[kind]
            await device.perform(Tap(x=0.5, y=0.15))
            assert device.refusals[kind] == before + 1, text
        for text in ("Sender", "Payments and what they are", "Updated yesterday", "Reset"):
            device._elements = (Element(box=box, text=text, kind="button"),)
            await device.perform(Tap(x=0.5, y=0.15))
        assert sum(device.refusals.values()) == 4

    guarded(adb, use)


def test_the_fence_reads_the_tree_also_where_the_policy_does_without(adb: Tool) -> None:
    async def main() -> None:
        adbd = make_adbd()
        async with listening(adbd) as port:
            options = AdbOptions(settle_s=0.0, ui_tree="none")
            server = AdbServer(port=adb.port)
            device = GuardedPhone(f"127.0.0.1:{port}", server, ON, clock=LoopClock(), options=options)
            await device.reset()
            assert (await device.observe()).elements == ()
            await device.perform(Tap(x=0.5, y=0.5))
            assert device._elements

    asyncio.run(main())


def test_enter_does_not_send_a_message(adb: Tool) -> None:
    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        device._package = "com.google.android.apps.messaging"
        await device.perform(Press(button=Button.ENTER))
        assert device.refusals == {"message": 1}
        device._package = "com.distrl.notes"
        await device.perform(Press(button=Button.ENTER))
        assert device.refusals == {"message": 1}

    guarded(adb, use)


def test_a_phone_that_is_hot_or_nearly_empty_rests(adb: Tool) -> None:
    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        for battery, cause in (({"level": 12}, "battery"), ({"temp": 451}, "hot"), ({}, "")):
            adbd.android.battery = battery
            assert (await cause_of(device.reset()))[0] == cause

    guarded(adb, use)


def test_the_power_key_stops_everything_until_it_is_pressed_again(adb: Tool) -> None:
    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        adbd.android.is_awake = False
        assert (await cause_of(device.perform(Tap(x=0.5, y=0.5))))[0] == "hands_off"
        assert (await cause_of(device.observe()))[0] == "hands_off"
        assert (await cause_of(device.reset()))[0] == "hands_off"
        assert not adbd.android.is_awake
        adbd.android.is_awake = True
        assert (await cause_of(device.reset()))[0] == ""

    guarded(adb, use)


def test_it_is_on_by_default_for_all_that_is_no_emulator(adb: Tool) -> None:
    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        await device.perform(OpenApp(app="Messages"))
        refused.append(device.refusals["package"])

    refused: list[int] = []
    phone = {"ro.build.characteristics": "nosdcard"}
    guarded(adb, use, Safety())
    guarded(adb, use, Safety(), **phone)
    guarded(adb, use, Safety(is_on=False), **phone)
    guarded(adb, use, Safety(), **phone, **{"ro.kernel.qemu": "1"})
    assert refused == [0, 1, 0, 0]


def test_a_task_says_by_its_tags_what_it_may_do(adb: Tool) -> None:
    from distrl.core.interfaces import Setup
    from distrl.core.types import Task
    from distrl.envs.phone_env import EnvOptions, PhoneEnvironment
    from distrl.tasks.judges.script import ScriptJudge

    async def use(device: GuardedPhone, adbd: Adbd) -> None:
        environment = PhoneEnvironment(device, ScriptJudge(("failure",)), EnvOptions())
        for tags, allowed in ((("allows_message", "hard"), {"message"}), ((), set[str]())):
            task = Task(id="t", suite="mine", split="train", instruction="Text Ana", max_steps=5, tags=tags)
            await environment.reset(task, Setup())
            assert device._permitted == allowed

    guarded(adb, use)

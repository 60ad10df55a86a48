"""The simulated device: its reaction times and its faults, on virtual time (the contract is in test_contract.py)."""

import asyncio
import statistics
from collections.abc import Mapping

import pytest

from distrl.core.clock import run_virtual
from distrl.core.config import Config, PhoneConfig
from distrl.core.errors import DeviceError, UnknownNameError
from distrl.core.interfaces import Device, GroundTruth
from distrl.core.seeds import derive_random
from distrl.core.types import Observation, OpenApp, Tap, Wait
from distrl.devices.sim.device import SimDevice
from distrl.devices.sim.faults import FAULTS, Faults
from distrl.devices.sim.latency import PROFILES, Latency
from distrl.runtime.build import make_sim_device


def device(*, latency: str = "instant", script: Mapping[int, str] | None = None, number: int = 0) -> SimDevice:
    config = Config(phone=PhoneConfig.model_validate({"latency": latency}))
    return make_sim_device(config, number, script=script)


def test_the_sim_is_a_device_with_ground_truth() -> None:
    assert isinstance(device(), Device)
    assert isinstance(device(), GroundTruth)


# ---------------------------------------------------------------- reaction times


def step_s(latency: str, number: int = 0, steps: int = 200) -> list[float]:
    """Virtual seconds of each of many steps."""

    async def use() -> list[float]:
        made = device(latency=latency, number=number)
        await made.reset()
        loop = asyncio.get_running_loop()
        times = []
        for _ in range(steps):
            began = loop.time()
            await made.perform(Wait())
            await made.observe()
            times.append(loop.time() - began)
        return times

    return run_virtual(use())


def test_an_instant_phone_takes_no_time() -> None:
    assert sum(step_s("instant")) == 0


def test_an_emulator_takes_three_to_seven_seconds_a_step_with_a_tail() -> None:
    times = sorted(t for number in range(8) for t in step_s("emulator", number))
    assert 3 < times[len(times) // 2] < 7
    assert times[-1] > 20


@pytest.mark.parametrize(
    ("profile", "perform_s", "observe_s", "reset_s"),
    [("emulator", 2.2, 2.2, 3.0), ("slow-emulator", 4.5, 4.5, 6.0), ("phone", 0.5, 0.7, 8.0)],
)
def test_medians_over_many_devices_are_those_of_the_profile(
    profile: str, perform_s: float, observe_s: float, reset_s: float
) -> None:
    devices = [Latency(profile, derive_random(1, number)) for number in range(400)]
    for operation, expected in (("perform", perform_s), ("observe", observe_s), ("reset", reset_s)):
        assert statistics.median(d.sample(operation) for d in devices) == pytest.approx(expected, rel=0.12)


def test_devices_differ_in_speed_and_equal_seeds_do_not() -> None:
    assert step_s("emulator", 1) != step_s("emulator", 2)
    assert step_s("emulator", 1) == step_s("emulator", 1)


def test_the_first_reset_boots_and_later_ones_load_a_snapshot() -> None:
    async def use() -> tuple[float, float]:
        made = device(latency="emulator")
        loop = asyncio.get_running_loop()
        await made.reset()
        booted = loop.time()
        await made.reset()
        return booted, loop.time() - booted

    boot, restore = run_virtual(use())
    assert boot > 10 > restore > 1


def test_five_hundred_waiting_phones_share_one_loop() -> None:
    async def use() -> float:
        loop = asyncio.get_running_loop()

        async def one(number: int) -> None:
            made = device(latency="emulator", number=number)
            for _ in range(3):
                await made.perform(Wait())

        await asyncio.gather(*(one(n) for n in range(500)))
        return loop.time()

    assert run_virtual(use()) < 200, "they wait at the same time, not one after the other"


def test_unknown_profiles_and_faults_are_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="emulator"):
        Latency("emulater", derive_random(0))
    with pytest.raises(UnknownNameError, match="freeze"):
        Faults({"freze": 0.1}, derive_random(0))
    assert set(PROFILES) == {"instant", "emulator", "slow-emulator", "phone", "even", "lab", "rough"}


@pytest.mark.parametrize(("fleet", "speeds"), [("even", [1, 1, 1, 1]), ("lab", [0.5, 1, 1, 2])])
def test_the_devices_of_a_fleet_have_their_speeds_in_turn(fleet: str, speeds: list[float]) -> None:
    samples = [
        sorted(latency.sample("perform") for _ in range(400))[200]
        for latency in (Latency(fleet, derive_random(2, number), number) for number in range(4))
    ]
    assert samples == pytest.approx([2.2 / speed for speed in speeds], rel=0.1)


# ---------------------------------------------------------------- faults


async def _cause(made: SimDevice) -> str:
    try:
        async with asyncio.timeout(100):
            await made.perform(Wait())
    except DeviceError as error:
        return error.cause
    except TimeoutError:
        return "timeout"
    return ""


@pytest.mark.parametrize(
    ("fault", "cause"),
    [("freeze", "timeout"), ("vanish", "vanish"), ("offline", "offline"), ("unauthorized", "unauthorized")],
)
def test_a_device_fault_names_its_cause_and_a_reset_heals_it(fault: str, cause: str) -> None:
    async def use() -> tuple[str, str, str]:
        # Long after the machine was started, too: a fault must not wear off with the clock.
        await asyncio.sleep(2e7)
        made = device(script={0: fault})
        await made.reset()
        first, second = await _cause(made), await _cause(made)
        await made.reset()
        return first, second, await _cause(made)

    first, second, third = run_virtual(use())
    assert first == cause
    assert second == cause
    assert third == ""


def test_an_offline_device_comes_back_by_itself() -> None:
    async def use() -> tuple[str, str]:
        made = device(script={0: "offline"})
        await made.reset()
        first = await _cause(made)
        await asyncio.sleep(31)
        return first, await _cause(made)

    assert run_virtual(use()) == ("offline", "")


def test_a_reboot_loop_fails_two_resets() -> None:
    async def use() -> list[str]:
        made = device(script={0: "reboot_loop"})
        await made.reset()
        results = [await _cause(made)]
        for _ in range(3):
            try:
                await made.reset()
                results.append("")
            except DeviceError as error:
                results.append(error.cause)
        return results

    assert run_virtual(use()) == ["vanish", "reboot_loop", "reboot_loop", ""]


def test_screen_faults_spoil_the_screenshot_only_once() -> None:
    async def use(fault: str) -> tuple[Observation, Observation]:
        made = device(script={0: fault})
        await made.reset()
        return await made.observe(), await made.observe()

    late, good_one = run_virtual(use("slow_drip"))
    assert late.time_s == 60.0
    good = good_one.screen
    for fault in ("black_screen", "truncated_screen", "corrupt_screen"):
        spoiled, fine = run_virtual(use(fault))
        assert spoiled.screen != good == fine.screen


def test_an_app_crash_shows_the_systems_dialog() -> None:
    async def use() -> str:
        made = device(script={1: "app_crash"})
        await made.reset()
        await made.perform(OpenApp(app="Notes"))
        await made.perform(Wait())
        return made.phone.activity

    assert run_virtual(use()) == "system/crash/notes"


def test_the_touch_that_comes_with_a_crash_does_not_reach_the_app() -> None:
    async def use() -> tuple[str, int]:
        made = device(script={1: "app_crash"})
        await made.reset()
        await made.perform(OpenApp(app="Notes"))
        x, y = next(e for e in made.phone.elements() if e.id == "fab").center
        await made.perform(Tap(x=x, y=y))
        return made.phone.activity, len(made.phone.stack())

    assert run_virtual(use()) == ("system/crash/notes", 1)


def test_faults_by_probability_are_seeded_and_about_as_frequent_as_asked_for() -> None:
    def draw(seed: int) -> list[str]:
        faults = Faults({"freeze": 0.1, "vanish": 0.2}, derive_random(seed))
        return [faults.next() for _ in range(2000)]

    assert draw(1) == draw(1) != draw(2)
    assert 150 < draw(1).count("freeze") < 250
    assert 300 < draw(1).count("vanish") < 420


def test_every_fault_is_described() -> None:
    assert len(FAULTS) == 10
    assert all(FAULTS.values())

"""Devices behind adb under a whole worker: pool, environment, judge and policy, broken in the middle of a step."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.config import Config, config_of
from distrl.core.errors import DeviceError, DistrlError, SetupError
from distrl.core.interfaces import Setup
from distrl.core.types import Invalid, Observation, Outcome, Situation, Tap, Task, Trajectory
from distrl.devices.adb.choosing import Listed, pick
from distrl.devices.adb.screenshot import screen_of
from distrl.devices.adb.server import failure
from distrl.devices.pool import Pool
from distrl.envs.phone_env import PhoneEnvironment
from distrl.runtime.build import make_environment, make_pool, make_setup
from distrl.runtime.curriculum import FixedTasks, TaskSource
from distrl.runtime.evaluation import Scripted
from distrl.runtime.worker import MAX_SKIPPED_IN_A_ROW, Worker, WorkerOptions
from distrl.tasks.book import load_tasks

from .adb_bench import Tool, shot


def config_for(adb: Tool, num_devices: int = 2) -> Config:
    devices = {
        "kind": "adb",
        "starts_sim_phones": True,
        "adb_port": adb.port,
        "call_deadline_s": 2.0,
        "settle_s": 0.0,
        "screenshot": "raw",
    }
    return config_of({"devices": devices, "collect": {"num_devices": num_devices}, "phone": {"scale": 0.1}})


PATIENCE_S = 100.0
PLAYED_ON: dict[str, str] = {}
"""The device on which each task is being tried."""


class Noting:
    """An environment that notes which device has which task."""

    def __init__(self, environment: PhoneEnvironment, name: str) -> None:
        self._environment, self._name = environment, name
        self.step, self.close = environment.step, environment.close

    async def reset(self, task: Task, setup: Setup) -> Observation:
        PLAYED_ON[task.id] = self._name
        return await self._environment.reset(task, setup)


def play(
    config: Config,
    act: Callable[[Situation, Pool], Any],
    tasks: TaskSource,
    on_sent: Callable[[list[Trajectory]], None] = lambda sent: None,
) -> tuple[list[Trajectory], Pool]:
    """A worker as training has it, on these tasks; what it sent, and its pool, whose devices are gone."""
    sent: list[Trajectory] = []

    async def main() -> Pool:
        pool = make_pool(config, config.collect.num_devices)

        async def keep(trajectory: Trajectory) -> None:
            sent.append(trajectory)
            on_sent(sent)

        worker = Worker(
            pool,
            Scripted(lambda situation: act(situation, pool)),
            weights=lambda assignment: SimpleNamespace(version=0),
            make_environment=lambda device: Noting(make_environment(config, device), device.name),
            make_setup=make_setup,
            send=keep,
            options=WorkerOptions(),
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                await worker.run(tasks)
        finally:
            await pool.close()
        return pool

    return sent, asyncio.run(main())


@pytest.mark.adb
@pytest.mark.parametrize("fault", ["kill", "freeze", "garbage", "black", "vanish"])
def test_a_device_broken_in_mid_step_costs_one_truncated_unrewarded_episode_and_others_go_on(
    adb: Tool, fault: str
) -> None:
    """Rows 1, 2 and 7: killed, frozen, screens that are none; through pool, environment, judge and worker."""
    broken: list[str] = []

    def act(situation: Situation, pool: Pool) -> Any:
        device: Any = pool._devices["sim-0"]
        if not broken and len(situation.steps) == 2 and PLAYED_ON[situation.task.id] == "sim-0":
            broken.append(situation.task.id)
            if fault in ("kill", "freeze"):
                os.kill(device.pid, signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
            else:
                names = {"garbage": "corrupt_screen", "black": "black_screen", "vanish": "vanish"}
                words = ["distrl", "fault", names[fault], "1" if fault == "vanish" else "40"]
                command = [str(adb.binary), "-P", str(adb.port), "-s", device.serial, "shell", *words]
                subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)
        return Tap(x=0.5, y=0.99)

    sent, pool = play(config_for(adb), act, FixedTasks(load_tasks("general", "train")[:4]))
    assert len(sent) == 4
    aborted = [t for t in sent if t.outcome is Outcome.ABORTED_DEVICE]
    assert len(aborted) == 1
    assert aborted[0].steps[-1].rewards == {}
    assert aborted[0].verdict.score == 0.0
    assert {t.outcome for t in sent if t not in aborted} == {Outcome.TRUNCATED_STEPS}
    assert sum(pool.failures_by_cause.values()) >= 1


@pytest.mark.adb
def test_no_action_of_nonsense_reaches_the_device(adb: Tool) -> None:
    """Row 33: an `Invalid` is penalised and touches nothing."""
    states: list[Any] = []

    def act(situation: Situation, pool: Pool) -> Any:
        states.append(situation.observation.screen.data)
        return Invalid(raw="rm -rf / ; $(reboot)", reason="two actions")

    sent, _ = play(config_for(adb, num_devices=1), act, FixedTasks(load_tasks("general", "train")[:1]))
    assert sent[0].outcome is Outcome.TRUNCATED_STEPS
    assert all(step.rewards["invalid"] < 0 for step in sent[0].steps)
    assert len(set(states)) == 1


# ---------------------------------------------------------------- tasks that cannot be set up


class Stubborn:
    """An environment whose every task cannot be set up, or only the first."""

    def __init__(self, device: Any, fails: Callable[[], bool]) -> None:
        self._device = device
        self._fails = fails

    async def reset(self, task: Any, setup: Setup) -> Any:
        if self._fails():
            raise SetupError("setup", "com.example.shop is missing")
        await self._device.reset()
        return await self._device.observe()

    async def step(self, decision: Any) -> Any:
        return SimpleNamespace(
            observation=await self._device.observe(),
            rewards={},
            outcome=Outcome.FAILED,
            verdict=None,
            infra_error="",
        )

    async def close(self) -> None:
        pass


def skipping(fails: Callable[[], bool]) -> tuple[int, int, int]:
    """Sent, skipped, failures of devices."""
    sent: list[Trajectory] = []

    async def main() -> tuple[int, int, int]:
        config = config_of({"phone": {"scale": 0.1}})
        pool = make_pool(config, 1)

        async def keep(trajectory: Trajectory) -> None:
            sent.append(trajectory)

        worker = Worker(
            pool,
            Scripted(lambda situation: Tap(x=0.5, y=0.5)),
            weights=lambda assignment: SimpleNamespace(version=0),
            make_environment=lambda device: Stubborn(device, fails),
            make_setup=make_setup,
            send=keep,
            options=WorkerOptions(),
        )
        await worker.run(FixedTasks(load_tasks("general", "train")[:30]))
        return len(sent), worker.num_skipped, sum(pool.failures_by_cause.values())

    return asyncio.run(main())


def test_a_task_that_cannot_be_set_up_is_skipped_and_counted_and_the_device_is_not_blamed() -> None:
    """Row 8."""
    rng = Random(0)
    sent, skipped, failures = skipping(lambda: rng.random() < 0.3)
    assert (sent + skipped, failures) == (30, 0)
    assert skipped > 0


def test_when_no_task_can_be_set_up_the_worker_ends_and_names_what_is_missing() -> None:
    with pytest.raises(DistrlError, match=rf"{MAX_SKIPPED_IN_A_ROW} tasks in a row .*com\.example\.shop is missing"):
        skipping(lambda: True)


# ---------------------------------------------------------------- laws


STATES = ("device", "offline", "unauthorized", "recovery", "sideload", "no permissions", "authorizing", "connecting")


@given(
    st.lists(st.tuples(st.sampled_from(("a", "b", "c")), st.sampled_from(STATES)), max_size=5),
    st.sampled_from(("", "a", "b", "z")),
)
def test_whatever_adb_lists_a_device_is_usable_or_the_error_says_what_to_do(
    found: list[tuple[str, str]], wanted: str
) -> None:
    """Row 5."""
    listed = [Listed(serial=serial, state=state) for serial, state in found]
    try:
        chosen = pick(listed, wanted)
    except DeviceError as error:
        assert error.cause in ("vanish", "offline", "unauthorized", "which_device", "duplicate_serial")
        assert len(str(error)) > 20
    else:
        assert chosen.state == "device"
        assert not wanted or chosen.serial == wanted


@given(st.text(max_size=200))
def test_whatever_a_server_refuses_with_is_a_cause(reason: str) -> None:
    assert failure(reason or "x").cause


GOOD = shot(8, 12)


@settings(max_examples=300)
@given(
    st.one_of(
        st.binary(max_size=2000),
        st.integers(0, len(GOOD)).map(lambda n: GOOD[:n]),
        st.tuples(st.integers(0, len(GOOD) - 1), st.integers(1, 255)).map(
            lambda c: GOOD[: c[0]] + bytes([GOOD[c[0]] ^ c[1]]) + GOOD[c[0] + 1 :]
        ),
        st.binary(max_size=300).map(lambda b: b"\x89PNG\r\n\x1a\n" + b),
        st.binary(max_size=300).map(lambda b: b"\xff\xd8\xff" + b),
    )
)
def test_no_bytes_become_a_screen_of_another_size_or_an_exception_that_nobody_expects(data: bytes) -> None:
    """Row 7."""
    try:
        screen = screen_of(data, size=(8, 12))
    except DeviceError as error:
        assert error.cause in ("bad_screen", "wrong_size", "black_screen", "blank_screen")
    else:
        assert {screen.width, screen.height} == {8, 12}
        assert len(screen.data) == 8 * 12 * 3

"""Row 2: a device that is frozen costs the others nothing. Nowhere here does it matter how fast this machine is."""

import asyncio
import contextlib
import itertools
import os
import signal
from collections import Counter
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.config import config_of
from distrl.core.types import Outcome, Situation, Tap, Trajectory, Wait
from distrl.devices.pool import Pool
from distrl.runtime.build import make_environment, make_setup, make_sim_device
from distrl.runtime.curriculum import Assignment
from distrl.runtime.evaluation import Scripted
from distrl.runtime.worker import Worker, WorkerOptions
from distrl.tasks.book import load_tasks

from .adb_bench import Tool
from .emulator_bench import AVD, Sdk
from .test_adb_faults import PLAYED_ON, play

NEVER_S = 3600.0
"""A deadline that no test lives to see."""


class EndlessTasks:
    """The same tasks again and again."""

    def __init__(self) -> None:
        self._tasks = itertools.cycle(load_tasks("general", "train")[:8])

    async def next(self, loop: int) -> Assignment:
        return Assignment(task=next(self._tasks))


def steps_by_device(*, freezes: bool, seconds: float = 7200.0) -> Counter[str]:
    """What a worker with four slow phones does in so many virtual seconds; the first may freeze every few steps."""
    config = config_of({"phone": {"scale": 0.1, "latency": "emulator"}})
    script = dict.fromkeys(range(6, 10_000, 12), "freeze") if freezes else {}
    done: Counter[str] = Counter()

    async def note(trajectory: Trajectory) -> None:
        done[trajectory.device] += len(trajectory.steps)

    async def main() -> None:
        clock = LoopClock()
        make = partial(make_sim_device, config, clock=clock)
        pool = Pool({f"sim-{n}": partial(make, n, script=script if n == 0 else {}) for n in range(4)}, clock=clock)
        worker = Worker(
            pool,
            Scripted(lambda situation: Wait()),
            weights=lambda assignment: SimpleNamespace(version=0),
            make_environment=partial(make_environment, config),
            make_setup=make_setup,
            send=note,
            options=WorkerOptions(),
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await worker.run(EndlessTasks())
        await pool.close()

    run_virtual(main())
    return done


def test_beside_a_phone_that_freezes_again_and_again_the_others_do_95_percent_of_their_steps_at_least() -> None:
    well, ill = steps_by_device(freezes=False), steps_by_device(freezes=True)
    assert ill["sim-0"] < 0.5 * well["sim-0"], "the one that freezes loses, or this would show nothing"
    for name in ("sim-1", "sim-2", "sim-3"):
        assert ill[name] >= 0.95 * well[name] > 1000


class TasksForLater:
    """A task for each of three devices; five more, for whoever asks, once a device is stopped."""

    def __init__(self) -> None:
        self._tasks = iter(load_tasks("general", "train")[:8])
        self._num_given = 0
        self.one_is_stopped = asyncio.Event()

    async def next(self, loop: int) -> Assignment | None:
        self._num_given += 1
        if self._num_given > 3:
            await self.one_is_stopped.wait()
        task = next(self._tasks, None)
        return task and Assignment(task=task)


@pytest.mark.adb
@pytest.mark.parametrize("kind", ["adb", "emulator"])
def test_while_a_device_is_stopped_the_others_do_all_the_rest_through_the_same_adb_server(
    kind: str, adb: Tool, sdk: Sdk
) -> None:
    """No deadline ends the call that hangs: did anybody wait for it, the rest would never be done."""
    sdk.make_avd()
    emulator = {"avd": AVD, "first_port": sdk.first_port, "logs": str(sdk.root / "logs")}
    devices: dict[str, Any] = {"adb_port": adb.port, "call_deadline_s": NEVER_S, "settle_s": 0.0, "screenshot": "raw"}
    devices |= {"kind": kind, "emulator": emulator} if kind == "emulator" else {"kind": kind, "starts_sim_phones": True}
    config = config_of(
        {
            "devices": devices,
            "collect": {"num_devices": 3},
            "phone": {"scale": 0.1},
            "env": {"operation_deadline_s": NEVER_S},
        }
    )
    victim = "sim-0" if kind == "adb" else "emulator-0"
    stopped: dict[str, int] = {}
    tasks = TasksForLater()

    def act(situation: Situation, pool: Pool) -> Tap:
        if not stopped and len(situation.steps) == 2 and PLAYED_ON[situation.task.id] == victim:
            device: Any = pool._devices[victim]
            stopped[situation.task.id] = device.pid
            os.kill(device.pid, signal.SIGSTOP)
            tasks.one_is_stopped.set()
        return Tap(x=0.5, y=0.99)

    def let_it_go_on(sent: list[Trajectory]) -> None:
        if len(sent) == 7:
            os.kill(*stopped.values(), signal.SIGCONT)

    sent, pool = play(config, act, tasks, on_sent=let_it_go_on)
    assert [t.task.id for t in sent[7:]] == list(stopped), "the one that was stopped is the last"
    assert {t.device for t in sent[:7]} >= set(pool._devices) - {victim}
    assert {t.outcome for t in sent} == {Outcome.TRUNCATED_STEPS}
    assert not pool.failures_by_cause

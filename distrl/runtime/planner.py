"""The planner: what devices, models and fleets are like in, what a run of them would reach out, before it is bought.

    worker (its loops, batches and courier) --> hub --> learner loop       all of a real run, in virtual time

Only what computes is replaced: a device takes the times of its profile and shows nothing, a policy decides nothing and
is charged for it, a learner counts and is charged for it. So a fleet of thousands is played in minutes.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from distrl.core.clock import Clock, LoopClock, run_virtual
from distrl.core.errors import UserError
from distrl.core.interfaces import Setup, StepResult
from distrl.core.seeds import derive_random
from distrl.core.types import (
    Action,
    Decision,
    Observation,
    Outcome,
    Ruling,
    Screen,
    Situation,
    Task,
    Trajectory,
    Verdict,
    Wait,
)
from distrl.devices.pool import Pool
from distrl.devices.sim.latency import Latency
from distrl.runtime.asynchronous import MAX_WAITING, limit_of
from distrl.runtime.curriculum import Assignment
from distrl.runtime.fleet import Courier, Identity, Patience
from distrl.runtime.hub import Hub
from distrl.runtime.journal import Journal
from distrl.runtime.learner_loop import LearnerLoop
from distrl.runtime.simulation import DirectLink
from distrl.runtime.spool import Spool
from distrl.runtime.worker import Worker, WorkerOptions

IN_MEMORY = Path(":memory:")
TICK_S = 15.0
SETTLING_S = 240.0
"""Until every device has booted and is somewhere in an episode of its own."""
_SCREEN = Observation(screen=Screen(data=bytes(3), width=1, height=1), activity="", time_s=0.0)
_ACTION = Wait()


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be planned. Times are seconds."""

    devices: int
    workers: int = 1
    latency: str = "emulator"
    steps: tuple[int, ...] = (8,)
    """Lengths of episodes; each is as likely as any other."""
    batch_s: float = 0.0
    decision_s: float = 0.0
    max_batch: int = 64
    update_s: float = 0.0
    new_steps_per_update: float = 24.0
    publish_every_updates: int = 2
    max_policy_lag: int | None = None
    minutes: float = 30.0
    """Virtual minutes that are counted, after `SETTLING_S`."""
    seed: int = 0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to expect."""

    devices: int
    trajectories_per_min: float
    steps_per_s: float
    updates_per_min: float
    lag_mean: float
    """Versions between the weights that acted and those that learned from it."""
    lag_max: int
    device_use: float
    """Share of the devices' time in their own operations."""
    inference_share: float
    """Share of the devices' time in which they wait for a decision."""
    learner_use: float
    """Share of the time in which the learner computes."""
    limit: str
    """What there should be more of: `device`, `inference` or `learner`."""


def episode_lengths(mean: int) -> tuple[int, ...]:
    """Lengths around a mean, the shortest and the longest equally far from it."""
    spread = mean // 2
    return tuple(range(mean - spread, mean + spread + 1))


def enough_minutes(devices: int) -> float:
    """Long enough for a mean that holds, and no longer: an hour of few devices, minutes of thousands."""
    return min(60.0, max(2.0, 20_000 / devices))


def num_ticks(fleet: Fleet) -> int:
    """How often `plan` ticks: once for every quarter of a minute that it plays."""
    return math.ceil((SETTLING_S + 60 * fleet.minutes) / TICK_S)


def plan(fleet: Fleet, tick: Callable[[], None] = lambda: None) -> Plan:
    """Play the fleet; `tick` hears how it goes on. `UserError` if nothing in it takes any time."""
    if fleet.latency == "instant" and not (fleet.batch_s or fleet.decision_s):
        raise UserError("with instant devices a decision has to take some time; say how much, or choose others")
    return run_virtual(_Play(fleet, LoopClock()).run(tick))


class _Played:
    """A device that does nothing but take its time."""

    def __init__(self, fleet: Fleet, clock: Clock, number: int) -> None:
        self.name = f"device-{number}"
        rng = derive_random(fleet.seed, self.name)
        self._latency = Latency(fleet.latency, rng, number)
        self._lengths, self._rng = fleet.steps, rng
        self._clock = clock
        self._left = 0
        self._is_booted = False

    async def _take(self, *operations: str) -> None:
        await self._clock.sleep(sum(self._latency.sample(operation) for operation in operations))

    async def begin(self) -> Observation:
        """An episode of a length of its own."""
        self._left = self._rng.choice(self._lengths)
        await self._take("reset" if self._is_booted else "boot", "observe")
        self._is_booted = True
        return _SCREEN

    async def step(self) -> StepResult:
        """One step; the last one solves the task."""
        await self._take("perform", "observe")
        self._left -= 1
        if self._left:
            return StepResult(observation=_SCREEN, rewards={})
        solved = Verdict(ruling=Ruling.SUCCESS, judge="plan")
        return StepResult(observation=_SCREEN, rewards={}, outcome=Outcome.SUCCEEDED, verdict=solved)

    # A device is more than that, but nobody here asks for it.
    async def reset(self) -> None:
        """Nothing to heal."""

    async def observe(self) -> Observation:
        """Nothing to see."""
        return _SCREEN

    async def perform(self, action: Action) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to release."""


class _Environment:
    """An episode on such a device."""

    def __init__(self, device: Any) -> None:
        self._device: _Played = device

    async def reset(self, task: Task, setup: Setup) -> Observation:
        return await self._device.begin()

    async def step(self, decision: Decision) -> StepResult:
        return await self._device.step()

    async def close(self) -> None:
        """Nothing to release."""


class _Weights(msgspec.Struct, frozen=True):
    version: int


class _Policy:
    """Decides nothing."""

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
    ) -> list[Decision]:
        return [Decision(action=_ACTION, policy_version=snapshot.version)] * len(situations)


class _Tasks:
    """One task without end; with a barrier, once for each version and device."""

    def __init__(self, *, is_synchronous: bool) -> None:
        self._assignment = Assignment(
            task=Task(id="plan", suite="plan", split="train", instruction="Plan", max_steps=10**6, template="plan")
        )
        self._is_synchronous = is_synchronous
        self._acted_with: dict[int, int] = {}
        self._version = -1
        self._changed = asyncio.Event()

    def hear(self, version: int) -> None:
        self._version = version
        self._changed.set()
        self._changed = asyncio.Event()

    async def next(self, loop: int) -> Assignment | None:
        while self._is_synchronous and self._acted_with.get(loop) == self._version:
            await self._changed.wait()
        self._acted_with[loop] = self._version
        return self._assignment


class _Play:
    """The whole fleet, and the student of its learner loop."""

    def __init__(self, fleet: Fleet, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock
        journal = Journal(IN_MEMORY)
        self._hub = Hub(journal, journal.begin_epoch(), clock=clock, max_waiting=MAX_WAITING)
        self._loop = LearnerLoop(self._hub, self, clock, max_policy_lag=fleet.max_policy_lag)
        self._tasks: list[_Tasks] = []
        self._workers: list[Worker] = []
        self._credit = 0.0
        self.version = 0
        self.num_left = 10**12
        self.num_trajectories = self.num_steps = self.num_updates = 0

    # ---- the student

    @property
    def is_due(self) -> bool:
        return self._credit >= 1.0

    async def learn_from(self, trajectory: Trajectory) -> None:
        self.num_trajectories += 1
        self.num_steps += len(trajectory.steps)
        self._credit += len(trajectory.steps) / self._fleet.new_steps_per_update

    async def update(self) -> None:
        is_behind = self._hub.depth > 0 and not self._loop.is_synchronous
        self._credit = self._credit % 1.0 if is_behind else self._credit - 1.0
        self.num_updates += 1
        self.version += self.num_updates % self._fleet.publish_every_updates == 0
        await self._clock.sleep(self._fleet.update_s)

    async def publish(self) -> None:
        if self._hub.newest < self.version:
            await self._hub.publish(self.version, b"")
            for tasks in self._tasks:
                tasks.hear(self.version)

    # ---- the run

    async def run(self, tick: Callable[[], None]) -> Plan:
        """Boot, then count."""
        await self.publish()
        tasks = [asyncio.ensure_future(self._work(number)) for number in range(self._fleet.workers)]
        tasks += [asyncio.ensure_future(self._learn()), asyncio.ensure_future(self._tell(tick))]
        await self._clock.sleep(SETTLING_S)
        before = self._counts()
        await self._clock.sleep(60 * self._fleet.minutes)
        counted = {name: value - before[name] for name, value in self._counts().items()}
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result
        return self._plan(counted)

    async def _tell(self, tick: Callable[[], None]) -> None:
        while True:
            await self._clock.sleep(TICK_S)
            tick()

    def _counts(self) -> dict[str, float]:
        times = {
            name: sum(worker.times[name] for worker in self._workers)
            for name in ("device", "inference", "send", "task")
        }
        return {
            "trajectories": self.num_trajectories,
            "steps": self.num_steps,
            "updates": self.num_updates,
            "waited": self._loop.waited_s,
            **times,
        }

    def _plan(self, counted: dict[str, float]) -> Plan:
        seconds = 60 * self._fleet.minutes
        device_s = seconds * self._fleet.devices
        lags = self._loop.lags
        row = {"learner_idle_share": min(1.0, counted["waited"] / seconds)}
        row |= {f"{name}_share": counted[name] / device_s for name in ("device", "inference", "send")}
        return Plan(
            devices=self._fleet.devices,
            trajectories_per_min=round(60 * counted["trajectories"] / seconds, 2),
            steps_per_s=round(counted["steps"] / seconds, 2),
            updates_per_min=round(60 * counted["updates"] / seconds, 2),
            lag_mean=round(sum(lags) / max(1, len(lags)), 2),
            lag_max=max(lags, default=0),
            device_use=round(row["device_share"], 4),
            inference_share=round(row["inference_share"], 4),
            learner_use=round(counted["updates"] * self._fleet.update_s / seconds, 4),
            limit=limit_of(row),
        )

    async def _learn(self) -> None:
        while True:
            await self._loop.turn()

    async def _work(self, number: int) -> None:
        """One worker with its share of the devices."""
        fleet, clock = self._fleet, self._clock
        numbers = range(number, fleet.devices, fleet.workers)
        name = f"worker-{number}"
        identity = Identity(name, name, name, len(numbers))
        link = DirectLink(self._hub)
        await identity.join(link)
        spool = Spool(IN_MEMORY, max_bytes=2**40)
        courier = Courier(identity, link, spool, patience=Patience(clock, derive_random(fleet.seed, name)))
        worker = Worker(
            Pool({f"device-{n}": partial(_Played, fleet, clock, n) for n in numbers}, clock=clock),
            _Policy(),
            weights=lambda assignment: _Weights(self._hub.newest),
            make_environment=_Environment,
            make_setup=lambda task: Setup(),
            send=courier.send,
            options=WorkerOptions(
                name=name, max_batch=fleet.max_batch, batch_s=fleet.batch_s, decision_s=fleet.decision_s
            ),
        )
        self._workers.append(worker)
        tasks = _Tasks(is_synchronous=fleet.max_policy_lag == 0)
        tasks.hear(self._hub.newest)
        self._tasks.append(tasks)
        await asyncio.gather(courier.run(), worker.run(tasks))

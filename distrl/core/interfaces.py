"""The interfaces between the folders. Each is small; runtime/build.py alone knows who implements them.

That of algorithms is in distrl/algorithms/interface.py, since it speaks of tensors.

Devices and environments are asynchronous, so that one event loop can hold hundreds of them and a virtual clock can
stand in for a real one.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Protocol, runtime_checkable

import msgspec

from distrl.core.types import (
    Action,
    Decision,
    Observation,
    Outcome,
    Situation,
    Step,
    Task,
    Trajectory,
    Verdict,
    Weights,
)

Plain = Mapping[str, Any]
"""JSON-like data: the state of an app as anybody can read it."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How a phone is arranged before a task: the fields to set by app, the phone's seed, and its variations."""

    world: Plain = {}
    seed: int = 0
    variations: tuple[str, ...] = ()


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a step led to. `outcome` is None while the episode goes on; `infra_error` names a device's failure."""

    observation: Observation
    rewards: dict[str, float]
    outcome: Outcome | None = None
    verdict: Verdict | None = None
    infra_error: str = ""


@runtime_checkable
class Device(Protocol):
    """Something with a screen that can be touched. Every failure is a `DeviceError`."""

    @property
    def name(self) -> str:
        """Unique among the devices of a run."""
        ...

    async def reset(self) -> None:
        """Back to the clean start state, whatever happened before."""
        ...

    async def observe(self) -> Observation:
        """What the screen shows now."""
        ...

    async def perform(self, action: Action) -> None:
        """Do it; `Finish` and `Invalid` touch nothing."""
        ...

    async def close(self) -> None:
        """Release everything; may be called twice."""
        ...


@runtime_checkable
class GroundTruth(Protocol):
    """A device whose state can be arranged for a task and read back: the sim, near or behind adb, not a real phone."""

    def arrange(self, world: Plain, *, seed: int, variations: tuple[str, ...] = ()) -> None:
        """What the next reset begins with: a fresh phone of this seed, with the given fields set, by app."""
        ...

    async def inspect(self, app: str) -> Plain:
        """The state of one app (or of `phone`) as plain data; it may have to be asked for."""
        ...


@runtime_checkable
class Guarded(Protocol):
    """A device that refuses some actions, unless the task is about them: somebody's phone."""

    def permit(self, kinds: frozenset[str]) -> None:
        """What the next episode may do, such as `message`."""
        ...


class Judge(Protocol):
    """Says whether a task is done."""

    name: str

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """The verdict on an episode so far; raises `JudgeError` when there is none to be had."""
        ...


class Environment(Protocol):
    """A device on which one task after another is tried."""

    async def reset(self, task: Task, setup: Setup) -> Observation:
        """Arrange the device for a task and show its first screen; raises `DeviceError` if there is none."""
        ...

    async def step(self, decision: Decision) -> StepResult:
        """Do what was decided; the first result with an outcome is the last of the episode."""
        ...

    async def close(self) -> None:
        """Release the device."""
        ...


class Policy(Protocol):
    """Decides without a network: one action at a time."""

    def act(self, task: Task, observation: Observation) -> Action:
        """One action for one observation."""
        ...


class Decider(Protocol):
    """A policy that decides for many at once, with weights of some version."""

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
    ) -> list[Decision]:
        """One decision each with these weights; the likeliest ones if there are no random numbers."""
        ...


@runtime_checkable
class RemoteDecider(Protocol):
    """A policy somewhere else: each decision is waited for by itself, and others are made meanwhile."""

    async def decide_one(self, situation: Situation, rng: Random | None, snapshot: Any = None) -> Decision:
        """The decision in one situation; raises `ServerError` if there is none to be had."""
        ...


@runtime_checkable
class Featuring(Protocol):
    """A policy with frozen eyes: what they see travels with a trajectory, and its learner needs no eyes."""

    def with_features(self, trajectory: Trajectory) -> Trajectory:
        """The same trajectory with `features`."""
        ...


class TrajectorySink(Protocol):
    """Where a worker sends what it has finished."""

    async def send(self, trajectory: Trajectory) -> None:
        """Returns when the trajectory is safe; sending it twice is harmless."""
        ...


class TrajectorySource(Protocol):
    """Where the learner takes it from."""

    async def receive(self, max_count: int) -> tuple[Trajectory, ...]:
        """What has arrived, the oldest first; nothing if nothing has."""
        ...


class Drawn(Protocol):
    """A trajectory that replay drew."""

    @property
    def id(self) -> str:
        """Which one."""
        ...

    @property
    def probability(self) -> float:
        """How likely it was to be drawn."""
        ...


class Replay(Protocol):
    """Keeps trajectories and draws some of them."""

    def add(self, trajectory: Trajectory, priority: float) -> tuple[str, ...]:
        """Keep it; the ids of the oldest, which were let go of for it."""
        ...

    def sample(self, count: int, *, newest: int | None = None) -> Sequence[Drawn]:
        """Draw so many, the likelier the higher their priority; among the newest so many, if said so."""
        ...

    def reprioritise(self, priorities: Mapping[str, float]) -> None:
        """New priorities by trajectory id; unknown ids are ignored, since they may be gone."""
        ...

    def get(self, id: str) -> Trajectory:
        """A trajectory that is kept."""
        ...

    def __len__(self) -> int:
        """How many trajectories are kept."""
        ...


class WeightStore(Protocol):
    """Where weights are published and fetched."""

    def publish(self, data: bytes, version: int) -> Weights:
        """Make them visible, all at once."""
        ...

    def latest(self) -> Weights | None:
        """The newest published version."""
        ...

    def fetch(self, weights: Weights) -> bytes:
        """The verified bytes of a version."""
        ...

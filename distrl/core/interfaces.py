"""The interfaces between the folders. Each is small; runtime/build.py alone knows who implements them.

Devices and environments are asynchronous, so that one event loop can hold hundreds of them and a virtual clock can
stand in for a real one.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from distrl.core.types import Action, Observation, Step, Task, Verdict

Plain = Mapping[str, Any]
"""JSON-like data: the state of an app as anybody can read it."""


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
    """A device whose state can be arranged for a task and read back: the sim, not a real phone."""

    def arrange(self, world: Plain, *, seed: int, variations: tuple[str, ...] = ()) -> None:
        """Start from a fresh phone of this seed, then set the given fields, by app."""
        ...

    def inspect(self, app: str) -> Plain:
        """The state of one app (or of `phone`) as plain data."""
        ...


class Judge(Protocol):
    """Says whether a task is done."""

    name: str

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """The verdict on an episode so far; raises `JudgeError` when there is none to be had."""
        ...


class Policy(Protocol):
    """Decides. (The batched, learning form joins it with the first network.)"""

    def act(self, task: Task, observation: Observation) -> Action:
        """One action for one observation."""
        ...

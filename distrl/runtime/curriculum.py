"""Which task next: outcomes in, tasks out.

Tasks come from a list, or as new ones of the same templates: what is asked for a second time can be learned by heart.

By default a template that is solved most of the time is drawn less often, so that time goes where something is left to
learn; and what came unexpectedly counts more in replay. Both can be switched off; all algorithms have them alike. An
attempt at what mostly fails may depart from what seems best, the more the more it fails: who is sure of something wrong
finds nothing else.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Protocol

import msgspec

from distrl.core.types import Task, Trajectory

SURPRISE_FLOOR = 0.02
_NUMBERS = 10**9


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to make. Attempts of the same group are compared with each other.

    Those of an evaluation have a purpose and a version of the weights; others use the newest, and explore as usual.
    """

    task: Task
    group: str = ""
    purpose: str = ""
    version: int | None = None
    is_greedy: bool | None = None
    departures: float = 0.0
    """How often to do something else than what seems best."""


class TaskSource(Protocol):
    """Where a worker gets its next task from."""

    async def next(self, loop: int) -> Assignment | None:
        """The next attempt for one of the worker's loops, or None when there is nothing left to do; may wait."""
        ...


class TaskMaker(Protocol):
    """Where tasks without end come from."""

    def like(self, task: Task, number: int) -> Task:
        """Another task of the same template; the same number gives the same one."""
        ...


class FixedTasks:
    """Each task once: what an evaluation does."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._left = list(reversed(tasks))

    async def next(self, loop: int) -> Assignment | None:
        """The next one in order."""
        return Assignment(task=self._left.pop()) if self._left else None


class Curriculum:
    """Tasks of all templates, drawn by how often they are solved: accepted with probability 1.15 - success."""

    def __init__(
        self,
        tasks: Sequence[Task],
        rng: Random,
        *,
        fresh: TaskMaker | None = None,
        is_adaptive: bool = True,
        group_size: int = 1,
        group_prefix: str = "",
        departures: float = 0.0,
        decay: float = 0.97,
    ) -> None:
        self._tasks = tuple(tasks)
        self._rng = rng
        self._fresh = fresh
        self._is_adaptive = is_adaptive
        self._group_size = group_size
        self._group_prefix = group_prefix
        self._departures = departures
        self._decay = decay
        self._success: dict[str, float] = {}
        self._group: list[Assignment] = []
        self._num_groups = 0

    def next(self) -> Assignment:
        """The next attempt; there is always one."""
        if not self._group:
            task = self._draw()
            self._num_groups += 1
            group = f"{self._group_prefix}{self._num_groups}" if self._group_size > 1 else ""
            departures = self._departures * (1.0 - self.success_of(task.template))
            self._group = [Assignment(task=task, group=group, departures=departures)] * self._group_size
        return self._group.pop()

    def _draw(self) -> Task:
        while True:
            task = self._rng.choice(self._tasks)
            if not self._is_adaptive or self._rng.random() < 1.15 - self.success_of(task.template):
                return self._fresh.like(task, self._rng.randrange(_NUMBERS)) if self._fresh else task

    def success_of(self, template: str) -> float:
        """How often this template was solved lately; unknown ones count as half."""
        return self._success.get(template, 0.5)

    @property
    def success(self) -> dict[str, float]:
        """What is known of every template that was tried."""
        return dict(self._success)

    def hear(self, success: Mapping[str, float]) -> None:
        """Know what another curriculum of the same run knows."""
        self._success = dict(success)

    def record(self, trajectory: Trajectory, *, is_success: bool) -> None:
        """Learn from an outcome."""
        template = trajectory.task.template
        before = self.success_of(template)
        self._success[template] = self._decay * before + (1 - self._decay) * is_success

    def surprise(self, template: str, *, is_success: bool) -> float:
        """How unexpected an outcome was: a factor of the trajectory's priority."""
        return SURPRISE_FLOOR + abs(is_success - self.success_of(template)) if self._is_adaptive else 1.0

    def state(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "success": dict(self._success),
            "group": msgspec.to_builtins(self._group),
            "num_groups": self._num_groups,
            "rng": self._rng.getstate(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken."""
        version, internal, gauss = state["rng"]
        self._rng.setstate((version, tuple(internal), gauss))
        self._success = dict(state["success"])
        self._group = msgspec.convert(state["group"], list[Assignment])
        self._num_groups = state["num_groups"]

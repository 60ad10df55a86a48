"""The learner's side of the scheduler: what arrived in, updates and versions out; what they are, the student knows.

    take what arrived -> learn from it, unless it is too old -> at most one update -> publish

The learner waits only for data, the fleet only for a full queue. With a bound of 0 the same loop is synchronous: a
round of one episode for each device with one version, then the updates that are due, then the next version. A training
run and the planner both go by it.
"""

from collections import Counter, deque
from typing import Protocol

from distrl.core.clock import Clock
from distrl.core.types import Trajectory
from distrl.runtime.hub import Arrival, Hub

TAKEN_AT_ONCE = 8
"""Trajectories that may arrive for one update, if the learner is slow; if it is slower still, the fleet waits."""
IDLE_S = 0.2


class Student(Protocol):
    """Who learns."""

    version: int

    @property
    def num_left(self) -> int:
        """Trajectories that are still wanted."""
        ...

    @property
    def is_due(self) -> bool:
        """Whether enough has arrived for an update."""
        ...

    async def learn_from(self, trajectory: Trajectory) -> None:
        """Take in what arrived."""
        ...

    async def update(self) -> None:
        """One update; it may raise the version."""
        ...

    async def publish(self) -> None:
        """Make the newest version known, if it is not."""
        ...


class LearnerLoop:
    """One hub, one student."""

    def __init__(self, hub: Hub, student: Student, clock: Clock, *, max_policy_lag: int | None) -> None:
        self._hub = hub
        self._student = student
        self._clock = clock
        self._bound = max_policy_lag
        self._round = 0
        self.position = 0
        """The place in the journal up to which everything is learned from."""
        self.lags: deque[int] = deque(maxlen=256)
        self.queued_s: deque[float] = deque(maxlen=256)
        self.waited_s = 0.0
        """Seconds in which there was nothing to do."""
        self.counters: Counter[str] = Counter()

    @property
    def is_synchronous(self) -> bool:
        """Whether every version has a round of its own."""
        return self._bound == 0

    async def turn(self) -> None:
        """One round of the sentence at the head of this file; at most one update, so that nobody waits for long."""
        student = self._student
        arrivals: list[Arrival] = []
        if self.is_synchronous or not student.is_due:
            began_s = self._clock.now()
            arrivals = await self._hub.take(min(TAKEN_AT_ONCE, student.num_left), IDLE_S)
            self.waited_s += self._clock.now() - began_s
        for arrival in arrivals:
            await self._accept(arrival)
        if self.is_synchronous:
            await self._end_round(len(arrivals) + self._hub.take_refused())
        elif student.is_due:
            await student.update()
        await student.publish()

    async def _end_round(self, num_new: int) -> None:
        """When every device has had its episode: all updates that are due, and a version of its own for the next.

        An episode that was refused was had too: its device waits for the next version like the others.
        """
        self._round += num_new
        if self._round < max(1, self._hub.num_devices):
            return
        self._round = 0
        before = self._student.version
        while self._student.is_due:
            await self._student.update()
        self._student.version = max(self._student.version, before + 1)

    async def _accept(self, arrival: Arrival) -> None:
        """Learn from an arrival, unless the weights that made it are too old."""
        self.queued_s.append(self._clock.now() - arrival.time_s)
        self.position = arrival.position
        if not self.is_too_old(arrival.trajectory):
            await self._student.learn_from(arrival.trajectory)

    def is_too_old(self, trajectory: Trajectory) -> bool:
        """Whether the weights that made it are older than the bound allows, which is counted."""
        self.lags.append(self._lag(trajectory))
        if not self.would_drop(trajectory):
            return False
        self.counters["dropped_stale"] += 1
        return True

    def would_drop(self, trajectory: Trajectory) -> bool:
        """The same, for those who ask whether it is worth a judge's time."""
        return self._bound is not None and not self.is_synchronous and self._lag(trajectory) > self._bound

    def _lag(self, trajectory: Trajectory) -> int:
        return self._student.version - min(trajectory.policy_versions)

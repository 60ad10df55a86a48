"""The worker: tasks in, finished trajectories out.

    task source --> loop of device 0 --+                               +--> send
                --> loop of device 1 --+-- situations --> one batched -+--> send
                --> loop of device 2 --+<-- decisions --- policy       +--> send

Every device has its own loop and never waits for another one: it waits for its device and for its decision. Decisions
are made together: what waits when the first request has waited for `max_wait_s`, or when `max_batch` have come.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Literal, Protocol

import msgspec

from distrl.core.errors import DeviceError
from distrl.core.interfaces import Decider, Environment, Setup
from distrl.core.seeds import derive_random
from distrl.core.types import Decision, Observation, Ruling, Situation, Step, Task, Trajectory, Verdict
from distrl.runtime.curriculum import Assignment, TaskSource

RESET_TRIES = 3
_NO_VERDICT = Verdict(ruling=Ruling.FAILURE, judge="", reason="the judge was not asked")


class Snapshot(Protocol):
    """Weights to act with."""

    @property
    def version(self) -> int:
        """Their version."""
        ...


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works."""

    name: str = "worker-0"
    seed: int = 0
    is_greedy: bool = False
    swap_weights_at: Literal["step", "episode"] = "step"
    """Whether a decision uses the newest weights or those that were newest when its episode began."""
    max_batch: int = 64
    max_wait_s: float = 1e-4


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    situation: Situation
    rng: Random
    snapshot: Snapshot
    answer: "asyncio.Future[Decision]"


class Batcher:
    """Requests in, decisions out, many at a time. Waits for more requests up to `max_wait_s`, then answers all."""

    def __init__(self, policy: Decider, options: WorkerOptions) -> None:
        self._policy = policy
        self._options = options
        self._waiting: list[_Request] = []
        self._timer: asyncio.TimerHandle | None = None
        self.num_batches = 0
        self.num_decisions = 0

    async def decide(self, situation: Situation, rng: Random, snapshot: Snapshot) -> Decision:
        """The decision for one situation; unblocked by the batch it becomes part of."""
        loop = asyncio.get_running_loop()
        request = _Request(situation=situation, rng=rng, snapshot=snapshot, answer=loop.create_future())
        self._waiting.append(request)
        if len(self._waiting) >= self._options.max_batch:
            self._answer()
        elif self._timer is None:
            self._timer = loop.call_later(self._options.max_wait_s, self._answer)
        return await request.answer

    def _answer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        requests, self._waiting = self._waiting, []
        by_version: dict[int, list[_Request]] = {}
        for request in requests:
            by_version.setdefault(request.snapshot.version, []).append(request)
        for group in by_version.values():
            self._answer_group(group)

    def _answer_group(self, group: Sequence[_Request]) -> None:
        rngs = None if self._options.is_greedy else [r.rng for r in group]
        self.num_batches += 1
        self.num_decisions += len(group)
        try:
            decisions = self._policy.decide([r.situation for r in group], rngs, group[0].snapshot)
            answers = list(zip(group, decisions, strict=True))
        except Exception as error:  # whoever waits must learn of it, or it waits for ever
            for request in group:
                if not request.answer.done():
                    request.answer.set_exception(error)
            return
        for request, decision in answers:
            if not request.answer.done():
                request.answer.set_result(decision)


class Worker:
    """Owns devices and a policy; takes tasks until there are none, sends every finished trajectory."""

    def __init__(
        self,
        environments: Mapping[str, Environment],
        policy: Decider,
        *,
        weights: Callable[[], Snapshot],
        make_setup: Callable[[Task], Setup],
        send: Callable[[Trajectory], Awaitable[None]],
        options: WorkerOptions,
    ) -> None:
        self._environments = environments
        self._weights = weights
        self._make_setup = make_setup
        self._send = send
        self._options = options
        self.batcher = Batcher(policy, options)
        self.num_episodes = 0

    async def run(self, tasks: TaskSource) -> None:
        """All devices at once, until the source has no more tasks; the first error stops them all."""
        try:
            async with asyncio.TaskGroup() as group:
                for device, environment in self._environments.items():
                    group.create_task(self._work(device, environment, tasks))
        except BaseExceptionGroup as errors:
            # They stop each other: the first is the cause, and is what callers know how to handle.
            raise errors.exceptions[0] from errors

    async def _work(self, device: str, environment: Environment, tasks: TaskSource) -> None:
        """One device: consumes tasks, waits for the device and its decisions, ends with the tasks."""
        while (assignment := tasks.next()) is not None:
            number = self.num_episodes
            self.num_episodes += 1
            await self._send(await self._episode(device, environment, assignment, number))

    async def _episode(self, device: str, environment: Environment, assignment: Assignment, number: int) -> Trajectory:
        task = assignment.task
        name = f"{self._options.name}-{number:07d}"
        rng = derive_random(self._options.seed, "episode", name)
        snapshot = self._weights()
        observation = await self._reset(environment, task)
        steps: tuple[Step, ...] = ()
        while True:
            if self._options.swap_weights_at == "step":
                snapshot = self._weights()
            situation = Situation(task=task, steps=steps, observation=observation)
            decision = await self.batcher.decide(situation, rng, snapshot)
            result = await environment.step(decision)
            steps = (*steps, Step(observation=observation, decision=decision, rewards=result.rewards))
            observation = result.observation
            if result.outcome is not None:
                return Trajectory(
                    id=name,
                    task=task,
                    steps=steps,
                    final=observation,
                    outcome=result.outcome,
                    verdict=result.verdict or _NO_VERDICT,
                    worker=self._options.name,
                    device=device,
                    group=assignment.group,
                )

    async def _reset(self, environment: Environment, task: Task) -> Observation:
        """The first screen of a task; a device that fails is asked again before its error is everybody's."""
        for tries_left in reversed(range(RESET_TRIES)):
            try:
                return await environment.reset(task, self._make_setup(task))
            except DeviceError:
                if tries_left == 0:
                    raise
        raise AssertionError("unreachable")

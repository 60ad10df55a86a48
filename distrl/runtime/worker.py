"""The worker: tasks in, finished trajectories out.

    task source --> loop 0, leases a device --+                               +--> send
                --> loop 1, leases a device --+-- situations --> one batched -+--> send
                --> loop 2, leases a device --+<-- decisions --- policy       +--> send

There are as many loops as devices, and none waits for another one: it waits for a device that works, for what the
device does, and for its decision. Decisions are made together: what waits when the first request has waited for
`max_wait_s`, or when `max_batch` have come. A policy behind a server is asked for each by itself.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import partial
from random import Random
from typing import Literal, Protocol, TypeVar

import msgspec

from distrl.core.errors import DeviceError, DistrlError, RefusedError, ServerError, SetupError
from distrl.core.interfaces import Decider, Device, Environment, Featuring, RemoteDecider, Setup
from distrl.core.seeds import derive_random
from distrl.core.types import Decision, Observation, Ruling, Situation, Step, Task, Trajectory, Verdict
from distrl.runtime.curriculum import Assignment, TaskSource

T = TypeVar("T")
log = logging.getLogger(__name__)
RESET_TRIES = 3
MAX_SKIPPED_IN_A_ROW = 20
"""Tasks that no device could be set up for, one after another: then it is not the tasks."""
MAX_OUTAGES = 5
"""A task is given up, and the worker with it, when the policy's server has cut it short so often."""
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
    max_wait_s: float = 0.0
    """How long the first of a batch waits for others. By default for those that ask in the same turn of the event loop
    only: a timer, however short, takes a millisecond, and whoever asks while a batch is computed is in the next."""
    batch_s: float = 0.0
    """What a batch costs in virtual time, beside `decision_s` for each decision in it; it is charged, not computed."""
    decision_s: float = 0.0
    outage_pause_s: float = 10.0
    """How long a loop leaves the policy's server alone after an outage; longer after each."""
    is_beside: bool = False
    """Whether decisions are computed in a thread of their own. A large model takes seconds, in which a worker has to be
    heard of and to deliver; a small one takes less than handing it over would."""


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    situation: Situation
    rng: Random | None
    """None: the likeliest decision."""
    weights: Callable[[], Snapshot]
    """What to act with, asked for when the batch is made: by then there may be newer ones."""
    answer: "asyncio.Future[Decision]"


class Batcher:
    """Requests in, decisions out, many at a time. Waits for more requests up to `max_wait_s`, then answers all.

    What comes while a batch is charged for waits for its end, as it would for a model that computes.
    """

    def __init__(self, policy: Decider | RemoteDecider, options: WorkerOptions) -> None:
        self._policy = policy
        self._options = options
        self._waiting: list[_Request] = []
        self._timer: asyncio.TimerHandle | None = None
        self._free_s = 0.0
        self._beside = ThreadPoolExecutor(1) if options.is_beside else None
        self._num_beside = 0
        self.num_batches = 0
        self.num_decisions = 0

    async def decide(self, situation: Situation, rng: Random | None, weights: Callable[[], Snapshot]) -> Decision:
        """The decision for one situation; unblocked by the batch it becomes part of, or by the server."""
        if isinstance(self._policy, RemoteDecider):
            self.num_batches += 1
            self.num_decisions += 1
            return await self._policy.decide_one(situation, rng, weights())
        loop = asyncio.get_running_loop()
        request = _Request(situation=situation, rng=rng, weights=weights, answer=loop.create_future())
        self._waiting.append(request)
        if self._num_beside:
            pass  # whoever comes while a batch is computed is in the next
        elif len(self._waiting) >= self._options.max_batch and loop.time() >= self._free_s:
            self._answer()
        elif self._timer is None:
            self._timer = loop.call_at(max(loop.time() + self._options.max_wait_s, self._free_s), self._answer)
        return await request.answer

    def _answer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop, most = asyncio.get_running_loop(), self._options.max_batch
        requests, self._waiting = self._waiting[:most], self._waiting[most:]
        groups: dict[tuple[int, bool], list[_Request]] = {}
        snapshots: dict[int, Snapshot] = {}
        for request in requests:
            try:
                snapshot = request.weights()
            except Exception as error:  # as below
                if not request.answer.done():
                    request.answer.set_exception(error)
                continue
            snapshots[snapshot.version] = snapshot
            groups.setdefault((snapshot.version, request.rng is None), []).append(request)
        for (version, _), group in groups.items():
            cost_s = self._options.batch_s + self._options.decision_s * len(group)
            self._free_s = max(self._free_s, loop.time()) + cost_s
            if cost_s:
                loop.call_at(self._free_s, self._answer_group, group, snapshots[version])
            elif self._beside is not None:
                self._num_beside += 1
                done = loop.run_in_executor(self._beside, self._decide, group, snapshots[version])
                done.add_done_callback(partial(self._answer_beside, group))
            else:
                self._answer_group(group, snapshots[version])
        if self._waiting and not self._num_beside:
            self._timer = loop.call_at(self._free_s, self._answer)

    def _answer_beside(self, group: Sequence[_Request], done: "asyncio.Future[list[Decision]]") -> None:
        """What was computed beside the event loop is there; those who came meanwhile are next."""
        self._num_beside -= 1
        self._tell(group, done.result)
        if self._waiting and not self._num_beside:
            self._answer()

    def _answer_group(self, group: Sequence[_Request], snapshot: Snapshot) -> None:
        self._tell(group, lambda: self._decide(group, snapshot))

    def _decide(self, group: Sequence[_Request], snapshot: Snapshot) -> list[Decision]:
        rngs = [r.rng for r in group if r.rng is not None] or None
        self.num_batches += 1
        self.num_decisions += len(group)
        assert not isinstance(self._policy, RemoteDecider)
        return self._policy.decide([r.situation for r in group], rngs, snapshot)

    async def finish(self, trajectory: Trajectory) -> Trajectory:
        """A trajectory as it is sent: with what the policy's frozen eyes saw, if it has such."""
        if not isinstance(self._policy, Featuring):
            return trajectory
        if self._beside is None:
            return self._policy.with_features(trajectory)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._beside, self._policy.with_features, trajectory)

    def _tell(self, group: Sequence[_Request], decide: Callable[[], list[Decision]]) -> None:
        try:
            answers = list(zip(group, decide(), strict=True))
        except Exception as error:  # whoever waits must learn of it, or it waits for ever
            for request in group:
                if not request.answer.done():
                    request.answer.set_exception(error)
            return
        for request, decision in answers:
            if not request.answer.done():
                request.answer.set_result(decision)


class DeviceSource(Protocol):
    """Where a worker gets devices from."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def lease(self) -> AbstractAsyncContextManager[Device]:
        """One that works, for as long as the block lasts; a `DeviceError` ends the block and goes no further."""
        ...


class Worker:
    """Owns devices and a policy; takes tasks until there are none, sends every finished trajectory."""

    def __init__(
        self,
        devices: DeviceSource,
        policy: Decider | RemoteDecider,
        *,
        weights: Callable[[Assignment], Snapshot],
        make_environment: Callable[[Device], Environment],
        make_setup: Callable[[Task], Setup],
        send: Callable[[Trajectory], Awaitable[None]],
        options: WorkerOptions,
    ) -> None:
        self._devices = devices
        self._weights = weights
        self._make_environment = make_environment
        self._make_setup = make_setup
        self._send = send
        self._options = options
        self.batcher = Batcher(policy, options)
        self.num_episodes = 0
        self.num_skipped = 0
        """Tasks that a device could not be set up for."""
        self._skipped_in_a_row = 0
        self.num_cut_short = 0
        """Episodes that were dropped because the policy's server gave no decision."""
        self.times: defaultdict[str, float] = defaultdict(float)
        """Seconds of all loops together by what they waited for: device, inference, send, task."""

    async def run(self, tasks: TaskSource) -> None:
        """All devices at once, until the source has no more tasks; the first error stops them all."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(len(self._devices)):
                    group.create_task(self._work(number, tasks))
        except BaseExceptionGroup as errors:
            # They stop each other: the first is the cause, and is what callers know how to handle.
            raise errors.exceptions[0] from errors

    async def _work(self, loop: int, tasks: TaskSource) -> None:
        """One loop: consumes tasks, waits for a device and its decisions, makes trajectories, ends with the tasks."""
        while (assignment := await self._timed("task", tasks.next(loop))) is not None:
            number = self.num_episodes
            self.num_episodes += 1
            trajectory = None
            num_outages = 0
            while trajectory is None:  # a device that cannot even begin leaves the task to another one
                async with self._devices.lease() as device:
                    try:
                        trajectory, failure = await self._episode(device, assignment, number)
                    except SetupError as error:
                        self._skip(assignment.task, error)
                        break
                    except ServerError as error:
                        num_outages += 1
                        await self._sit_out(error, num_outages)
                        continue
                    if failure:
                        raise DeviceError(failure.partition(":")[0], failure)
            if trajectory is not None:
                self._skipped_in_a_row = 0
                await self._timed("send", self._send(trajectory))

    def _skip(self, task: Task, error: SetupError) -> None:
        """The device is well and the task cannot be: another one takes its place."""
        self.num_skipped += 1
        self._skipped_in_a_row += 1
        if self._skipped_in_a_row >= MAX_SKIPPED_IN_A_ROW:
            raise DistrlError(
                f"{self._skipped_in_a_row} tasks in a row could not be set up; the last, {task.id}: {error}"
            )
        log.warning("%s is skipped: %s", task.id, error)

    async def _sit_out(self, error: ServerError, num_outages: int) -> None:
        """What a policy's server cut short is dropped, and its task tried anew; raises if that seems hopeless."""
        self.num_cut_short += 1
        if num_outages >= MAX_OUTAGES or (isinstance(error, RefusedError) and error.is_lasting):
            raise error
        log.warning("an episode is begun anew: %s", error)
        await asyncio.sleep(self._options.outage_pause_s * num_outages)

    async def _episode(self, device: Device, assignment: Assignment, number: int) -> tuple[Trajectory, str]:
        """One attempt, and how the device failed if it did; raises `DeviceError` if it could not even begin."""
        task, options = assignment.task, self._options
        name = f"{options.name}-{number:07d}"
        rng = derive_random(options.seed, "episode", name)
        is_greedy = options.is_greedy if assignment.is_greedy is None else assignment.is_greedy
        begun_with = self._weights(assignment)
        is_by_step = options.swap_weights_at == "step"
        weights = partial(self._weights, assignment) if is_by_step else lambda: begun_with
        environment = self._make_environment(device)
        observation = await self._timed("device", self._reset(environment, task))
        steps: tuple[Step, ...] = ()
        while True:
            situation = Situation(task=task, steps=steps, observation=observation, departures=assignment.departures)
            decision = await self._timed(
                "inference", self.batcher.decide(situation, None if is_greedy else rng, weights)
            )
            result = await self._timed("device", environment.step(decision))
            steps = (*steps, Step(observation=observation, decision=decision, rewards=result.rewards))
            observation = result.observation
            if result.outcome is not None:
                finished = Trajectory(
                    id=name,
                    task=task,
                    steps=steps,
                    final=observation,
                    outcome=result.outcome,
                    verdict=result.verdict or _NO_VERDICT,
                    worker=options.name,
                    device=device.name,
                    group=assignment.group,
                    purpose=assignment.purpose,
                )
                return await self._timed("inference", self.batcher.finish(finished)), result.infra_error

    async def _timed(self, what: str, waiting: Awaitable[T]) -> T:
        """The same, with the time it takes noted."""
        clock = asyncio.get_running_loop().time
        began_s = clock()
        try:
            return await waiting
        finally:
            self.times[what] += clock() - began_s

    async def _reset(self, environment: Environment, task: Task) -> Observation:
        """The first screen of a task; a device that fails is asked again before it is given up."""
        for tries_left in reversed(range(RESET_TRIES)):
            try:
                return await environment.reset(task, self._make_setup(task))
            except SetupError:
                raise
            except DeviceError:
                if tries_left == 0:
                    raise
        raise AssertionError("unreachable")

"""Small fleets: configurations of seconds, devices whose every answer is known, and policies that count."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from random import Random
from typing import Any

import msgspec
import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.config import Config
from distrl.core.errors import DeviceError
from distrl.core.interfaces import Setup, StepResult
from distrl.core.types import (
    Action,
    Decision,
    Observation,
    Outcome,
    Ruling,
    Screen,
    Situation,
    Step,
    Task,
    Trajectory,
    Verdict,
    Wait,
)
from distrl.devices.pool import Pool
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.curriculum import TaskSource
from distrl.runtime.evaluation import evaluate
from distrl.runtime.worker import Worker, WorkerOptions
from distrl.tasks.book import load_tasks

SMALL: dict[str, dict[str, Any]] = {
    "phone": {"scale": 0.1},
    "policy": {"mode": "text", "start": "scratch"},
    "learner": {
        "batch_trajectories": 4,
        "warmup_trajectories": 4,
        "new_steps_per_update": 6.0,
        "publish_every_updates": 2,
        "demonstrations": 0,
    },
    "collect": {"num_devices": 2},
    "train": {"num_trajectories": 16},
    "eval": {"every_trajectories": 8, "episodes": 1, "has_sampled": False},
}


def settings(seed: int = 0, **tables: Mapping[str, Any]) -> Config:
    """The configuration of a run of a second or two, with some tables changed."""
    merged = {name: SMALL.get(name, {}) | dict(tables.get(name, {})) for name in {*SMALL, *tables}}
    return Config.model_validate({"seed": seed, **merged})


# ---- devices


def task(name: str = "t", *, template: str = "plain", max_steps: int = 5) -> Task:
    return Task(id=name, suite="s", split="train", instruction=f"Do {name}", max_steps=max_steps, template=template)


def tasks(count: int, *, max_steps: int = 5) -> list[Task]:
    return [task(f"t{n}", max_steps=max_steps) for n in range(count)]


def screen_number(number: int, name: str = "") -> Observation:
    """A screen that can be told from others."""
    return Observation(screen=Screen(data=bytes(3), width=1, height=1), activity=name, time_s=float(number))


class FakeEnvironment:
    """Counts its steps in `time_s`, takes `step_s` for each, and fails the first so many resets.

    An episode ends with its task's last step, successfully if its number of steps is even.
    """

    def __init__(
        self,
        *,
        step_s: float = 0.0,
        failing_resets: int = 0,
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        self.step_s = step_s
        self.failing_resets = failing_resets
        self.num_resets = 0
        self._on_step = on_step
        self._task = task()
        self._step = 0

    async def reset(self, task: Task, setup: Setup) -> Observation:
        self.num_resets += 1
        if self.failing_resets:
            self.failing_resets -= 1
            raise DeviceError("vanish", "gone")
        self._task, self._step = task, 0
        return screen_number(0, task.id)

    async def step(self, decision: Decision) -> StepResult:
        if self.step_s:
            await asyncio.sleep(self.step_s)
        self._on_step()
        self._step += 1
        is_last = self._step == self._task.max_steps
        ended = Outcome.SUCCEEDED if self._step % 2 == 0 else Outcome.TRUNCATED_STEPS
        return StepResult(
            observation=screen_number(self._step, self._task.id),
            rewards={"number": float(self._step)},
            outcome=ended if is_last else None,
            verdict=Verdict(ruling=Ruling.FAILURE, judge="fake") if is_last else None,
        )

    async def close(self) -> None:
        pass


class FakeDevice:
    """A name; what it does is its environment's business."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def reset(self) -> None:
        pass

    async def observe(self) -> Observation:
        return screen_number(0)

    async def perform(self, action: Action) -> None:
        pass

    async def close(self) -> None:
        pass


class FakeWeights(msgspec.Struct, frozen=True):
    version: int = 0


class CountingPolicy:
    """Waits; notes the tasks of each batch, and puts the first of its random numbers into `raw`."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.versions: list[int] = []
        self.had_random_numbers: set[bool] = set()

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
    ) -> list[Decision]:
        self.batches.append([s.task.id for s in situations])
        self.versions.append(snapshot.version)
        self.had_random_numbers.add(rngs is not None)
        draws = [""] * len(situations) if rngs is None else [f"{rng.random():.9f}" for rng in rngs]
        return [Decision(action=Wait(), raw=draw, policy_version=snapshot.version) for draw in draws]


def make_worker(
    environments: Mapping[str, Any],
    policy: Any,
    send: Callable[[Trajectory], Awaitable[None]],
    *,
    weights: Callable[[], Any] = FakeWeights,
    **options: Any,
) -> Worker:
    """A worker whose devices are names of environments."""
    return Worker(
        Pool({name: partial(FakeDevice, name) for name in environments}, clock=LoopClock()),
        policy,
        weights=lambda assignment: weights(),
        make_environment=lambda device: environments[device.name],
        make_setup=lambda task: Setup(),
        send=send,
        options=WorkerOptions(**options),
    )


def work(
    environments: Mapping[str, Any],
    policy: Any,
    source: TaskSource,
    *,
    weights: Callable[[], Any] = FakeWeights,
    **options: Any,
) -> tuple[list[Trajectory], Worker, float]:
    """What a worker sends until there are no tasks left, the worker, and the virtual seconds it took."""
    sent: list[Trajectory] = []

    async def send(trajectory: Trajectory) -> None:
        sent.append(trajectory)

    worker = make_worker(environments, policy, send, weights=weights, **options)

    async def run() -> float:
        await worker.run(source)
        return asyncio.get_running_loop().time()

    return sent, worker, run_virtual(run())


@contextmanager
def raises(kind: type[Exception], match: str = "") -> Iterator[None]:
    """Like `pytest.raises`, whether the error comes by itself or in the groups of structured concurrency."""
    with pytest.raises(Exception) as caught:
        yield
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, kind), error
    assert match in str(error)


# ---- trajectories


@lru_cache(maxsize=1)
def real_policy() -> TinyPolicy:
    """The policy that made the real trajectories; shared, so nobody may train it."""
    return TinyPolicy("text", seed=7)


@lru_cache(maxsize=1)
def real_trajectories() -> tuple[Trajectory, ...]:
    """Sampled episodes of an untrained policy on the simulated phone; every third is declared a success."""
    chosen = load_tasks("general", "train")[:96:8]
    policy, seen = real_policy(), {}

    def keep(trajectory: Trajectory) -> None:
        seen[trajectory.id] = trajectory

    config = settings(collect={"num_devices": 4})
    run_virtual(evaluate(policy, chosen, config, is_greedy=False, snapshot=policy.snapshot(), on_episode=keep))
    done = [seen[id] for id in sorted(seen)]
    return tuple(declared(t, Outcome.SUCCEEDED) if n % 3 == 0 else t for n, t in enumerate(done))


def declared(trajectory: Trajectory, outcome: Outcome) -> Trajectory:
    """A trajectory that ended otherwise: its last step earns 1 for a success and nothing else."""
    *before, last = trajectory.steps
    rewards = {"success": 1.0} if outcome is Outcome.SUCCEEDED else {}
    return msgspec.structs.replace(
        trajectory, outcome=outcome, steps=(*before, msgspec.structs.replace(last, rewards=rewards))
    )


def shortened(trajectory: Trajectory, num_steps: int) -> Trajectory:
    """The first steps of a trajectory, cut off by the limit."""
    assert num_steps < len(trajectory.steps)
    return msgspec.structs.replace(
        trajectory,
        steps=trajectory.steps[:num_steps],
        final=trajectory.steps[num_steps].observation,
        outcome=Outcome.TRUNCATED_STEPS,
    )


def plain_trajectory(
    id: str, *, outcome: Outcome = Outcome.FAILED, num_steps: int = 2, template: str = "plain", version: int = 0
) -> Trajectory:
    """A trajectory of screens without pixels or elements."""
    decision = Decision(action=Wait(), log_prob=-1.0, policy_version=version)
    steps = tuple(Step(observation=screen_number(n), decision=decision, rewards={}) for n in range(num_steps))
    return Trajectory(
        id=id,
        task=task(id, template=template),
        steps=steps,
        final=screen_number(num_steps),
        outcome=outcome,
        verdict=Verdict(ruling=Ruling.FAILURE, judge="none"),
        worker="w",
        device="d",
    )

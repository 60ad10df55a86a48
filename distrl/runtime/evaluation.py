"""Evaluation: a policy and tasks in, how often it succeeds out, with an honest interval.

The same worker acts as in training, on phones of its own; each task is tried once per round, in order, and the same
seed gives the same table.
"""

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec

from distrl.core.config import Config
from distrl.core.interfaces import Decider, RemoteDecider
from distrl.core.seeds import derive_random
from distrl.core.types import Decision, Observation, Outcome, Screen, Situation, Task, Trajectory
from distrl.runtime.build import make_environment, make_pool, make_setup
from distrl.runtime.build_judge import judged_by_rule
from distrl.runtime.curriculum import FixedTasks
from distrl.runtime.worker import Snapshot, Worker, WorkerOptions
from distrl.tasks.suites import all_templates

Z_95 = 1.959964
UNSEEN = ("unseen_template",)
_NO_SCREEN = Screen(data=b"", width=0, height=0)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How often tasks were solved; `low` and `high` are the ends of Wilson's 95 % interval.

    What the interval counts are tasks: to try one again says little, and with the likeliest actions nothing.
    """

    success: float
    low: float
    high: float
    episodes: int
    mean_steps_to_success: float
    by_difficulty: dict[str, float]
    by_template: dict[str, float]
    by_tag: dict[str, float]
    """`unseen_template` are tasks of templates that training never shows."""


def wilson(successes: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share, which stays within 0..1 and is not empty at either end."""
    if n == 0:
        return 0.0, 1.0
    share, z2 = successes / n, Z_95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = Z_95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def summarise(trajectories: Sequence[Trajectory]) -> Report:
    """The table of an evaluation."""
    solved = [t for t in trajectories if t.outcome is Outcome.SUCCEEDED]
    num_tasks = len({t.task.id for t in trajectories})
    low, high = wilson(num_tasks * len(solved) / max(len(trajectories), 1), num_tasks)
    unseen = {name for name, template in all_templates().items() if template.unseen}
    return Report(
        success=_share(trajectories),
        low=round(low, 4),
        high=round(high, 4),
        episodes=len(trajectories),
        mean_steps_to_success=round(sum(len(t.steps) for t in solved) / len(solved), 2) if solved else 0.0,
        by_difficulty=_shares(trajectories, lambda t: (str(t.task.difficulty),)),
        by_template=_shares(trajectories, lambda t: (t.task.template,)),
        by_tag=_shares(trajectories, lambda t: (*t.task.tags, *(UNSEEN if t.task.template in unseen else ()))),
    )


def _share(trajectories: Sequence[Trajectory]) -> float:
    solved = sum(t.outcome is Outcome.SUCCEEDED for t in trajectories)
    return round(solved / len(trajectories), 4) if trajectories else 0.0


def _shares(trajectories: Sequence[Trajectory], keys: Callable[[Trajectory], Sequence[str]]) -> dict[str, float]:
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        for key in keys(trajectory):
            groups.setdefault(key, []).append(trajectory)
    return {name: _share(groups[name]) for name in sorted(groups)}


def choose_episodes(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """So many tasks: all in random order, then all again, so that none is tried twice before each was tried once."""
    rng = derive_random(seed, "evaluation")
    chosen: list[Task] = []
    while len(chosen) < count:
        round_of_all = list(tasks)
        rng.shuffle(round_of_all)
        chosen += round_of_all
    return chosen[:count]


class _Weights(msgspec.Struct, frozen=True):
    version: int = 0


class Scripted:
    """A policy without a network, as something that decides for many."""

    def __init__(self, act: Callable[[Situation], Any]) -> None:
        self._act = act

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
    ) -> list[Decision]:
        """One action each."""
        return [Decision(action=self._act(situation)) for situation in situations]


async def evaluate(
    policy: Decider | RemoteDecider,
    tasks: Sequence[Task],
    config: Config,
    *,
    is_greedy: bool = True,
    snapshot: Snapshot | None = None,
    on_episode: Callable[[Trajectory], None] = lambda trajectory: None,
) -> list[Trajectory]:
    """Try each task once, on up to `collect.num_devices` phones at the same time; in the order of the tasks.

    What is returned shows no screens, since thousands of episodes would not fit into memory; `on_episode` sees all.
    """
    finished: dict[int, Trajectory] = {}

    async def keep(trajectory: Trajectory) -> None:
        finished[int(trajectory.id.rpartition("-")[2])] = _without_screens(trajectory)
        on_episode(trajectory)

    # Phones that are not ours cannot be asked whether a task is solved: there the configured judge has to do.
    judged = judged_by_rule(config) if config.devices.kind == "sim" else config
    pool = make_pool(config, min(config.collect.num_devices, len(tasks)))
    worker = Worker(
        pool,
        policy,
        weights=lambda assignment: snapshot or _Weights(),
        make_environment=lambda device: make_environment(judged, device),
        make_setup=lambda task: make_setup(task, more_variations=config.phone.variations),
        send=keep,
        options=WorkerOptions(name="evaluation", seed=config.seed, is_greedy=is_greedy),
    )
    try:
        await worker.run(FixedTasks(tasks))
    finally:
        await pool.close()
    return [finished[number] for number in sorted(finished)]


def _without_screens(trajectory: Trajectory) -> Trajectory:
    def blind(observation: Observation) -> Observation:
        return Observation(screen=_NO_SCREEN, activity=observation.activity, time_s=observation.time_s)

    steps = tuple(msgspec.structs.replace(step, observation=blind(step.observation)) for step in trajectory.steps)
    return msgspec.structs.replace(trajectory, steps=steps, final=blind(trajectory.final))

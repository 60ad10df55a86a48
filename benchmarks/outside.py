"""A simulated fleet whose policy is measured outside of the fleet's time: a configuration in, the trained policy out.

In a run the fleet's own phones play the evaluations, as those of a real fleet do, and half of them collect nothing
meanwhile: how much is evaluated would then decide how much is learned, and how stale it is. Where algorithms are
compared it must not.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from distrl.core.config import Config, config_of
from distrl.core.types import Trajectory
from distrl.runtime.api import evaluate, train
from distrl.runtime.asynchronous import AsyncTraining
from distrl.runtime.evaluation import Report
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.simulation import Simulation, is_simulated

Row = dict[str, Any]
Tell = Callable[[int, float, float], None]
"""Is told trajectories, success and sampled success."""


def simulate(config: Config, during: Callable[[AsyncTraining], Awaitable[None]]) -> AsyncTraining:
    """The run of a fleet in virtual time, with `during` beside it, in one thread; nothing is left on disk."""
    torch.set_num_threads(1)  # in which order numbers are summed depends on it
    with tempfile.TemporaryDirectory() as directory:
        run = RunDirectory(Path(directory) / "run")
        run.open(config)
        simulation = Simulation(config, run)
        simulation.run(during)
        run.close()
    return simulation.training


def measure(policy: Any, config: Config, *, split: str = "test", episodes: int, is_sampled: bool = False) -> Report:
    """How often a policy solves the tasks of a split, on instant phones; no time passes for a fleet meanwhile."""
    scale, mode = config.phone.scale, config.policy.mode
    instant = config_of({"tasks": {"suite": config.tasks.suite}, "phone": {"scale": scale}, "policy": {"mode": mode}})
    # In a thread, since it has an event loop of its own; blocking the one of the fleet, whose clock so stands still.
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(
            evaluate, policy, split=split, episodes=episodes, is_sampled=is_sampled, config=instant
        ).result()


def curve_of(tables: Row, *, split: str, episodes: int, looks: Collection[int], tell: Tell) -> list[Row]:
    """A run, and how it does at its start, its end and, if it is a fleet, when so many trajectories have arrived."""
    config = config_of(tables)
    curve: list[Row] = []

    def note(policy: Any, at: Row) -> None:
        greedy = measure(policy, config, split=split, episodes=episodes)
        sampled = measure(policy, config, split=split, episodes=episodes, is_sampled=True)
        told = {"success": greedy.success, "low": greedy.low, "high": greedy.high, "sampled_success": sampled.success}
        curve.append(at | told)
        tell(at["trajectories"], greedy.success, sampled.success)

    if is_simulated(config):
        note_fleet(config, looks, note)
    else:
        result = train(config)
        note(result.start, result.curve[0])
        note(result.policy, result.curve[-1])
    return curve


def note_fleet(config: Config, looks: Collection[int], note: Callable[[Any, Row], None]) -> None:
    """The run of a fleet, noted at its start, at these numbers of trajectories and at its end."""

    def look(training: AsyncTraining, at_s: float) -> None:
        learner = training.learner
        at = {"trajectories": learner.num_received, "updates": learner.num_updates, "wall_s": round(at_s, 1)}
        note(training.policy, at)

    so_far_s = 0.0

    async def during(training: AsyncTraining) -> None:
        began_s, learn_from = asyncio.get_running_loop().time(), training.learn_from
        look(training, 0.0)

        async def looking(trajectory: Trajectory) -> None:
            nonlocal so_far_s
            await learn_from(trajectory)
            so_far_s = asyncio.get_running_loop().time() - began_s
            if training.learner.num_received in looks:
                look(training, so_far_s)

        training.learn_from = looking  # type: ignore[method-assign]

    look(simulate(config, during), so_far_s)

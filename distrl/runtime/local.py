"""Asynchronous training as a caller sees it: a configuration and a run directory in, a trained policy out.

This process checks everything, holds the run directory and watches; the learner and the workers are processes of a Ray
that is started for them, or actors of a cluster.
"""

import json
from pathlib import Path
from typing import Any

from distrl.algorithms import make_algorithm
from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.runtime import ray_private
from distrl.runtime.asynchronous import check_asynchronous
from distrl.runtime.players import FixedPolicy
from distrl.runtime.policies import check_start, load_start
from distrl.runtime.results import TrainResult
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Listener, RunState
from distrl.runtime.simulation import has_costs
from distrl.runtime.trained import load_saved, read_run


class LocalTraining:
    """A run about to start: the configuration has proved to be usable and the directory is open."""

    def __init__(
        self, config: Config, run_dir: Path, listener: Listener, *, address: str | None = None, num_workers: int = 1
    ) -> None:
        check_asynchronous(config)
        if address is None and num_workers == 0:
            raise UserError("--workers 0 is for a cluster (--address): on this machine alone nobody would work")
        if address is not None and "://" in address:
            raise UserError(
                f"{address} is not the address of a node: the run's directory is here, so the learner has to be here. "
                "Let this machine join the cluster, and use `--address auto` or HOST:PORT"
            )
        if has_costs(config):
            raise UserError("[simulation] is for --runtime serial: here devices and models take the time they take")
        self._config = config
        self._listener = listener
        self._address = address
        self._num_workers = num_workers
        if config.policy.kind == "tiny":
            RunState(config)  # whatever is wrong shows here
        else:  # a large model is not loaded into this process before it is needed
            check_start(config)
            make_algorithm(config.algorithm.name, config.algorithm.options)
        self._run = RunDirectory(run_dir)
        self._run.open(config)

    def run(self) -> TrainResult:
        """Train to the end, from the newest checkpoint if there is one; `KeyboardInterrupt` after an orderly stop."""
        ray_private.prepare(self._address)
        from distrl.runtime.ray_engine import train_on_ray

        try:
            is_finished = train_on_ray(
                self._config,
                self._run.path,
                address=self._address,
                num_workers=self._num_workers,
                listener=self._listener,
            )
            if not is_finished:
                raise KeyboardInterrupt
        finally:
            self._run.close()
        start = load_start(self._config)
        policy = read_run(self._run.path).load_policy() if self._config.policy.kind == "tiny" else start
        fixed = FixedPolicy(start, start.snapshot())
        if policy is start:  # one large model is enough: what was trained is put into it
            load_saved(policy, self._run.weights)
        return TrainResult(
            curve=_curve(self._run.path), policy=policy, start=fixed, run_dir=self._run.path, config=self._config
        )


def _curve(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()]

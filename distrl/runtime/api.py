"""The Python interface: train, evaluate, make_policy. `import distrl` offers them without importing torch first.

    result = distrl.train({"policy": {"mode": "text"}, "train": {"max_minutes": 5.0}}, run_dir="runs/mine")
    report = distrl.evaluate(result.policy, suite="general")

Mistakes in a configuration or a name are `UserError`s, which are `ValueError`s, and name everything that is wrong.
"""

import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from distrl.core.config import Config, TasksConfig, config_of, load_config
from distrl.core.errors import UnknownNameError, UserError
from distrl.core.interfaces import Decider
from distrl.core.types import Trajectory
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime.acting import check_acting
from distrl.runtime.asynchronous import JOURNAL, check_asynchronous
from distrl.runtime.build import KNOWN_NAMES
from distrl.runtime.build_devices import settle_devices
from distrl.runtime.build_endpoint import CANNOT_TRAIN
from distrl.runtime.build_judge import check_judge
from distrl.runtime.chosen_tasks import episodes_of
from distrl.runtime.evaluation import Report, summarise
from distrl.runtime.players import FixedPolicy, Player, make_player, play_tasks
from distrl.runtime.policies import AnyPolicy
from distrl.runtime.results import TrainResult
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import EVALUATION_SEED, Listener, RunState
from distrl.runtime.simulation import Simulation, is_simulated
from distrl.runtime.task_lists import check_tasks
from distrl.runtime.trained import read_run
from distrl.runtime.training import Training

if TYPE_CHECKING:
    from distrl.runtime.local import LocalTraining

RUNTIMES = ("local", "serial")
__all__ = ["Report", "TrainResult", "evaluate", "make_policy", "train"]


class ReadyTraining:
    """A run about to start in one thread: the configuration has proved to be usable and the directory is open."""

    def __init__(self, config: Config, run_dir: Path | None, listener: Listener, *, num_workers: int = 1) -> None:
        if config.learner.num_workers > 1:
            raise UserError("learner.num_workers is for --runtime local: a serial run is one thread; set it to 1")
        self._config = config
        self._run_dir = run_dir
        self._scratch = tempfile.TemporaryDirectory() if run_dir is None and is_simulated(config) else None
        path = Path(self._scratch.name) / "run" if self._scratch else run_dir
        self._run = None if path is None else RunDirectory(path)
        # Everything that can be wrong with the configuration shows here, before the directory is made.
        self._runner: Training | Simulation
        if is_simulated(config):
            assert self._run is not None
            check_asynchronous(config)
            self._runner = Simulation(config, self._run, listener=listener, num_workers=num_workers)
            self._training: RunState = self._runner.training
        else:
            if run_dir is not None and (run_dir / JOURNAL).exists():
                raise UserError(
                    f"{run_dir} holds an asynchronous run, whose journal only --runtime local can go on with"
                )
            self._runner = self._training = Training(config, self._run, listener=listener)
        self._start = _copy_of(self._training.policy)
        if self._run is not None:
            self._run.open(config)

    def run(self) -> TrainResult:
        """Train to the end, from the newest checkpoint if there is one."""
        num_threads = torch.get_num_threads()
        torch.set_num_threads(1)  # in which order numbers are summed depends on it
        try:
            self._runner.run()
        finally:
            torch.set_num_threads(num_threads)
            if self._run is not None:
                self._run.close()
            if self._scratch is not None:
                self._scratch.cleanup()
        return TrainResult(
            curve=self._training.curve,
            policy=self._training.policy,
            start=self._start,
            run_dir=self._run_dir,
            config=self._config,
        )


class Engine(NamedTuple):
    """Where a run is trained: in one thread (`serial`) or on Ray (`local`), its own or the one at an address."""

    runtime: str
    address: str | None = None
    num_workers: int = 1


def ready_training(
    config: Config,
    run_dir: Path | None,
    listener: Listener,
    engine: Engine,
) -> "ReadyTraining | LocalTraining":
    """A run about to start."""
    if engine.runtime not in RUNTIMES:
        raise UnknownNameError("runtime", engine.runtime, RUNTIMES)
    if config.policy.kind == "endpoint":
        raise UserError(CANNOT_TRAIN)
    if config.policy.acts_through == "endpoint":
        if engine.runtime == "serial":
            raise UserError('policy.acts_through = "endpoint" needs real time: leave out --runtime serial')
        check_acting(config)
    check_tasks(config)
    check_judge(config.judge, is_virtual=engine.runtime == "serial")
    is_serial = engine.runtime == "serial"
    config = settle_devices(config, is_virtual=is_serial, are_elsewhere=not is_serial and engine.num_workers == 0)
    if engine.runtime == "serial":
        return ReadyTraining(config, run_dir, listener, num_workers=max(1, engine.num_workers))
    if run_dir is None:
        raise UserError("an asynchronous run needs a run directory: what its workers are told is safe has to lie there")
    from distrl.runtime.local import LocalTraining

    return LocalTraining(config, run_dir, listener, address=engine.address, num_workers=engine.num_workers)


def train(
    config: Config | Mapping[str, Any] | str | Path,
    run_dir: str | Path | None = None,
    *,
    runtime: str = "serial",
    num_workers: int = 1,
    listener: Listener = lambda progress: None,
) -> TrainResult:
    """Train to the end, or go on with the run in `run_dir`; without a directory nothing is written.

    `runtime` is `serial` (one thread, the same every time) or `local` (asynchronous, on a Ray of its own), where
    `num_workers` processes share the devices.

    `config` is a configuration, its tables (`{"train": {"max_minutes": 5.0}}`) or a TOML file.
    """
    path = None if run_dir is None else Path(run_dir)
    return ready_training(_config_of(config), path, listener, Engine(runtime, None, num_workers)).run()


def evaluate(
    policy: Player | str | Path,
    *,
    suite: str | None = None,
    split: str = "test",
    episodes: int | None = None,
    seed: int = EVALUATION_SEED,
    mode: Mode | None = None,
    is_sampled: bool = False,
    config: Config | None = None,
    on_episode: Callable[[Trajectory], None] = lambda trajectory: None,
) -> Report:
    """How often a policy solves tasks; equal arguments give equal reports.

    A policy is an object with `decide`, or a name or path as for `make_policy`. What is not given (suite, episodes, the
    phones) is as in the run that the policy comes from, or as configured by default. With nothing given, a run's last
    evaluation comes out again.
    """
    settings = config or _config_for(policy)
    if suite not in (None, settings.tasks.suite):  # what is said about the tasks of a run is about its own suite
        settings = settings.model_copy(update={"tasks": TasksConfig(suite=suite)})
    name = settings.tasks.suite
    count = settings.eval.episodes if episodes is None else episodes
    if count < 1:
        raise UserError(f"at least one episode has to be played, not {count}")
    tasks = episodes_of(settings.tasks, split, count, seed)
    player = make_player(policy, mode=mode, suite=name, config=settings) if isinstance(policy, str | Path) else policy
    settings = settle_devices(settings.model_copy(update={"seed": seed}), is_virtual=False)
    return summarise(play_tasks(player, tasks, settings, is_greedy=not is_sampled, on_episode=on_episode))


def make_policy(source: str | Path, *, mode: Mode | None = None, suite: str = "general") -> Player:
    """A policy: `expert`, `random`, `idle`, `imitation` (of a suite), a run directory, an export or a weights file.

    `endpoint` is the server of the default configuration and the environment; `evaluate` takes any configuration.
    """
    return make_player(source, mode=mode, suite=suite, config=load_config(environ=os.environ, names=KNOWN_NAMES))


def new_run_dir(config: Config, *, now_s: float, parent: Path = Path("runs")) -> Path:
    """A directory for a new run, named for when it began and what it is; one that is not there yet."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(now_s))
    algorithm = re.sub(r"[^A-Za-z0-9_]+", "-", config.algorithm.name)
    name = f"{moment}-{config.tasks.suite}-{algorithm}-s{config.seed}"
    path, count = parent / name, 1
    while path.exists():
        count += 1
        path = parent / f"{name}-{count}"
    return path


def _config_of(config: Config | Mapping[str, Any] | str | Path) -> Config:
    if isinstance(config, Config):
        return config
    if isinstance(config, Mapping):
        return config_of(config, KNOWN_NAMES)
    return load_config(Path(config), names=KNOWN_NAMES)


def _config_for(policy: Player | str | Path) -> Config:
    """The configuration of the run that a policy is named by, or the default one."""
    if isinstance(policy, str | Path) and (Path(policy) / "config.toml").is_file():
        return read_run(Path(policy)).config
    return Config()


def _copy_of(policy: AnyPolicy) -> Decider:
    """The policy as it is now. Of a large model only what is trained is copied."""
    if not isinstance(policy, TinyPolicy):
        return FixedPolicy(policy, policy.snapshot())
    copy = TinyPolicy(policy.mode)
    copy.load_tensors({name: tensor.clone() for name, tensor in policy.tensors().items()})
    return copy

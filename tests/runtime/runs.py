"""Runs for tests: the smallest configuration that trains, training in one thread, and runs that nobody had to train."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorboardX.proto.event_pb2 import Event

from distrl.core.config import Config, config_of, dump_toml
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime.build import KNOWN_NAMES
from distrl.runtime.policies import load_start
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Listener
from distrl.runtime.tensors import pack_tensors
from distrl.runtime.training import Training

TINY: dict[str, dict[str, Any]] = {
    "phone": {"scale": 0.1},
    "tasks": {"suite": "system"},
    "policy": {"mode": "text", "start": "scratch"},
    "collect": {"num_devices": 4},
    "learner": {
        "warmup_trajectories": 2,
        "batch_trajectories": 4,
        "new_steps_per_update": 12.0,
        "learning_rate_left": 1.0,
    },
    "train": {"num_trajectories": 12},
    "eval": {"episodes": 3, "every_trajectories": 6},
}
CURVE = [
    {"trajectories": 0, "steps": 0, "updates": 0, "wall_s": 0.0, "success": 0.25, "low": 0.0456, "high": 0.6994},
    {"trajectories": 6, "steps": 60, "updates": 2, "wall_s": 6.0, "success": 0.5, "low": 0.15, "high": 0.85},
    {"trajectories": 12, "steps": 120, "updates": 5, "wall_s": 12.0, "success": 0.75, "low": 0.3006, "high": 0.9544},
]
"""Shares of four episodes."""
NO_TIES = {"options": {"trajectory_filter": False}}
"""Without the filter no trajectory is kept or not for the last digit of a number."""
STEADY = {"demonstrations": 1, "learning_rate_left": 1.0}
"""A learner whose steps do not tell how long its run is to be."""
USUAL = {"algorithm": NO_TIES, "learner": {"demonstrations": 1}, "policy": {"start": "imitation"}}


def tiny(**changes: dict[str, Any]) -> dict[str, Any]:
    """The tables of a run of seconds, with some changed: `tiny(train={"num_trajectories": 6})`."""
    return {name: TINY.get(name, {}) | changes.get(name, {}) for name in TINY | changes}


def as_options(tables: dict[str, dict[str, Any]]) -> list[str]:
    """The same for the command line."""
    pairs = [f"{table}.{key}={value}" for table, values in tables.items() for key, value in values.items()]
    return [word for pair in pairs for word in ("--set", pair)]


def write_run(path: Path, *, mode: Mode = "text") -> tuple[Config, TinyPolicy]:
    """A run directory as training leaves it behind, without the training."""
    config = config_of(tiny(policy={"mode": mode}, eval={"episodes": 4}), KNOWN_NAMES)
    policy = load_start(config)
    (path / "weights").mkdir(parents=True)
    (path / "config.toml").write_text(dump_toml(config))
    (path / "weights" / "model.safetensors").write_bytes(pack_tensors(policy.tensors(), {"version": "7"}))
    rows = [json.dumps(row | {"sampled_success": 0.25}) for row in CURVE]
    (path / "evaluations.jsonl").write_text("\n".join(rows) + "\n")
    return config, policy


def train(config: Config, path: Path | None, listener: Listener = lambda progress: None) -> Training:
    run = None if path is None else RunDirectory(path)
    training = Training(config, run, listener=listener)
    if run is not None:
        run.open(config)
    try:
        training.run()
    finally:
        if run is not None:
            run.close()
    return training


def metrics_of(path: Path) -> list[dict[str, Any]]:
    return RunDirectory(path).read("metrics")


def evaluations_of(path: Path) -> list[dict[str, Any]]:
    """All but the time that training took, which is never the same."""
    return [{k: v for k, v in row.items() if k != "wall_s"} for row in RunDirectory(path).read("evaluations")]


def tensorboard_events(path: Path) -> Iterator[Any]:
    """Each event is framed by its length and two checksums."""
    data, place = path.read_bytes(), 0
    while place < len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        yield Event.FromString(data[place + 12 : place + 12 + length])
        place += 16 + length

"""What training left behind, read back: a run directory in; its configuration, curve and policy out."""

from pathlib import Path
from typing import Any

import msgspec

from distrl.core.config import Config, load_config
from distrl.core.errors import UserError
from distrl.policies.tiny.eyes import PixelEyes, TextEyes
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime.build import KNOWN_NAMES
from distrl.runtime.policies import new_policy, read_weights
from distrl.runtime.run_directory import RunDirectory

WEIGHTS = Path("weights") / "model.safetensors"
_LOOK = "network.element_look.0.weight"


class TrainedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run directory that has weights."""

    path: Path
    config: Config

    @property
    def curve(self) -> list[dict[str, Any]]:
        """All evaluations on held-out tasks, the start first."""
        return RunDirectory(self.path).read("evaluations")

    def load_policy(self) -> TinyPolicy:
        """The policy of the newest weights."""
        return load_weights(self.path / WEIGHTS, mode=self.config.policy.mode)


def read_run(path: Path) -> TrainedRun:
    """The run in a directory; `UserError` if there is none, or nothing was trained yet."""
    file = path / "config.toml"
    if not file.is_file():
        raise UserError(f"{path} is not a run: there is no {file}; a run is what `distrl train` wrote (runs/...)")
    if not (path / WEIGHTS).is_file():
        raise UserError(f"{path} has no weights yet: {WEIGHTS} is written when `distrl train` has evaluated the start")
    return TrainedRun(path=path, config=load_config(file, names=KNOWN_NAMES))


def load_weights(path: Path, *, mode: Mode | None = None) -> TinyPolicy:
    """The policy of a weights file; which mode it is for, its shapes tell. Every error names the file."""
    try:
        found = mode_of(path)
        if mode not in (None, found):
            raise UserError(f"these weights are for {found} mode, not for {mode} mode")
        policy = new_policy(found)
        policy.load_tensors(read_weights(path))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return policy


def mode_of(path: Path) -> Mode:
    """What the policy of a weights file looks at."""
    look = read_weights(path).get(_LOOK)
    modes: dict[int, Mode] = {PixelEyes.look_dim: "pixels", TextEyes.look_dim: "text"}
    if look is None or look.ndim != 2 or look.shape[1] not in modes:
        raise UserError(f"these are not the weights of a tiny policy ({_LOOK} is missing, or has a shape of its own)")
    return modes[look.shape[1]]

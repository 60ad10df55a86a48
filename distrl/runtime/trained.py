"""What training left behind, read back: a run directory in; its configuration, curve and policy out."""

import json
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError

from distrl.core.config import Config, load_config
from distrl.core.errors import UserError
from distrl.policies.tiny.eyes import PixelEyes, TextEyes
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime.build import KNOWN_NAMES
from distrl.runtime.policies import AnyPolicy, load_model_start, new_policy, read_saved, read_weights, require_models
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

    def load_policy(self) -> AnyPolicy:
        """The policy of the newest weights."""
        if self.config.policy.kind == "tiny":
            return load_weights(self.path / WEIGHTS, mode=self.config.policy.mode)
        policy = load_model_start(self.config)
        load_saved(policy, self.path / "weights")
        return policy


def read_run(path: Path) -> TrainedRun:
    """The run in a directory; `UserError` if there is none, or nothing was trained yet."""
    file = path / "config.toml"
    if not file.is_file():
        raise UserError(f"{path} is not a run: there is no {file}; a run is what `distrl train` wrote (runs/...)")
    if not any((path / "weights").glob("*.safetensors")):
        raise UserError(f"{path} has no weights yet: {WEIGHTS} is written when `distrl train` has evaluated the start")
    return TrainedRun(path=path, config=load_config(file, names=KNOWN_NAMES))


def load_saved(policy: AnyPolicy, directory: Path) -> None:
    """Put the weights of a directory into a model's policy; every error names the directory."""
    try:
        policy.load_tensors(read_saved(directory))
    except UserError as error:
        raise UserError(f"{directory}: {error}") from error


def is_model_directory(path: Path) -> bool:
    """Whether a pre-trained model's policy was saved there by us."""
    return (path / "distrl.json").is_file()


def load_model_directory(path: Path) -> AnyPolicy:
    """The policy that was saved or exported there, in the prompt that it was trained with."""
    require_models()
    from distrl.policies.hf.policy import HfPolicy
    from distrl.policies.hf.saving import ABOUT, ADAPTER, read_about

    if "vision" in _table(path / ABOUT):
        return _load_autoui(path / ABOUT)
    about = read_about(path)
    assert about is not None, "asked for only where it is"
    if (path / ADAPTER).is_file():
        policy = HfPolicy(about)
        load_saved(policy, path)
        return policy
    return HfPolicy(about.model_copy(update={"model": str(path), "adapter": "none"}))


def _table(about: Path) -> Any:
    try:
        return json.loads(about.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{about}: not the table of a policy: {error}") from error


def _load_autoui(about: Path) -> AnyPolicy:
    from distrl.core.config_autoui import AutoUIConfig
    from distrl.policies.autoui.policy import AutoUIPolicy

    try:
        options = AutoUIConfig.model_validate(_table(about))
    except ValidationError as error:
        raise UserError(f"{about}: not the table of a policy: {error}") from error
    policy = AutoUIPolicy(options.model_copy(update={"model": str(about.parent)}))
    load_saved(policy, about.parent)
    return policy


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

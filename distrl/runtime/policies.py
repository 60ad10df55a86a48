"""Policies by name: where their weights are found, and how they are put into a network."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.policies.tiny.policy import EYES, Mode, TinyPolicy
from distrl.runtime.tensors import unpack_tensors

if TYPE_CHECKING:
    from distrl.policies.autoui.policy import AutoUIPolicy
    from distrl.policies.hf.policy import HfPolicy

AnyPolicy: TypeAlias = "TinyPolicy | HfPolicy | AutoUIPolicy"
"""What can be trained. `transformers` is imported only if it is used, which takes seconds."""
AS_IT_IS = ("imitation", "scratch")
"""Starts that are the model as its makers left it."""
SHIPPED = Path(__file__).parents[1] / "policies" / "tiny" / "weights"


def load_start(config: Config) -> AnyPolicy:
    """The policy that a run starts from."""
    return load_tiny_start(config) if config.policy.kind == "tiny" else load_model_start(config)


def load_model_start(config: Config) -> "HfPolicy | AutoUIPolicy":
    """A pre-trained model, with what `distrl imitate` has taught it if there is something."""
    require_models()
    start = config.policy.start
    directory = None if start in AS_IT_IS else Path(start)
    if directory is not None and not directory.is_dir():
        raise UserError(f"policy.start: there is no directory {directory}; `distrl imitate --config FILE` writes one")
    policy = _new_model(config)
    if directory is not None:
        try:
            policy.load_tensors(read_saved(directory))
        except UserError as error:
            raise UserError(f"policy.start: {directory}: {error}") from error
    return policy


def _new_model(config: Config) -> "HfPolicy | AutoUIPolicy":
    if config.policy.kind == "autoui":
        from distrl.policies.autoui.policy import AutoUIPolicy

        return AutoUIPolicy(config.policy.autoui, seed=config.seed)
    from distrl.policies.hf.policy import HfPolicy

    return HfPolicy(config.policy.hf, seed=config.seed)


def check_start(config: Config) -> None:
    """What can be known to be wrong without loading a large model."""
    if config.policy.kind != "hf":
        load_start(config)
        return
    require_models()
    from distrl.policies.hf.loading import device_of, load_outline
    from distrl.policies.hf.reader import Reader
    from distrl.policies.prompts import make_prompt

    hf = config.policy.hf
    prompt = make_prompt(hf.prompt, num_screens=hf.num_screens, num_actions=hf.num_actions)
    device_of(hf)
    Reader(load_outline(hf), prompt, device=torch.device("cpu"))  # asks a question, so that a wrong template is told


def require_models() -> None:
    """`UserError` that says what to install, unless it is there."""
    missing = [name for name in ("transformers", "peft") if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f'policy.kind = "hf" needs {", ".join(missing)}; install with: pip install "distrl[hf]"')


def read_saved(directory: Path) -> dict[str, Tensor]:
    """All tensors of a directory that a model's policy was saved in."""
    from distrl.policies.hf.saving import ADAPTER, VALUES, WHOLE

    files = [directory / name for name in (ADAPTER, WHOLE) if (directory / name).is_file()]
    if not files:
        raise UserError(f"there is neither {ADAPTER} nor {WHOLE}")
    tensors = read_weights(files[0])
    return tensors | (read_weights(directory / VALUES) if (directory / VALUES).is_file() else {})


def load_tiny_start(config: Config) -> TinyPolicy:
    """The small network."""
    policy = new_policy(config.policy.mode, seed=config.seed)
    start = config.policy.start
    if start != "scratch":
        path = imitation_path(config.tasks.suite, config.policy.mode) if start == "imitation" else Path(start)
        try:
            policy.load_tensors(read_weights(path))
        except UserError as error:
            raise UserError(f"policy.start: {path}: {error}") from error
    return policy


def new_policy(mode: Mode, *, seed: int = 0) -> TinyPolicy:
    """A policy that knows nothing; in pixels mode it has the shipped eye."""
    policy = TinyPolicy(mode, seed=seed)
    if mode == "pixels":
        load_eyes(policy, SHIPPED)
    return policy


def load_eyes(policy: TinyPolicy, directory: Path) -> None:
    """Give a policy the eyes of a directory, and keep the rest of it."""
    files = {prefix: read_weights(directory / f"{prefix}safetensors") for prefix in EYES}
    seen = {f"{prefix}{name}": tensor for prefix, tensors in files.items() for name, tensor in tensors.items()}
    policy.load_tensors(policy.tensors() | seen)


def imitation_path(suite: str, mode: Mode) -> Path:
    """Where the shipped result of imitation lies."""
    path = SHIPPED / f"imitation-{suite}-{mode}.safetensors"
    if not path.exists():
        have = sorted(p.stem.removeprefix("imitation-") for p in SHIPPED.glob("imitation-*.safetensors"))
        raise UserError(
            f"no imitation is shipped for {suite} in {mode} mode (there is: {', '.join(have)}); make one with "
            f"`distrl imitate --suite {suite} --mode {mode} --out FILE` and set policy.start to that file"
        )
    return path


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a weights file."""
    try:
        return unpack_tensors(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read weights from {path}: {error.strerror}") from error

"""Policies by name: where their weights are found, and how they are put into a network."""

from pathlib import Path

from torch import Tensor

from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime.tensors import unpack_tensors

SHIPPED = Path(__file__).parents[1] / "policies" / "tiny" / "weights"


def load_start(config: Config) -> TinyPolicy:
    """The policy that a run starts from."""
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
        load_encoder(policy, SHIPPED / "encoder.safetensors")
    return policy


def load_encoder(policy: TinyPolicy, path: Path) -> None:
    """Give a policy the eye of a file, and keep the rest of it."""
    policy.load_tensors(policy.tensors() | {f"encoder.{name}": t for name, t in read_weights(path).items()})


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

"""Export: a trained run in; a directory that others can open out.

`hf` has the layout of a model on the Hugging Face Hub: model.safetensors, config.json, a model card. `onnx` is the
network as one graph, from the tensors of a `Batch` to log-probabilities and values. Neither appears before what was
written has been opened again and has said the same about real screens as the run's own policy.
"""

import contextlib
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from safetensors import safe_open
from torch import Tensor, nn

from distrl import __version__
from distrl.core.errors import UnknownNameError, UserError
from distrl.core.types import Trajectory
from distrl.policies.tiny.actions import Verb
from distrl.policies.tiny.batch import Batch, Group, collate
from distrl.policies.tiny.encoder import WORD_DIM
from distrl.policies.tiny.eyes import MAX_ELEMENTS
from distrl.policies.tiny.features import HISTORY, Moment
from distrl.policies.tiny.network import BLOCKED, SIMILARITY_SCALES, Network, Output
from distrl.policies.tiny.policy import TinyPolicy
from distrl.policies.tiny.words import MAX_WORDS
from distrl.runtime.demonstrations import demonstrate
from distrl.runtime.export_card import measured
from distrl.runtime.export_model import FORMATS, ExportError, write_model
from distrl.runtime.saved_weights import weight_files, write_weights
from distrl.runtime.tensors import pack_tensors
from distrl.runtime.trained import WEIGHTS, TrainedRun, load_weights
from distrl.tasks.book import load_tasks

Format = Literal["hf", "onnx"]
Floats = npt.NDArray[np.float32]
TOLERANCE = 1e-4
OPSET = 17
_GROUP = tuple(field.name for field in fields(Group))
_ROWS = tuple(field.name for field in fields(Batch) if field.name != "groups")
INPUTS = (*_ROWS, *_GROUP)
OUTPUTS = tuple(field.name for field in fields(Output))
_MOMENTS = {0: "moments"}
_WORDS = {0: "moments", 1: "most_words"}
_ELEMENTS = {0: "moments", 1: "most_elements"}
AXES: Mapping[str, Mapping[int, str]] = {
    "request_words": {0: "request_words"},
    "request_places": {0: "request_words"},
    "word_rows": {0: "words"},
    "word_seen": {0: "words"},
    "element_rows": {0: "elements"},
    "texts": {0: "different_elements"},
    "looks": {0: "different_elements"},
    "element_seen": {0: "elements"},
    "word_means": {0: "moments", 1: "words"},
    "element_means": {0: "moments", 1: "elements"},
    "word_slots": _WORDS,
    "element_slots": _ELEMENTS,
    "word_owners": {0: "words"},
    "element_owners": {0: "elements"},
    "clauses": _WORDS,
    "slots": {0: "places"},
    "back": {0: "tokens"},
    "alike": {0: "moments", 1: "longest", 2: "longest"},
    "is_empty": {0: "moments", 1: "longest"},
    "tap": _ELEMENTS,
    "hold": _ELEMENTS,
    "first": _WORDS,
    "last": _WORDS | {2: "most_words"},
    "value_logits": {1: "moments"},
}
"""The axes of inputs and outputs that may have any length; of what is not named here it is the first."""


def export_run(run: TrainedRun, to: str, out: Path) -> list[str]:
    """Write a run's policy to a new directory; the names of its files. The directory appears whole or not at all."""
    writers: dict[str, Callable[[TrainedRun, TinyPolicy, Path], None]] = {"hf": _write_hf, "onnx": _write_onnx}
    if to not in (*writers, *FORMATS):
        raise UnknownNameError("format", to, (*writers, *FORMATS))
    if run.config.policy.kind == "tiny" and to not in writers:
        raise UserError(f"--to {to} is for adapters of pre-trained models; a tiny policy is exported as hf or onnx")
    if run.config.policy.kind == "autoui" and to != "hf":
        raise UserError(f"--to {to}: all of AutoUI's T5 is trained, so there is no adapter; it is exported as hf")
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UserError(f"{out} is there already; choose another --out, or remove it")
    policy = run.load_policy()
    if not isinstance(policy, TinyPolicy):
        from distrl.policies.hf.policy import HfPolicy
    aside = out.with_name(f".{out.name}.aside")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        if isinstance(policy, TinyPolicy):
            writers[to](run, policy, aside)
        elif isinstance(policy, HfPolicy):
            write_model(run, policy, to, aside)
        else:
            write_weights(aside, weight_files(policy))
        if out.exists():
            out.rmdir()
        aside.rename(out)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return sorted(path.name for path in out.iterdir())


def describe(run: TrainedRun, policy: TinyPolicy) -> dict[str, Any]:
    """What config.json says: the architecture, its sizes, and where the weights come from."""
    network = policy.module.network
    return {
        "model_type": "distrl-tiny",
        "architectures": ["TinyPolicy"],
        "distrl_version": __version__,
        "mode": policy.mode,
        "policy_version": int(_metadata(run.path / WEIGHTS).get("version", 0)),
        "width": network.norm.normalized_shape[0],
        "num_layers": len(network.layers),
        "similarity_scales": list(SIMILARITY_SCALES),
        "word_dim": WORD_DIM,
        "look_dim": policy.eyes.look_dim,
        "max_words": MAX_WORDS,
        "max_elements": MAX_ELEMENTS,
        "history": HISTORY,
        "verbs": [verb.name for verb in Verb],
        "num_parameters": sum(tensor.numel() for tensor in policy.tensors().values()),
        "trained_with": {
            "suite": run.config.tasks.suite,
            "algorithm": run.config.algorithm.name,
            "seed": run.config.seed,
            "trajectories": run.curve[-1]["trajectories"] if run.curve else 0,
        },
    }


def _metadata(path: Path) -> dict[str, str]:
    with safe_open(path, framework="pt") as file:
        return dict(file.metadata() or {})


def _write_json(path: Path, data: Any) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")


# ---------------------------------------------------------------- Hugging Face


def _write_hf(run: TrainedRun, policy: TinyPolicy, directory: Path) -> None:
    config = describe(run, policy)
    metadata = {"format": "pt", "distrl": __version__, "version": str(config["policy_version"])}
    (directory / "model.safetensors").write_bytes(pack_tensors(policy.tensors(), metadata))
    _write_json(directory / "config.json", config)
    (directory / "README.md").write_text(model_card(run, config), encoding="utf-8")
    _check_hf(directory / "model.safetensors", run, policy)


def _check_hf(path: Path, run: TrainedRun, policy: TinyPolicy) -> None:
    """Read the file as whoever is given it will, and ask both policies about what each sees with its own eyes."""
    try:
        written = load_weights(path)
    except UserError as error:
        raise ExportError(f"what was to be written cannot be read again ({error}); nothing was written") from error
    shown = _real_episodes(run)
    ours, theirs = (_say(each, _tensors(each, _moments(each, shown))) for each in (policy, written))
    _compare("what was written and the run", ours, theirs)


def model_card(run: TrainedRun, config: Mapping[str, Any]) -> str:
    """What a person reads first."""
    sees = "crops of the screenshot" if config["mode"] == "pixels" else "the text of the ui tree"
    lines = [
        *("---", "license: apache-2.0", "library_name: distrl", "pipeline_tag: reinforcement-learning"),
        *("tags:", "- reinforcement-learning", "- phone-agent", "- distrl", "---", ""),
        f"# distrl tiny policy: {run.config.tasks.suite}, {config['mode']} mode",
        "",
        f"A small network ({config['num_parameters']:,} numbers) that operates the built-in phone of distrl "
        f"{__version__}. It is shown an instruction and {sees}, and taps, swipes or types. Trained with "
        f"`{run.config.algorithm.name}` on the suite `{run.config.tasks.suite}`, seed {run.config.seed}.",
        "",
        *measured(run),
        "## Use",
        "",
        *("```python", "import distrl", "", 'policy = distrl.make_policy("path/to/this/directory")'),
        *(f'report = distrl.evaluate(policy, suite="{run.config.tasks.suite}")', "```", ""),
        "It knows the simulated phone only. It has learned nothing about real devices, and nothing keeps it from doing "
        "what an instruction does not say.",
        "",
    ]
    return "\n".join(lines)


# ---------------------------------------------------------------- ONNX


def _write_onnx(run: TrainedRun, policy: TinyPolicy, directory: Path) -> None:
    moments = _moments(policy, _real_episodes(run))
    with _silence():
        # By tracing, which takes half a second where torch.export takes half a minute; what is relied on is the check.
        torch.onnx.export(
            _Flat(policy.module.network).eval(),
            _tensors(policy, moments[: len(moments) // 2]),
            str(directory / "model.onnx"),
            dynamo=False,
            opset_version=OPSET,
            dynamic_axes={name: dict(AXES.get(name, _MOMENTS)) for name in (*INPUTS, *OUTPUTS)},
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
        )
    difference = _check_onnx(directory / "model.onnx", policy, moments)
    graph = {"inputs": list(INPUTS), "outputs": list(OUTPUTS), "opset": OPSET, "largest_difference": difference}
    _write_json(directory / "config.json", describe(run, policy) | {"onnx": graph})


def _check_onnx(path: Path, policy: TinyPolicy, moments: Sequence[Moment]) -> float:
    """The largest difference between onnxruntime and torch, one moment, some and all at a time; at most 1e-4."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    worst = 0.0
    for count in (1, 2, len(moments)):
        tensors = _tensors(policy, moments[-count:])
        said = session.run(list(OUTPUTS), dict(zip(INPUTS, (t.numpy() for t in tensors), strict=True)))
        worst = max(worst, _compare("onnxruntime and torch", _say(policy, tensors), said))
    return worst


# ---------------------------------------------------------------- the same as ours, about real screens


class _Flat(nn.Module):
    """The network with plain tensors at both ends; all moments are one group."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        named = dict(zip(INPUTS, tensors, strict=True))
        group = Group(**{name: named.pop(name) for name in _GROUP})
        output = self.network(Batch(**named, groups=(group,)))
        return tuple(getattr(output, name) for name in OUTPUTS)


def _real_episodes(run: TrainedRun) -> list[Trajectory]:
    """A few: screens with few and with many elements, short and long instructions."""
    return list(demonstrate(load_tasks(run.config.tasks.suite, "test")[:3], noise=0.2, seed=0))


def _moments(policy: TinyPolicy, shown: Iterable[Trajectory]) -> list[Moment]:
    return [moment for trajectory in shown for moment in policy.prepare(trajectory).moments]


def _tensors(policy: TinyPolicy, moments: Sequence[Moment]) -> tuple[Tensor, ...]:
    batch = collate(moments, policy.eyes, rows=len(moments))
    (group,) = batch.groups
    return (*(getattr(batch, name) for name in _ROWS), *(getattr(group, name) for name in _GROUP))


def _say(policy: TinyPolicy, tensors: Sequence[Tensor]) -> list[Floats]:
    with torch.inference_mode():
        return [tensor.numpy() for tensor in _Flat(policy.module.network).eval()(*tensors)]


def _compare(who: str, expected: Sequence[Floats], said: Sequence[Floats]) -> float:
    """The largest difference between two networks, output by output; `ExportError` if it is more than rounding."""
    worst = 0.0
    for name, ours, theirs in zip(OUTPUTS, expected, said, strict=True):
        difference = largest_difference(ours, theirs)
        if not difference <= TOLERANCE:
            raise ExportError(
                f"{who} differ by {difference:.2g} in `{name}` (at most {TOLERANCE} is allowed); nothing was written"
            )
        worst = max(worst, difference)
    return worst


def largest_difference(ours: Floats, theirs: Floats) -> float:
    """How far apart two results are where something is possible; infinitely, if they disagree about where that is."""
    if ours.shape != theirs.shape:
        return float("inf")
    is_open = ours > BLOCKED / 2
    if not np.array_equal(is_open, theirs > BLOCKED / 2):
        return float("inf")
    return float(np.abs(ours - theirs)[is_open].max(initial=0.0))


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Without the warnings that tracing gives about every shape it has seen: the check tries others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

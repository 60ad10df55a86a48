"""Export of a pre-trained model that a run has trained: the whole model for `transformers`, or the adapter for `peft`.

Both open in a program that has never heard of distrl; distrl.json beside them lets `distrl.make_policy` ask the model
in the prompt that it was trained with. What was written is opened again, and has to find what the run's policy would do
as likely as that does. A whole model is written in 32 bits: in 16, most of what an adapter adds would be rounded away.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
import torch

from distrl.core.errors import DistrlError, UnknownNameError, UserError
from distrl.core.types import Situation, Trajectory
from distrl.runtime.demonstrations import demonstrate
from distrl.runtime.export_card import measured
from distrl.runtime.saved_weights import weight_files
from distrl.runtime.trained import TrainedRun, load_model_directory
from distrl.tasks.book import load_tasks

if TYPE_CHECKING:
    from distrl.policies.hf.policy import HfPolicy

FORMATS = ("hf", "peft")
MODEL_TOLERANCE = 1e-3
"""How far log-probabilities of whole answers may be apart."""


class ExportError(DistrlError):
    """The exported network does not say what ours says."""


def write_model(run: TrainedRun, policy: "HfPolicy", to: str, directory: Path) -> None:
    """Fill a directory."""
    from distrl.policies.hf.saving import ABOUT, save_whole

    if to not in FORMATS:
        raise UnknownNameError("format of a pre-trained model", to, FORMATS)
    if to == "peft" and policy.adapter is None:
        raise UserError('this run trained all weights (policy.hf.adapter = "none"): export it with --to hf')
    files = weight_files(policy)
    if to == "hf":
        policy.network.float()
        about = json.loads(files[ABOUT]) | {"dtype": "float32"}
        files = {ABOUT: json.dumps(about, indent=2).encode() + b"\n"}
    shown = _episode(run, policy)
    said = _log_probs(policy, shown)
    if to == "hf":
        save_whole(policy, directory)
    for name, data in files.items():
        (directory / name).write_bytes(data)
    (directory / "README.md").write_text(_card(run, policy, to), encoding="utf-8")
    apart = float((_log_probs(cast("HfPolicy", load_model_directory(directory)), shown) - said).abs().max())
    if not apart <= MODEL_TOLERANCE:
        raise ExportError(
            f"what was written finds answers more or less likely than the run, by {apart:.2g} (at most "
            f"{MODEL_TOLERANCE} is allowed); nothing was written"
        )


def _episode(run: TrainedRun, policy: "HfPolicy") -> Trajectory:
    """Screens that an expert saw, and what the policy would have done there."""
    (shown,) = demonstrate(load_tasks(run.config.tasks.suite, "test")[:1], noise=0.0, seed=0)
    steps = shown.steps
    seen = [Situation(task=shown.task, steps=steps[:t], observation=s.observation) for t, s in enumerate(steps)]
    decisions = policy.decide(seen, None)
    replace = msgspec.structs.replace
    return replace(shown, steps=tuple(replace(s, decision=d) for s, d in zip(steps, decisions, strict=True)))


def _log_probs(policy: "HfPolicy", shown: Trajectory) -> torch.Tensor:
    prepared = policy.prepare(shown)
    with torch.no_grad():
        return policy.judge(prepared.moments[:-1], prepared.choices).log_prob


def _card(run: TrainedRun, policy: "HfPolicy", to: str) -> str:
    options = run.config.policy.hf
    kind = "AutoModelForImageTextToText" if policy.loaded.has_eyes else "AutoModelForCausalLM"
    revision = f", revision={json.dumps(options.revision)}" if options.revision else ""
    use = {
        "hf": [f"from transformers import {kind}", "", f'model = {kind}.from_pretrained("path/to/this/directory")'],
        "peft": [
            "from peft import PeftModel",
            f"from transformers import {kind}",
            "",
            f"base = {kind}.from_pretrained({json.dumps(options.model)}{revision})",
            'model = PeftModel.from_pretrained(base, "path/to/this/directory")',
        ],
    }[to]
    base = [] if Path(options.model).exists() else [f"base_model: {options.model}"]
    lines = [
        *("---", *base, f"library_name: {'transformers' if to == 'hf' else 'peft'}"),
        *("tags:", "- reinforcement-learning", "- phone-agent", "- distrl", "---", ""),
        f"# {run.config.policy.label}, trained to operate a phone",
        "",
        f"{options.model} after `{run.config.algorithm.name}` on the suite `{run.config.tasks.suite}`, seed "
        f"{run.config.seed}. It is asked in the prompt `{options.prompt}` of distrl, with {options.num_screens} screens"
        f" and the last {options.num_actions} actions. The licence is that of the model it was made from.",
        "",
        *measured(run),
        *("## Use", "", "```python", *use, "```", ""),
        'In distrl: `distrl.make_policy("path/to/this/directory")`.',
        "",
    ]
    return "\n".join(lines)

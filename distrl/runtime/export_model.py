"""Export of a pre-trained model that a run has trained: the whole model for `transformers`, or the adapter for `peft`.

Both open in a program that has never heard of distrl; distrl.json beside them lets `distrl.make_policy` ask the model
in the prompt that it was trained with.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from distrl.core.errors import UnknownNameError, UserError
from distrl.runtime.export_card import measured
from distrl.runtime.saved_weights import weight_files
from distrl.runtime.trained import TrainedRun

if TYPE_CHECKING:
    from distrl.policies.hf.policy import HfPolicy

FORMATS = ("hf", "peft")


def write_model(run: TrainedRun, policy: "HfPolicy", to: str, directory: Path) -> None:
    """Fill a directory."""
    from distrl.policies.hf.saving import ABOUT, save_whole

    if to not in FORMATS:
        raise UnknownNameError("format of a pre-trained model", to, FORMATS)
    if to == "peft" and policy.adapter is None:
        raise UserError('this run trained all weights (policy.hf.adapter = "none"): export it with --to hf')
    files = weight_files(policy)
    if to == "hf":
        save_whole(policy, directory)
        files = {ABOUT: files[ABOUT]}
    for name, data in files.items():
        (directory / name).write_bytes(data)
    (directory / "README.md").write_text(_card(run, policy, to), encoding="utf-8")


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

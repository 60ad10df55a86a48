"""What a pre-trained text model costs as a policy: processor seconds of a decision and of a step that is learned from.

    python benchmarks/models.py models/smollm2

Seconds of the processor on one thread, not of the clock, so that other work on the machine changes them less. Each line
is one variant of examples/smollm2.toml; the situations are those of an expert at its templates.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from distrl.core.config import Config, load_config
from distrl.core.types import Situation, Trajectory
from distrl.policies.hf.policy import HfPolicy
from distrl.runtime.chosen_tasks import chosen_tasks
from distrl.runtime.demonstrations import demonstrate, without_tokens

EXAMPLE = Path(__file__).parents[1] / "examples" / "smollm2.toml"


def seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def shown(config: Config, count: int) -> list[Trajectory]:
    """One task of each of so many templates."""
    tasks = list({task.template: task for task in chosen_tasks(config.tasks, "train")}.values())
    return [without_tokens(episode) for episode in demonstrate(tasks[:count], noise=0.0, seed=0)]


def measure(config: Config, episodes: list[Trajectory], *, has_prefix: bool = True, **options: Any) -> dict[str, float]:
    policy = HfPolicy(config.policy.hf.model_copy(update=options))
    if not has_prefix:
        policy.prefix.ids = policy.prefix.ids[:0]
    asked = [
        Situation(task=episode.task, steps=episode.steps[:t], observation=step.observation)
        for episode in episodes
        for t, step in enumerate(episode.steps)
    ]
    snapshot, rows = policy.snapshot(), len(asked)
    alone = seconds(lambda: [policy.decide([one], [Random(0)], snapshot) for one in asked[:3]]) / 3
    together = seconds(lambda: policy.decide(asked, [Random(n) for n in range(rows)], snapshot)) / rows
    prepared = [policy.prepare(episode) for episode in episodes]
    moments = [moment for one in prepared for moment in one.moments[:-1]]
    choices = np.concatenate([one.choices for one in prepared])

    def learn() -> None:
        said = policy.judge(moments, choices)
        (said.log_prob.mean() + said.value_logits.mean()).backward()  # type: ignore[no-untyped-call]

    lengths = [len(policy.reader.encode(moment).ids) for moment in moments]
    return {
        "prompt_tokens": round(sum(lengths) / len(lengths)),
        "shared_tokens": len(policy.prefix.ids),
        "trained_millions": round(sum(p.numel() for p in policy.parameters()) / 1e6, 2),
        "decision_alone_s": round(alone, 3),
        f"decision_of_{rows}_s": round(together, 3),
        "learned_step_s": round(seconds(learn) / rows, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--templates", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    config = load_config(EXAMPLE, overrides=[f"policy.hf.model={arguments.model}"])
    episodes = shown(config, arguments.templates)
    variants: dict[str, dict[str, Any]] = {
        "as in the example": {},
        "without a shared beginning": {"has_prefix": False},
        "all layers adapted": {"lora_layers": None},
    }
    for name, options in variants.items():
        print(json.dumps({"variant": name} | measure(config, episodes, **options)), flush=True)


if __name__ == "__main__":
    main()

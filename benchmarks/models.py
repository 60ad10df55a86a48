"""What a pre-trained text model costs as a policy: processor seconds of a decision and of a step that is learned from.

    python benchmarks/models.py models/smollm2

Seconds of the processor on one thread, not of the clock, so that other work on the machine changes them less. Each line
is one variant of examples/smollm2.toml; the situations are those of an expert at its templates. A decision is one of
six episodes that go on together; `learned_again_s` is a step that was learned from before.
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

ANSWER_TOKENS = 6
"""Of `tap Star mail from Mei`, say, and its end."""
EXAMPLE = Path(__file__).parents[1] / "examples" / "smollm2.toml"


def seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def shown(config: Config, count: int) -> list[Trajectory]:
    """One task of each of so many templates."""
    tasks = list({task.template: task for task in chosen_tasks(config.tasks, "train")}.values())
    return [without_tokens(episode) for episode in demonstrate(tasks[:count], noise=0.0, seed=0)]


def play(policy: HfPolicy, episodes: list[Trajectory]) -> int:
    """Decide along all episodes at once, as a worker does for its devices; how many decisions that were."""
    snapshot, count = policy.snapshot(), 0
    for t in range(max(len(episode.steps) for episode in episodes)):
        asked = [
            Situation(task=e.task, steps=e.steps[:t], observation=e.steps[t].observation)
            for e in episodes
            if t < len(e.steps)
        ]
        policy.decide(asked, [Random(n) for n in range(len(asked))], snapshot)
        count += len(asked)
    return count


def measure(config: Config, episodes: list[Trajectory], *, has_prefix: bool = True, **options: Any) -> dict[str, float]:
    """The costs of one variant."""
    policy = HfPolicy(config.policy.hf.model_copy(update=options))
    if not has_prefix:
        policy.beginnings.ids = policy.beginnings.ids[:0]
    rows = sum(len(episode.steps) for episode in episodes)
    # A model that has not been taught goes on until it is stopped; one that has writes a short line and its end.
    whole = policy.options
    policy.options = whole.model_copy(update={"max_new_tokens": ANSWER_TOKENS})
    decision_s = seconds(lambda: play(policy, episodes)) / rows
    policy.options = whole
    prepared = [policy.prepare(episode) for episode in episodes]
    moments = [moment for one in prepared for moment in one.moments[:-1]]
    choices = np.concatenate([one.choices for one in prepared])

    def learn() -> None:
        said = policy.judge(moments, choices)
        (said.log_prob.mean() + said.value_logits.mean()).backward()  # type: ignore[no-untyped-call]

    lengths = [len(policy.reader.encode(moment).ids) for moment in moments]
    return {
        "prompt_tokens": round(sum(lengths) / len(lengths)),
        "shared_tokens": len(policy.beginnings.ids),
        "trained_millions": round(sum(p.numel() for p in policy.parameters()) / 1e6, 2),
        "decision_s": round(decision_s, 3),
        "learned_step_s": round(seconds(learn) / rows, 3),
        "learned_again_s": round(seconds(learn) / rows, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--templates", type=int, default=6)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    config = load_config(EXAMPLE, overrides=[f"policy.hf.model={arguments.model}"])
    episodes = shown(config, arguments.templates)
    variants: dict[str, dict[str, Any]] = {
        "as in the example": {},
        "long prompts": {"prompt": "numbered"},
        "without a shared beginning": {"has_prefix": False},
        "all layers adapted": {"lora_layers": None},
    }
    for name, options in variants.items():
        print(json.dumps({"variant": name} | measure(config, episodes, **options)), flush=True)


if __name__ == "__main__":
    main()

"""What the tiny policy costs: decisions a second, samples a second of the learner, where an update's time goes.

    python benchmarks/tiny.py [--mode pixels] [--json FILE]

Seconds of the processor on one thread, not of the clock, so that other work on the machine changes them less. The
screens are those of an expert at one task of each template of `general`. Acting is measured on screens that were seen
before and on screens that are new; an update is one of the default configuration.
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

from distrl.core.config import config_of
from distrl.core.types import Situation, Trajectory
from distrl.policies.tiny.batch import collate
from distrl.policies.tiny.features import moments_of
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime.demonstrations import NOISE, demonstrate
from distrl.runtime.policies import load_start
from distrl.tasks.book import load_tasks

BATCHES = (1, 8, 32)
ROWS = 128
"""Moments that the learner evaluates together."""


def seconds(work: Callable[[], Any], *, times: int = 1) -> float:
    """Of the processor, for one of so many times."""
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def situations_of(episodes: list[Trajectory]) -> list[Situation]:
    """Every moment in which something was decided."""
    return [
        Situation(task=episode.task, steps=episode.steps[:t], observation=step.observation)
        for episode in episodes
        for t, step in enumerate(episode.steps)
    ]


def acting(policy: TinyPolicy, asked: list[Situation]) -> dict[str, float]:
    """Decisions a second: on new screens first, then on known ones in each size of batch."""
    snapshot = policy.snapshot()

    def decide(size: int) -> Callable[[], Any]:
        parts = [asked[i : i + size] for i in range(0, len(asked), size)]
        return lambda: [policy.decide(part, [Random(0) for _ in part], snapshot) for part in parts]

    told = {"decisions_per_s_new_screens_batch_32": len(asked) / seconds(decide(32))}
    return told | {f"decisions_per_s_batch_{size}": len(asked) / seconds(decide(size)) for size in BATCHES}


def learning(policy: TinyPolicy, episodes: list[Trajectory]) -> dict[str, float]:
    """Samples a second of forward, backward and step, and the parts of it in milliseconds for 200 samples."""
    prepared = [policy.prepare(episode) for episode in episodes]
    moments = [moment for one in prepared for moment in one.moments[:-1]][:200]
    choices = np.concatenate([one.choices for one in prepared])[: len(moments)]
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-5)

    def update() -> None:
        said = policy.judge(moments, choices)
        optimiser.zero_grad()
        (said.log_prob.mean() + said.value_logits.mean()).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    update()
    groups = [moments[i : i + ROWS] for i in range(0, len(moments), ROWS)]
    together = seconds(lambda: [collate(group, policy.eyes) for group in groups], times=5)
    forward = seconds(lambda: policy.judge(moments, choices), times=5)
    whole, step = seconds(update, times=5), seconds(optimiser.step, times=5)
    return {
        "learner_samples_per_s": len(moments) / whole,
        "update_ms": 1000 * whole,
        "update_collate_ms": 1000 * together,
        "update_forward_ms": 1000 * (forward - together),
        "update_backward_ms": 1000 * (whole - forward - step),
        "update_step_ms": 1000 * step,
        "features_ms_per_sample": 1000
        * seconds(lambda: moments_of(situations_of(episodes), policy.eyes))
        / len(moments),
    }


def measure(mode: Mode, suite: str) -> dict[str, Any]:
    """All of it for one mode."""
    torch.set_num_threads(1)
    config = config_of({"tasks": {"suite": suite}, "policy": {"mode": mode}})
    policy = load_start(config)
    assert isinstance(policy, TinyPolicy)
    tasks = list({task.template: task for task in load_tasks(suite, "train")}.values())
    episodes = list(demonstrate(tasks, noise=NOISE, seed=0, scale=config.phone.scale))
    told = acting(policy, situations_of(episodes)) | learning(policy, episodes)
    return {"mode": mode, "suite": suite} | {name: round(value, 2) for name, value in told.items()}


def main() -> None:
    """Print it, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("pixels", "text"), nargs="+", default=["pixels", "text"])
    parser.add_argument("--suite", default="general")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = [measure(mode, args.suite) for mode in args.mode]
    for row in rows:
        print("\n".join(f"{name:38} {value}" for name, value in row.items()), end="\n\n")
    if args.json:
        args.json.write_text(json.dumps({"results": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How well imitation carries over, without playing: demonstrations in; the loss on demonstrations of other tasks out.

    python benchmarks/imitation.py [--mode pixels text] [--suite general] [--json FILE]

A quick look at what the tiny policy's eyes are worth: it imitates some demonstrations of each template from scratch,
and after each pass says how likely it finds what an expert does at tasks that were not shown. `sure` is the share of
steps at which the expert's whole action has more than half of the probability. No task of a test split is used.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from distrl.core.types import Task
from distrl.policies.tiny.choosing import Choices
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime.demonstrations import examples, tasks_like
from distrl.runtime.imitation import CHECKED_FROM
from distrl.runtime.policies import new_policy
from distrl.tasks.book import load_tasks
from distrl.tasks.fresh import FreshTasks

BATCH, LEARNING_RATE, DOUBT = 64, 2e-3, 0.1
CHECKS = 4


def flat(policy: TinyPolicy, tasks: list[Task]) -> tuple[list[Any], Choices]:
    """All moments of an expert's demonstrations, and what it chose."""
    shown = list(examples(policy, tasks))
    return [moment for one in shown for moment in one.moments], np.concatenate([one.choices for one in shown])


def measure(mode: Mode, suite: str, per_template: int, epochs: int) -> dict[str, Any]:
    """One policy; the log of its passes."""
    torch.set_num_threads(1)
    policy = new_policy(mode)
    tasks, fresh = load_tasks(suite, "train"), FreshTasks(suite)
    moments, choices = flat(policy, tasks_like(tasks, fresh, range(per_template)))
    others, wanted = flat(policy, tasks_like(tasks, fresh, range(CHECKED_FROM, CHECKED_FROM + CHECKS)))
    optimiser = torch.optim.AdamW(policy.parameters(), lr=LEARNING_RATE)
    order, log = np.random.default_rng(0), []
    num_batches = math.ceil(len(moments) / BATCH)
    for epoch in range(1, epochs + 1):
        total = 0.0
        for number, rows in enumerate(np.array_split(order.permutation(len(moments)), num_batches)):
            left = 1.0 - ((epoch - 1) * num_batches + number) / (epochs * num_batches)
            optimiser.param_groups[0]["lr"] = LEARNING_RATE * max(left, 0.05)
            said = policy.judge([moments[i] for i in rows], choices[rows])
            loss = -said.log_prob.mean()
            optimiser.zero_grad()
            (loss - DOUBT * left * said.entropy.mean()).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()
            total += float(loss.detach()) * len(rows) / len(moments)
        with torch.no_grad():
            log_prob = policy.judge(others, wanted).log_prob
        row = {"epoch": epoch, "loss": total, "held_out_loss": -float(log_prob.mean())}
        log.append(row | {"sure": float((log_prob.exp() > 0.5).float().mean())})
        print(mode, {name: round(value, 3) for name, value in log[-1].items()}, file=sys.stderr, flush=True)
    return {"mode": mode, "suite": suite, "per_template": per_template, "log": log}


def main() -> None:
    """Print the last pass of each mode, and write all of it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("pixels", "text"), nargs="+", default=["pixels", "text"])
    parser.add_argument("--suite", default="general")
    parser.add_argument("--per-template", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = [measure(mode, args.suite, args.per_template, args.epochs) for mode in args.mode]
    for result in results:
        last = result["log"][-1]
        print(f"{result['mode']:7} held-out loss {last['held_out_loss']:.3f}, sure of {last['sure']:.1%} of the steps")
    if args.json:
        args.json.write_text(json.dumps({"results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

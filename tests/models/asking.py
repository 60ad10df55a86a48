"""Policies of tiny models, and situations to ask them about."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from distrl.core.config_model import HfConfig
from distrl.core.types import Decision, Situation, Trajectory
from distrl.policies.hf.policy import Choices, HfPolicy
from distrl.runtime.demonstrations import demonstrate, without_tokens
from distrl.tasks.book import load_tasks


def make_policy(model: Path, *, seed: int = 0, is_taught: bool = True, **options: Any) -> HfPolicy:
    """A policy of a model; its adapter is random, so that it changes what is said."""
    is_text = "llama" in model.name
    few = {"num_screens": 0, "prompt": "numbered"} if is_text else {"num_screens": 2, "num_actions": 2}
    policy = HfPolicy(HfConfig(model=str(model), **({"max_new_tokens": 6} | few | options)), seed=seed)
    if is_taught:
        teach(policy)
    return policy


def teach(policy: HfPolicy, *, seed: int = 3) -> None:
    """Change what is trained a little."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator)


@cache
def episodes() -> tuple[Trajectory, ...]:
    """What an expert did on phones of different sizes."""
    tasks = load_tasks("general", "train")
    shown = [
        *demonstrate(tasks[:1], noise=0.0, seed=0, scale=0.25),
        *demonstrate(tasks[60:61], noise=0.0, seed=0, scale=0.15),
    ]
    return tuple(without_tokens(episode) for episode in shown)


@cache
def situations() -> tuple[Situation, ...]:
    """With one screen to look at and with several, large and small, with and without a past."""
    chosen = [(episode, t) for episode in episodes() for t in (0, 1, 2) if t < len(episode.steps)]
    return tuple(Situation(task=e.task, steps=e.steps[:t], observation=e.steps[t].observation) for e, t in chosen)


def rngs(count: int) -> list[Random]:
    """Random numbers of each situation."""
    return [Random(number) for number in range(count)]


def choices_of(policy: HfPolicy, decisions: Sequence[Decision]) -> Choices:
    """Decisions as the learner has them."""
    choices = np.zeros((len(decisions), policy.options.max_new_tokens), np.int64)
    for row, decision in zip(choices, decisions, strict=True):
        row[: len(decision.tokens)] = np.array(decision.tokens) + 1
    return choices


def recomputed(policy: HfPolicy, asked: Sequence[Situation], decisions: Sequence[Decision]) -> Any:
    """What the learner says about decisions."""
    moments = [policy.reader.moment(situation, is_packed=True) for situation in asked]
    return policy.judge(moments, choices_of(policy, decisions))

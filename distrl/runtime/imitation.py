"""Imitation: demonstrations in, a policy that succeeds about as often as wanted out.

It learns the actions of a noisy expert at a few tasks of each template and stops as soon as it solves the wanted share
of training tasks that were not demonstrated, or a little more if there are templates that it has never solved:
reinforcement learning shall have something left to do, and something to begin with everywhere. Templates that are
solved less often are shown more often.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from distrl.core.clock import run_virtual
from distrl.core.config import Config
from distrl.core.types import Task
from distrl.policies.tiny.choosing import Choices
from distrl.runtime.demonstrations import NOISE, examples, tasks_like
from distrl.runtime.evaluation import Report, evaluate, summarise
from distrl.runtime.policies import AnyPolicy
from distrl.tasks.fresh import FreshTasks

HARDEST = 1.05
"""A template is shown with a weight of this less its success."""
LEEWAY = 0.03
"""How far beyond its target imitation goes for the sake of a template that it has never solved."""
CHECKED_FROM = 10**8
"""Numbers of the tasks that imitation is checked with; those that are shown have lower ones."""


class ImitationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How much is shown, and when it is enough."""

    per_template: int = 12
    noise: float = NOISE
    entropy_weight: float = 0.1
    """How much doubt is worth: what is imitated with certainty, reinforcement learning hardly ever tries otherwise."""
    target: float = 0.5
    max_epochs: int = 40
    batch_steps: int = 64
    learning_rate: float = 2e-3
    checks_per_template: int = 4


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """One check during imitation."""

    epoch: int
    loss: float
    report: Report
    sampled: Report | None
    """Not measured with a pre-trained model, for which a check takes as long as an epoch."""
    never_solved: tuple[str, ...]
    """Templates of which no check so far solved a task."""


def entropy_weight_of(kind: str) -> float:
    """How much doubt is worth to a kind of policy, in imitation."""
    # With .1 a model of 49,000 tokens would do best with 19 % on tokens that are no answer: a share q of them costs
    # -log(1 - q), about q, and earns .1 q (log 49,000 - log q), which is more.
    return 0.1 if kind == "tiny" else 0.01


Tick = Callable[[int], None]


def imitate(
    policy: AnyPolicy,
    tasks: Sequence[Task],
    config: Config,
    options: ImitationOptions,
    *,
    tick: Tick = lambda steps: None,
) -> Iterator[Progress]:
    """Train a policy in place on tasks like these; yields the check of each epoch, until it is good enough everywhere.

    `tick` is told how many steps each update was made of.
    """
    fresh = FreshTasks(config.tasks.suite)
    shown = tasks_like(tasks, fresh, range(options.per_template))
    checked = tasks_like(tasks, fresh, range(CHECKED_FROM, CHECKED_FROM + options.checks_per_template))
    seen = list(examples(policy, shown, noise=options.noise, seed=config.seed, scale=config.phone.scale))
    moments = [moment for example in seen for moment in example.moments]
    choices = np.concatenate([example.choices for example in seen])
    templates = [example.template for example in seen for _ in example.moments]
    optimiser = torch.optim.AdamW(policy.parameters(), lr=options.learning_rate)
    order = np.random.default_rng(config.seed)
    solved = dict.fromkeys(templates, 0.5)
    never_solved = set(templates)
    for epoch in range(1, options.max_epochs + 1):
        weights = np.array([HARDEST - solved[template] for template in templates])
        drawn = order.choice(len(moments), len(moments), p=weights / weights.sum())
        batches = np.array_split(drawn, math.ceil(len(moments) / options.batch_steps))
        loss = _epoch(policy, moments, choices, optimiser, batches, options.entropy_weight, tick)
        greedy = check(policy, checked, config, is_greedy=True)
        sampled = check(policy, checked, config, is_greedy=False) if config.policy.kind == "tiny" else None
        for name in solved:
            now = (greedy.by_template.get(name, 0.0) + (sampled or greedy).by_template.get(name, 0.0)) / 2
            solved[name] += (now - solved[name]) / 2
            if now:
                never_solved.discard(name)
        yield Progress(epoch=epoch, loss=loss, report=greedy, sampled=sampled, never_solved=tuple(sorted(never_solved)))
        if greedy.success >= options.target + (LEEWAY if never_solved else 0.0):
            return


def check(policy: AnyPolicy, tasks: Sequence[Task], config: Config, *, is_greedy: bool) -> Report:
    """How often the policy of now solves these tasks."""
    finished = run_virtual(evaluate(policy, tasks, config, is_greedy=is_greedy, snapshot=policy.snapshot()))
    return summarise(finished)


def _epoch(
    policy: AnyPolicy,
    moments: Sequence[Any],
    choices: Choices,
    optimiser: torch.optim.Optimizer,
    batches: Iterable[npt.NDArray[np.int64]],
    entropy_weight: float,
    tick: Tick,
) -> float:
    """One pass over all examples; the mean loss, without what doubt was worth."""
    total = 0.0
    for rows in batches:
        said = policy.judge([moments[i] for i in rows], choices[rows])
        loss = -said.log_prob.mean()
        optimiser.zero_grad()
        (loss - entropy_weight * said.entropy.mean()).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        total += float(loss.detach()) * len(rows)
        tick(len(rows))
    return total / len(moments)

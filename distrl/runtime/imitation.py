"""Imitation: demonstrations in, a policy that succeeds about as often as wanted out.

It learns the actions of a noisy expert at a few tasks of each template and stops as soon as it solves the wanted share
of training tasks that were not demonstrated: reinforcement learning shall have something left to do.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from distrl.core.clock import run_virtual
from distrl.core.config import Config
from distrl.core.seeds import derive_random
from distrl.core.types import Outcome, Task
from distrl.policies.tiny.features import Moment
from distrl.policies.tiny.policy import Choices, TinyPolicy
from distrl.runtime.demonstrations import SLIP, choose_tasks, demonstrate
from distrl.runtime.evaluation import Report, evaluate, summarise


class ImitationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How much is shown, and when it is enough."""

    per_template: int = 6
    rounds: int = 1
    """How often each is shown, with other slips."""
    noise: float = 0.15
    entropy_weight: float = 0.1
    """How much doubt is worth: what is imitated with certainty, reinforcement learning hardly ever tries otherwise."""
    target: float = 0.55
    max_epochs: int = 60
    batch_steps: int = 64
    learning_rate: float = 2e-3
    check_every_epochs: int = 3
    check_tasks: int = 128


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """One check during imitation."""

    epoch: int
    loss: float
    report: Report
    sampled: Report


def imitate(policy: TinyPolicy, tasks: Sequence[Task], config: Config, options: ImitationOptions) -> Iterator[Progress]:
    """Train a policy in place; yields each check, the last of which reached the target or ran out of epochs."""
    rng = derive_random(config.seed, "imitation")
    shown = choose_tasks(tasks, options.per_template, rng)
    shown_ids = {task.id for task in shown}
    left = [task for task in tasks if task.id not in shown_ids] or list(tasks)
    checked = rng.sample(left, min(options.check_tasks, len(left)))
    moments, choices = _examples(policy, shown, options, config.seed)
    optimiser = torch.optim.AdamW(policy.parameters(), lr=options.learning_rate)
    order = np.random.default_rng(config.seed)
    for epoch in range(1, options.max_epochs + 1):
        batches = np.array_split(order.permutation(len(moments)), math.ceil(len(moments) / options.batch_steps))
        loss = _epoch(policy, moments, choices, optimiser, batches, options.entropy_weight)
        if epoch % options.check_every_epochs == 0 or epoch == options.max_epochs:
            progress = Progress(
                epoch=epoch,
                loss=loss,
                report=check(policy, checked, config, is_greedy=True),
                sampled=check(policy, checked, config, is_greedy=False),
            )
            yield progress
            if progress.report.success >= options.target:
                return


def check(policy: TinyPolicy, tasks: Sequence[Task], config: Config, *, is_greedy: bool) -> Report:
    """How often the policy of now solves these tasks."""
    finished = run_virtual(evaluate(policy, tasks, config, is_greedy=is_greedy, snapshot=policy.snapshot()))
    return summarise(finished)


def _examples(
    policy: TinyPolicy, tasks: Sequence[Task], options: ImitationOptions, seed: int
) -> tuple[list[Moment], Choices]:
    """What was seen and what was done, step by step, in the demonstrations that succeeded."""
    moments: list[Moment] = []
    choices: list[Choices] = []
    for shown in demonstrate(tasks, noise=options.noise, seed=seed, rounds=options.rounds):
        if shown.outcome is Outcome.SUCCEEDED:
            prepared = policy.prepare(shown)
            meant = [t for t, step in enumerate(shown.steps) if step.decision.raw != SLIP]
            moments += [prepared.moments[t] for t in meant]
            choices.append(prepared.choices[meant])
    return moments, np.concatenate(choices)


def _epoch(
    policy: TinyPolicy,
    moments: Sequence[Moment],
    choices: Choices,
    optimiser: torch.optim.Optimizer,
    batches: Iterable[npt.NDArray[np.int64]],
    entropy_weight: float,
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
    return total / len(moments)

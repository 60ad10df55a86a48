"""Trajectories as the learner uses them: recorded ones in, padded batches of facts and what a policy says of them out.

Everything here is arithmetic: nothing is remembered, and nothing is changed.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec
import numpy as np
import torch
from torch import Tensor

from distrl.algorithms import Batch, Evaluation
from distrl.core.types import Invalid, Outcome, Trajectory


class Judging(Protocol):
    """A policy that says what it thinks of moments in a row."""

    def judge(self, moments: Sequence[Any], choices: Any) -> Any:
        """log-probabilities, entropies and values."""
        ...


class Deferred:
    """What a policy makes of a trajectory, made when it is first asked for, which takes longer than all the rest."""

    def __init__(self, prepare: Callable[[], Any]) -> None:
        self._prepare = prepare

    @cached_property
    def _prepared(self) -> Any:
        return self._prepare()

    @property
    def moments(self) -> Sequence[Any]:
        """T + 1 of them."""
        moments: Sequence[Any] = self._prepared.moments
        return moments

    @property
    def choices(self) -> Any:
        """T of them."""
        return self._prepared.choices


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory in the policy's numbers, and the facts about it."""

    prepared: Any
    rewards: Any
    log_probs: Any
    is_invalid: Any
    is_terminal: bool
    is_success: bool
    template: str
    group: str
    version: int
    """The oldest weights that acted in it."""

    @property
    def moments(self) -> Sequence[Any]:
        """Those in which something was chosen."""
        moments: Sequence[Any] = self.prepared.moments[:-1]
        return moments

    @property
    def choices(self) -> Any:
        """What was chosen."""
        return self.prepared.choices


def keep(trajectory: Trajectory, prepared: Any) -> Kept:
    """What the learner keeps of a trajectory."""
    return Kept(
        prepared=prepared,
        rewards=np.array([s.reward for s in trajectory.steps], np.float32),
        log_probs=np.array([s.decision.log_prob for s in trajectory.steps], np.float32),
        is_invalid=np.array([isinstance(s.decision.action, Invalid) for s in trajectory.steps], bool),
        is_terminal=trajectory.outcome.is_terminal,
        is_success=trajectory.outcome is Outcome.SUCCEEDED,
        template=trajectory.task.template,
        group=trajectory.group,
        version=min(trajectory.policy_versions),
    )


def evaluate(
    kept: Sequence[Kept], outcomes: Sequence[Sequence[bool]], weights: Sequence[float], policy: Judging
) -> tuple[Batch, Evaluation]:
    """The facts about these, and what the policy says now. `outcomes` are those of the group of each."""
    lengths = [len(k.rewards) for k in kept]
    moments = [m for k in kept for m in (k.moments if k.is_terminal else k.prepared.moments)]
    said = policy.judge(moments, np.concatenate([_with_final(k) for k in kept]))
    place = _places(lengths, [k.is_terminal for k in kept])
    exists = place >= 0
    place = place.clamp(min=0)
    mask_bt = exists[:, :-1] & (torch.arange(place.shape[1] - 1) < torch.tensor(lengths)[:, None])
    steps = place[:, :-1]
    evaluation = Evaluation(
        log_prob_bt=said.log_prob[steps] * mask_bt,
        entropy_bt=said.entropy[steps] * mask_bt,
        value_logit_kbs=said.value_logits[:, place] * exists,
        trajectory_value_logit_b=said.trajectory_value_logit[place[:, 0]],
    )
    batch = Batch(
        mask_bt=mask_bt,
        reward_bt=_padded([k.rewards for k in kept], mask_bt),
        behaviour_log_prob_bt=_padded([k.log_probs for k in kept], mask_bt),
        is_invalid_bt=_padded([k.is_invalid for k in kept], mask_bt).bool(),
        is_terminal_b=torch.tensor([k.is_terminal for k in kept]),
        is_success_b=torch.tensor([float(k.is_success) for k in kept]),
        group_mean_b=torch.tensor([float(np.mean(o)) for o in outcomes]),
        group_std_b=torch.tensor([float(np.std(o)) for o in outcomes]),
        weight_b=torch.tensor(list(weights)),
    )
    return batch, evaluation


def _with_final(kept: Kept) -> Any:
    """The choices, and a row of nothing for the last state where that is evaluated too."""
    choices = kept.choices
    return choices if kept.is_terminal else np.concatenate((choices, np.zeros((1, choices.shape[1]), choices.dtype)))


def _places(lengths: Sequence[int], is_terminal: Sequence[bool]) -> Tensor:
    """[B, T + 1]: where each state stands in the row of all states; -1 where there is none."""
    places = torch.full((len(lengths), max(lengths) + 1), -1)
    start = 0
    for row, (length, ended) in enumerate(zip(lengths, is_terminal, strict=True)):
        count = length if ended else length + 1
        places[row, :count] = torch.arange(start, start + count)
        start += count
    return places


def _padded(rows: Sequence[Any], mask_bt: Tensor) -> Tensor:
    made = np.zeros(tuple(mask_bt.shape), np.float32)
    for place, row in enumerate(rows):
        made[place, : len(row)] = row
    return torch.from_numpy(made)

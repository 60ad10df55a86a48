"""Batches written as lists. What the network says about padding is NaN, so every test also tests that it is ignored."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from distrl.algorithms.batch import Batch, Evaluation

Rows = Sequence[Sequence[float]]
NAN = float("nan")


def padded(rows: Rows, fill: float) -> Tensor:
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], dtype=torch.float64)


def numbers(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def make_batch(
    rewards: Rows,
    *,
    terminal: Sequence[bool] | None = None,
    success: Sequence[float] | None = None,
    behaviour: Rows | None = None,
    invalid: Rows | None = None,
    weights: Sequence[float] | None = None,
    group_mean: Sequence[float] | None = None,
    group_std: Sequence[float] | None = None,
) -> Batch:
    """Defaults: every episode terminated and failed, log mu = -1, nothing invalid, weights 1."""
    n = len(rewards)
    return Batch(
        mask_bt=padded([[1.0] * len(row) for row in rewards], 0.0).bool(),
        reward_bt=padded(rewards, 0.0),
        behaviour_log_prob_bt=padded(behaviour or [[-1.0] * len(row) for row in rewards], 0.0),
        is_invalid_bt=padded(invalid or [[0.0] * len(row) for row in rewards], 0.0).bool(),
        is_terminal_b=torch.tensor([True] * n if terminal is None else list(terminal)),
        is_success_b=numbers([0.0] * n if success is None else success),
        group_mean_b=numbers([0.0] * n if group_mean is None else group_mean),
        group_std_b=numbers([0.0] * n if group_std is None else group_std),
        weight_b=numbers([1.0] * n if weights is None else weights),
    )


def make_evaluation(
    values: Rows,
    *,
    log_probs: Rows | None = None,
    entropies: Rows | None = None,
    trajectory_values: Sequence[float] | None = None,
) -> Evaluation:
    """A row of `values` is one longer than there are steps. Defaults: log pi = -1, H = 1, V_traj = 1/2. All leaves."""
    steps = [[-1.0] * (len(row) - 1) for row in values]
    value_bs = padded(values, NAN)
    trajectory_value_b = numbers([0.5] * len(values) if trajectory_values is None else trajectory_values)
    return Evaluation(
        log_prob_bt=padded(log_probs or steps, NAN).requires_grad_(),
        entropy_bt=padded(entropies or [[1.0] * len(row) for row in steps], NAN).requires_grad_(),
        value_logit_kbs=torch.stack([value_bs, value_bs]).logit().requires_grad_(),
        trajectory_value_logit_b=trajectory_value_b.logit().requires_grad_(),
    )


def value_tensor(values: Rows) -> Tensor:
    return padded(values, NAN)


def gradients(loss: Tensor, evaluation: Evaluation) -> dict[str, Tensor]:
    """The gradient of the loss by what the network said, zeros where there is none."""
    leaves = {
        "log_prob": evaluation.log_prob_bt,
        "entropy": evaluation.entropy_bt,
        "value": evaluation.value_logit_kbs,
        "trajectory_value": evaluation.trajectory_value_logit_b,
    }
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    return {
        name: torch.zeros_like(leaf) if gradient is None else gradient
        for (name, leaf), gradient in zip(leaves.items(), found, strict=True)
    }


def close(actual: Tensor, expected: Any, tolerance: float = 1e-9) -> bool:
    return torch.allclose(actual, torch.as_tensor(expected, dtype=actual.dtype), rtol=tolerance, atol=tolerance)


def log(probabilities: list[list[float]]) -> list[list[float]]:
    return [[math.log(p) for p in row] for row in probabilities]


def example() -> tuple[Batch, Evaluation]:
    """Four trajectories of different lengths, off-policy, one truncated, one with an invalid action."""
    batch = make_batch(
        [[0.0, 0.0, 1.0], [0.0], [-0.4, 0.0], [0.0, 1.0]],
        terminal=[True, True, False, True],
        success=[1.0, 0.0, 0.0, 1.0],
        behaviour=log([[0.5, 0.5, 0.5], [0.4], [0.5, 0.3], [0.6, 0.6]]),
        invalid=[[0, 0, 0], [0], [1, 0], [0, 0]],
        weights=[1.0, 0.5, 0.8, 1.0],
    )
    evaluation = make_evaluation(
        [[0.5, 0.4, 0.2, 0.9], [0.3, 0.9], [0.2, 0.1, 0.3], [0.6, 0.7, 0.9]],
        log_probs=log([[0.9, 0.25, 0.6], [0.36], [0.45, 0.28], [0.5, 0.9]]),
        entropies=[[1.0, 0.5, 0.7], [0.2], [0.9, 0.1], [0.3, 0.4]],
        trajectory_values=[0.9, 0.8, 0.3, 0.1],
    )
    return batch, evaluation

"""How much each step counts for the policy: importance ratios, standardised and tamed advantages, trajectory filter.

Pure functions; none of their results has a gradient.
"""

import torch
from torch import Tensor

MAX_LOG_RATIO = 20.0
"""Ratios above exp(20) are that: they are clipped anyway, and their squares must stay finite."""

SCALE_EPSILON = 1e-3
"""Added to a standard deviation that divides advantages: where nothing differs, noise must not become a signal."""


def importance_ratios(target_log_prob_bt: Tensor, behaviour_log_prob_bt: Tensor) -> Tensor:
    """rho_t = pi(a_t|s_t) / mu(a_t|s_t) of whole actions, not clipped; no gradient flows through rho."""
    return (target_log_prob_bt - behaviour_log_prob_bt).detach().clamp(max=MAX_LOG_RATIO).exp()


def standardised(advantage_bt: Tensor, mask_bt: Tensor) -> Tensor:
    """(A - mean) / (std + epsilon) over the steps that exist, 0 on padding."""
    advantage_bt = torch.where(mask_bt, advantage_bt.detach(), 0.0)
    num_steps = mask_bt.sum()
    centred_bt = torch.where(mask_bt, advantage_bt - advantage_bt.sum() / num_steps, 0.0)
    return centred_bt / ((centred_bt.square().sum() / num_steps).sqrt() + SCALE_EPSILON)


def tamed(advantage_bt: Tensor, ratio_bt: Tensor, *, negative_scale: float, negative_floor: float) -> Tensor:
    """Negative advantages times `negative_scale`, and 0 where pi/mu has already fallen below `negative_floor`.

    A negative advantage times log pi has no lower bound: replayed often enough, it pushes an action to probability 0
    and the policy collapses. (1, 0) leaves advantages as they are.
    """
    advantage_bt = advantage_bt.detach()
    pushed_down_bt = torch.where(ratio_bt.detach() < negative_floor, 0.0, negative_scale * advantage_bt)
    return torch.where(advantage_bt < 0, pushed_down_bt, advantage_bt)


def better_than_expected(outcome_b: Tensor, trajectory_value_b: Tensor, *, quantile: float) -> Tensor:
    """Which trajectories pass the filter: all but the share `quantile` with the smallest outcome - V_traj; ties pass.

    0 keeps all, 0.9 the best tenth. At least one always passes.
    """
    surprise_b = (outcome_b - trajectory_value_b).detach()
    num_dropped = min(int(quantile * len(surprise_b) + 1e-6), len(surprise_b) - 1)
    return surprise_b >= surprise_b.sort().values[num_dropped]

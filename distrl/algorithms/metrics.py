"""What is logged about a loss, by name. Pure functions; every value is a 0-d tensor without gradient."""

from collections.abc import Mapping

import torch
from torch import Tensor

from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.losses import masked_mean
from distrl.algorithms.weights import importance_ratios

LOW_RATIO = 0.3
"""Below it the policy has all but given up an action that it replays: a collapse shows here first."""


def policy_metrics(batch: Batch, evaluation: Evaluation) -> dict[str, Tensor]:
    """Entropy and ratios, for algorithms that use neither: how they change the policy can be compared all the same."""
    ratio_bt = importance_ratios(evaluation.log_prob_bt, batch.behaviour_log_prob_bt)
    entropy = masked_mean(evaluation.entropy_bt, batch.mask_bt, batch.weight_b)
    return {"entropy": entropy, **ratio_metrics(ratio_bt, batch.mask_bt)}


def ratio_metrics(ratio_bt: Tensor, mask_bt: Tensor) -> dict[str, Tensor]:
    """Mean and maximum of rho = pi/mu before clipping, the share below 0.3, and the effective sample size as a share.

    ESS = (sum rho)^2 / (n sum rho^2): 1 on-policy, 1/n if one step outweighs all.
    """
    ratio = ratio_bt.detach()[mask_bt]
    square_sum = ratio.square().sum()
    return {
        "rho_mean": ratio.mean(),
        "rho_max": ratio.max(),
        "rho_low_share": (ratio < LOW_RATIO).to(ratio.dtype).mean(),
        "rho_ess_share": torch.where(square_sum > 0, ratio.sum().square() / (len(ratio) * square_sum), 0.0),
    }


def advantage_metrics(advantage_bt: Tensor, mask_bt: Tensor) -> dict[str, Tensor]:
    """Mean and standard deviation of the raw advantages."""
    advantage = advantage_bt.detach()[mask_bt]
    return {"advantage_mean": advantage.mean(), "advantage_std": advantage.std(correction=0)}


def value_metrics(value_bs: Tensor, target_bt: Tensor, td_error_bt: Tensor, mask_bt: Tensor) -> dict[str, Tensor]:
    """Mean V, mean |delta|, and 1 - Var(target - V) / Var(target): 1 for a perfect value, 0 for a constant."""
    value, target = value_bs.detach()[:, :-1][mask_bt], target_bt.detach()[mask_bt]
    variance = target.var(correction=0)
    unexplained = (target - value).var(correction=0) / variance.clamp(min=1e-8)
    return {
        "value_mean": value.mean(),
        "td_abs": td_error_bt.detach()[mask_bt].abs().mean(),
        "value_explained": torch.where(variance > 1e-8, 1 - unexplained, 0.0),
    }


def share(kept: Tensor) -> Tensor:
    """The share of True."""
    return kept.detach().to(torch.float32).mean()


def detached(metrics: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same numbers without their gradients."""
    return {name: value.detach() for name, value in metrics.items()}

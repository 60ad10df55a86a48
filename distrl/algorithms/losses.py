"""Loss terms: what is made smaller. Pure functions; gradients flow only through what the network says.

`weight_b` multiplies what a trajectory adds to a sum but not the number that the sum is divided by: twice the weight is
twice the gradient. Padding is replaced *before* anything is computed, so not even its gradient can become NaN.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from distrl.algorithms.batch import Batch
from distrl.algorithms.weights import MAX_LOG_RATIO

UNLIKELIHOOD_GAP = 1e-4
"""-log(1 - pi) is evaluated no nearer to pi = 1 than this; its gradient there stays large and finite."""

MIN_PRIORITY = 1e-6
"""Every trajectory keeps a chance of being drawn."""


def masked_mean(x_bt: Tensor, mask_bt: Tensor, weight_b: Tensor) -> Tensor:
    """E[x]: the weighted sum over the steps of the mask, divided by their number; 0 if there is none."""
    return (weight_b[:, None] * on_mask(x_bt, mask_bt)).sum() / mask_bt.sum().clamp(min=1)


def trajectory_means(x_bt: Tensor, mask_bt: Tensor) -> Tensor:
    """The mean over the steps of each trajectory, [B]."""
    return on_mask(x_bt, mask_bt).sum(dim=1) / mask_bt.sum(dim=1)


def on_mask(x_bt: Tensor, mask_bt: Tensor) -> Tensor:
    """The same where the mask is True, 0 elsewhere, even where x is NaN."""
    return torch.where(mask_bt, x_bt, torch.zeros_like(x_bt))


def policy_gradient_loss(
    log_prob_bt: Tensor, advantage_bt: Tensor, rho_bt: Tensor, mask_bt: Tensor, weight_b: Tensor
) -> Tensor:
    """-E[rho_t A_t log pi(a_t|s_t)]; no gradient through rho and A."""
    strength_bt = on_mask((rho_bt * advantage_bt).detach(), mask_bt)
    return -masked_mean(strength_bt * on_mask(log_prob_bt, mask_bt), mask_bt, weight_b)


def clipped_surrogate_loss(
    log_prob_bt: Tensor,
    behaviour_log_prob_bt: Tensor,
    advantage_bt: Tensor,
    mask_bt: Tensor,
    weight_b: Tensor,
    *,
    clip: float,
) -> Tensor:
    """-E[min(rho_t A_t, clip(rho_t, 1 - clip, 1 + clip) A_t)] (PPO, arXiv 1707.06347); rho carries the gradient."""
    advantage_bt = on_mask(advantage_bt.detach(), mask_bt)
    ratio_bt = on_mask(log_prob_bt - behaviour_log_prob_bt, mask_bt).clamp(max=MAX_LOG_RATIO).exp()
    pessimistic_bt = torch.minimum(ratio_bt * advantage_bt, ratio_bt.clamp(1 - clip, 1 + clip) * advantage_bt)
    return -masked_mean(pessimistic_bt, mask_bt, weight_b)


def imitation_loss(log_prob_bt: Tensor, mask_bt: Tensor, weight_b: Tensor) -> Tensor:
    """-E[log pi(a_t|s_t)] over the steps that the mask keeps."""
    return -masked_mean(log_prob_bt, mask_bt, weight_b)


def unlikelihood(log_prob_bt: Tensor) -> Tensor:
    """-log(1 - pi(a|s)): its gradient lowers pi, also where pi rounds to 1.

    log pi is moved to at most -UNLIKELIHOOD_GAP, but the gradient passes as if it had not been: for a softmax it stays
    bounded, since d log pi / d logit vanishes as 1 - pi.
    """
    safe_bt = log_prob_bt - (log_prob_bt + UNLIKELIHOOD_GAP).clamp(min=0).detach()
    is_likely_bt = safe_bt > -math.log(2)
    # Each branch only sees inputs it is exact for, or the other's infinite gradient would become NaN.
    near_one = torch.log(-torch.expm1(torch.where(is_likely_bt, safe_bt, -1.0)))
    near_zero = torch.log1p(-torch.exp(torch.where(is_likely_bt, -1.0, safe_bt)))
    return -torch.where(is_likely_bt, near_one, near_zero)


def invalid_action_loss(batch: Batch, log_prob_bt: Tensor) -> Tensor:
    """P_invalid = E[1[a_t is invalid] (-log(1 - pi(a_t|s_t)))], over all steps."""
    invalid_bt = batch.mask_bt & batch.is_invalid_bt
    # What is not invalid is given log pi = -1, any number that is safe, before and not after the logarithm.
    penalty_bt = unlikelihood(torch.where(invalid_bt, log_prob_bt, -1.0))
    return masked_mean(on_mask(penalty_bt, invalid_bt), batch.mask_bt, batch.weight_b)


def value_loss(value_logit_kbs: Tensor, target_bt: Tensor, mask_bt: Tensor, weight_b: Tensor) -> Tensor:
    """Mean over the twins of the cross-entropy of V(s_t) and its soft target, which has no gradient.

    The target is clamped to [0, 1]: penalties make returns negative, and a probability cannot be.
    """
    target_bt = on_mask(target_bt.detach(), mask_bt).clamp(0.0, 1.0)
    losses = [
        masked_mean(binary_cross_entropy_with_logits(logit_bt, target_bt, reduction="none"), mask_bt, weight_b)
        for logit_bt in on_mask(value_logit_kbs[:, :, :-1], mask_bt)
    ]
    return torch.stack(losses).mean()


def trajectory_value_loss(trajectory_value_logit_b: Tensor, is_success_b: Tensor, weight_b: Tensor) -> Tensor:
    """Cross-entropy of V_traj and the outcome, mean over trajectories."""
    loss_b = binary_cross_entropy_with_logits(trajectory_value_logit_b, is_success_b.detach(), reduction="none")
    return (weight_b * loss_b).mean()


def trajectory_priorities(
    td_error_bt: Tensor,
    rho_bt: Tensor,
    entropy_bt: Tensor,
    mask_bt: Tensor,
    *,
    w_td: float,
    w_rho: float,
    w_entropy: float,
) -> Tensor:
    """Per trajectory: p = w_td mean|delta| + w_rho mean rho + w_entropy mean H; [B], positive, no gradient."""
    p_bt = w_td * td_error_bt.abs() + w_rho * rho_bt + w_entropy * entropy_bt
    return trajectory_means(p_bt.detach(), mask_bt).clamp(min=MIN_PRIORITY)

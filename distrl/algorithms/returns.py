"""Returns, targets and advantages: pure functions over padded batches of whole trajectories.

In flow a batch, the state values `value_bs` ([B, T + 1], in [0, 1]) and the ratios rho_t = pi/mu; out flow numbers per
step or per state. Nothing that flows out has a gradient, and padded entries are 0 whatever the network said there.

A trajectory of n steps has states s_0 .. s_n. V(s_n) is 0 if the episode *terminated*, bootstrapped if *truncated*.
"""

import torch
from torch import Tensor

from distrl.algorithms.batch import Batch


def state_values(value_logit_kbs: Tensor) -> Tensor:
    """V(s) = min over the twins of sigmoid(logit), [B, T + 1]; no gradient."""
    return value_logit_kbs.detach().sigmoid().amin(dim=0)


def bootstrapped_values(batch: Batch, value_bs: Tensor) -> Tensor:
    """V as targets see it, [B, T + 1]: 0 after a terminal end, 0 on padding, V(s) everywhere else."""
    edge_b1 = torch.ones_like(batch.mask_bt[:, :1])
    exists_bs = torch.cat([edge_b1, batch.mask_bt], dim=1)
    acts_bs = torch.cat([batch.mask_bt, ~edge_b1], dim=1)
    counts_bs = exists_bs & (acts_bs | ~batch.is_terminal_b[:, None])
    return torch.where(counts_bs, value_bs.detach(), torch.zeros_like(value_bs))


def td_errors(batch: Batch, value_bs: Tensor, *, gamma: float) -> Tensor:
    """delta_t = r_t + gamma V(s_{t+1}) - V(s_t), [B, T]."""
    value_bs = bootstrapped_values(batch, value_bs)
    return _on_steps(batch, batch.reward_bt + gamma * value_bs[:, 1:] - value_bs[:, :-1])


def discounted_returns(batch: Batch, value_bs: Tensor, *, gamma: float) -> Tensor:
    """G_t = r_t + gamma r_{t+1} + ... + gamma^{n-t} V(s_n), [B, T]."""
    is_last_bt = batch.mask_bt & ~torch.nn.functional.pad(batch.mask_bt[:, 1:], (0, 1))
    end_bt = torch.where(is_last_bt, bootstrapped_values(batch, value_bs)[:, 1:], 0.0)
    gain_bt = _on_steps(batch, batch.reward_bt + gamma * end_bt)
    return _sum_backwards(gain_bt, torch.full_like(gain_bt, gamma))


def retrace_values(
    batch: Batch, value_bs: Tensor, ratio_bt: Tensor, *, gamma: float, lambda_: float, weight_first: bool = False
) -> Tensor:
    """V_ret(s_t) = V(s_t) + sum_{k>=t} gamma^{k-t} (prod_{i=t+1..k} c_i) delta_k, [B, T + 1].

    c_i = lambda min(1, rho_i). The product starts at t + 1, as in the paper, so delta_t counts fully whatever rho_t is,
    and V_ret leans to what the behaviour policy did first. With `weight_first` the whole sum is weighted by
    min(1, rho_t): this is V-trace with lambda and both clips at 1.
    """
    clipped_bt = _on_steps(batch, ratio_bt.detach().clamp(max=1.0))
    delta_bt = td_errors(batch, value_bs, gamma=gamma)
    correction_bt = _sum_backwards(delta_bt, gamma * lambda_ * _shift(clipped_bt))
    if weight_first:
        correction_bt = clipped_bt * correction_bt
    return bootstrapped_values(batch, value_bs) + torch.nn.functional.pad(correction_bt, (0, 1))


def vtrace_values(
    batch: Batch, value_bs: Tensor, ratio_bt: Tensor, *, gamma: float, lambda_: float, rho_clip: float, c_clip: float
) -> Tensor:
    """v_t = V(s_t) + sum_{k>=t} gamma^{k-t} (prod_{i=t..k-1} c_i) rho_k delta_k (IMPALA, arXiv 1802.01561); [B, T + 1].

    rho_k = min(rho_clip, pi/mu), c_i = lambda min(c_clip, pi/mu).
    """
    ratio_bt = _on_steps(batch, ratio_bt.detach())
    delta_bt = ratio_bt.clamp(max=rho_clip) * td_errors(batch, value_bs, gamma=gamma)
    correction_bt = _sum_backwards(delta_bt, gamma * lambda_ * ratio_bt.clamp(max=c_clip))
    return bootstrapped_values(batch, value_bs) + torch.nn.functional.pad(correction_bt, (0, 1))


def advantages(batch: Batch, value_bs: Tensor, target_bs: Tensor, *, gamma: float) -> Tensor:
    """A_t = r_t + gamma V_target(s_{t+1}) - V(s_t), [B, T]; with V_target = V it is the TD error."""
    return _on_steps(
        batch,
        batch.reward_bt
        + gamma * bootstrapped_values(batch, target_bs)[:, 1:]
        - bootstrapped_values(batch, value_bs)[:, :-1],
    )


def gae_advantages(batch: Batch, value_bs: Tensor, *, gamma: float, lambda_: float) -> Tensor:
    """A_t = delta_t + gamma lambda A_{t+1} (arXiv 1506.02438), [B, T]."""
    delta_bt = td_errors(batch, value_bs, gamma=gamma)
    return _sum_backwards(delta_bt, torch.full_like(delta_bt, gamma * lambda_))


def doubly_robust_advantages(batch: Batch, value_bs: Tensor, *, lambda_: float) -> Tensor:
    """A_t = w_t R + (1 - w_t) (r_t + V(s_{t+1}) - V(s_t)), w_t = lambda^{n-1-t} (DigiRL, arXiv 2406.11896); [B, T].

    R is the outcome: near the end it is believed, far from the end the one-step estimate is.
    """
    left_bt = batch.mask_bt.sum(dim=1, keepdim=True) - batch.mask_bt.cumsum(dim=1)
    weight_bt = lambda_ ** left_bt.to(batch.reward_bt.dtype)
    delta_bt = td_errors(batch, value_bs, gamma=1.0)
    return _on_steps(batch, weight_bt * batch.is_success_b[:, None] + (1 - weight_bt) * delta_bt)


def _on_steps(batch: Batch, x_bt: Tensor) -> Tensor:
    """The same on steps that exist, 0 on padding, even where padding holds NaN."""
    return torch.where(batch.mask_bt, x_bt, torch.zeros_like(x_bt))


def _shift(x_bt: Tensor) -> Tensor:
    """x_{t+1} in the place of x_t, 0 at the end."""
    return torch.nn.functional.pad(x_bt[:, 1:], (0, 1))


def _sum_backwards(x_bt: Tensor, decay_bt: Tensor) -> Tensor:
    """y_t = x_t + decay_t y_{t+1}, y after the end 0."""
    total_b = torch.zeros_like(x_bt[:, 0])
    sums = []
    for x_b, decay_b in zip(reversed(x_bt.unbind(dim=1)), reversed(decay_bt.unbind(dim=1)), strict=True):
        total_b = x_b + decay_b * total_b
        sums.append(total_b)
    return torch.stack(sums[::-1], dim=1)

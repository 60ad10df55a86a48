"""A-RIDE: advantage-based Retrace improved by distributed prioritised experience replay (DistRL, arXiv 2410.14803).

    L = - E[min(rho_max, rho_t) A_t log pi(a_t|s_t)] - beta E[H(pi(.|s_t))] + eta P_invalid     the policy
        + value_weight CE(V(s_t), clamp V_ret(s_t)) + trajectory_value_weight CE(V_traj, outcome)   the values
    A_t = r_t + gamma V_ret(s_{t+1}) - V(s_t)

Trajectories are drawn with P ~ p^alpha exp(-age / tau), p = w_td mean|delta| + w_rho mean rho + w_entropy mean H.
Every part has a switch. docs/algorithms.md says what departs from the paper and why.
"""

import msgspec
import torch
from torch import Tensor

from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.interface import Sampling
from distrl.algorithms.losses import (
    invalid_action_loss,
    masked_mean,
    policy_gradient_loss,
    trajectory_priorities,
    trajectory_value_loss,
    value_loss,
)
from distrl.algorithms.metrics import advantage_metrics, detached, ratio_metrics, share, value_metrics
from distrl.algorithms.options import Exponent, NonNegative, Positive, Share
from distrl.algorithms.returns import advantages, retrace_values, state_values, td_errors
from distrl.algorithms.weights import better_than_expected, importance_ratios, standardised, tamed


class ARide:
    """The algorithm of the paper, stabilised; `Options(...)` can undo every addition."""

    class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        """Switches first, each of which takes one part away; then sizes."""

        retrace: bool = True
        """Without: one-step TD target and advantage."""
        dper: bool = True
        """Without: trajectories are drawn uniformly (but for the run's curriculum), whatever their age."""
        freshness: bool = True
        """Without: priorities do not decay with age."""
        entropy: bool = True
        invalid_penalty: bool = True
        trajectory_filter: bool = True
        """Without: all trajectories count for the policy, also those that went worse than expected."""
        gamma: Share = 0.95
        lambda_: Share = msgspec.field(default=0.9, name="lambda")
        weight_first: bool = False
        """Whether delta_t of V_ret(s_t) is weighted by min(1, rho_t) too; the paper does not. See `retrace_values`."""
        rho_max: Positive = 1.0
        entropy_weight: NonNegative = 0.01
        invalid_weight: NonNegative = 0.1
        filter_quantile: Share = 0.25
        """Share of the worst trajectories that do not count for the policy; 0.9 is the top tenth of the release."""
        w_td: NonNegative = 50.0
        w_rho: NonNegative = 1.0
        w_entropy: NonNegative = 0.01
        alpha: Exponent = 0.5
        freshness_tau_versions: Positive = 50.0
        correction_beta: Share = 0.0
        """Correction for unequal sampling; neither the paper nor the measured recipe has one."""
        value_weight: NonNegative = 0.5
        trajectory_value_weight: NonNegative = 0.5
        normalise_advantages: bool = True
        negative_scale: NonNegative = 0.5
        """Factor of negative advantages; 1 is the paper's."""
        negative_floor: NonNegative = 0.8
        """Negative advantages do not count where pi/mu is already below; 0 is the paper's."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sampling = _sampling(options)

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum at the head of this file, and its parts."""
        options = self.options
        value_bs = state_values(evaluation.value_logit_kbs)
        ratio_bt = importance_ratios(evaluation.log_prob_bt, batch.behaviour_log_prob_bt)
        target_bt, advantage_bt = self._targets(batch, value_bs, ratio_bt)

        policy_loss, kept_b = self._policy_loss(batch, evaluation, ratio_bt, advantage_bt)
        entropy = masked_mean(evaluation.entropy_bt, batch.mask_bt, batch.weight_b)
        invalid_loss = invalid_action_loss(batch, evaluation.log_prob_bt)
        state_loss = value_loss(evaluation.value_logit_kbs, target_bt, batch.mask_bt, batch.weight_b)
        outcome_loss = trajectory_value_loss(evaluation.trajectory_value_logit_b, batch.is_success_b, batch.weight_b)

        loss = policy_loss + options.value_weight * state_loss + options.trajectory_value_weight * outcome_loss
        if options.entropy:
            loss = loss - options.entropy_weight * entropy
        if options.invalid_penalty:
            loss = loss + options.invalid_weight * invalid_loss
        return loss, detached(
            {
                "policy_loss": policy_loss,
                "value_loss": state_loss,
                "trajectory_value_loss": outcome_loss,
                "entropy": entropy,
                "invalid_loss": invalid_loss,
                "kept_share": share(kept_b),
                **ratio_metrics(ratio_bt, batch.mask_bt),
                **advantage_metrics(advantage_bt, batch.mask_bt),
                **value_metrics(value_bs, target_bt, td_errors(batch, value_bs, gamma=options.gamma), batch.mask_bt),
            }
        )

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        """Priority of every trajectory; rho is clipped as in the loss, or one exploding ratio would own the replay."""
        ratio_bt = importance_ratios(evaluation.log_prob_bt, batch.behaviour_log_prob_bt)
        return trajectory_priorities(
            td_errors(batch, state_values(evaluation.value_logit_kbs), gamma=self.options.gamma),
            ratio_bt.clamp(max=self.options.rho_max),
            evaluation.entropy_bt,
            batch.mask_bt,
            w_td=self.options.w_td,
            w_rho=self.options.w_rho,
            w_entropy=self.options.w_entropy,
        )

    def _targets(self, batch: Batch, value_bs: Tensor, ratio_bt: Tensor) -> tuple[Tensor, Tensor]:
        """What V(s_t) is trained towards, and A_t."""
        options = self.options
        if not options.retrace:
            delta_bt = td_errors(batch, value_bs, gamma=options.gamma)
            return value_bs[:, :-1] + delta_bt, delta_bt
        retrace_bs = retrace_values(
            batch,
            value_bs,
            ratio_bt,
            gamma=options.gamma,
            lambda_=options.lambda_,
            weight_first=options.weight_first,
        )
        return retrace_bs[:, :-1], advantages(batch, value_bs, retrace_bs, gamma=options.gamma)

    def _policy_loss(
        self, batch: Batch, evaluation: Evaluation, ratio_bt: Tensor, advantage_bt: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The policy gradient term over the trajectories that pass the filter, and which these are.

        Advantages are standardised over all trajectories: among the kept alone, good steps would become negative.
        """
        options = self.options
        if options.normalise_advantages:
            advantage_bt = standardised(advantage_bt, batch.mask_bt)
        advantage_bt = tamed(
            advantage_bt, ratio_bt, negative_scale=options.negative_scale, negative_floor=options.negative_floor
        )
        kept_b = torch.ones_like(batch.is_terminal_b)
        if options.trajectory_filter:
            kept_b = better_than_expected(
                batch.is_success_b, evaluation.trajectory_value_logit_b.sigmoid(), quantile=options.filter_quantile
            )
        rho_bt = ratio_bt.clamp(max=options.rho_max)
        kept_bt = batch.mask_bt & kept_b[:, None]
        loss = policy_gradient_loss(evaluation.log_prob_bt, advantage_bt, rho_bt, kept_bt, batch.weight_b)
        return loss, kept_b


def _sampling(options: ARide.Options) -> Sampling:
    if not options.dper:
        return Sampling()
    return Sampling(
        is_prioritised=True,
        alpha=options.alpha,
        freshness_tau_versions=options.freshness_tau_versions if options.freshness else None,
        correction_beta=options.correction_beta,
    )

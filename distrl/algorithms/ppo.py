"""PPO (arXiv 1707.06347) on the newest trajectories, with generalised advantage estimation.

    L = - E[min(rho_t A_t, clip(rho_t, 1 - clip, 1 + clip) A_t)] - beta E[H]
        + value_weight CE(V(s_t), clamp (A_t + V(s_t)))

rho_t is pi/mu with the recorded mu, so the clip bounds the step from the policy that acted, however old it is.
"""

import msgspec
from torch import Tensor, ones_like

from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.interface import Sampling
from distrl.algorithms.losses import clipped_surrogate_loss, masked_mean, value_loss
from distrl.algorithms.metrics import advantage_metrics, detached, ratio_metrics, value_metrics
from distrl.algorithms.options import Count, NonNegative, Positive, Share
from distrl.algorithms.returns import gae_advantages, state_values, td_errors
from distrl.algorithms.weights import importance_ratios, standardised


class PPO:
    """The on-policy baseline: it sees only a window of new trajectories."""

    class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        """Sizes."""

        gamma: Share = 0.95
        lambda_: Share = msgspec.field(default=0.9, name="lambda")
        clip: Positive = 0.2
        entropy_weight: NonNegative = 0.005
        """Small: where the clip takes the gradient away nothing else holds against it."""
        value_weight: NonNegative = 0.5
        normalise_advantages: bool = True
        window_trajectories: Count = 64

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sampling = Sampling(window_trajectories=options.window_trajectories)

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum at the head of this file, and its parts."""
        options = self.options
        value_bs = state_values(evaluation.value_logit_kbs)
        raw_advantage_bt = gae_advantages(batch, value_bs, gamma=options.gamma, lambda_=options.lambda_)
        target_bt = raw_advantage_bt + value_bs[:, :-1]
        advantage_bt = (
            standardised(raw_advantage_bt, batch.mask_bt) if options.normalise_advantages else raw_advantage_bt
        )

        policy_loss = clipped_surrogate_loss(
            evaluation.log_prob_bt,
            batch.behaviour_log_prob_bt,
            advantage_bt,
            batch.mask_bt,
            batch.weight_b,
            clip=options.clip,
        )
        entropy = masked_mean(evaluation.entropy_bt, batch.mask_bt, batch.weight_b)
        state_loss = value_loss(evaluation.value_logit_kbs, target_bt, batch.mask_bt, batch.weight_b)
        loss = policy_loss - options.entropy_weight * entropy + options.value_weight * state_loss
        ratio_bt = importance_ratios(evaluation.log_prob_bt, batch.behaviour_log_prob_bt)
        return loss, detached(
            {
                "policy_loss": policy_loss,
                "value_loss": state_loss,
                "entropy": entropy,
                **ratio_metrics(ratio_bt, batch.mask_bt),
                **advantage_metrics(raw_advantage_bt, batch.mask_bt),
                **value_metrics(value_bs, target_bt, td_errors(batch, value_bs, gamma=options.gamma), batch.mask_bt),
            }
        )

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        """All the same."""
        return ones_like(batch.weight_b)

"""GRPO (arXiv 2402.03300): several attempts at a task are compared with each other; there is no value.

    A = (outcome - mean of the group) / (std of the group + epsilon), the same for every step of a trajectory
    L = - E[min(rho_t A, clip(rho_t, 1 - clip, 1 + clip) A)] - beta E[H]

Groups that all succeed or all fail teach nothing. There is no penalty for leaving a reference policy.
"""

import msgspec
from torch import Tensor, ones_like

from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.interface import Sampling
from distrl.algorithms.losses import clipped_surrogate_loss, masked_mean
from distrl.algorithms.metrics import advantage_metrics, detached, ratio_metrics
from distrl.algorithms.options import Count, NonNegative, Positive
from distrl.algorithms.weights import SCALE_EPSILON, importance_ratios


class GRPO:
    """Group-relative policy optimisation."""

    class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        """Sizes."""

        clip: Positive = 0.2
        entropy_weight: NonNegative = 0.005
        """Small: where the clip takes the gradient away nothing else holds against it."""
        group_size: Count = 8
        window_trajectories: Count = 64

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sampling = Sampling(group_size=options.group_size, window_trajectories=options.window_trajectories)

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum at the head of this file, and its parts."""
        advantage_b = (batch.is_success_b - batch.group_mean_b) / (batch.group_std_b + SCALE_EPSILON)
        advantage_bt = advantage_b[:, None].expand_as(batch.reward_bt)
        policy_loss = clipped_surrogate_loss(
            evaluation.log_prob_bt,
            batch.behaviour_log_prob_bt,
            advantage_bt,
            batch.mask_bt,
            batch.weight_b,
            clip=self.options.clip,
        )
        entropy = masked_mean(evaluation.entropy_bt, batch.mask_bt, batch.weight_b)
        ratio_bt = importance_ratios(evaluation.log_prob_bt, batch.behaviour_log_prob_bt)
        return policy_loss - self.options.entropy_weight * entropy, detached(
            {
                "policy_loss": policy_loss,
                "entropy": entropy,
                **ratio_metrics(ratio_bt, batch.mask_bt),
                **advantage_metrics(advantage_bt, batch.mask_bt),
            }
        )

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        """All the same."""
        return ones_like(batch.weight_b)

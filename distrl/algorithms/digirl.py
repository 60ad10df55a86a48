"""DigiRL (arXiv 2406.11896): two filters by value, then imitation of the steps that are left.

    L = - E[log pi(a_t|s_t) | kept] + value_weight CE(V(s_t), outcome) + trajectory_value_weight CE(V_traj, outcome)

A trajectory is kept if its outcome - V_traj is not among the worst; a step of it if its doubly-robust advantage exceeds
a threshold. No importance weights and no discount: old data counts like new, and late success like early.
"""

import msgspec
from torch import Tensor, ones_like

from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.interface import Sampling
from distrl.algorithms.losses import imitation_loss, trajectory_value_loss, value_loss
from distrl.algorithms.metrics import advantage_metrics, detached, policy_metrics, share, value_metrics
from distrl.algorithms.options import NonNegative, Share
from distrl.algorithms.returns import doubly_robust_advantages, state_values, td_errors
from distrl.algorithms.weights import better_than_expected


class DigiRL:
    """Filtered imitation with an instruction-level and a step-level value."""

    class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        """Sizes."""

        lambda_: Share = msgspec.field(default=0.5, name="lambda")
        """How fast the outcome loses weight against the one-step estimate, going back from the end."""
        advantage_threshold: float = 0.05
        """1 / H of the paper for a horizon of 20 steps."""
        filter_quantile: Share = 0.5
        """Share of the worst trajectories of a batch that are not imitated; the release keeps a tenth of its buffer."""
        value_weight: NonNegative = 0.5
        trajectory_value_weight: NonNegative = 0.5

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sampling = Sampling()

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum at the head of this file, and its parts."""
        options = self.options
        value_bs = state_values(evaluation.value_logit_kbs)
        outcome_bt = batch.is_success_b[:, None].expand_as(batch.reward_bt)
        advantage_bt = doubly_robust_advantages(batch, value_bs, lambda_=options.lambda_)
        kept_b = better_than_expected(
            batch.is_success_b, evaluation.trajectory_value_logit_b.sigmoid(), quantile=options.filter_quantile
        )
        kept_bt = batch.mask_bt & kept_b[:, None] & (advantage_bt > options.advantage_threshold)

        policy_loss = imitation_loss(evaluation.log_prob_bt, kept_bt, batch.weight_b)
        state_loss = value_loss(evaluation.value_logit_kbs, outcome_bt, batch.mask_bt, batch.weight_b)
        outcome_loss = trajectory_value_loss(evaluation.trajectory_value_logit_b, batch.is_success_b, batch.weight_b)
        loss = policy_loss + options.value_weight * state_loss + options.trajectory_value_weight * outcome_loss
        return loss, detached(
            {
                "policy_loss": policy_loss,
                "value_loss": state_loss,
                "trajectory_value_loss": outcome_loss,
                "kept_share": share(kept_b),
                "kept_step_share": share(kept_bt[batch.mask_bt]),
                **policy_metrics(batch, evaluation),
                **advantage_metrics(advantage_bt, batch.mask_bt),
                **value_metrics(value_bs, outcome_bt, td_errors(batch, value_bs, gamma=1.0), batch.mask_bt),
            }
        )

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        """All the same."""
        return ones_like(batch.weight_b)

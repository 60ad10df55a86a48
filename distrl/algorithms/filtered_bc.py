"""Filtered behaviour cloning: imitate the trajectories that solved their task, ignore the others.

L = - E[log pi(a_t|s_t) | success]
"""

import msgspec
from torch import Tensor, ones_like

from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.interface import Sampling
from distrl.algorithms.losses import imitation_loss
from distrl.algorithms.metrics import detached, policy_metrics, share


class FilteredBC:
    """The simplest thing that improves; it uses no value and no importance weight."""

    class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        """There is nothing to choose."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sampling = Sampling()

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss at the head of this file."""
        kept_b = batch.is_success_b > 0.5
        loss = imitation_loss(evaluation.log_prob_bt, batch.mask_bt & kept_b[:, None], batch.weight_b)
        return loss, detached({"policy_loss": loss, "kept_share": share(kept_b), **policy_metrics(batch, evaluation)})

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        """All the same."""
        return ones_like(batch.weight_b)

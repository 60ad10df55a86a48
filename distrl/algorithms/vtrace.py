"""V-trace actor-critic (IMPALA, arXiv 1802.01561), with the stabilisers of A-RIDE so that the comparison is a fair one.

    L = - E[min(rho_clip, rho_t) A_t log pi(a_t|s_t)] - beta E[H] + value_weight CE(V(s_t), clamp v_t)
    A_t = r_t + gamma v_{t+1} - V(s_t)

`negative_scale=1, negative_floor=0, normalise_advantages=False` is the plain form.
"""

import msgspec
from torch import Tensor, ones_like

from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.interface import Sampling
from distrl.algorithms.losses import masked_mean, policy_gradient_loss, value_loss
from distrl.algorithms.metrics import advantage_metrics, detached, ratio_metrics, value_metrics
from distrl.algorithms.options import NonNegative, Positive, Share
from distrl.algorithms.returns import advantages, state_values, td_errors, vtrace_values
from distrl.algorithms.weights import importance_ratios, standardised, tamed


class VTrace:
    """Off-policy actor-critic by importance weights alone."""

    class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        """Sizes."""

        gamma: Share = 0.95
        lambda_: Share = msgspec.field(default=1.0, name="lambda")
        rho_clip: Positive = 1.0
        c_clip: Positive = 1.0
        entropy_weight: NonNegative = 0.01
        value_weight: NonNegative = 0.5
        normalise_advantages: bool = True
        negative_scale: NonNegative = 0.5
        negative_floor: NonNegative = 0.8

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sampling = Sampling()

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum at the head of this file, and its parts."""
        options = self.options
        value_bs = state_values(evaluation.value_logit_kbs)
        ratio_bt = importance_ratios(evaluation.log_prob_bt, batch.behaviour_log_prob_bt)
        vtrace_bs = vtrace_values(
            batch,
            value_bs,
            ratio_bt,
            gamma=options.gamma,
            lambda_=options.lambda_,
            rho_clip=options.rho_clip,
            c_clip=options.c_clip,
        )
        target_bt = vtrace_bs[:, :-1]
        raw_advantage_bt = advantages(batch, value_bs, vtrace_bs, gamma=options.gamma)
        advantage_bt = (
            standardised(raw_advantage_bt, batch.mask_bt) if options.normalise_advantages else raw_advantage_bt
        )
        advantage_bt = tamed(
            advantage_bt, ratio_bt, negative_scale=options.negative_scale, negative_floor=options.negative_floor
        )

        rho_bt = ratio_bt.clamp(max=options.rho_clip)
        policy_loss = policy_gradient_loss(evaluation.log_prob_bt, advantage_bt, rho_bt, batch.mask_bt, batch.weight_b)
        entropy = masked_mean(evaluation.entropy_bt, batch.mask_bt, batch.weight_b)
        state_loss = value_loss(evaluation.value_logit_kbs, target_bt, batch.mask_bt, batch.weight_b)
        loss = policy_loss - options.entropy_weight * entropy + options.value_weight * state_loss
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

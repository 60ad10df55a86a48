"""An algorithm of your own in one file: REINFORCE with a baseline (Williams, 1992).

    L = - E[(G_t - V(s_t)) log pi(a_t|s_t)] - entropy_weight E[H] + value_weight CE(V(s_t), clamp G_t)
    G_t = r_t + gamma G_{t+1}

Try it: distrl train --algorithm examples.reinforce_baseline:Reinforce. docs/how-to/new-algorithm.md goes through it.
"""

import msgspec
from torch import Tensor, ones_like

from distrl.algorithms import Batch, Evaluation, Sampling
from distrl.algorithms.losses import masked_mean, policy_gradient_loss, value_loss
from distrl.algorithms.metrics import advantage_metrics, detached
from distrl.algorithms.options import Count, NonNegative, Share
from distrl.algorithms.returns import discounted_returns, state_values


class Reinforce:
    """On-policy: it looks at the newest trajectories only, and trusts that they are its own."""

    class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        """What can be set in `algorithm.options`; the types are the ranges."""

        gamma: Share = 0.95
        entropy_weight: NonNegative = 0.005
        value_weight: NonNegative = 0.5
        window_trajectories: Count = 64

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sampling = Sampling(window_trajectories=options.window_trajectories)

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum at the head of this file, and what is logged."""
        value_bs = state_values(evaluation.value_logit_kbs)
        return_bt = discounted_returns(batch, value_bs, gamma=self.options.gamma)
        advantage_bt = return_bt - value_bs[:, :-1]
        policy_loss = policy_gradient_loss(
            evaluation.log_prob_bt, advantage_bt, ones_like(advantage_bt), batch.mask_bt, batch.weight_b
        )
        entropy = masked_mean(evaluation.entropy_bt, batch.mask_bt, batch.weight_b)
        state_loss = value_loss(evaluation.value_logit_kbs, return_bt, batch.mask_bt, batch.weight_b)
        loss = policy_loss - self.options.entropy_weight * entropy + self.options.value_weight * state_loss
        return loss, detached(
            {
                "policy_loss": policy_loss,
                "value_loss": state_loss,
                "entropy": entropy,
                **advantage_metrics(advantage_bt, batch.mask_bt),
            }
        )

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        """All the same: replay is not prioritised."""
        return ones_like(batch.weight_b)

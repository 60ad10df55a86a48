"""What every algorithm works on: a batch of whole trajectories, and what the network says about it.

Shapes are in the names: `_b` is one number per trajectory, `_bt` one per step (padded, see `mask_bt`), `_bs` one per
*state*, which is one more than steps, because the screen after the last action is a state too.
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Recorded facts: nothing here has a gradient. Padded entries are 0 (False) and are masked out."""

    mask_bt: Tensor
    """bool: which steps exist. Trajectories start at 0 and have at least one step."""
    reward_bt: Tensor
    """The sum of the reward terms of a step."""
    behaviour_log_prob_bt: Tensor
    """log mu(a_t|s_t) of the whole action, as the policy that acted recorded it."""
    is_invalid_bt: Tensor
    """bool: the recorded action was not an action."""
    is_terminal_b: Tensor
    """bool: the task itself ended, so the value after it is 0; otherwise (truncated) it is bootstrapped."""
    is_success_b: Tensor
    """1.0 if the task was solved, else 0.0."""
    group_mean_b: Tensor
    """Mean success of the attempts that were made at the same task together with this one."""
    group_std_b: Tensor
    """Standard deviation of the same."""
    weight_b: Tensor
    """Correction for having been sampled more often than uniformly; 1.0 if there is nothing to correct."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What the network of now says about a batch; gradients flow through all of it."""

    log_prob_bt: Tensor
    """log pi(a_t|s_t) of the recorded action: the sum over its tokens."""
    entropy_bt: Tensor
    """True entropy H(pi(.|s_t)) over actions, not the surprisal of the recorded one."""
    value_logit_kbs: Tensor
    """Logits of the twin state values V, [2, B, T + 1]; V = sigmoid(logit), the minimum of the two is used."""
    trajectory_value_logit_b: Tensor
    """Logit of V_traj: how likely this task is to be solved, from the first screen and the instruction."""

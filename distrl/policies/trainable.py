"""What all policies that are trained have in common: weights of one version, and what a policy says about states."""

from dataclasses import dataclass

import msgspec
from torch import Tensor


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that act at one version, for acting with weights older than the learner's."""

    version: int
    parameters: dict[str, Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What the network says about states in a row (all trajectories one after another)."""

    log_prob: Tensor
    entropy: Tensor
    value_logits: Tensor
    trajectory_value_logit: Tensor

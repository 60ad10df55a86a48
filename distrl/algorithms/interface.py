"""The interface of an algorithm: it turns a batch and its evaluation into a loss, and says how data is to be chosen.

An algorithm owns no network, no optimiser and no data: the learner does. So one is a page of mathematics.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec
from torch import Tensor

from distrl.algorithms.batch import Batch, Evaluation


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How the learner chooses trajectories for an algorithm."""

    is_prioritised: bool = False
    """Whether the algorithm's own priorities count; otherwise all trajectories weigh the same."""
    alpha: float = 1.0
    """P(tau) is proportional to priority ** alpha."""
    freshness_tau_versions: float | None = None
    """P(tau) decays by exp(-age / tau) besides, whatever alpha is; age in published versions. None: it does not."""
    correction_beta: float = 0.0
    """Strength of the correction for unequal sampling, (n P(tau)) ** -beta; 0: none."""
    window_trajectories: int | None = None
    """On-policy algorithms look only at the newest so many; None: at all that replay keeps."""
    group_size: int = 1
    """Attempts made at each drawn task."""


class Algorithm(Protocol):
    """One short file each. `Options` are checked when they are read: unknown names are errors."""

    sampling: Sampling

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The number to make smaller, and what to log, by name."""
        ...

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        """[B] positive numbers without gradient: how much each trajectory is worth learning from again."""
        ...

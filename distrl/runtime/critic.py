"""The critic's warm start: episodes of a policy in, values that know how they end out, the policy as it was.

Reinforcement learning that starts with a critic that knows nothing un-learns what imitation gave: every step of a
failed episode looks equally bad. So the policy of imitation tries each training task once or twice, and V and V_traj
are fitted to what came of it, while the probabilities of its own actions are held where they are.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from distrl.core.clock import run_virtual
from distrl.core.config import Config
from distrl.core.types import Outcome, Task, Trajectory
from distrl.runtime.evaluation import evaluate
from distrl.runtime.policies import AnyPolicy

_BATCH_STEPS = 128
_DRIFT_WEIGHT = 4.0


class CriticOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the critic is fitted."""

    rounds: int = 2
    epochs: int = 6
    gamma: float = 0.95
    learning_rate: float = 1e-3


class CriticProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over all states: losses of V and V_traj, and how far log-probabilities moved (mean square)."""

    epoch: int
    value_loss: float
    trajectory_value_loss: float
    policy_drift: float


class _Examples:
    """States, what was done in them, and what came of it: (discounted outcome, outcome, is first, log-probability)."""

    def __init__(self, policy: AnyPolicy, gamma: float) -> None:
        self._policy = policy
        self._gamma = gamma
        self.moments: list[Any] = []
        self.choices: list[npt.NDArray[np.int64]] = []
        self.facts: list[tuple[float, float, float, float]] = []

    def add(self, trajectory: Trajectory) -> None:
        """The states of one episode; its screens are not kept."""
        prepared = self._policy.prepare(trajectory)
        self.moments += prepared.moments[:-1]
        self.choices += list(prepared.choices)
        won = float(trajectory.outcome is Outcome.SUCCEEDED)
        last = len(trajectory.steps) - 1
        self.facts += [
            (won * self._gamma ** (last - t), won, float(t == 0), step.decision.log_prob)
            for t, step in enumerate(trajectory.steps)
        ]


def fit_critic(
    policy: AnyPolicy, tasks: Sequence[Task], config: Config, options: CriticOptions
) -> Iterator[CriticProgress]:
    """Train the value heads in place; yields each epoch."""
    attempts = [task for _ in range(options.rounds) for task in tasks]
    examples = _Examples(policy, options.gamma)
    run_virtual(
        evaluate(policy, attempts, config, is_greedy=False, snapshot=policy.snapshot(), on_episode=examples.add)
    )
    optimiser = torch.optim.AdamW(policy.parameters(), lr=options.learning_rate)
    order = np.random.default_rng(config.seed)
    for epoch in range(1, options.epochs + 1):
        sums = np.zeros(3)
        batches = np.array_split(order.permutation(len(examples.moments)), len(examples.moments) // _BATCH_STEPS + 1)
        for rows in batches:
            losses = _losses(policy, examples, rows)
            optimiser.zero_grad()
            (losses[0] + losses[1] / 2 + _DRIFT_WEIGHT * losses[2]).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()
            sums += [float(loss.detach()) for loss in losses]
        value, trajectory_value, drift = (float(v) for v in sums / len(batches))
        yield CriticProgress(epoch=epoch, value_loss=value, trajectory_value_loss=trajectory_value, policy_drift=drift)


def _losses(policy: AnyPolicy, examples: _Examples, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
    """Cross-entropy of V to the discounted outcome, of V_traj to the outcome (first states only), and the drift."""
    said = policy.judge([examples.moments[i] for i in rows], np.stack([examples.choices[i] for i in rows]))
    target, outcome, first, log_prob = torch.tensor([examples.facts[i] for i in rows]).unbind(dim=1)
    cross_entropy = nn.functional.binary_cross_entropy_with_logits
    value = cross_entropy(said.value_logits, target.expand(2, -1))
    each = cross_entropy(said.trajectory_value_logit, outcome, reduction="none")
    drift = (said.log_prob - log_prob).square().mean()
    return value, (each * first).sum() / first.sum().clamp(min=1.0), drift

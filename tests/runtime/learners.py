"""Learners for tests: a fake algorithm that shows what it was given, and learners around it."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import msgspec
import torch
from torch import Tensor

from distrl.algorithms import Algorithm, Batch, Evaluation, Sampling
from distrl.core.types import Outcome, Trajectory
from distrl.policies.tiny.policy import TinyPolicy
from distrl.replay.prioritised import PrioritisedReplay
from distrl.runtime.curriculum import Curriculum
from distrl.runtime.learner import Learner, LearnerOptions
from distrl.runtime.successes import Example

from .fleet import plain_trajectory, real_trajectories, task


class FakeAlgorithm:
    """Makes what was done likelier, times `factor`; remembers what it was shown; gives the priorities it is told."""

    def __init__(self, sampling: Sampling | None = None) -> None:
        self.sampling = sampling or Sampling()
        self.factor: Tensor | float = 1.0
        self.batches: list[Batch] = []
        self.evaluations: list[Evaluation] = []
        self.next_priorities: list[float] = []

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, Mapping[str, Tensor]]:
        self.batches.append(batch)
        self.evaluations.append(evaluation)
        loss = -evaluation.log_prob_bt.sum() * self.factor
        return loss, {"steps": batch.mask_bt.sum()}

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        given = self.next_priorities or [1.0]
        return torch.tensor([given[n % len(given)] for n in range(len(batch.weight_b))])


class BrokenGradient(FakeAlgorithm):
    """A finite loss whose gradient is not: the root of 0."""

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, Mapping[str, Tensor]]:
        return (evaluation.log_prob_bt.sum() * 0.0).sqrt(), {}


def make_learner(
    algorithm: Algorithm,
    *,
    policy: TinyPolicy | None = None,
    capacity_steps: int = 10_000,
    is_adaptive: bool = False,
    demonstrations: Iterable[Example] = (),
    **options: Any,
) -> Learner:
    sampling = algorithm.sampling
    replay = PrioritisedReplay(
        capacity_steps=capacity_steps,
        alpha=sampling.alpha,
        freshness_tau_versions=sampling.freshness_tau_versions,
        rng=Random(1),
    )
    chosen = LearnerOptions(**{"batch_trajectories": 6, "warmup_trajectories": 1, **options})
    curriculum = Curriculum([task()], Random(2), is_adaptive=is_adaptive)
    policy = policy or TinyPolicy("text", seed=7)
    return Learner(policy, algorithm, replay, curriculum, chosen, demonstrations=demonstrations)


def filled(algorithm: Algorithm, *, count: int = 8, **settings: Any) -> Learner:
    learner = make_learner(algorithm, **settings)
    for trajectory in real_trajectories()[:count]:
        learner.receive(trajectory)
    return learner


def weights_of(learner: Learner) -> list[Tensor]:
    return [p.detach().clone() for p in learner.policy.parameters()]


def are_equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def in_group(id: str, group: str, outcome: Outcome) -> Trajectory:
    return msgspec.structs.replace(plain_trajectory(id, outcome=outcome), group=group)

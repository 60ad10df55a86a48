"""Learners of tiny models, and what they learn from."""

from typing import Any

import msgspec

from distrl.algorithms import make_algorithm
from distrl.core.seeds import derive_random
from distrl.core.types import Outcome, Situation, Trajectory
from distrl.replay.prioritised import PrioritisedReplay
from distrl.runtime.curriculum import Curriculum
from distrl.runtime.learner import Learner, LearnerOptions

from .asking import episodes, rngs


def played(policy: Any) -> list[Trajectory]:
    """What a policy would have done on the expert's way, one time well and one time not."""
    made = []
    for number, episode in enumerate(episodes()):
        steps = []
        for t, step in enumerate(episode.steps):
            situation = Situation(task=episode.task, steps=tuple(steps), observation=step.observation)
            (decision,) = policy.decide([situation], rngs(1))
            steps.append(msgspec.structs.replace(step, decision=decision, rewards={"success": 0.5 * t - number}))
        outcome = Outcome.SUCCEEDED if number else Outcome.TRUNCATED_STEPS
        made.append(msgspec.structs.replace(episode, id=f"t-{number}", steps=tuple(steps), outcome=outcome))
    return made


def make_learner(policy: Any, trajectories: list[Trajectory]) -> Learner:
    learner = Learner(
        policy,
        make_algorithm("a_ride", {}),
        PrioritisedReplay(capacity_steps=1000, alpha=0.5, freshness_tau_versions=10.0, rng=derive_random(0, "replay")),
        Curriculum([t.task for t in trajectories], derive_random(0, "curriculum")),
        LearnerOptions(batch_trajectories=3, imitated_successes=1, imitation_weight=0.5),
    )
    for trajectory in trajectories:
        learner.receive(trajectory)
    return learner

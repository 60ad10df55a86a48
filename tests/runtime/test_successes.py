"""Imitating one's own successes: which are drawn, and what they change."""

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec
import pytest
from torch import Tensor

from distrl.algorithms import Batch, Evaluation
from distrl.core.types import Outcome
from distrl.runtime.learner import Learner
from distrl.runtime.successes import Successes

from .fleet import real_trajectories
from .learners import FakeAlgorithm, are_equal, make_learner, weights_of


def test_every_template_is_drawn_as_often_however_often_it_was_solved() -> None:
    successes = Successes()
    successes.add("rare", "hard")
    for number in range(9):
        successes.add(f"{number}", "easy")
    drawn = Counter(successes.draw(4000, Random(0)))
    assert drawn["rare"] == pytest.approx(2000, abs=150)
    assert len(drawn) == 10


def test_what_is_gone_is_not_drawn_and_nothing_comes_of_nothing() -> None:
    successes = Successes()
    assert successes.draw(3, Random(0)) == []
    successes.add("a", "one")
    successes.add("b", "two")
    successes.remove("a", "one")
    successes.remove("never here", "three")
    assert set(successes.draw(20, Random(0))) == {"b"}


def test_the_same_random_numbers_draw_the_same() -> None:
    successes = Successes()
    for number in range(20):
        successes.add(f"{number}", f"{number % 3}")
    assert successes.draw(8, Random(5)) == successes.draw(8, Random(5)) != successes.draw(8, Random(6))


class Indifferent(FakeAlgorithm):
    """An algorithm that wants nothing, so that only imitation moves the weights."""

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, Mapping[str, Tensor]]:
        return evaluation.log_prob_bt.sum() * 0.0, {}


def learner_with(outcome: Outcome, **options: Any) -> Learner:
    learner = make_learner(Indifferent(), warmup_trajectories=1, **options)
    for trajectory in real_trajectories()[:4]:
        learner.receive(msgspec.structs.replace(trajectory, outcome=outcome))
    return learner


def likelihood(learner: Learner) -> float:
    ids = learner.replay.ids()
    return float(learner.evaluate(ids, [1.0] * len(ids))[1].log_prob_bt.sum().detach())


def test_own_successes_become_likelier_and_failures_do_not() -> None:
    for outcome, is_moved in ((Outcome.SUCCEEDED, True), (Outcome.TRUNCATED_STEPS, False)):
        learner = learner_with(outcome, imitated_successes=4, imitation_weight=1.0)
        before, weights = likelihood(learner), weights_of(learner)
        for _ in range(6):
            learner.update()
        assert (likelihood(learner) > before) is is_moved
        assert are_equal(weights, weights_of(learner)) is not is_moved


@pytest.mark.parametrize("off", [{"imitated_successes": 0}, {"imitation_weight": 0.0}])
def test_either_switch_turns_it_off(off: dict[str, float]) -> None:
    learner = learner_with(Outcome.SUCCEEDED, **({"imitated_successes": 4, "imitation_weight": 1.0} | off))
    before = weights_of(learner)
    assert learner.update()["imitation_loss"] == 0.0
    assert are_equal(before, weights_of(learner))


def test_it_weighs_what_it_is_said_to_weigh() -> None:
    light, heavy = (
        learner_with(Outcome.SUCCEEDED, imitated_successes=4, imitation_weight=weight).update() for weight in (1.0, 3.0)
    )
    assert light["imitation_loss"] == pytest.approx(heavy["imitation_loss"])
    assert heavy["loss"] == pytest.approx(3 * light["loss"])


def test_another_seed_imitates_others() -> None:
    losses = {
        seed: learner_with(Outcome.SUCCEEDED, imitated_successes=1, imitation_weight=1.0, seed=seed).update()["loss"]
        for seed in range(8)
    }
    assert len(set(losses.values())) > 1

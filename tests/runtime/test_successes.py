"""Imitating demonstrations and one's own successes: which are drawn, and what they change."""

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import msgspec
import pytest
from torch import Tensor

from distrl.algorithms import Batch, Evaluation
from distrl.core.types import Outcome
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.demonstrations import examples
from distrl.runtime.learner import Learner
from distrl.runtime.run_state import show_expert
from distrl.runtime.successes import Example, Shown, Successes
from distrl.tasks.book import load_tasks

from .fleet import real_trajectories, settings
from .learners import FakeAlgorithm, are_equal, make_learner, weights_of


def example(name: str, template: str) -> Example:
    return Shown(template=template, moments=(name,), choices=(0,))


def with_own(**names: str) -> Successes:
    successes = Successes()
    for name, template in names.items():
        successes.add(name, example(name, template))
    return successes


def drawn_from(successes: Successes, count: int, seed: int = 0) -> list[str]:
    return [found.moments[0] for found in successes.draw(count, Random(seed))]


def test_every_template_is_drawn_as_often_however_often_it_was_solved() -> None:
    successes = with_own(rare="hard", **{f"{number}": "easy" for number in range(9)})
    drawn = Counter(drawn_from(successes, 4000))
    assert drawn["rare"] == pytest.approx(2000, abs=150)
    assert len(drawn) == 10


def test_what_is_gone_is_not_drawn_and_nothing_comes_of_nothing() -> None:
    assert Successes().draw(3, Random(0)) == []
    successes = with_own(a="one", b="two")
    successes.remove("a", "one")
    successes.remove("never here", "three")
    assert set(drawn_from(successes, 20)) == {"b"}


def test_the_same_random_numbers_draw_the_same() -> None:
    successes = with_own(**{f"{number}": f"{number % 3}" for number in range(20)})
    assert drawn_from(successes, 8, 5) == drawn_from(successes, 8, 5) != drawn_from(successes, 8, 6)


def test_demonstrations_are_made_when_they_are_looked_at_and_stay() -> None:
    made: list[int] = []

    def make() -> Iterator[Example]:
        for number in range(5):
            made.append(number)
            yield example(f"shown {number}", "hard")

    successes = Successes(make())
    successes.add("own", example("own", "hard"))
    assert (made, set(drawn_from(successes, 50))) == ([], {"own"})
    successes.look_at(2)
    assert (made, successes.num_shown) == ([0, 1], 2)
    assert set(drawn_from(successes, 50)) == {"own", "shown 0", "shown 1"}
    successes.look_at()
    successes.look_at()
    assert successes.num_shown == 5
    successes.remove("own", "hard")
    assert set(drawn_from(successes, 100)) == {f"shown {number}" for number in range(5)}


def test_what_was_missed_is_looked_at_as_soon_as_it_matters() -> None:
    successes = Successes(example(f"shown {number}", "hard") for number in range(9))
    successes.num_missed = 2
    assert successes.num_shown == 0
    assert set(drawn_from(successes, 50)) == {"shown 0", "shown 1"}
    assert (successes.num_shown, successes.num_missed) == (2, 0)
    successes.num_missed = 1
    successes.look_at()
    assert successes.num_shown == 7


def test_what_is_drawn_does_not_depend_on_when_demonstrations_were_looked_at() -> None:
    shown = [example(f"shown {number}", "hard") for number in range(3)]
    early, late = Successes(shown), Successes(shown)
    early.look_at(3)
    for successes in (early, late):
        for name in "abc":
            successes.add(name, example(name, "hard"))
    late.look_at(3)
    assert drawn_from(early, 20) == drawn_from(late, 20)


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


def test_demonstrations_become_likelier_from_the_first_arrival_on() -> None:
    policy = TinyPolicy("text", seed=7)
    (shown,) = examples(policy, load_tasks("general", "train")[:1], noise=0.0)

    def likelihood_of(example: Example) -> float:
        return float(policy.judge(example.moments, example.choices).log_prob.sum().detach())

    learner = make_learner(
        Indifferent(), policy=policy, demonstrations=[shown], imitated_successes=4, imitation_weight=1.0
    )
    before = likelihood_of(shown)
    learner.receive(msgspec.structs.replace(real_trajectories()[0], outcome=Outcome.TRUNCATED_STEPS))
    assert learner.plain_state()["num_shown"] == 1
    for _ in range(4):
        assert learner.update()["imitation_loss"] > 0.0
    assert likelihood_of(shown) > before + 0.1


def test_a_run_is_shown_the_first_tasks_of_every_template_and_nothing_if_nothing_is_imitated() -> None:
    tables = {"tasks": {"suite": "web_shopping"}, "policy": {"start": "imitation"}}
    config = settings(learner={"demonstrations": 2}, **tables)
    num_templates = len({task.template for task in load_tasks("web_shopping", "train")})
    shown = list(show_expert(config, TinyPolicy("text")))
    assert num_templates < len(shown) <= 2 * num_templates
    for off in ({"demonstrations": 0}, {"imitated_successes": 0}, {"imitation_weight": 0.0}):
        silent = settings(learner={"demonstrations": 2, **off}, **tables)
        assert list(show_expert(silent, TinyPolicy("text"))) == []
    assert list(show_expert(settings(learner={"demonstrations": 2}), TinyPolicy("text"))) == [], "from scratch"

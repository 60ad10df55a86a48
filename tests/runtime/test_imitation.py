"""Imitation: a few demonstrations are enough to solve some tasks that were not shown."""

import pytest

from distrl.core.types import Task
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.imitation import ImitationOptions, Progress, imitate
from distrl.tasks.book import load_tasks

from . import fleet

TEMPLATES = ("set_alarm", "switch_alarm", "delete_alarm")


def some_tasks() -> list[Task]:
    return [t for t in load_tasks("general", "train") if t.template in TEMPLATES]


def learn(seed: int = 0, **options: float) -> list[Progress]:
    chosen = {"per_template": 5, "noise": 0.1, "batch_steps": 16, "check_tasks": 4, **options}
    config = fleet.settings(seed, collect={"num_devices": 4})
    return list(imitate(TinyPolicy("text", seed=seed), some_tasks(), config, ImitationOptions(**chosen)))  # type: ignore[arg-type]


@pytest.mark.learning
@pytest.mark.slow
def test_after_a_few_epochs_the_loss_has_fallen_and_some_tasks_are_solved_that_were_not_shown() -> None:
    made = learn(target=2.0, max_epochs=12, check_every_epochs=3, learning_rate=2e-3, entropy_weight=0.0)
    assert [p.epoch for p in made] == [3, 6, 9, 12]
    assert made[-1].loss < 0.6 * made[0].loss
    assert max(p.report.success for p in made) > 0.0
    assert max(p.sampled.success for p in made) > 0.0
    assert all(p.report.episodes == 4 for p in made)


@pytest.mark.learning
def test_it_stops_as_soon_as_the_target_is_reached() -> None:
    made = learn(target=0.0, max_epochs=5, check_every_epochs=1, per_template=1)
    assert [p.epoch for p in made] == [1]


@pytest.mark.learning
def test_the_last_epoch_is_checked_whatever_the_interval() -> None:
    made = learn(target=2.0, max_epochs=2, check_every_epochs=50, per_template=1)
    assert [p.epoch for p in made] == [2]


@pytest.mark.learning
def test_the_same_seed_learns_the_same() -> None:
    once, again = (learn(target=2.0, max_epochs=2, check_every_epochs=1, per_template=1) for _ in range(2))
    assert once == again


@pytest.mark.learning
def test_where_doubt_is_worth_something_less_is_certain() -> None:
    def certainty(entropy_weight: float) -> float:
        made = learn(target=2.0, max_epochs=8, check_every_epochs=50, per_template=2, entropy_weight=entropy_weight)
        return made[-1].loss

    assert certainty(0.0) < certainty(1.0)

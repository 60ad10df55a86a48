"""Imitation: a few demonstrations are enough to solve some tasks that were not shown."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from distrl.core.types import Task
from distrl.policies.tiny.features import Moment
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime import imitation
from distrl.runtime.evaluation import Report, summarise
from distrl.runtime.imitation import ImitationOptions, Progress, entropy_weight_of, imitate
from distrl.runtime.successes import Example
from distrl.tasks.book import load_tasks

from . import fleet

TEMPLATES = ("set_alarm", "switch_alarm", "delete_alarm")


def some_tasks() -> list[Task]:
    return [t for t in load_tasks("general", "train") if t.template in TEMPLATES]


def learn(seed: int = 0, **options: float) -> list[Progress]:
    chosen = {"per_template": 5, "noise": 0.1, "batch_steps": 16, "checks_per_template": 1, **options}
    config = fleet.settings(seed, collect={"num_devices": 4})
    return list(imitate(TinyPolicy("text", seed=seed), some_tasks(), config, ImitationOptions(**chosen)))  # type: ignore[arg-type]


@pytest.mark.learning
@pytest.mark.slow
def test_after_a_few_epochs_the_loss_has_fallen_and_some_tasks_are_solved_that_were_not_shown() -> None:
    made = learn(target=2.0, max_epochs=12, learning_rate=2e-3, entropy_weight=0.0)
    assert [p.epoch for p in made] == list(range(1, 13))
    assert made[-1].loss < 0.6 * made[0].loss
    assert max(p.report.success for p in made) > 0.0
    assert max(p.sampled.success for p in made) > 0.0
    assert all(p.report.episodes == 3 for p in made)


@pytest.mark.parametrize(
    ("target", "never"),
    [
        pytest.param(0.3, [("delete_alarm",)], id="far above the target, what was never solved is left to others"),
        pytest.param(0.64, [("delete_alarm",), ()], id="a little above it, that is waited for"),
        pytest.param(0.7, [("delete_alarm",), (), ()], id="the target has to be reached too"),
    ],
)
def test_it_stops_when_the_target_is_reached_and_a_little_later_where_a_template_is_left_out(
    monkeypatch: pytest.MonkeyPatch, target: float, never: list[tuple[str, ...]]
) -> None:
    solved = [TEMPLATES[:2], TEMPLATES[1:], TEMPLATES, TEMPLATES]

    def checks() -> Iterator[Report]:
        for names in solved:
            by_template = {name: float(name in names) for name in TEMPLATES}
            report = msgspec.structs.replace(summarise([]), by_template=by_template, success=len(names) / 3)
            yield from (report, report)  # the likeliest actions, and drawn ones

    given = checks()
    monkeypatch.setattr(imitation, "check", lambda *a, **o: next(given))
    assert [p.never_solved for p in learn(target=target, max_epochs=4, per_template=1)] == never


@pytest.mark.learning
def test_the_same_seed_learns_the_same() -> None:
    once, again = (learn(target=2.0, max_epochs=2, per_template=1) for _ in range(2))
    assert once == again


@pytest.mark.learning
def test_where_doubt_is_worth_something_less_is_certain() -> None:
    def certainty(entropy_weight: float) -> float:
        return learn(target=2.0, max_epochs=8, per_template=2, entropy_weight=entropy_weight)[-1].loss

    assert certainty(0.0) < certainty(1.0)


def best_share_of_others(entropy_weight: float, num_tokens: int) -> float:
    """What of its probability imitation has a model give to all tokens but the answer's one."""
    q = np.linspace(1e-6, 1 - 1e-6, 100_000)
    entropy = -(1 - q) * np.log(1 - q) - q * np.log(q / (num_tokens - 1))
    return float(q[np.argmin(-np.log(1 - q) - entropy_weight * entropy)])


def test_doubt_is_not_worth_so_much_that_a_model_says_what_nobody_showed() -> None:
    assert best_share_of_others(0.1, 49_000) == pytest.approx(0.19, abs=0.01)
    assert best_share_of_others(0.1, 30) < 0.002  # the tiny policy chooses among so few
    for kind in ("hf", "autoui"):
        assert best_share_of_others(entropy_weight_of(kind), 49_000) < 1e-5
    assert entropy_weight_of("tiny") == ImitationOptions().entropy_weight


@pytest.mark.learning
def test_what_is_not_solved_yet_is_shown_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Counter[str]] = []
    of_moment: dict[int, str] = {}

    def report(**by_template: float) -> Report:
        return msgspec.structs.replace(summarise([]), by_template=by_template)

    def noting(
        policy: object, moments: list[Moment], choices: object, optimiser: object, batches: Any, *_: Any
    ) -> float:
        shown.append(Counter(of_moment[id(moments[i])] for rows in batches for i in rows))
        return 0.0

    def examples(*args: object, **options: object) -> Iterator[Example]:
        for example in real_examples(*args, **options):  # type: ignore[arg-type]
            of_moment.update({id(moment): example.template for moment in example.moments})
            yield example

    real_examples = imitation.examples
    monkeypatch.setattr(imitation, "examples", examples)
    monkeypatch.setattr(imitation, "_epoch", noting)
    monkeypatch.setattr(imitation, "check", lambda *a, **o: report(set_alarm=1.0, switch_alarm=1.0, delete_alarm=0.0))
    learn(target=2.0, max_epochs=6, per_template=2)
    assert shown[0]["delete_alarm"] < shown[0].total() / 2
    assert shown[-1]["delete_alarm"] > 0.7 * shown[-1].total()

"""Evaluation: an honest interval, a table that adds up, and the same answer on any number of phones."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.clock import run_virtual
from distrl.core.config import Config
from distrl.core.types import Action, Claim, Finish, Outcome, Situation, Task, Trajectory, Wait
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.evaluation import Scripted, choose_episodes, evaluate, summarise, wilson
from distrl.tasks.book import load_tasks

from . import fleet
from .fleet import plain_trajectory, tasks

TASKS = load_tasks("general", "test")[:6]


def play(policy: TinyPolicy, config: Config, *, is_greedy: bool) -> list[Trajectory]:
    return run_virtual(evaluate(policy, TASKS, config, is_greedy=is_greedy, snapshot=policy.snapshot()))


# ---- numbers


@pytest.mark.parametrize(
    ("successes", "n", "interval"),
    [
        (8, 10, (0.4902, 0.9433)),
        (0, 10, (0.0, 0.2775)),
        (10, 10, (0.7225, 1.0)),
        (5, 10, (0.2366, 0.7634)),
        (64, 128, (0.4147, 0.5853)),
        (1, 1, (0.2065, 1.0)),
        (0, 0, (0.0, 1.0)),
    ],
)
def test_wilsons_interval_as_in_the_tables(successes: int, n: int, interval: tuple[float, float]) -> None:
    assert wilson(successes, n) == pytest.approx(interval, abs=5e-5)


@settings(deadline=None)
@given(st.integers(1, 5000), st.data())
def test_the_interval_holds_the_share_and_is_a_mirror_image_for_failures(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    low, high = wilson(successes, n)
    assert 0.0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1.0
    assert low < high
    assert wilson(n - successes, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_four_times_the_episodes_halve_the_interval() -> None:
    (low, high), (low4, high4) = wilson(500, 1000), wilson(2000, 4000)
    assert (high - low) / (high4 - low4) == pytest.approx(2.0, abs=0.01)


def solved(
    id: str, template: str, difficulty: int, tags: tuple[str, ...], *, steps: int, is_success: bool
) -> Trajectory:
    outcome = Outcome.SUCCEEDED if is_success else Outcome.TRUNCATED_STEPS
    made = plain_trajectory(id, template=template, num_steps=steps, outcome=outcome)
    return msgspec.structs.replace(made, task=msgspec.structs.replace(made.task, difficulty=difficulty, tags=tags))


def test_the_table_of_four_episodes() -> None:
    report = summarise(
        [
            solved("a", "alarm", 1, ("dark",), steps=4, is_success=True),
            solved("b", "alarm", 1, (), steps=9, is_success=False),
            solved("c", "mail", 2, ("dark", "ads"), steps=7, is_success=True),
            solved("d", "mail", 3, ("ads",), steps=9, is_success=False),
        ]
    )
    assert (report.success, report.episodes) == (0.5, 4)
    assert (report.low, report.high) == (0.15, 0.85)
    assert report.mean_steps_to_success == 5.5
    assert report.by_template == {"alarm": 0.5, "mail": 0.5}
    assert report.by_difficulty == {"1": 0.5, "2": 1.0, "3": 0.0}
    assert report.by_tag["dark"] == 1.0
    assert report.by_tag["ads"] == 0.5


def test_to_try_the_same_tasks_again_makes_nobody_surer() -> None:
    tried = [solved(f"{n}", "alarm", 1, (), steps=2, is_success=n < 2) for n in range(4)]
    once, twice = summarise(tried), summarise(tried * 2)
    assert (twice.success, twice.episodes) == (0.5, 8)
    assert (twice.low, twice.high) == (once.low, once.high) == (0.15, 0.85)


def test_templates_that_training_never_shows_are_counted_by_themselves() -> None:
    names = [("set_alarm", True), ("move_alarm", True), ("move_alarm", False), ("from elsewhere", True)]
    report = summarise([solved(f"{n}", name, 1, (), steps=2, is_success=good) for n, (name, good) in enumerate(names)])
    assert report.by_tag == {"unseen_template": 0.5}


def test_no_episodes_say_nothing() -> None:
    report = summarise([])
    assert (report.success, report.low, report.high, report.episodes) == (0.0, 0.0, 1.0, 0)
    assert report.by_template == {}


# ---- which tasks


def test_no_task_is_tried_again_before_all_were_tried() -> None:
    of = tasks(5)
    chosen = choose_episodes(of, 13, seed=3)
    assert len(chosen) == 13
    for start in (0, 5):
        assert sorted(t.id for t in chosen[start : start + 5]) == [t.id for t in of]
    assert len({t.id for t in chosen[10:]}) == 3


def test_the_same_seed_chooses_the_same_tasks() -> None:
    def ids(seed: int, count: int) -> list[str]:
        return [t.id for t in choose_episodes(tasks(50), count, seed)]

    assert ids(1, 20) == ids(1, 20) != ids(2, 20)
    assert ids(1, 20) == ids(1, 40)[:20]


# ---- episodes


def test_greedy_episodes_are_the_same_on_any_number_of_phones_and_come_in_the_order_of_the_tasks() -> None:
    policy = TinyPolicy("text", seed=5)
    alone, together = (play(policy, fleet.settings(collect={"num_devices": count}), is_greedy=True) for count in (1, 4))
    assert [t.task for t in alone] == [t.task for t in together] == list(TASKS)
    for one, other in zip(alone, together, strict=True):
        assert [s.decision.tokens for s in one.steps] == [s.decision.tokens for s in other.steps]
        assert (one.outcome, one.id) == (other.outcome, other.id)
    assert summarise(alone) == summarise(together)


def test_sampled_episodes_are_those_of_the_seed() -> None:
    policy = TinyPolicy("text", seed=5)

    def tokens(seed: int) -> list[list[tuple[int, ...]]]:
        return [[s.decision.tokens for s in t.steps] for t in play(policy, fleet.settings(seed), is_greedy=False)]

    assert tokens(1) == tokens(1) != tokens(2)


def test_the_weights_that_act_are_those_of_the_snapshot() -> None:
    policy, other = TinyPolicy("text", seed=5), TinyPolicy("text", seed=6)
    policy.version, other.version = 4, 9
    config = fleet.settings()
    played = run_virtual(evaluate(policy, TASKS[:2], config, snapshot=other.snapshot()))
    expected = run_virtual(evaluate(other, TASKS[:2], config, snapshot=other.snapshot()))
    assert [[s.decision for s in t.steps] for t in played] == [[s.decision for s in t.steps] for t in expected]
    assert {v for t in played for v in t.policy_versions} == {9}


def test_who_listens_sees_every_episode_with_its_screens() -> None:
    seen: list[Trajectory] = []
    policy = Scripted(lambda situation: Finish(claim=Claim.COMPLETE))
    returned = run_virtual(evaluate(policy, TASKS, fleet.settings(), on_episode=seen.append))
    assert sorted(t.id for t in seen) == [t.id for t in returned]
    assert all(t.steps[0].observation.screen.data and t.final.elements for t in seen)
    assert [t.outcome for t in returned] == [Outcome.FAILED] * 6
    assert [len(t.steps) for t in returned] == [1] * 6


def test_episodes_come_in_the_order_of_the_tasks_whichever_ends_first() -> None:
    def act(situation: Situation) -> Action:
        return Wait() if situation.task == TASKS[0] else Finish(claim=Claim.COMPLETE)

    ended: list[str] = []
    returned = run_virtual(
        evaluate(Scripted(act), TASKS, fleet.settings(), on_episode=lambda trajectory: ended.append(trajectory.task.id))
    )
    assert [t.task for t in returned] == list(TASKS)
    assert ended == [t.id for t in (*TASKS[1:], TASKS[0])]


def test_a_policy_that_waits_uses_all_its_steps_and_solves_nothing() -> None:
    returned = run_virtual(evaluate(Scripted(lambda situation: Wait()), TASKS[:3], fleet.settings()))
    assert [len(t.steps) for t in returned] == [t.max_steps for t in TASKS[:3]]
    assert summarise(returned).success == 0.0


def test_nothing_to_try_is_soon_done() -> None:
    none: list[Task] = []
    assert run_virtual(evaluate(Scripted(lambda situation: Wait()), none, fleet.settings())) == []

"""Which task comes next: fairly, more often where something is left to learn, and the same after a restart."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import msgspec
import pytest

from distrl.core.clock import run_virtual
from distrl.core.config import config_of
from distrl.core.seeds import derive_random
from distrl.core.types import Outcome, Task
from distrl.runtime.curriculum import SURPRISE_FLOOR, Curriculum, FixedTasks
from distrl.runtime.run_state import make_curriculum
from distrl.tasks.book import load_tasks
from distrl.tasks.fresh import FreshTasks

from .fleet import plain_trajectory, task, tasks

EASY = [task(f"easy-{n}", template="easy") for n in range(5)]
HARD = [task(f"hard-{n}", template="hard") for n in range(5)]


def learned(curriculum: Curriculum, template: str, *, is_success: bool, times: int = 300) -> Curriculum:
    outcome = Outcome.SUCCEEDED if is_success else Outcome.FAILED
    for n in range(times):
        curriculum.record(plain_trajectory(f"{n}", template=template, outcome=outcome), is_success=is_success)
    return curriculum


def drawn(curriculum: Curriculum, count: int = 6000) -> Counter[str]:
    return Counter(curriculum.next().task.template for _ in range(count))


def test_each_fixed_task_comes_once_and_in_order() -> None:
    source = FixedTasks(tasks(3))

    async def take(count: int) -> list[str | None]:
        drawn = [await source.next(0) for _ in range(count)]
        return [None if a is None else a.task.id for a in drawn]

    assert run_virtual(take(5)) == ["t0", "t1", "t2", None, None]


def test_a_solved_template_is_drawn_less_as_the_rule_says() -> None:
    curriculum = Curriculum(EASY + HARD, Random(1))
    learned(curriculum, "easy", is_success=True)
    learned(curriculum, "hard", is_success=False)
    # Accepted with 1.15 - 1 = 0.15, and always: a share of 0.15 / 1.15.
    assert curriculum.success_of("easy") == pytest.approx(1.0, abs=1e-3)
    assert drawn(curriculum)["easy"] / 6000 == pytest.approx(0.15 / 1.15, abs=0.02)


def test_even_what_is_always_solved_is_drawn_now_and_then() -> None:
    curriculum = learned(Curriculum(EASY, Random(1)), "easy", is_success=True)
    assert curriculum.next().task in EASY


def test_unknown_templates_count_as_solved_half_of_the_time() -> None:
    curriculum = Curriculum(EASY + HARD, Random(1))
    assert curriculum.success_of("hard") == 0.5
    learned(curriculum, "easy", is_success=True)
    # 0.15 against 0.65.
    assert drawn(curriculum)["easy"] / 6000 == pytest.approx(0.15 / 0.80, abs=0.02)


def test_without_adaptation_all_tasks_are_equally_likely() -> None:
    curriculum = Curriculum(EASY + HARD, Random(1), is_adaptive=False)
    learned(curriculum, "easy", is_success=True)
    counts = Counter(curriculum.next().task.id for _ in range(10_000))
    assert len(counts) == 10
    assert all(count / 10_000 == pytest.approx(0.1, abs=0.015) for count in counts.values())


def test_success_is_a_decaying_average() -> None:
    curriculum = Curriculum(EASY, Random(0), decay=0.9)
    learned(curriculum, "easy", is_success=True, times=1)
    assert curriculum.success_of("easy") == pytest.approx(0.9 * 0.5 + 0.1)
    learned(curriculum, "easy", is_success=False, times=1)
    assert curriculum.success_of("easy") == pytest.approx(0.9 * 0.55)


def test_attempts_depart_from_what_seems_best_as_far_as_it_fails() -> None:
    curriculum = Curriculum(HARD, Random(0), departures=0.2)
    assert curriculum.next().departures == pytest.approx(0.1)
    assert learned(curriculum, "hard", is_success=False).next().departures == pytest.approx(0.2, abs=1e-3)
    assert learned(curriculum, "hard", is_success=True).next().departures == pytest.approx(0.0, abs=1e-3)
    assert Curriculum(HARD, Random(0)).next().departures == 0.0


def test_what_was_not_expected_is_a_surprise() -> None:
    curriculum = learned(Curriculum(EASY, Random(0)), "easy", is_success=True)
    assert curriculum.surprise("easy", is_success=True) == pytest.approx(SURPRISE_FLOOR, abs=1e-3)
    assert curriculum.surprise("easy", is_success=False) == pytest.approx(1 + SURPRISE_FLOOR, abs=1e-3)
    assert curriculum.surprise("new", is_success=True) == curriculum.surprise("new", is_success=False) == 0.52


def test_nothing_is_a_surprise_without_adaptation() -> None:
    curriculum = learned(Curriculum(EASY, Random(0), is_adaptive=False), "easy", is_success=True)
    assert curriculum.surprise("easy", is_success=False) == 1.0


def test_a_group_is_one_task_several_times_in_a_row() -> None:
    curriculum = Curriculum(EASY + HARD, Random(2), group_size=3)
    assignments = [curriculum.next() for _ in range(9)]
    groups = [a.group for a in assignments]
    assert groups == [groups[0]] * 3 + [groups[3]] * 3 + [groups[6]] * 3
    assert len(set(groups)) == 3
    assert all(assignments[n].task == assignments[n - n % 3].task for n in range(9))


def test_a_single_attempt_has_no_group() -> None:
    assert Curriculum(EASY, Random(0)).next().group == ""


def test_fresh_tasks_are_of_the_templates_of_the_list_and_not_on_it() -> None:
    listed = load_tasks("system", "train")
    curriculum = Curriculum(listed, Random(0), fresh=FreshTasks("system"))
    drawn_tasks = [curriculum.next().task for _ in range(60)]
    assert {t.template for t in drawn_tasks} <= {t.template for t in listed}
    assert not {t.id for t in drawn_tasks} & {t.id for t in listed}
    assert len({t.id for t in drawn_tasks}) == 60


@pytest.mark.parametrize("group_size", [1, 4])
@pytest.mark.parametrize("is_adaptive", [True, False])
@pytest.mark.parametrize("fresh", [None, FreshTasks("system")])
def test_after_a_restart_the_future_is_the_same(group_size: int, is_adaptive: bool, fresh: FreshTasks | None) -> None:
    def make(seed: int, of: Sequence[Task]) -> Curriculum:
        return Curriculum(of, Random(seed), fresh=fresh, group_size=group_size, is_adaptive=is_adaptive)

    listed = load_tasks("system", "train") if fresh else EASY + HARD
    straight = make(3, listed)
    _ = [straight.next() for _ in range(6)]  # stops within a group
    learned(straight, "easy", is_success=True, times=20)
    restored = make(99, listed)
    restored.restore(msgspec.json.decode(msgspec.json.encode(straight.state())))
    for n in range(40):
        assert straight.next() == restored.next()
        for curriculum in (straight, restored):
            learned(curriculum, "hard", is_success=n % 3 == 0, times=1)
    assert straight.surprise("hard", is_success=True) == restored.surprise("hard", is_success=True)


@pytest.mark.parametrize("has_curriculum", [True, False])
def test_a_run_draws_all_templates_alike_if_it_is_told_to(has_curriculum: bool) -> None:
    config = config_of({"collect": {"has_curriculum": has_curriculum}})
    curriculum = make_curriculum(config, derive_random(0, "curriculum"))
    counts = Counter(task.template for task in load_tasks("general", "train"))
    (known, listed), *_ = counts.most_common(1)
    curriculum.hear({name: float(name == known) for name in counts})
    share = sum(curriculum.next().task.template == known for _ in range(4000)) / 4000
    alike = listed / counts.total()
    assert abs(share - (0.15 / 1.15 if has_curriculum else 1.0) * alike) < 0.4 * alike
    assert (curriculum.surprise(known, is_success=False) == 1.0) is not has_curriculum
    assert (curriculum.surprise(known, is_success=True) == 1.0) is not has_curriculum

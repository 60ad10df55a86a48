"""Tasks without end: of the training templates, solvable, the same for the same number, and never one of the test."""

import pytest

from distrl.core.types import Task
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange, play
from distrl.tasks.book import expert_for, load_tasks, seed_of, template_of
from distrl.tasks.fresh import FreshTasks
from distrl.tasks.generate import SIZES, names_of
from distrl.tasks.template import is_held_out

SUITES = tuple(SIZES)


def drawn(suite: str, each: int) -> list[Task]:
    fresh = FreshTasks(suite)
    return [fresh.like(task, number) for number, task in enumerate(load_tasks(suite, "train") * each)]


@pytest.mark.parametrize("suite", SUITES)
def test_no_task_of_the_test_is_drawn(suite: str) -> None:
    tested = {name for task in load_tasks(suite, "test") for name in names_of(task, template_of(task))}
    assert all(tested.isdisjoint(names_of(task, template_of(task))) for task in drawn(suite, 4))


@pytest.mark.parametrize("suite", SUITES)
def test_they_are_training_tasks_on_training_phones(suite: str) -> None:
    tasks = drawn(suite, 1)
    assert {(t.suite, t.split) for t in tasks} == {(suite, "train")}
    assert all(not template_of(t).unseen and seed_of(t) < 32 for t in tasks)
    assert len({t.id for t in tasks} | {t.id for t in load_tasks(suite, "train")}) == 2 * len(tasks)


def test_held_out_names_stay_out() -> None:
    words = {word for t in drawn("general", 2) if t.template == "call_contact" for word in t.params["name"].split()}
    assert len(words) > 10
    assert not any(is_held_out(word) for word in words)


def test_the_same_number_is_the_same_task_and_another_number_another() -> None:
    one, other = FreshTasks("general"), FreshTasks("general")
    task = load_tasks("general", "train")[0]
    assert one.like(task, 5) == other.like(task, 5)
    assert one.like(task, 5).template == task.template
    assert len({one.like(task, number).instruction for number in range(20)}) > 10


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_the_expert_solves_them(suite: str) -> None:
    phone = make_phone()
    unsolved = []
    for task in drawn(suite, 1)[::4]:
        arrange(phone, task)
        if not play(phone, task, expert_for(task, phone.inspect).act):
            unsolved.append(task)
    assert unsolved == []

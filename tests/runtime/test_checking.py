"""Tasks are worth learning: the expert solves them all, doing nothing solves none, chance almost none."""

import pytest

from distrl.core.seeds import derive_random
from distrl.runtime.build import make_phone
from distrl.runtime.checking import TaskReport, arrange, check_tasks, disturb, play, summarise
from distrl.tasks.book import expert_for, is_solved, load_tasks
from distrl.tasks.generate import SIZES

SPLITS = [(suite, split) for suite in SIZES for split in ("train", "test")]


@pytest.mark.parametrize(("suite", "split"), SPLITS)
def test_a_sample_of_tasks_is_sound(suite: str, split: str) -> None:
    tasks = derive_random(1, suite, split).sample(load_tasks(suite, split), 10)
    report = summarise(list(check_tasks(tasks, seed=1)))
    assert (report.n, report.expert, report.idle) == (10, 1.0, 0.0)
    assert report.expert_after_random >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "split"), SPLITS)
def test_the_expert_solves_every_task_and_none_starts_solved(suite: str, split: str) -> None:
    phone = make_phone()
    unsolved = []
    for task in load_tasks(suite, split):
        arrange(phone, task)
        assert not is_solved(task, phone.inspect), task
        if not play(phone, task, expert_for(task, phone.inspect).act):
            unsolved.append(task.id)
    assert not unsolved


@pytest.mark.slow
@pytest.mark.parametrize("suite", SIZES)
def test_chance_solves_under_two_percent_and_the_expert_recovers_from_it(suite: str) -> None:
    tasks = derive_random(2, suite).sample(load_tasks(suite, "train") + load_tasks(suite, "test"), 150)
    report = summarise(list(check_tasks(tasks, seed=2)))
    assert report.random < 0.02
    assert report.idle == 0.0
    assert report.expert_after_random >= 0.9


def test_a_disturbed_phone_has_had_three_random_actions() -> None:
    phone = make_phone()
    pages = set()
    for task in load_tasks("general", "train")[:20]:
        arrange(phone, task)
        before = phone.system.time_s
        disturb(phone, task, seed=0)
        assert phone.system.time_s == before + 3
        pages.add(phone.activity)
    assert len(pages) >= 6, "random actions lead to different places"


def test_shares_are_shares() -> None:
    task = load_tasks("general", "train")[0]
    reports = [
        TaskReport(task=task, expert=True, expert_steps=4, idle=False, random=n == 0, expert_after_random=n < 3)
        for n in range(4)
    ]
    summary = summarise(reports)
    assert (summary.n, summary.expert, summary.idle, summary.random, summary.expert_after_random) == (
        4,
        1,
        0,
        0.25,
        0.75,
    )

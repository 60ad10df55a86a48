"""The task lists: complete, readable, sound, and without leaks between the splits."""

import re
from collections import Counter

import pytest

from distrl.core.errors import UnknownNameError, UserError
from distrl.core.types import Task
from distrl.tasks.book import find_task, load_tasks, seed_of, template_of, world_of
from distrl.tasks.generate import SIZES, generate, list_path
from distrl.tasks.suites import all_templates

SUITES = tuple(SIZES)


def words(text: str) -> str:
    return " ".join(re.findall(r"[\w:.'-]+", text.casefold()))


@pytest.mark.parametrize(
    ("suite", "train", "test"),
    [("general", 600, 128), ("web_shopping", 500, 128), ("install", 100, 50), ("system", 100, 50)],
)
def test_suites_have_at_least_as_many_tasks_as_promised(suite: str, train: int, test: int) -> None:
    assert len(load_tasks(suite, "train")) >= train
    assert len(load_tasks(suite, "test")) >= test


@pytest.mark.parametrize("suite", SUITES)
def test_nothing_leaks_from_the_test_split_into_training(suite: str) -> None:
    train, test = load_tasks(suite, "train"), load_tasks(suite, "test")
    assert not {words(t.instruction) for t in train} & {words(t.instruction) for t in test}
    combination = lambda t: (t.template, tuple(sorted(t.params.items())))  # noqa: E731
    assert not {combination(t) for t in train} & {combination(t) for t in test}
    unseen = {t.template for t in test} - {t.template for t in train}
    assert unseen == {t.name for t in all_templates().values() if t.unseen and t.suite == suite}
    assert sum(t.template in unseen for t in test) >= len(test) * 0.15


@pytest.mark.parametrize("suite", SUITES)
def test_the_phones_of_the_test_split_are_not_those_of_training(suite: str) -> None:
    train, test = ({seed_of(t) for t in load_tasks(suite, split)} for split in ("train", "test"))
    assert len(train) > 20
    assert len(test) > 20
    assert not train & test


@pytest.mark.parametrize("suite", SUITES)
def test_no_instruction_or_id_appears_twice(suite: str) -> None:
    tasks = load_tasks(suite, "train") + load_tasks(suite, "test")
    assert not [text for text, count in Counter(words(t.instruction) for t in tasks).items() if count > 1]
    assert len({t.id for t in tasks}) == len(tasks)


@pytest.mark.parametrize("suite", SUITES)
def test_there_are_three_levels_of_difficulty(suite: str) -> None:
    for split in ("train", "test"):
        assert {t.difficulty for t in load_tasks(suite, split)} == {1, 2, 3}


@pytest.mark.parametrize("suite", SUITES)
def test_the_lists_are_what_the_templates_make(suite: str) -> None:
    """If this fails after a change of templates: python -m distrl.tasks.generate, and say so in the changelog."""
    for split, tasks in generate(suite).items():
        assert load_tasks(suite, split) == tasks


@pytest.mark.parametrize("suite", SUITES)
def test_step_limits_are_the_papers(suite: str) -> None:
    limit = 20 if suite == "web_shopping" else 15
    assert {t.max_steps for t in load_tasks(suite, "train")} == {limit}


def test_lists_are_files_a_person_can_read() -> None:
    line = list_path("general", "train").read_text(encoding="utf-8").splitlines()[0]
    assert '"instruction":"' in line
    assert len(line) < 1000


def test_what_must_be_typed_stands_in_the_instruction() -> None:
    """Every field of every plan holds words of the instruction, so that a policy can copy them."""
    missing = []
    for suite in SUITES:
        for task in load_tasks(suite, "train") + load_tasks(suite, "test"):
            for stage in template_of(task).plan(task.params):
                for act in (a for rule in stage.rules for a in rule.acts if a.how in ("field", "enter")):
                    if act.value.casefold() not in task.instruction.casefold():
                        missing.append((task.instruction, act.value))
    assert not missing


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="web_shopping"):
        load_tasks("web_shoping", "train")
    with pytest.raises(UnknownNameError, match="test"):
        load_tasks("general", "tets")
    with pytest.raises(UnknownNameError, match="general-train-0"):
        find_task("general-train-001")


def test_an_imported_task_has_no_ground_truth_and_says_so() -> None:
    task = Task(id="mine-1", suite="mine", split="train", instruction="Do something", max_steps=5)
    assert world_of(task) == {}
    with pytest.raises(UserError, match="judge"):
        template_of(task)

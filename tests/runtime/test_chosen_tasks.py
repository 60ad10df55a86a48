"""Which tasks a run is about: all of a suite, or an easy part of it."""

import pytest

from distrl.core.config import TasksConfig, config_of
from distrl.core.errors import UnknownNameError, UserError
from distrl.runtime.build import make_environment, make_pool
from distrl.runtime.chosen_tasks import chosen_tasks, episodes_of
from distrl.tasks.book import load_tasks


def test_without_a_choice_all_tasks_are_meant() -> None:
    assert chosen_tasks(TasksConfig(), "test") == list(load_tasks("general", "test"))


def test_a_choice_leaves_easy_tasks_of_the_named_templates() -> None:
    easy = chosen_tasks(TasksConfig(max_difficulty=1), "train")
    assert {task.difficulty for task in easy} == {1}
    named = chosen_tasks(TasksConfig(templates=("star_mail", "pin_note")), "train")
    assert {task.template for task in named} == {"star_mail", "pin_note"}


def test_an_unknown_template_and_an_empty_choice_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="star_mail"):
        chosen_tasks(TasksConfig(templates=("star_mial",)), "train")
    with pytest.raises(UserError, match="no train task"):
        chosen_tasks(TasksConfig(templates=("unstar_contact",)), "train")  # only the test has it


def test_few_tests_become_as_many_different_ones_as_wanted() -> None:
    config = TasksConfig(templates=("star_mail", "archive_mail", "star_contact"))
    drawn = episodes_of(config, "test", 24, seed=1)
    assert len({task.instruction for task in drawn}) == 24
    assert {task.split for task in drawn} == {"test"}
    assert {task.template for task in drawn} == set(config.templates)
    trained = {task.instruction for task in load_tasks("general", "train")}
    assert not trained & {task.instruction for task in drawn}
    assert drawn == episodes_of(config, "test", 24, seed=1)


def test_an_episode_is_as_long_as_it_may_be() -> None:
    import asyncio

    from distrl.core.types import Decision, Wait
    from distrl.runtime.build import make_setup

    async def play(max_steps: int) -> int:
        config = config_of({"env": {"max_steps": max_steps}})
        async with make_pool(config, 1).lease() as device:
            environment = make_environment(config, device)
            task = load_tasks("general", "train")[0]
            await environment.reset(task, make_setup(task))
            for number in range(1, 100):
                if (await environment.step(Decision(action=Wait()))).outcome is not None:
                    return number
        raise AssertionError("it never ended")

    assert [asyncio.run(play(limit)) for limit in (3, 50)] == [3, load_tasks("general", "train")[0].max_steps]

"""The tasks of a run: a table `[tasks]` and a split in; out the user's own, or what the table leaves of the suite."""

import itertools
from collections.abc import Iterator

from distrl.core.config import TasksConfig
from distrl.core.errors import UnknownNameError, UserError
from distrl.core.types import Task
from distrl.runtime.evaluation import choose_episodes
from distrl.runtime.task_lists import listed_tasks
from distrl.tasks.book import load_tasks, template_of
from distrl.tasks.generate import SIZES, draw_task, names_of

MAX_MORE = 1000
"""Tasks that are drawn at most to have enough different ones; templates with few words run out of them."""


def chosen_tasks(config: TasksConfig, split: str) -> list[Task]:
    """All tasks of the split, or those that are easy enough and of the templates that are named."""
    if config.file:
        return listed_tasks(config, split)
    tasks = load_tasks(config.suite, split)
    if not config.templates and config.max_difficulty is None:
        return list(tasks)
    known = {task.template for each in ("train", "test") for task in load_tasks(config.suite, each)}
    for name in config.templates:
        if name not in known:
            raise UnknownNameError("template", name, known)
    limit = config.max_difficulty
    chosen = [
        task
        for task in tasks
        if (limit is None or task.difficulty <= limit) and (not config.templates or task.template in config.templates)
    ]
    if not chosen:
        raise UserError(f"[tasks]: no {split} task of {config.suite} is left; name other templates")
    return chosen


def episodes_of(config: TasksConfig, split: str, count: int, seed: int) -> list[Task]:
    """The tasks of an evaluation. Where few are left of the test, more are drawn like them rather than tried twice."""
    tasks = chosen_tasks(config, split)
    if split == "test" and not config.file and len(tasks) < min(count, len(load_tasks(config.suite, split))):
        tasks += itertools.islice(_more_tests(config.suite, tasks), count - len(tasks))
    return choose_episodes(tasks, count, seed)


def _more_tests(suite: str, tasks: list[Task]) -> Iterator[Task]:
    """More tasks of the same templates with the words of the test, on phones of the test; all different."""
    templates = [template_of(task) for task in {task.template: task for task in tasks}.values()]
    used = {name for task in load_tasks(suite, "test") for name in names_of(task, template_of(task))}
    for number in range(MAX_MORE):
        template = templates[number % len(templates)]
        task = draw_task(template, suite=suite, split="test", number=SIZES[suite]["test"] + number, used=used)
        if task is not None:
            used |= names_of(task, template)
            yield task

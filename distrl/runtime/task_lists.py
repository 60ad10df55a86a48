"""A list of tasks of the user's own in; the tasks of one split out.

A list that says nothing of splits is split here: every fifth task is held out. What is imported has no ground truth, no
expert and no templates, so a run on it has a judge that looks, no demonstrations and no fresh tasks.
"""

from pathlib import Path

from distrl.core.config import Config, TasksConfig
from distrl.core.errors import UserError
from distrl.core.types import Task
from distrl.tasks.importers import NO_GROUND_TRUTH, import_tasks

HELD_OUT_EVERY = 5


def listed_tasks(config: TasksConfig, split: str) -> list[Task]:
    """The tasks of one split of the list."""
    tasks = import_tasks(Path(config.file), max_steps=config.max_steps)
    if any(task.split == "test" for task in tasks):
        found = [task for task in tasks if task.split == split]
    else:
        found = [task for number, task in enumerate(tasks) if (number % HELD_OUT_EVERY == 0) == (split == "test")]
    if not found:
        raise UserError(f"{config.file} has no tasks for {split}: it needs at least two, or a column split")
    return found


def check_tasks(config: Config) -> None:
    """Refuse a list that nobody could judge; all its own mistakes are told too."""
    if not config.tasks.file:
        return
    for split in ("train", "test"):
        listed_tasks(config.tasks, split)
    if config.tasks.templates or config.tasks.max_difficulty is not None:
        raise UserError("tasks.templates and tasks.max_difficulty are for suites: a list of one's own has neither")
    if config.judge.kind == "rule":
        raise UserError(f"{NO_GROUND_TRUTH} Set judge.kind = 'vlm' (docs/judges.md)")

"""The tasks of a run: those of a suite of ours, or those of a list of the user's own.

A list that says nothing of splits is split here: every fifth task is held out. What is imported has no ground truth, no
expert and no templates, so a run on it has a judge that looks, no demonstrations and no fresh tasks.
"""

from pathlib import Path

from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.core.types import Task
from distrl.tasks.book import load_tasks
from distrl.tasks.importers import NO_GROUND_TRUTH, import_tasks

HELD_OUT_EVERY = 5


def tasks_of(config: Config, split: str) -> list[Task]:
    """The tasks of one split."""
    if not config.tasks.file:
        return list(load_tasks(config.tasks.suite, split))
    tasks = import_tasks(Path(config.tasks.file), max_steps=config.tasks.max_steps)
    if any(task.split == "test" for task in tasks):
        found = [task for task in tasks if task.split == split]
    else:
        found = [task for number, task in enumerate(tasks) if (number % HELD_OUT_EVERY == 0) == (split == "test")]
    if not found:
        raise UserError(f"{config.tasks.file} has no tasks for {split}: it needs at least two, or a column split")
    return found


def check_tasks(config: Config) -> None:
    """Refuse a list that nobody could judge; all its own mistakes are told too."""
    if not config.tasks.file:
        return
    for split in ("train", "test"):
        tasks_of(config, split)
    if config.judge.kind == "rule":
        raise UserError(f"{NO_GROUND_TRUTH} Set judge.kind = 'vlm' (docs/judges.md)")

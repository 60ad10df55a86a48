"""The tasks of a run: a table `[tasks]` and a split in, those tasks of the suite out that the table leaves."""

from distrl.core.config import TasksConfig
from distrl.core.errors import UnknownNameError, UserError
from distrl.core.types import Task
from distrl.tasks.book import load_tasks


def chosen_tasks(config: TasksConfig, split: str) -> list[Task]:
    """All tasks of the split, or those that are easy enough and of the templates that are named."""
    tasks = load_tasks(config.suite, split)
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

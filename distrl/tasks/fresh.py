"""Tasks without end: a suite in; tasks of its training templates out, as many as one likes.

The list of the training split goes on: the same templates, the words of the training split, one of its phones. What a
test task asks for is never drawn.
"""

from distrl.core.types import Task
from distrl.tasks.book import load_tasks, template_of
from distrl.tasks.generate import SIZES, draw_task, names_of


class FreshTasks:
    """The training list of a suite, continued."""

    def __init__(self, suite: str) -> None:
        self._suite = suite
        self._size = SIZES[suite]["train"]
        self._tested = {name for task in load_tasks(suite, "test") for name in names_of(task, template_of(task))}

    def like(self, task: Task, number: int) -> Task:
        """Another task of the same template; the same number gives the same one."""
        template = template_of(task)
        made = draw_task(template, suite=self._suite, split="train", number=self._size + number, used=self._tested)
        return made or task

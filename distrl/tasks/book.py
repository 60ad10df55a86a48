"""The task book: suites and splits in, tasks, their set-up, their ground truth and their expert out."""

from functools import lru_cache

import msgspec

from distrl.core.errors import UnknownNameError, UserError
from distrl.core.interfaces import Plain
from distrl.core.seeds import derive_random, derive_seed
from distrl.core.types import Task
from distrl.tasks.expert import Expert
from distrl.tasks.generate import SIZES, list_path
from distrl.tasks.suites import all_templates
from distrl.tasks.template import Inspect, Template

SPLITS = ("train", "test")
PHONES = 32
"""Different phones (contacts, messages, shelves of the shops) per split; training never sees those of the test."""


@lru_cache(maxsize=16)
def load_tasks(suite: str, split: str) -> tuple[Task, ...]:
    """All tasks of a split, in a fixed order."""
    if suite not in SIZES:
        raise UnknownNameError("suite", suite, SIZES)
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    lines = list_path(suite, split).read_text(encoding="utf-8").splitlines()
    return tuple(msgspec.json.decode(line, type=Task) for line in lines)


def find_task(task_id: str) -> Task:
    """The task with this id."""
    suite = task_id.partition("-")[0]
    suites = [suite] if suite in SIZES else list(SIZES)
    known = {task.id: task for name in suites for split in SPLITS for task in load_tasks(name, split)}
    if task_id not in known:
        raise UnknownNameError("task", task_id, known)
    return known[task_id]


def template_of(task: Task) -> Template:
    """The template a task was drawn from."""
    if not task.has_ground_truth:
        raise UserError(
            f"task {task.id} was imported and has no ground truth: it needs a judge that looks at the screen"
        )
    templates = all_templates()
    if task.template not in templates:
        raise UnknownNameError("template", task.template, templates)
    return templates[task.template]


def seed_of(task: Task) -> int:
    """The seed of the phone a task is done on: always the same one, of 32 for training or of 32 others for the test."""
    return derive_seed(0, "phone", task.id) % PHONES + (PHONES if task.split == "test" else 0)


def world_of(task: Task) -> Plain:
    """The state to arrange before a task starts, by app; nothing for imported tasks."""
    if not task.has_ground_truth:
        return {}
    return template_of(task).world(task.params, derive_random(0, "world", task.id))


def is_solved(task: Task, inspect: Inspect) -> bool:
    """The ground truth, from the state of the phone: what was asked for is so, and nothing else was harmed."""
    template = template_of(task)
    if not template.check(task.params, inspect):
        return False
    world = world_of(task) if template.keeps else {}
    return all(keep.holds(task.params, world, inspect) for keep in template.keeps)


def expert_for(task: Task, inspect: Inspect) -> Expert:
    """The scripted expert for one episode of a task."""
    return Expert(template_of(task).plan(task.params), inspect)

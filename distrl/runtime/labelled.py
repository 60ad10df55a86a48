"""Labelled elements: training tasks and an expert in; crops of what it meets, with what each is, out.

They teach the eye for widgets (policies/tiny/widgets.py). Only training tasks are played, on the phones of training.
"""

from collections.abc import Callable, Iterator

from distrl.core.types import Trajectory
from distrl.policies.tiny.eyes import crops_of, pixels_of
from distrl.policies.tiny.widgets import Glance, Label, glance_at, label_of
from distrl.runtime.demonstrations import NOISE, demonstrate, tasks_like
from distrl.tasks.book import load_tasks
from distrl.tasks.fresh import FreshTasks
from distrl.tasks.generate import SIZES

SHOWN_FROM, CHECKED_FROM = 2 * 10**8, 3 * 10**8
"""Numbers of the tasks whose screens are shown, and of those that check what was learned."""

Labelled = dict[object, tuple[Glance, Label]]


def labelled_elements(
    per_template: int, *, first: int, seed: int, tick: Callable[[int], None] = lambda episodes: None
) -> Labelled:
    """The different crops of so many tasks of each template of all suites, by their content."""
    found: Labelled = {}
    for shown in _episodes(per_template, first, seed):
        for seen in (*(step.observation for step in shown.steps), shown.final):
            image = pixels_of(seen.screen)
            for element, (key, crop) in zip(seen.elements, crops_of(seen.screen, seen.elements, image), strict=False):
                if key not in found:
                    found[key] = (glance_at(crop, seen.screen.width, seen.screen.height), label_of(element))
        tick(1)
    return found


def num_episodes(per_template: int) -> int:
    """How many tasks that is."""
    return per_template * sum(len({task.template for task in load_tasks(suite, "train")}) for suite in SIZES)


def _episodes(per_template: int, first: int, seed: int) -> Iterator[Trajectory]:
    for suite in SIZES:
        tasks = tasks_like(load_tasks(suite, "train"), FreshTasks(suite), range(first, first + per_template))
        yield from demonstrate(tasks, noise=NOISE, seed=seed)

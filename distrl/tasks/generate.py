"""Makes the task lists: templates and a seed in, the files under lists/ out. Run: python -m distrl.tasks.generate

Every split takes the templates in turn and draws until it has a combination of parameters, and an instruction, that no
split has had. The test split has the unseen templates too, and one in five of its tasks comes from them.
"""

import sys
from collections.abc import Set
from pathlib import Path

import msgspec

from distrl.core.seeds import derive_random
from distrl.core.types import Task
from distrl.tasks.suites import all_templates
from distrl.tasks.template import Draw, Template

SEED = 2026
SIZES = {
    "general": {"train": 600, "test": 128},
    "web_shopping": {"train": 500, "test": 128},
    "install": {"train": 110, "test": 60},
    "system": {"train": 110, "test": 60},
}
LISTS = Path(__file__).parent / "lists"
VARIATION_SETS = (
    (),
    ("permissions", "shuffled_icons"),
    ("dark", "rate"),
    ("ads", "font"),
    ("slow_loading", "cookies"),
    ("three_buttons", "low_battery"),
    ("moving_rows", "cookies", "permissions"),
    ("new_layout",),
    ("crash",),
    ("not_responding", "dark"),
)
UNSEEN_SHARE = 0.2
MAX_DRAWS = 400


class Drawer:
    """Draws tasks for all splits, and remembers what has been used."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def draw(self, template: Template, *, suite: str, split: str, number: int) -> Task | None:
        """The next task of a template, or None when its combinations are used up."""
        task = draw_task(template, suite=suite, split=split, number=number, used=self._used)
        if task is not None:
            self._used |= names_of(task, template)
        return task


def draw_task(template: Template, *, suite: str, split: str, number: int, used: Set[str]) -> Task | None:
    """The task of this number, other than all that are used; None if none is found."""
    task_id = f"{suite}-{split}-{number:04d}"
    rng = derive_random(SEED, task_id, template.name)
    for _ in range(MAX_DRAWS):
        params = template.draw(Draw(rng, is_test=split == "test"))
        task = Task(
            id=task_id,
            suite=suite,
            split=split,
            instruction=rng.choice(template.phrasings).format(**params),
            max_steps=template.max_steps,
            template=template.name,
            params=params,
            difficulty=template.difficulty,
        )
        if used.isdisjoint(names_of(task, template)):
            tags = rng.choice(VARIATION_SETS) if rng.random() < 0.5 else ()
            return msgspec.structs.replace(task, tags=tags)
    return None


def names_of(task: Task, template: Template) -> set[str]:
    """What no two tasks may share: what is asked for, and the words that ask for it."""
    return {f"{template.name}:{template.visible(task.params)}", task.instruction.casefold()}


def generate(suite: str) -> dict[str, tuple[Task, ...]]:
    """Both splits of a suite."""
    templates = [t for t in all_templates().values() if t.suite == suite]
    drawer = Drawer()
    made: dict[str, tuple[Task, ...]] = {}
    for split, size in SIZES[suite].items():
        seen = [t for t in templates if not t.unseen]
        unseen = [t for t in templates if t.unseen] if split == "test" else []
        quota = round(size * UNSEEN_SHARE) if unseen else 0
        made[split] = _fill(drawer, seen, suite, split, (0, size - quota)) + _fill(
            drawer, unseen, suite, split, (size - quota, size)
        )
    return made


def _fill(drawer: Drawer, templates: list[Template], suite: str, split: str, span: tuple[int, int]) -> tuple[Task, ...]:
    """Tasks for this span of numbers, from the templates in turn."""
    tasks: list[Task] = []
    open_templates = list(templates)
    turn = 0
    while len(tasks) < span[1] - span[0]:
        if not open_templates:
            raise ValueError(f"{suite}/{split}: the templates have only {len(tasks)} different tasks")
        template = open_templates[turn % len(open_templates)]
        task = drawer.draw(template, suite=suite, split=split, number=span[0] + len(tasks))
        if task is None:
            open_templates.remove(template)
        else:
            tasks.append(task)
            turn += 1
    return tuple(tasks)


def list_path(suite: str, split: str) -> Path:
    """The file of a split."""
    return LISTS / f"{suite}_{split}.jsonl"


def write(suite: str) -> None:
    """Write both splits of a suite, a task a line."""
    LISTS.mkdir(exist_ok=True)
    for split, tasks in generate(suite).items():
        lines = [msgspec.json.encode(task).decode() for task in tasks]
        list_path(suite, split).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or SIZES:
        write(name)

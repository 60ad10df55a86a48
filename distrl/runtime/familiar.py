"""Makes the list of familiar words: training tasks in, policies/tiny/weights/familiar.txt out.

    python -m distrl.runtime.familiar

Familiar is what stands in the requests of at least two training tasks, or on the screens of at least three, and is not
there only because a task asks for it: words that fill in the parameters of tasks are names, unless a parameter has only
a few values (plus, minus; the days of the week). Numbers are none.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from distrl.core.types import Action, Observation, Task
from distrl.policies.tiny.familiar_words import PATH
from distrl.policies.tiny.words import words_of
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange, play
from distrl.tasks.book import expert_for, load_tasks
from distrl.tasks.fresh import FreshTasks
from distrl.tasks.generate import SIZES

PER_TEMPLATE = 3
IN_REQUESTS, ON_SCREENS = 2, 3
DRAWN, FEW = 40, 8
"""A parameter that has no more than `FEW` values in so many tasks of a template is a choice, not a name."""


def familiar_in(tasks: Sequence[Task]) -> set[str]:
    """The familiar words of these tasks."""
    requests: dict[str, set[str]] = defaultdict(set)
    screens: dict[str, set[str]] = defaultdict(set)
    names: set[str] = set()
    choices = _choices(tasks)
    for task in tasks:
        named = (value for key, value in task.params.items() if (task.template, key) not in choices)
        filled_in = {word for value in named for word in _words(value)}
        names |= filled_in
        for word in set(_words(task.instruction)) - filled_in:
            requests[word].add(task.id)
    for task in _few_of_each(tasks):
        for word in _shown(task):
            screens[word].add(task.id)
    asked = {word for word, where in requests.items() if len(where) >= IN_REQUESTS}
    shown = {word for word, where in screens.items() if len(where) >= ON_SCREENS and word not in names}
    return {word for word in asked | shown if len(word) == 1 or not any(c.isdigit() for c in word)}


def _choices(tasks: Iterable[Task]) -> set[tuple[str, str]]:
    """The parameters, by template, that have a few values only."""
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task in {task.template: task for task in tasks}.values():
        fresh = FreshTasks(task.suite)
        for number in range(DRAWN):
            for key, value in fresh.like(task, number).params.items():
                values[task.template, key].add(value)
    return {where for where, found in values.items() if len(found) <= FEW}


def _words(text: str) -> list[str]:
    words = words_of(text)
    return [words[place].casefold() for place in range(len(words))]


def _few_of_each(tasks: Iterable[Task]) -> list[Task]:
    by_template: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_template[task.template].append(task)
    return [task for group in by_template.values() for task in group[:PER_TEMPLATE]]


def _shown(task: Task) -> set[str]:
    """The words on all screens that the expert comes by."""
    phone = make_phone()
    arrange(phone, task)
    expert = expert_for(task, phone.inspect)
    found: set[str] = set()

    def act(observation: Observation) -> Action:
        found.update(word for element in observation.elements for word in _words(element.text))
        return expert.act(observation)

    play(phone, task, act)
    return found


def main() -> None:
    """Write the list."""
    tasks = [task for suite in SIZES for task in load_tasks(suite, "train")]
    PATH.write_text("\n".join(sorted(familiar_in(tasks))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Checks tasks: set-up, expert, idling and random policy in, the share of tasks that each solves out.

It drives phones directly, without environment or latency, so that a whole suite takes seconds.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from distrl.core.seeds import derive_random
from distrl.core.types import Action, Finish, Observation, Screen, Task
from distrl.devices.sim.phone import Phone
from distrl.policies.scripted import IdlePolicy, RandomPolicy
from distrl.runtime.build import make_phone, make_setup
from distrl.tasks.book import expert_for, is_solved

RANDOM_ACTIONS = 3
_NO_SCREEN = Screen(data=b"", width=0, height=0)


class Player(Protocol):
    """Acts on what it sees."""

    def __call__(self, observation: Observation) -> Action:
        """The next action."""
        ...


class TaskReport(msgspec.Struct, frozen=True, kw_only=True):
    """How one task fared."""

    task: Task
    expert: bool
    expert_steps: int
    idle: bool
    random: bool
    expert_after_random: bool


class SuiteReport(msgspec.Struct, frozen=True, kw_only=True):
    """Shares over some tasks."""

    n: int
    expert: float
    idle: float
    random: float
    expert_after_random: float


def see(phone: Phone) -> Observation:
    """An observation without pixels, for players that read the ui tree."""
    return Observation(
        screen=_NO_SCREEN,
        activity=phone.activity,
        time_s=phone.system.time_s,
        elements=phone.candidates(),
        ui_tree=phone.elements(),
    )


def arrange(phone: Phone, task: Task, *, more_variations: tuple[str, ...] = ()) -> None:
    """Set a phone up for a task."""
    setup = make_setup(task, more_variations=more_variations)
    phone.wipe(seed=setup.seed, variation_names=setup.variations)
    phone.arrange(setup.world)


def play(phone: Phone, task: Task, player: Player, *, max_steps: int | None = None) -> int:
    """Let a player try; the number of steps after which the task was solved, or 0 if it was not."""
    for count in range(1, (max_steps or task.max_steps) + 1):
        action = player(see(phone))
        phone.perform(action)
        if is_solved(task, phone.inspect):
            return count
        if isinstance(action, Finish):
            return 0
    return 0


def disturb(phone: Phone, task: Task, *, seed: int) -> None:
    """Put a phone into a state that nobody planned, by three random actions."""
    wanderer = RandomPolicy(derive_random(seed, task.id, "disturb"))
    for _ in range(RANDOM_ACTIONS):
        phone.perform(wanderer.act(task, see(phone)))


def check_task(phone: Phone, task: Task, *, seed: int) -> TaskReport:
    """Try a task in all four ways."""

    def attempt(make_player: Callable[[], Player], *, is_disturbed: bool = False) -> int:
        arrange(phone, task)
        if is_disturbed:
            disturb(phone, task, seed=seed)
        return play(phone, task, make_player())

    def expert() -> Player:
        return expert_for(task, phone.inspect).act

    random_policy = RandomPolicy(derive_random(seed, task.id, "random"))
    idle = IdlePolicy()
    steps = attempt(expert)
    return TaskReport(
        task=task,
        expert=steps > 0,
        expert_steps=steps,
        idle=attempt(lambda: lambda seen: idle.act(task, seen)) > 0,
        random=attempt(lambda: lambda seen: random_policy.act(task, seen)) > 0,
        expert_after_random=attempt(expert, is_disturbed=True) > 0,
    )


def check_tasks(tasks: Sequence[Task], *, seed: int) -> Iterator[TaskReport]:
    """Try tasks one after another."""
    phone = make_phone()
    for task in tasks:
        yield check_task(phone, task, seed=seed)


def summarise(reports: Sequence[TaskReport]) -> SuiteReport:
    """The shares over all reports."""
    n = len(reports)

    def share(name: str) -> float:
        return round(sum(bool(getattr(r, name)) for r in reports) / n, 4) if n else 0.0

    return SuiteReport(
        n=n,
        expert=share("expert"),
        idle=share("idle"),
        random=share("random"),
        expert_after_random=share("expert_after_random"),
    )

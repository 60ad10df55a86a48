"""Demonstrations: tasks and an expert in; trajectories in the tiny policy's own language, and examples of them, out.

The expert is noisy on purpose: now and then it does something at random and has to find its way back, so that what is
imitated has seen more than the straight way.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random

import msgspec

from distrl.core.seeds import derive_random
from distrl.core.types import (
    Action,
    Decision,
    Observation,
    Outcome,
    Ruling,
    Screen,
    Step,
    Task,
    Trajectory,
    Verdict,
)
from distrl.devices.sim.phone import Phone
from distrl.policies.tiny.actions import ELEMENT_VERBS, PLAIN, Verb, action_of, choice_of, tokens_of
from distrl.policies.tiny.policy import TinyPolicy
from distrl.policies.tiny.words import words_of
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange
from distrl.runtime.policies import AnyPolicy
from distrl.runtime.successes import Shown
from distrl.tasks.book import expert_for, is_solved
from distrl.tasks.fresh import FreshTasks

NOISE = 0.15
SLIP = "slip"
"""What stands in `raw` where the expert did something at random: it happened, and is not to be imitated."""


def tasks_like(tasks: Sequence[Task], fresh: FreshTasks, numbers: Iterable[int]) -> list[Task]:
    """For each of these numbers a new task of every template, one template after another."""
    of_template = {task.template: task for task in tasks}
    return [fresh.like(task, number) for number in numbers for task in of_template.values()]


def demonstrate(tasks: Iterable[Task], *, noise: float, seed: int, scale: float = 0.25) -> Iterator[Trajectory]:
    """What the expert does at each task, with the tokens that mean it."""
    phone = make_phone(scale=scale)
    for task in tasks:
        arrange(phone, task)
        yield _demonstrate(phone, task, noise, derive_random(seed, "demonstration", task.id))


def examples(
    policy: AnyPolicy, tasks: Iterable[Task], *, noise: float = NOISE, seed: int = 0, scale: float = 0.25
) -> Iterator[Shown]:
    """What is to be imitated of demonstrations of these tasks: those that succeed, without their slips."""
    for shown in demonstrate(tasks, noise=noise, seed=seed, scale=scale):
        if shown.outcome is Outcome.SUCCEEDED:
            prepared = policy.prepare(shown if isinstance(policy, TinyPolicy) else without_tokens(shown))
            meant = [t for t, step in enumerate(shown.steps) if step.decision.raw != SLIP]
            moments = tuple(prepared.moments[t] for t in meant)
            yield Shown(template=shown.task.template, moments=moments, choices=prepared.choices[meant])


def without_tokens(shown: Trajectory) -> Trajectory:
    """The same without the tiny policy's language: whoever speaks another puts the actions into its own words."""
    replace = msgspec.structs.replace
    steps = tuple(replace(step, decision=replace(step.decision, raw="", tokens=())) for step in shown.steps)
    return replace(shown, steps=steps)


def _demonstrate(phone: Phone, task: Task, noise: float, rng: Random) -> Trajectory:
    expert = expert_for(task, phone.inspect)
    words = words_of(task.instruction)
    steps: list[Step] = []
    is_done = False
    while len(steps) < task.max_steps and not is_done:
        seen = look(phone)
        choice = choice_of(expert.act(seen), seen, words)
        is_slip = choice is None or rng.random() < noise
        if choice is None or is_slip:
            choice = random_choice(seen, rng)
        action: Action = action_of(*choice, seen, words)
        phone.perform(action)
        is_done = is_solved(task, phone.inspect)
        decision = Decision(action=action, raw=SLIP if is_slip else "", tokens=tokens_of(*choice))
        steps.append(Step(observation=seen, decision=decision, rewards={"success": float(is_done)}))
    return Trajectory(
        id=f"demonstration-{task.id}",
        task=task,
        steps=tuple(steps),
        final=look(phone),
        outcome=Outcome.SUCCEEDED if is_done else Outcome.TRUNCATED_STEPS,
        verdict=Verdict(ruling=Ruling.SUCCESS if is_done else Ruling.FAILURE, judge="rule"),
        worker="expert",
        device="phone",
    )


def look(phone: Phone) -> Observation:
    """The screen with its pixels."""
    width, height = phone.size
    return Observation(
        screen=Screen(data=phone.render(), width=width, height=height),
        activity=phone.activity,
        time_s=phone.system.time_s,
        elements=phone.candidates(),
        ui_tree=phone.elements(),
    )


def random_choice(seen: Observation, rng: Random) -> tuple[int, tuple[int, ...]]:
    """Anything that could make sense: mostly a touch."""
    touchable = [i for i, e in enumerate(seen.elements) if e.clickable and e.enabled]
    if touchable and rng.random() < 0.8:
        return ELEMENT_VERBS[0], (rng.choice(touchable),)
    verbs = [verb for verb in PLAIN if verb not in (Verb.COMPLETE, Verb.IMPOSSIBLE)]
    return rng.choice(verbs), ()

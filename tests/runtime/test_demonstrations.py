"""Demonstrations: what an expert does, in the policy's own language, with slips that are marked as such."""

from random import Random

import pytest

from distrl.core.types import Element, Observation, Outcome, Screen, Trajectory
from distrl.policies.tiny.actions import ELEMENT_VERBS, Verb, action_of, verb_of
from distrl.policies.tiny.policy import TinyPolicy
from distrl.policies.tiny.words import words_of
from distrl.runtime.demonstrations import SLIP, demonstrate, examples, random_choice, tasks_like
from distrl.tasks.book import load_tasks
from distrl.tasks.fresh import FreshTasks

TASKS = load_tasks("general", "train")[4:600:60]


@pytest.fixture(scope="module")
def clean() -> list[Trajectory]:
    return list(demonstrate(TASKS, noise=0.0, seed=1))


@pytest.fixture(scope="module")
def noisy() -> list[Trajectory]:
    return list(demonstrate(TASKS, noise=0.3, seed=1))


def test_an_expert_that_never_slips_always_succeeds(clean: list[Trajectory]) -> None:
    assert [t.outcome for t in clean] == [Outcome.SUCCEEDED] * len(TASKS)
    assert all(s.decision.raw == "" for t in clean for s in t.steps)
    assert [t.task for t in clean] == list(TASKS)


def test_only_the_step_that_solves_the_task_is_rewarded(clean: list[Trajectory]) -> None:
    for shown in clean:
        assert [s.rewards["success"] for s in shown.steps] == [0.0] * (len(shown.steps) - 1) + [1.0]


def test_the_tokens_mean_what_was_done(clean: list[Trajectory], noisy: list[Trajectory]) -> None:
    for shown in (*clean, *noisy):
        words = words_of(shown.task.instruction)
        for step in shown.steps:
            verb, arguments = verb_of(step.decision)
            assert action_of(verb, arguments, step.observation, words) == step.decision.action


def test_about_as_many_steps_are_slips_as_was_asked_for(noisy: list[Trajectory]) -> None:
    slips = [step.decision.raw == SLIP for shown in noisy for step in shown.steps]
    assert len(slips) > 60
    assert sum(slips) / len(slips) == pytest.approx(0.3, abs=0.12)


def test_slips_cost_steps_and_the_expert_finds_its_way_back(clean: list[Trajectory], noisy: list[Trajectory]) -> None:
    assert sum(len(t.steps) for t in noisy) > 1.2 * sum(len(t.steps) for t in clean)
    assert sum(t.outcome is Outcome.SUCCEEDED for t in noisy) >= 0.6 * len(TASKS)
    assert all(len(t.steps) <= t.task.max_steps for t in noisy)
    given_up = [t for t in noisy if t.outcome is not Outcome.SUCCEEDED]
    assert all(t.outcome is Outcome.TRUNCATED_STEPS for t in given_up)


def test_every_observation_has_its_pixels_and_its_candidates(clean: list[Trajectory]) -> None:
    for shown in clean[:3]:
        for seen in (*(s.observation for s in shown.steps), shown.final):
            assert len(seen.screen.data) == seen.screen.width * seen.screen.height * 3 == 270 * 600 * 3
            assert 0 < len(seen.elements) <= 64


def test_the_same_seed_shows_the_same_and_a_task_the_same_in_any_company(noisy: list[Trajectory]) -> None:
    again = list(demonstrate(TASKS[2:4], noise=0.3, seed=1))
    assert [[s.decision for s in t.steps] for t in again] == [[s.decision for s in t.steps] for t in noisy[2:4]]
    other = list(demonstrate(TASKS[2:4], noise=0.3, seed=2))
    assert [[s.decision for s in t.steps] for t in other] != [[s.decision for s in t.steps] for t in again]


def test_for_every_number_there_is_a_new_task_of_every_template() -> None:
    tasks = load_tasks("web_shopping", "train")
    made = tasks_like(tasks, FreshTasks("web_shopping"), (5, 6))
    templates = list(dict.fromkeys(t.template for t in tasks))
    assert [t.template for t in made] == templates * 2
    assert not {t.instruction for t in made} & {t.instruction for t in load_tasks("web_shopping", "test")}
    assert tasks_like(tasks, FreshTasks("web_shopping"), (6,)) == made[len(templates) :] != made[: len(templates)]


def test_examples_are_the_demonstrations_that_succeed_without_their_slips(noisy: list[Trajectory]) -> None:
    policy = TinyPolicy("text")
    solved = [t for t in noisy if t.outcome is Outcome.SUCCEEDED]
    assert len(solved) < len(noisy)
    made = list(examples(policy, TASKS, noise=0.3, seed=1))
    assert [e.template for e in made] == [t.task.template for t in solved]
    for example, shown in zip(made, solved, strict=True):
        meant = [step for step in shown.steps if step.decision.raw != SLIP]
        assert [verb_of(step.decision)[0] for step in meant] == example.choices[:, 0].tolist()
        assert len(example.moments) == len(meant)
    assert sum(len(e.moments) for e in made) < sum(len(t.steps) for t in solved)


def test_a_slip_touches_what_can_be_touched_and_never_ends_the_episode() -> None:
    def item(clickable: bool, enabled: bool) -> Element:
        return Element(box=(0.0, 0.0, 1.0, 1.0), text="", kind="row", clickable=clickable, enabled=enabled)

    elements = (item(False, True), item(True, True), item(True, False))
    seen = Observation(screen=Screen(data=b"", width=0, height=0), activity="a", time_s=0.0, elements=elements)
    blank = Observation(screen=Screen(data=b"", width=0, height=0), activity="a", time_s=0.0)
    choices = [random_choice(seen, Random(n)) for n in range(400)]
    touches = [arguments for verb, arguments in choices if verb in ELEMENT_VERBS]
    assert set(touches) == {(1,)}
    assert len(touches) / 400 == pytest.approx(0.8, abs=0.08)
    for verb, _ in (*choices, *(random_choice(blank, Random(n)) for n in range(100))):
        assert verb not in (Verb.COMPLETE, Verb.IMPOSSIBLE, Verb.TYPE)

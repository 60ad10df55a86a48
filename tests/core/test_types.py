"""The nouns: what cannot be built, and that the wire gives back what was sent."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.types import (
    MAX_TEXT_CHARS,
    Action,
    Button,
    Claim,
    Decision,
    Element,
    Finish,
    Invalid,
    LongPress,
    Observation,
    OpenApp,
    Outcome,
    Press,
    Ruling,
    Screen,
    Step,
    Swipe,
    Tap,
    Task,
    Trajectory,
    TypeText,
    Verdict,
    Wait,
)

ACTIONS: list[Action] = [
    Tap(x=0.0, y=1.0),
    LongPress(x=0.25, y=0.75),
    Swipe(x=0.5, y=0.9, to_x=0.5, to_y=0.1),
    TypeText(text="naïve 👍 \n \x00"),
    *(Press(button=button) for button in Button),
    OpenApp(app="Clock"),
    Wait(),
    *(Finish(claim=claim) for claim in Claim),
    Invalid(raw="tap(", reason="no closing bracket"),
]


def observation(time_s: float) -> Observation:
    screen = Screen(data=bytes(range(6)), width=2, height=1)
    return Observation(screen=screen, activity="home", time_s=time_s)


def trajectory() -> Trajectory:
    steps = tuple(
        Step(
            observation=observation(float(index)),
            decision=Decision(action=action, raw="x", tokens=(1, 2), token_log_probs=(-0.5, -0.25), log_prob=-0.75),
            rewards={"success": 0.0, "invalid": -1.0},
        )
        for index, action in enumerate(ACTIONS)
    )
    return Trajectory(
        id="t",
        task=Task(id="1", suite="general", split="train", instruction="Do it", max_steps=20),
        steps=steps,
        final=observation(99.0),
        outcome=Outcome.FAILED,
        verdict=Verdict(ruling=Ruling.FAILURE, judge="rule"),
        worker="w",
        device="d",
    )


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, -0.001, 1.001])
def test_coordinates_outside_of_the_screen_do_not_construct(wrong: float) -> None:
    for build in (
        lambda: Tap(x=wrong, y=0.5),
        lambda: Tap(x=0.5, y=wrong),
        lambda: LongPress(x=wrong, y=0.5),
        lambda: Swipe(x=0.5, y=0.5, to_x=wrong, to_y=0.5),
        lambda: Swipe(x=0.5, y=0.5, to_x=0.5, to_y=wrong),
    ):
        with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
            build()


@given(x=st.floats(0, 1), y=st.floats(0, 1))
def test_every_point_of_the_screen_can_be_tapped(x: float, y: float) -> None:
    tap = Tap(x=x, y=y)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(tap), type=Action) == tap


def test_text_over_the_limit_does_not_construct() -> None:
    assert len(TypeText(text="x" * MAX_TEXT_CHARS).text) == 4096
    with pytest.raises(ValueError, match="4097 characters; at most 4096"):
        TypeText(text="x" * (MAX_TEXT_CHARS + 1))


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_every_action_comes_back_from_the_wire_as_itself(action: Action) -> None:
    sent = msgspec.msgpack.encode(action)
    received = msgspec.msgpack.decode(sent, type=Action)
    assert received == action
    assert type(received) is type(action)


def test_the_wire_cannot_build_what_the_constructor_refuses() -> None:
    forged = msgspec.msgpack.encode({"type": "Tap", "x": math.nan, "y": 0.5})
    with pytest.raises(msgspec.ValidationError, match=r"must lie in \[0, 1\]"):
        msgspec.msgpack.decode(forged, type=Action)
    with pytest.raises(msgspec.ValidationError, match="Invalid value"):
        msgspec.msgpack.decode(msgspec.msgpack.encode({"type": "Reboot"}), type=Action)


def test_a_whole_trajectory_comes_back_equal() -> None:
    sent = trajectory()
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Trajectory) == sent


def test_values_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Tap(x=0.5, y=0.5).x = 0.1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("outcome", "is_terminal", "is_trainable"),
    [
        (Outcome.SUCCEEDED, True, True),
        (Outcome.FAILED, True, True),
        (Outcome.TRUNCATED_STEPS, False, True),
        (Outcome.TRUNCATED_TIME, False, True),
        (Outcome.ABORTED_DEVICE, False, False),
        (Outcome.ABORTED_JUDGE, False, False),
        (Outcome.ABORTED_POLICY, False, False),
    ],
)
def test_outcomes_say_what_may_be_learned_from_them(outcome: Outcome, is_terminal: bool, is_trainable: bool) -> None:
    assert (outcome.is_terminal, outcome.is_trainable) == (is_terminal, is_trainable)


def test_the_table_of_outcomes_is_complete() -> None:
    assert len(Outcome) == 7


def test_a_step_earns_the_sum_of_its_terms() -> None:
    step = Step(
        observation=observation(0.0), decision=Decision(action=Wait()), rewards={"success": 1.0, "repetition": -0.4}
    )
    assert step.reward == pytest.approx(0.6)


def test_an_element_is_tapped_in_its_middle() -> None:
    assert Element(box=(0.25, 0.5, 0.75, 1.0), text="OK", kind="button").center == (0.5, 0.75)


def test_a_trajectory_names_the_version_that_acted_in_each_step() -> None:
    steps = tuple(
        Step(observation=observation(0.0), decision=Decision(action=Wait(), policy_version=version), rewards={})
        for version in (3, 3, 4)
    )
    assert msgspec.structs.replace(trajectory(), steps=steps).policy_versions == (3, 3, 4)


def test_a_task_without_a_template_has_no_ground_truth() -> None:
    task = Task(id="1", suite="s", split="train", instruction="", max_steps=1)
    assert not task.has_ground_truth
    assert msgspec.structs.replace(task, template="alarm").has_ground_truth

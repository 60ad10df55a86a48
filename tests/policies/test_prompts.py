"""Prompts: what each model is shown of a situation, and that its answers are read on the same screen."""

import subprocess
import sys
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given

from distrl.core.errors import UnknownNameError
from distrl.core.types import (
    Action,
    Button,
    Decision,
    Element,
    Invalid,
    LongPress,
    Observation,
    Press,
    Screen,
    Situation,
    Step,
    Swipe,
    Tap,
    Task,
    TypeText,
)
from distrl.policies.codec import CODEC_NAMES
from distrl.policies.prompts import PROMPT_NAMES, as_image, make_prompt, text_of

from .strategies import any_text, performable

pytestmark = pytest.mark.models
ELEMENTS = (
    Element(box=(0.0, 0.0, 1.0, 1.0), text="All", kind="card"),
    Element(box=(0.1, 0.1, 0.3, 0.2), text="Alarm", kind="button"),
)
TASK = Task(id="t", suite="general", split="train", instruction="Set an alarm for 7:30", max_steps=9)
each_prompt = pytest.mark.parametrize("name", PROMPT_NAMES)


def seen(number: int = 0) -> Observation:
    screen = Screen(data=bytes([number]) * 24, width=2, height=4)
    return Observation(screen=screen, activity="clock/home", time_s=0.0, elements=ELEMENTS)


def situation(*actions: Action) -> Situation:
    steps = tuple(Step(observation=seen(n), decision=Decision(action=a), rewards={}) for n, a in enumerate(actions))
    return Situation(task=TASK, steps=steps, observation=seen(len(actions)))


def asked(name: str, *actions: Action, **options: int) -> str:
    """The user's message with a mark for each screen."""
    message = make_prompt(name, **options).messages(situation(*actions))[1]
    return "".join(part if isinstance(part, str) else f"<{part.data[0]}>" for part in message.parts)


@each_prompt
def test_a_prompt_is_a_system_message_that_never_changes_and_one_question(name: str) -> None:
    first, second = (make_prompt(name).messages(s) for s in (situation(), situation(Tap(x=0.2, y=0.15))))
    assert [message.role for message in first] == ["system", "user"]
    assert first[0] == second[0]
    assert TASK.instruction in text_of(first[1])


@each_prompt
def test_questions_of_an_episode_begin_alike(name: str) -> None:
    """So that what was computed for the beginning can be used again."""
    actions = [Tap(x=0.2, y=0.15), TypeText(text="hi"), Press(button=Button.BACK)]
    texts = [text_of(make_prompt(name).messages(situation(*actions[:n]))[1]) for n in (1, 2, 3)]
    for shorter, longer in pairwise(texts):
        last_line = make_prompt(name).tell(situation(*actions).steps[0]).removeprefix("Action Decision: ")
        head = shorter[: shorter.index(last_line) + len(last_line)]
        assert longer.startswith(head)


def test_the_last_screens_and_actions_are_shown_oldest_first() -> None:
    actions = [Press(button=Button.HOME), Press(button=Button.BACK), TypeText(text="hi")]
    assert asked("json", *actions, num_screens=2, num_actions=2) == (
        "Task: Set an alarm for 7:30\nActions so far:\n"
        '2. {"type":"Press","button":"BACK"}\n3. {"type":"TypeText","text":"hi"}\n'
        "Screen:\n<2><3>\nWhat is the next action?"
    )
    assert asked("json", num_screens=3) == (
        "Task: Set an alarm for 7:30\nActions so far: none\nScreen:\n<0>\nWhat is the next action?"
    )


def test_no_screens_and_no_actions_can_be_asked_for() -> None:
    shown = asked("ui_tars", Press(button=Button.HOME), num_screens=0, num_actions=0)
    assert "<" not in shown
    assert "press_home" not in shown


def test_android_world_is_told_the_pixels_of_the_screen() -> None:
    assert "Screen of 2 x 4 pixels:\n<0>" in asked("android_world")
    assert make_prompt("android_world").read('{"action_type":"click","x":1,"y":1}', seen()) == Tap(x=0.5, y=0.25)
    assert make_prompt("android_world").read('{"action_type":"click","index":1}', seen()) == Tap(
        x=0.2, y=0.15000000000000002
    )


def test_autoui_is_asked_in_the_words_of_the_papers() -> None:
    nowhere = '"touch_point": "[-1.0, -1.0]", "lift_point": "[-1.0, -1.0]"'
    assert asked("autoui", Press(button=Button.HOME)) == (
        f'Previous Actions: "action_type": "PRESS_HOME", {nowhere}, "typed_text": "" Goal: Set an alarm for 7:30<1>'
    )


def test_a_model_that_reads_is_shown_numbered_lines_and_no_picture() -> None:
    assert asked("numbered", Tap(x=0.2, y=0.15), TypeText(text="7:30")) == (
        "Task: Set an alarm for 7:30\nDone:\n1. tap Alarm\n2. type 7:30\nScreen clock/home:\n1. All\n2. Alarm\nAnswer:"
    )


def test_a_brief_prompt_numbers_only_what_can_be_touched() -> None:
    title = Element(box=(0.0, 0.0, 1.0, 0.05), text="Clock", kind="text", clickable=False)
    off = Element(box=(0.0, 0.9, 1.0, 1.0), text="Save", kind="button", enabled=False)
    long = Element(box=(0.0, 0.5, 1.0, 0.6), text="x" * 99, kind="row", checked=True)
    observation = msgspec.structs.replace(seen(), elements=(title, ELEMENTS[1], off, long))
    step = Step(observation=observation, decision=Decision(action=Tap(x=0.5, y=0.55)), rewards={})
    prompt = make_prompt("brief")
    asks = text_of(prompt.messages(Situation(task=TASK, steps=(step,), observation=observation))[1])
    assert asks == (
        f"Task: Set an alarm for 7:30\nDone: tap {'x' * 35}…\nScreen clock/home:\n1 Alarm\n2 {'x' * 39}… (on)"
    )
    assert prompt.write(step.decision.action, observation) == "2"
    assert prompt.read("1", observation) == Tap(x=0.2, y=0.15000000000000002)
    assert isinstance(prompt.read("3", observation), Invalid)
    assert prompt.write(Tap(x=0.5, y=0.95), observation) == "tap 0.5 0.95"  # a button that does nothing has no number


def test_a_named_prompt_has_names_that_can_be_copied_as_answers() -> None:
    long = Element(box=(0.0, 0.5, 1.0, 0.6), text="Isla Fischer Football match today, good morning", kind="row")
    wifi = Element(box=(0.0, 0.6, 1.0, 0.7), text="Wi-Fi", kind="switch", checked=True)
    bins = tuple(Element(box=(0.0, y, 1.0, y + 0.1), text="Delete", kind="button") for y in (0.7, 0.8))
    observation = msgspec.structs.replace(seen(), elements=(long, wifi, *bins))
    step = Step(observation=observation, decision=Decision(action=Tap(x=0.2, y=0.85)), rewards={})
    prompt = make_prompt("named")
    asks = text_of(prompt.messages(Situation(task=TASK, steps=(step,), observation=observation))[1])
    assert asks == (
        "Task: Set an alarm for 7:30\nDone: tap Delete (2)\nScreen clock/home:\n"
        "Isla Fischer Football match\nWi-Fi (on)\nDelete\nDelete (2)"
    )
    assert prompt.write(Tap(x=0.1, y=0.51), observation) == "tap Isla Fischer Football match"
    assert prompt.write(LongPress(x=0.1, y=0.61), observation) == "hold Wi-Fi"
    assert prompt.read("tap Delete", observation) == Tap(x=0.5, y=0.75)
    assert isinstance(prompt.read("tap Delete (3)", observation), Invalid)


def test_where_nothing_can_be_touched_a_brief_prompt_numbers_everything() -> None:
    flat = tuple(msgspec.structs.replace(element, clickable=False) for element in ELEMENTS)
    observation = msgspec.structs.replace(seen(), elements=flat)
    assert make_prompt("brief").read("2", observation) == Tap(x=0.2, y=0.15000000000000002)


def test_a_touch_anywhere_on_an_element_is_taught_by_the_number_of_the_smallest() -> None:
    prompt = make_prompt("numbered")
    assert prompt.write(Tap(x=0.21, y=0.11), seen()) == "2"
    assert prompt.write(LongPress(x=0.9, y=0.9), seen()) == "hold 1"
    assert prompt.read("2", seen()) == Tap(x=0.2, y=0.15000000000000002)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("json", '{"type":"Swipe","x":0.333,"y":0.667,"to_x":0.333,"to_y":0.25}'),
        ("android_world", '{"action_type":"swipe","direction":"up"}'),
        ("ui_tars", "Action: drag(start_point='<point>333 667</point>', end_point='<point>333 250</point>')"),
        ("numbered", "swipe 0.333 0.667 0.333 0.25"),
        ("named", "swipe 0.333 0.667 0.333 0.25"),
    ],
)
def test_what_is_taught_has_few_digits(name: str, answer: str) -> None:
    assert make_prompt(name).write(Swipe(x=1 / 3, y=2 / 3, to_x=1 / 3, to_y=0.25), seen()) == answer


@each_prompt
def test_an_answer_that_was_invalid_is_told_in_a_few_words(name: str) -> None:
    shown = asked(name, Invalid(raw="x" * 500, reason="no JSON object" + "!" * 400))
    assert "nothing: no JSON object" in shown
    assert "xxx" not in shown
    assert len(shown) < 400


@each_prompt
@given(action=performable)
def test_what_is_taught_is_read_as_the_same_kind_of_action(name: str, action: Action) -> None:
    prompt = make_prompt(name)
    read = prompt.read(prompt.write(action, seen()), seen())
    assert type(read) is type(action) or {type(read), type(action)} <= {Tap, Swipe}


@each_prompt
@given(text=any_text)
def test_any_answer_is_read_as_an_action(name: str, text: str) -> None:
    assert isinstance(make_prompt(name).read(text, seen()), Action)


def test_each_codec_has_a_prompt_and_an_unknown_one_is_named() -> None:
    assert set(PROMPT_NAMES) == {*CODEC_NAMES, "brief"}
    assert make_prompt("brief").codec(seen()).name == "numbered"
    with pytest.raises(UnknownNameError, match="did you mean ui_tars"):
        make_prompt("uitars")


def test_a_screen_becomes_a_picture_and_bytes_that_are_none_are_refused() -> None:
    assert as_image(seen(7).screen).getpixel((1, 3)) == (7, 7, 7)
    for screen in (Screen(data=b"x", width=2, height=4), Screen(data=b"x", width=2, height=4, encoding="png")):
        with pytest.raises(ValueError, match="1 bytes are no"):
            as_image(screen)


def test_prompts_need_neither_torch_nor_transformers() -> None:
    code = "import sys, distrl.policies.prompts; sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Numbered answers: what a number means on a screen, and what a small model writes around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.types import Action, Button, Element, Invalid, LongPress, OpenApp, Press, Swipe, Tap, TypeText
from distrl.policies.codec import NumberedCodec
from distrl.policies.codec.numbered import label_of

from .strategies import actions, any_text, shares, texts

pytestmark = pytest.mark.models
ELEMENTS = (
    Element(box=(0.0, 0.0, 0.5, 0.5), text="Alarm", kind="button"),
    Element(box=(0.5, 0.0, 1.0, 0.5), text="Wi-Fi", kind="switch", checked=True),
    Element(box=(0.0, 0.5, 1.0, 1.0), text="", kind="field", editable=True, focused=True),
)
codec = NumberedCodec(elements=ELEMENTS)
boxes = st.tuples(shares, shares, shares, shares).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
)
elements = st.lists(st.builds(Element, box=boxes, text=texts, kind=st.just("row")), max_size=6).map(tuple)


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("1", Tap(x=0.25, y=0.25)),
        ("hold 2", LongPress(x=0.75, y=0.25)),
        ("tap 0.5 0.1", Tap(x=0.5, y=0.1)),
        ("type 7:30 tomorrow", TypeText(text="7:30 tomorrow")),
        ('type " 7 "', TypeText(text=" 7 ")),
        ("open Clock", OpenApp(app="Clock")),
        ("back", Press(button=Button.BACK)),
        ("swipe up", Swipe(x=0.5, y=0.62, to_x=0.5, to_y=0.3)),
        ("swipe 0.1 0.2 0.3 0.4", Swipe(x=0.1, y=0.2, to_x=0.3, to_y=0.4)),
    ],
    ids=ascii,
)
def test_an_action_is_written_in_few_letters(answer: str, action: Action) -> None:
    assert codec.encode(action) == answer
    assert codec.decode(answer) == action


@pytest.mark.parametrize(
    "answer",
    ["1.", "tap 1", "Tap 1.", "[1]", "(1)", "1. Alarm", "1: Alarm", "Answer: 1", "tap 1 Alarm", "I see.\n1\n1"],
)
def test_what_small_models_write_around_a_number_is_forgiven(answer: str) -> None:
    assert codec.decode(answer) == Tap(x=0.25, y=0.25)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "no line is an answer"),
        ("the first one", "no line is an answer"),
        ("1. Wi-Fi", "no line is an answer"),
        ("1 and then 2", "no line is an answer"),
        ("0", "no element has the number 0; there are 3"),
        ("4", "no element has the number 4"),
        ("1\n2", "two actions where one was expected"),
        ("tap 0.5 0.5 0.5", "tap with 3 coordinates"),
        ("tap 1.5 0.5", "x must lie in"),
        ("tap 0..5 0.5", "could not convert"),
        ('type "\\q"', "escape"),
        ("type " + "x" * 5000, "5000 characters"),
        ("open " + " ", "no line is an answer"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_nonsense_is_invalid_and_says_why(answer: str, reason: str) -> None:
    action = codec.decode(answer)
    assert isinstance(action, Invalid)
    assert reason in action.reason


@given(action=actions, seen=elements)
def test_any_action_on_any_screen_comes_back_equal(action: Action, seen: tuple[Element, ...]) -> None:
    seeing = NumberedCodec(elements=seen)
    assert seeing.decode(seeing.encode(action)) == action


@given(seen=elements)
def test_the_middle_of_an_element_is_written_by_number(seen: tuple[Element, ...]) -> None:
    seeing = NumberedCodec(elements=seen)
    for element in seen:
        x, y = element.center
        number = int(seeing.encode(Tap(x=x, y=y)))
        assert seen[number - 1].center == (x, y)


@given(text=any_text, seen=elements)
def test_any_answer_on_any_screen_is_an_action(text: str, seen: tuple[Element, ...]) -> None:
    assert isinstance(NumberedCodec(elements=seen).decode(text), Action)


def test_a_label_says_what_the_text_does_not() -> None:
    assert [label_of(element) for element in ELEMENTS] == ["Alarm", "Wi-Fi (on)", "field (focused)"]
    assert label_of(Element(box=(0, 0, 1, 1), text="two\nlines", kind="text", enabled=False)) == "two lines (disabled)"
    assert len(label_of(Element(box=(0, 0, 1, 1), text="x" * 5000, kind="text"))) == 80

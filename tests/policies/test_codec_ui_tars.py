"""The UI-TARS format: golden calls, and what its models really write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.types import (
    Action,
    Button,
    Claim,
    Finish,
    Invalid,
    LongPress,
    OpenApp,
    Press,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from distrl.policies.codec import UITarsCodec

from .strategies import actions

pytestmark = pytest.mark.models
codec = UITarsCodec()


@pytest.mark.parametrize(
    ("action", "call"),
    [
        (Tap(x=0.5, y=0.25), "click(point='<point>500 250</point>')"),
        (Tap(x=0.1234, y=1.0), "click(point='<point>123.4 1000</point>')"),
        (LongPress(x=0.0, y=0.003), "long_press(point='<point>0 3</point>')"),
        (
            Swipe(x=0.5, y=0.8, to_x=0.4, to_y=0.2),
            "drag(start_point='<point>500 800</point>', end_point='<point>400 200</point>')",
        ),
        (TypeText(text='it\'s "9"\n'), "type(content='it\\'s \\\"9\\\"\\n')"),
        (OpenApp(app="Clock"), "open_app(app_name='Clock')"),
        (Press(button=Button.BACK), "press_back()"),
        (Press(button=Button.HOME), "press_home()"),
        (Press(button=Button.ENTER), "press_enter()"),
        (Wait(), "wait()"),
        (Finish(claim=Claim.COMPLETE), "finished()"),
        (Finish(claim=Claim.IMPOSSIBLE), "call_user()"),
        (Invalid(raw="uh", reason="no"), "invalid(content='uh', reason='no')"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_action_has_one_call(action: Action, call: str) -> None:
    assert codec.encode(action) == f"Action: {call}"
    assert codec.decode(f"Action: {call}") == action


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Thought: I click(it).\nAction: click(start_box='(500,250)')", Tap(x=0.5, y=0.25)),
        ("Action: click(start_box='<|box_start|>(500,250)<|box_end|>')", Tap(x=0.5, y=0.25)),
        ("Action: click(start_box='[400, 200, 600, 300]')", Tap(x=0.5, y=0.25)),
        ("click(point='<bbox>400 200 600 300</bbox>')", Tap(x=0.5, y=0.25)),
        ('Action: left_single(point="<point>500 250</point>")', Tap(x=0.5, y=0.25)),
        ("Action:finished(content='All done.')", Finish(claim=Claim.COMPLETE)),
        ("Action: WAIT()", Wait()),
        ("Action: type(content='hello\\n')", TypeText(text="hello\n")),
        (
            "Action: scroll(point='<point>500 700</point>', direction='down')",
            Swipe(x=0.5, y=0.7, to_x=0.5, to_y=0.7 - 0.5),
        ),
        ("Action: scroll(direction='up')", Swipe(x=0.5, y=0.5, to_x=0.5, to_y=1.0)),
        ("Action: scroll(point='<point>100 500</point>', direction='right')", Swipe(x=0.1, y=0.5, to_x=0.0, to_y=0.5)),
    ],
    ids=ascii,
)
def test_what_its_models_write_is_understood(text: str, action: Action) -> None:
    assert codec.decode(text) == action


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Thought: I will wait().\nAction: let me see", "no call of an action"),
        ("Action: click(point='<point>500</point>')", "point is not a point"),
        ("Action: click(point='<point>500 1001</point>')", "must lie in an image of 1000 x 1000"),
        ("Action: click(point='<point>1e999 5</point>')", "must lie in an image"),
        ("Action: click()", "point is missing"),
        ("Action: drag(start_point='<point>1 2</point>')", "end_point is missing"),
        ("Action: scroll(direction='sideways')", "direction must be"),
        ("Action: hotkey(key='ctrl c')", "a phone has no hotkey"),
        ("Action: type(content='it's')", "cannot be read to its end"),
        ("Action: type(content='a', content='b')", "two values for content"),
        ("Action: click(point='<point>1 2</point>')\n\nAction: wait()", "two actions"),
    ],
    ids=ascii,
)
def test_what_means_no_action_is_invalid_and_says_why(text: str, reason: str) -> None:
    action = codec.decode(text)
    assert isinstance(action, Invalid)
    assert reason in action.reason


@given(action=actions, width=st.integers(1, 4000), height=st.integers(1, 4000))
def test_every_size_of_image_keeps_every_digit(action: Action, width: int, height: int) -> None:
    sized = UITarsCodec(width=width, height=height)
    assert sized.decode(sized.encode(action)) == action


def test_an_image_without_pixels_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one pixel"):
        UITarsCodec(width=0)

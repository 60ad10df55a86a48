"""The AutoUI format: golden lines, and what models really write."""

import re

import pytest

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
from distrl.policies.codec import AutoUICodec

codec = AutoUICodec()
NOWHERE = '"touch_point": "[-1.0, -1.0]", "lift_point": "[-1.0, -1.0]"'


def test_points_are_written_with_y_before_x() -> None:
    assert codec.encode(Tap(x=0.5964, y=0.8497)) == (
        'Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.8497, 0.5964]", '
        '"lift_point": "[0.8497, 0.5964]", "typed_text": ""'
    )
    assert codec.encode(Swipe(x=0.5, y=0.8, to_x=0.4, to_y=0.2)) == (
        'Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.8, 0.5]", '
        '"lift_point": "[0.2, 0.4]", "typed_text": ""'
    )


def test_a_comma_in_typed_text_does_not_end_the_episode() -> None:
    """The authors' release splits at commas, fails to unpack, and takes the failure for the end of the episode."""
    text = f'Action Decision: "action_type": "TYPE", {NOWHERE}, "typed_text": "bread, milk, eggs"'
    assert codec.decode(text) == TypeText(text="bread, milk, eggs")
    assert codec.encode(TypeText(text="bread, milk, eggs")) == text


@pytest.mark.parametrize(
    ("action", "line"),
    [
        (Press(button=Button.BACK), f'"PRESS_BACK", {NOWHERE}, "typed_text": ""'),
        (Press(button=Button.HOME), f'"PRESS_HOME", {NOWHERE}, "typed_text": ""'),
        (Press(button=Button.ENTER), f'"PRESS_ENTER", {NOWHERE}, "typed_text": ""'),
        (Finish(claim=Claim.COMPLETE), f'"STATUS_TASK_COMPLETE", {NOWHERE}, "typed_text": ""'),
        (Finish(claim=Claim.IMPOSSIBLE), f'"STATUS_TASK_IMPOSSIBLE", {NOWHERE}, "typed_text": ""'),
        (TypeText(text='a "b" \\ \n'), f'"TYPE", {NOWHERE}, "typed_text": "a \\"b\\" \\\\ \\n"'),
        (OpenApp(app="Clock"), f'"OPEN_APP", {NOWHERE}, "typed_text": "Clock"'),
        (Wait(), f'"WAIT", {NOWHERE}, "typed_text": ""'),
        (
            LongPress(x=0.25, y=0.75),
            '"LONG_POINT", "touch_point": "[0.75, 0.25]", "lift_point": "[0.75, 0.25]", "typed_text": ""',
        ),
        (
            Swipe(x=0.5, y=0.5, to_x=0.5, to_y=0.53),
            '"DRAG", "touch_point": "[0.5, 0.5]", "lift_point": "[0.53, 0.5]", "typed_text": ""',
        ),
        (Invalid(raw="uh", reason="no"), f'"INVALID", {NOWHERE}, "typed_text": "uh", "invalid_reason": "no"'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_action_has_one_line(action: Action, line: str) -> None:
    assert codec.encode(action) == f'Action Decision: "action_type": {line}'
    assert codec.decode(f'Action Decision: "action_type": {line}') == action


@pytest.mark.parametrize(
    ("lift_y", "is_tap"), [("0.5", True), ("0.52", True), ("0.5399", True), ("0.5401", False), ("0.2", False)]
)
def test_points_at_most_4_percent_apart_are_a_tap_at_the_first(lift_y: str, is_tap: bool) -> None:
    action = codec.decode(
        f'Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.5, 0.3]", "lift_point": "[{lift_y}, 0.3]"'
    )
    assert action == (Tap(x=0.3, y=0.5) if is_tap else Swipe(x=0.3, y=0.5, to_x=0.3, to_y=float(lift_y)))


TAP = Tap(x=0.5964, y=0.8497)
POINTS = '"touch_point": "[0.8497, 0.5964]", "lift_point": "[0.8497, 0.5964]"'


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (f'Action Plan: [DUAL_POINT,TYPE]; Action Decision: "action_type": "DUAL_POINT", {POINTS}', TAP),
        (f'Action Plan: [PRESS_HOME] ; Action Decision: "action_type": "DUAL_POINT", {POINTS}, "typed_text": ""', TAP),
        (f'I see a shop. Reason: it is "open".\nAction Decision: "action_type": "DUAL_POINT", {POINTS}', TAP),
        (
            'Action Decision:"action_type":"DUAL_POINT","touch_point":"[0.8497,0.5964]","lift_point":"[0.8497,0.5964]"',
            TAP,
        ),
        (f'action decision: "action_type": "dual_point", {POINTS}', TAP),
        (f'Action Decision: "action_type": "Dual Point", {POINTS}', TAP),
        (
            "Action Decision: 'action_type': 'DUAL_POINT', 'touch_point': '[0.8497, 0.5964]', "
            "'lift_point': '[0.8497, 0.5964]', 'typed_text': ''",
            TAP,
        ),
        (
            'Action Decision: "action_type": "DUAL_POINT", "touch_point": [0.8497, 0.5964], '
            '"lift_point": [0.8497, 0.5964]',
            TAP,
        ),
        ("Action Decision: action_type: DUAL_POINT, touch_point: (0.8497, 0.5964), lift_point: (0.8497, 0.5964)", TAP),
        (f'Action Decision: {{"action_type": "DUAL_POINT", {POINTS}, "typed_text": ""}}', TAP),
        (f'"action_type": "DUAL_POINT", {POINTS}, "typed_text": ""', TAP),
        (f'Action Decision: "action_type": "DUAL_POINT", {POINTS}, "typed_text": ""\nReason: the "shop" is there', TAP),
        (f'Action Decision: "action_type": "DUAL_POINT", {POINTS}, "typed_text": ""</s>', TAP),
        ('Action Decision: "action_type": "PRESS_BACK"', Press(button=Button.BACK)),
        ("Action Decision: action_type: press_home", Press(button=Button.HOME)),
        ('Action Decision: "action_type": "STATUS_TASK_COMPLETE"', Finish(claim=Claim.COMPLETE)),
        ('Action Decision: "action_type": "TYPE", "typed_text": "it\'s"', TypeText(text="it's")),
        ("Action Decision: 'action_type': 'TYPE', 'typed_text': 'it\\'s \"it\"'", TypeText(text='it\'s "it"')),
        ('Action Decision: "action_type": "TYPE", "typed_text": "two\nlines"', TypeText(text="two\nlines")),
        (
            'Action Decision: "action_type": "TYPE", "typed_text": "x", "touch_point": "", "lift_point": ""',
            TypeText(text="x"),
        ),
    ],
)
def test_what_models_really_write_is_understood(text: str, action: Action) -> None:
    assert codec.decode(text) == action


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I would tap the button.", "no action decision"),
        ("Action Decision: tap", "no action decision"),
        ('Action Decision: "action_type": "FLY"', "unknown action_type 'FLY'"),
        ('Action Decision: "action_type": "DUAL_POINT"', "touch_point is not a point"),
        ('Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.5, 0.5]"', "lift_point is not a point"),
        ('Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.5]"', "touch_point is not a point"),
        ('Action Decision: "action_type": "DUAL_POINT", "touch_point": "[a, b]"', "could not convert"),
        ('Action Decision: "action_type": "DUAL_POINT", "touch_point": "[540, 1200]"', r"must lie in \[0, 1\]"),
        ('Action Decision: "action_type": "LONG_POINT", "touch_point": "[nan, 0.5]"', r"must lie in \[0, 1\]"),
        ('Action Decision: "action_type": "TYPE"', "typed_text must be a quoted string"),
        ('Action Decision: "action_type": "TYPE", "typed_text": hello world', "typed_text must be a quoted string"),
        ('Action Decision: "action_type": "TYPE", "typed_text": "he said "hi""', "is the typed text escaped"),
        ('Action Decision: "action_type": "TYPE", "typed_text": "a " b"', "is the typed text escaped"),
        ("Action Decision: 'action_type': 'TYPE', 'typed_text': 'it's'", "is the typed text escaped"),
        ('Action Decision: "action_type": "TYPE", "typed_text": "C:\\dir"', "escape"),
        ('Action Decision: "action_type": "TYPE", "typed_text": "cut of', "typed_text has no readable value"),
        ('Action Decision: "action_type": "TYPE", "typed_text": "a", "typed_text": "b"', "two values for typed_text"),
        (f'Action Decision: "action_type": "TYPE", "typed_text": "{"x" * 4097}"', "at most 4096"),
        ('Action Decision: "action_type": "PRESS_BACK", "action_type": "PRESS_HOME"', "two actions"),
        ('Action Decision: "action_type": "OPEN_APP", "typed_text": ""', "the app has no name"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, reason: str) -> None:
    action = codec.decode(text)
    assert isinstance(action, Invalid)
    assert action.raw == text[:500]
    assert re.search(reason, action.reason), action.reason

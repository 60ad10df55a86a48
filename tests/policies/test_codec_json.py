"""Our own format: one object, wherever it stands."""

import msgspec
import pytest
from hypothesis import given

from distrl.core.types import Action, Button, Finish, Invalid, Press, Tap, TypeText
from distrl.policies.codec import JsonCodec

from .strategies import actions

codec = JsonCodec()
TAP = Tap(x=0.5, y=0.25)


def test_the_format_is_the_tagged_union() -> None:
    assert codec.encode(TAP) == '{"type":"Tap","x":0.5,"y":0.25}'
    assert codec.encode(Press(button=Button.BACK)) == '{"type":"Press","button":"BACK"}'
    assert codec.encode(TypeText(text='é "')) == '{"type":"TypeText","text":"é \\""}'


@given(action=actions)
def test_any_msgspec_reader_understands_it(action: Action) -> None:
    assert msgspec.json.decode(codec.encode(action), type=Action) == action


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"type": "Tap", "x": 0.5, "y": 0.25}\n```',
        'I\'ll tap {the button}. Action: {"type":"Tap","x":0.5,"y":0.25} :-{',
        "{'type': 'Tap', 'x': 0.5, 'y': 0.25}",
        '{"type":"Tap","x":5e-1,"y":0.25,"thought":"it\'s {there}"}',
        '[{"type":"Tap","x":0.5,"y":0.25}]',
    ],
)
def test_prose_and_fences_around_the_object_are_forgiven(text: str) -> None:
    assert codec.decode(text) == TAP


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("Tap(0.5, 0.5)", "no JSON object"),
        ("{tap}", "no JSON object"),
        ('{"type":"Tap","x":0.5', "an unfinished JSON object"),
        ('{"type":"Tap","x":0.5,"y":"0.5"}', "Expected `float`, got `str`"),
        ('{"type":"Tap","x":0.5}', "missing required field `y`"),
        ('{"type":"Tap","x":0.5,"y":1.5}', "y must lie in [0, 1]"),
        ('{"type":"Fly"}', "Invalid value 'Fly'"),
        ("{}", "missing required field `type`"),
        ('{"type":"Press","button":"POWER"}', "Invalid enum value 'POWER'"),
        ('{"type":"Tap","x":0.5,"y":0.5,"x":0.6}', "two values for 'x'"),
        ('{"type":"Wait"} or {"type":"Finish","claim":"COMPLETE"}', "two actions"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, reason: str) -> None:
    action = codec.decode(text)
    assert isinstance(action, Invalid)
    assert action.raw == text
    assert reason in action.reason


def test_a_model_may_say_that_it_is_done_only_with_a_known_claim() -> None:
    assert isinstance(codec.decode('{"type":"Finish","claim":"COMPLETE"}'), Finish)
    assert isinstance(codec.decode('{"type":"Finish","claim":"MAYBE"}'), Invalid)

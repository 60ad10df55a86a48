"""AndroidWorld's fourteen actions, its pixels, its directions and its indices."""

import dataclasses
import json

import pytest

from distrl.core.types import (
    Action,
    Button,
    Claim,
    Element,
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
from distrl.policies.codec import AndroidWorldCodec

codec = AndroidWorldCodec()
MIDDLE = {"x": 540, "y": 1200}
ELEMENTS = (
    Element(box=(0.0, 0.0, 1.0, 0.5), text="list", kind="list"),
    Element(box=(0.25, 0.5, 0.75, 1.0), text="ok", kind="button"),
)

# The finger's way, as AndroidWorld's executor draws it; "swipe left" does move the finger to the right there.
EXPRESSIBLE: list[tuple[dict[str, object], Action]] = [
    ({"action_type": "click", **MIDDLE}, Tap(x=0.5, y=0.5)),
    ({"action_type": "long_press", **MIDDLE}, LongPress(x=0.5, y=0.5)),
    ({"action_type": "scroll", "direction": "down"}, Swipe(x=0.5, y=0.5, to_x=0.5, to_y=0.0)),
    ({"action_type": "scroll", "direction": "up"}, Swipe(x=0.5, y=0.5, to_x=0.5, to_y=1.0)),
    ({"action_type": "scroll", "direction": "right"}, Swipe(x=0.5, y=0.5, to_x=0.0, to_y=0.5)),
    ({"action_type": "scroll", "direction": "left"}, Swipe(x=0.5, y=0.5, to_x=1.0, to_y=0.5)),
    ({"action_type": "swipe", "direction": "down"}, Swipe(x=0.5, y=0.0, to_x=0.5, to_y=1.0)),
    ({"action_type": "swipe", "direction": "up"}, Swipe(x=0.5, y=1.0, to_x=0.5, to_y=0.0)),
    ({"action_type": "swipe", "direction": "left"}, Swipe(x=0.0, y=0.5, to_x=1.0, to_y=0.5)),
    ({"action_type": "swipe", "direction": "right"}, Swipe(x=1.0, y=0.5, to_x=0.0, to_y=0.5)),
    ({"action_type": "input_text", "text": "a, b"}, TypeText(text="a, b")),
    ({"action_type": "navigate_home"}, Press(button=Button.HOME)),
    ({"action_type": "navigate_back"}, Press(button=Button.BACK)),
    ({"action_type": "keyboard_enter"}, Press(button=Button.ENTER)),
    ({"action_type": "open_app", "app_name": "Clock"}, OpenApp(app="Clock")),
    ({"action_type": "status", "goal_status": "complete"}, Finish(claim=Claim.COMPLETE)),
    ({"action_type": "status", "goal_status": "infeasible"}, Finish(claim=Claim.IMPOSSIBLE)),
    ({"action_type": "wait"}, Wait()),
]
INEXPRESSIBLE: list[dict[str, object]] = [
    {"action_type": "double_tap", **MIDDLE},
    {"action_type": "answer", "text": "42"},
    {"action_type": "unknown"},
    {"action_type": "input_text", "text": "a", **MIDDLE},
    {"action_type": "input_text", "text": "a", "index": 1},
    {"action_type": "input_text", "text": "a", "clear_text": True},
]


@pytest.mark.parametrize(("fields", "action"), EXPRESSIBLE, ids=str)
def test_an_action_of_both_worlds_is_the_same_object_both_ways(fields: dict[str, object], action: Action) -> None:
    assert codec.decode(json.dumps(fields)) == action
    assert json.loads(codec.encode(action)) == fields


@pytest.mark.parametrize("fields", INEXPRESSIBLE, ids=str)
def test_what_only_androidworld_can_do_is_invalid_and_given_back_unchanged(fields: dict[str, object]) -> None:
    action = codec.decode("Reason: so be it. Action: " + json.dumps(fields))
    assert isinstance(action, Invalid)
    assert action.reason.startswith("inexpressible: ")
    assert json.loads(codec.encode(action)) == fields


def test_all_fourteen_types_are_known() -> None:
    types = {fields["action_type"] for fields, _ in EXPRESSIBLE} | {fields["action_type"] for fields in INEXPRESSIBLE}
    assert len(types) == 14


def test_a_point_between_pixels_travels_in_the_extra_key() -> None:
    assert json.loads(codec.encode(Tap(x=0.3, y=1.0))) == {
        "action_type": "click",
        "x": 324,
        "y": 2399,
        "distrl": {"x": 0.3, "y": 1.0},
    }
    assert codec.decode('{"action_type":"click","x":324,"y":2399}') == Tap(x=0.3, y=2399 / 2400)


def test_a_free_swipe_is_named_by_its_nearest_direction() -> None:
    swipe = Swipe(x=0.5, y=0.8, to_x=0.45, to_y=0.2)
    assert json.loads(codec.encode(swipe)) == {
        "action_type": "swipe",
        "direction": "up",
        "distrl": {"x": 0.5, "y": 0.8, "to_x": 0.45, "to_y": 0.2},
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"action_type":"click","x":1,"y":1,"distrl":{"x":0.5,"y":0.5}}',
        '{"action_type":"swipe","direction":"up","distrl":{"x":0.5,"y":0.2,"to_x":0.5,"to_y":0.8}}',
        '{"action_type":"click","index":0,"distrl":{"x":0.5,"y":0.5}}',
    ],
)
def test_an_extra_key_that_contradicts_the_others_is_invalid(text: str) -> None:
    action = codec.decode(text)
    assert isinstance(action, Invalid)
    assert action.reason == "the key 'distrl' contradicts the others"


def test_an_index_is_read_by_a_codec_that_has_the_elements() -> None:
    seeing = dataclasses.replace(codec, elements=ELEMENTS)
    assert seeing.decode('{"action_type":"click","index":1}') == Tap(x=0.5, y=0.75)
    assert seeing.decode('{"action_type":"long_press","index":"1"}') == LongPress(x=0.5, y=0.75)
    assert seeing.decode('{"action_type":"scroll","direction":"down","index":0}') == Swipe(
        x=0.5, y=0.25, to_x=0.5, to_y=0.0
    )
    for blind in (
        codec.decode('{"action_type":"click","index":1}'),
        seeing.decode('{"action_type":"click","index":2}'),
    ):
        assert isinstance(blind, Invalid)
        assert "no element has this index" in blind.reason


def test_decode_all_spells_out_what_androidworld_does_when_it_types() -> None:
    typed = (TypeText(text="a"), Press(button=Button.ENTER))
    assert codec.decode_all('{"action_type":"input_text","text":"a","x":540,"y":1200}') == (Tap(x=0.5, y=0.5), *typed)
    assert codec.decode_all('{"action_type":"input_text","text":"a"}') == typed
    assert codec.decode_all('{"action_type":"wait"}') == (Wait(),)
    for text in (
        "nothing",
        '{"action_type":"input_text","text":"a","x":5000,"y":1}',
        '{"action_type":"input_text","x":5,"y":1}',
    ):
        (action,) = codec.decode_all(text)
        assert isinstance(action, Invalid)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"action_type":"fly"}', "unknown action_type 'fly'"),
        ('{"action_type":["click"]}', "unknown action_type"),
        ('{"x":1,"y":1}', "unknown action_type 'None'"),
        ('{"action_type":"click"}', "x must be a number"),
        ('{"action_type":"click","x":1}', "y must be a number"),
        ('{"action_type":"click","x":1080,"y":1}', "x must lie in [0, 1079] pixels"),
        ('{"action_type":"click","x":-1,"y":1}', "x must lie in [0, 1079] pixels"),
        ('{"action_type":"click","index":1,"x":1,"y":1}', "either an index or x and y"),
        ('{"action_type":"click","index":true}', "index must be a whole number"),
        ('{"action_type":"scroll"}', "direction must be"),
        ('{"action_type":"swipe","direction":"sideways"}', "direction must be"),
        ('{"action_type":"status","goal_status":"maybe"}', "goal_status must be"),
        ('{"action_type":"input_text"}', "text must be a string"),
        ('{"action_type":"input_text","text":5}', "text must be a string"),
        ('{"action_type":"open_app","app_name":""}', "the app has no name"),
        ('{"action_type":"click","x":1' + "0" * 400 + ',"y":1}', "too large"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, reason: str) -> None:
    action = codec.decode(text)
    assert isinstance(action, Invalid)
    assert action.raw == text
    assert reason in action.reason


def test_a_screen_without_pixels_does_not_construct() -> None:
    with pytest.raises(ValueError, match="at least one pixel"):
        AndroidWorldCodec(width=0)

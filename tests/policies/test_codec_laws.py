"""What holds for every codec: round trips, totality, bounds, verbatim text."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from distrl.core.errors import UnknownNameError
from distrl.core.types import MAX_TEXT_CHARS, Action, Invalid, OpenApp, Swipe, Tap, TypeText
from distrl.policies.codec import CODEC_NAMES, AndroidWorldCodec, get_codec

from .strategies import HOSTILE_TEXTS, UNTYPABLE, actions, any_text, performable

each_codec = pytest.mark.parametrize("name", CODEC_NAMES)


def assert_is_storable(action: Action) -> None:
    assert msgspec.json.decode(msgspec.json.encode(action), type=Action) == action
    if isinstance(action, Invalid):
        assert len(action.raw) <= 500
        assert len(action.reason) <= 500


def decode(name: str, text: str) -> Action:
    """Decodes, and checks what holds for all decoding."""
    action = get_codec(name).decode(text)
    assert isinstance(action, Action)
    return action


def test_a_codec_is_found_by_its_name_and_json_is_the_default() -> None:
    names = ["json", "autoui", "android_world", "ui_tars", "numbered", "named"]
    assert [get_codec(name).name for name in CODEC_NAMES] == names
    assert get_codec().name == "json"


def test_an_unknown_codec_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean autoui"):
        get_codec("auto_ui")


@each_codec
@given(action=actions)
@example(action=Swipe(x=0.5, y=0.5, to_x=0.5, to_y=0.51))
@example(action=Tap(x=1.0, y=1.0))
@example(action=TypeText(text="\U0001f600" * MAX_TEXT_CHARS))
def test_what_is_encoded_decodes_to_exactly_the_same_action(name: str, action: Action) -> None:
    assert decode(name, get_codec(name).encode(action)) == action


@each_codec
@given(action=performable)
def test_the_other_codecs_do_not_mistake_an_encoding_for_another_action(name: str, action: Action) -> None:
    text = get_codec(name).encode(action)
    for other in CODEC_NAMES:
        assert decode(other, text) == action or isinstance(decode(other, text), Invalid)


@given(action=actions, width=st.integers(1, 4000), height=st.integers(1, 4000))
def test_every_size_of_screen_keeps_every_digit(action: Action, width: int, height: int) -> None:
    codec = AndroidWorldCodec(width=width, height=height)
    assert codec.decode(codec.encode(action)) == action


@each_codec
@given(text=any_text)
@example(text="")
@example(text="\x00")
@example(text="\ud800")
@example(text="{")
@example(text="}")
@example(text='"')
@example(text="Action Decision:")
def test_any_text_at_all_decodes_to_a_storable_action(name: str, text: str) -> None:
    assert_is_storable(decode(name, text))


@each_codec
@given(
    action=actions,
    data=st.data(),
    insertion=st.one_of(
        st.text(st.characters(), max_size=5),
        st.sampled_from(['"', "'", "\\", "{", "}", "[", "]", ",", "\x00", "\udc00", "NaN", "1e999", "-", "9" * 400]),
    ),
)
def test_a_damaged_encoding_decodes_to_a_storable_action(
    name: str, action: Action, data: st.DataObject, insertion: str
) -> None:
    text = get_codec(name).encode(action)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    assert_is_storable(decode(name, text[:start] + insertion + text[end:]))


@each_codec
@given(action=actions, length=st.integers(0, 400))
def test_a_truncated_encoding_decodes_to_a_storable_action(name: str, action: Action, length: int) -> None:
    assert_is_storable(decode(name, get_codec(name).encode(action)[:length]))


@each_codec
@pytest.mark.parametrize("text", HOSTILE_TEXTS, ids=lambda text: ascii(text)[:30])
def test_hostile_text_is_typed_verbatim(name: str, text: str) -> None:
    codec = get_codec(name)
    assert codec.decode(codec.encode(TypeText(text=text))) == TypeText(text=text)
    assert codec.decode("I will type.\n" + codec.encode(TypeText(text=text)) + "\n") == TypeText(text=text)


@each_codec
@pytest.mark.parametrize("char", UNTYPABLE, ids=ascii)
def test_control_characters_are_never_typed(name: str, char: str) -> None:
    written = {
        "json": f'{{"type":"TypeText","text":"a\\u{ord(char):04x}b"}}',
        "autoui": f'Action Decision: "action_type": "TYPE", "typed_text": "a\\u{ord(char):04x}b"',
        "android_world": f'{{"action_type":"input_text","text":"a\\u{ord(char):04x}b"}}',
        "ui_tars": f"Action: type(content='a\\u{ord(char):04x}b')",
        "numbered": f'type "a\\u{ord(char):04x}b"',
        "named": f'type "a\\u{ord(char):04x}b"',
    }[name]
    for text in (written, written.replace(f"\\u{ord(char):04x}", char)):
        action = decode(name, text)
        assert isinstance(action, Invalid)
        assert f"control character U+{ord(char):04X} at position 1" in action.reason


@each_codec
@pytest.mark.parametrize(
    "action", [TypeText(text="a\x00b"), TypeText(text="\ud83d"), OpenApp(app=" "), OpenApp(app="x" * 257)], ids=ascii
)
def test_an_action_that_no_device_performs_is_written_as_invalid(name: str, action: Action) -> None:
    assert isinstance(decode(name, get_codec(name).encode(action)), Invalid)


@each_codec
def test_half_a_surrogate_pair_is_never_typed_nor_stored(name: str) -> None:
    written = {
        "json": '{"type":"TypeText","text":"\\ud83d"}',
        "autoui": 'Action Decision: "action_type": "TYPE", "typed_text": "\\ud83d"',
        "android_world": '{"action_type":"input_text","text":"\\ud83d"}',
        "ui_tars": "Action: type(content='\\ud83d')",
        "numbered": 'type "\\ud83d"',
        "named": 'type "\\ud83d"',
    }[name]
    for text in (written, written.replace("\\ud83d", "\ud83d")):
        action = decode(name, text)
        assert isinstance(action, Invalid)
        assert_is_storable(action)


@each_codec
def test_the_same_action_twice_is_a_stutter_and_counts_once(name: str) -> None:
    text = get_codec(name).encode(Tap(x=0.5, y=0.25))
    assert decode(name, f"{text}\n{text}") == Tap(x=0.5, y=0.25)


@each_codec
@pytest.mark.parametrize("between", [" ", "\n", "; then ", ", "])
def test_two_different_actions_are_invalid(name: str, between: str) -> None:
    codec = get_codec(name)
    action = decode(name, codec.encode(Tap(x=0.5, y=0.25)) + between + codec.encode(TypeText(text="hi")))
    assert isinstance(action, Invalid)
    one_line = name in {"numbered", "named"} and between != "\n"
    assert action.reason == ("no line is an answer" if one_line else "two actions where one was expected")


@each_codec
def test_a_megabyte_is_refused_whatever_it_holds(name: str) -> None:
    action = decode(name, get_codec(name).encode(Tap(x=0.5, y=0.5)) + "x" * 1_000_000)
    assert isinstance(action, Invalid)
    assert "at most 262144 are read" in action.reason
    assert len(action.raw) == 500


LONG = 131_072
SLOW_CANDIDATES = (
    "{",
    "}",
    "[",
    '{"a":',
    "{'",
    '"',
    "'",
    "\\",
    '\\"',
    "\\'",
    "{}",
    "{'}",
    "{'\\'}",
    " ",
    "\n",
    "action ",
    "action decision:",
    '"action_type":',
    '"action_type":"',
    "action_type:'\\'",
    'action_type:"\\"',
    "action_type:WAIT ",
    'action_type:"WAIT" ',
    'action_type:"WAIT", typed_text:',
    "action_type:[",
    "action_type:WAIT,typed_text:'',",
    "type(",
    "type(content='",
    "wait() ",
    "click(point='<point>",
    "type ",
    "tap 1 ",
    "tap ",
    "9",
    "\ud800",
    "\x00",
)


@each_codec
@pytest.mark.parametrize("unit", SLOW_CANDIDATES, ids=ascii)
@pytest.mark.parametrize("head", ["", "{'", 'Action Decision: "action_type": "', "type(content='"], ids=ascii)
@pytest.mark.timeout(60)
def test_a_long_text_is_read_at_all(name: str, unit: str, head: str) -> None:
    """Quadratic time would be 10^10 operations, minutes until the timeout; linear time is a fraction of a second."""
    text = (head + unit * (LONG // len(unit)))[:LONG]
    for candidate in (text, text + "}"):
        assert_is_storable(decode(name, candidate))


@each_codec
def test_deep_nesting_is_invalid(name: str) -> None:
    for text in ('{"x":' * 100_000, '{"type":' + "[" * 50_000 + "]" * 50_000 + "}", "[" * 200_000):
        assert isinstance(decode(name, text), Invalid)


@each_codec
@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-0.1", "5000", "9" * 5000, "true", "null"]
)
def test_a_coordinate_off_the_screen_is_invalid(name: str, number: str) -> None:
    text = {
        "json": f'{{"type":"Tap","x":{number},"y":0.5}}',
        "autoui": f'Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.5, {number}]", '
        f'"lift_point": "[0.5, {number}]", "typed_text": ""',
        "android_world": f'{{"action_type":"click","x":{number},"y":5}}',
        "ui_tars": f"Action: click(point='<point>{number} 5</point>')",
        "numbered": f"tap {number} 0.5",
        "named": f"tap {number} 0.5",
    }[name]
    assert isinstance(decode(name, text), Invalid)

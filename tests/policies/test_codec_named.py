"""Named answers: what a name means on a screen, and that no two elements share one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.types import Action, Element, Invalid, LongPress, Tap
from distrl.policies.codec.named import MAX_NAME_CHARS, NamedCodec

from .strategies import actions, any_text
from .test_codec_numbered import boxes

pytestmark = pytest.mark.models
ELEMENTS = (
    Element(box=(0.0, 0.0, 0.5, 0.5), text="Alarm", kind="button"),
    Element(box=(0.5, 0.0, 1.0, 0.5), text="Wi-Fi", kind="switch", checked=True),
    Element(box=(0.0, 0.5, 0.5, 1.0), text="7", kind="key"),
    Element(box=(0.5, 0.5, 1.0, 1.0), text="Alarm", kind="row"),
)
codec = NamedCodec(elements=ELEMENTS)
said = st.one_of(any_text, st.sampled_from(["", "0.5 0.25", "Delete", "Delete (2)", "back", "type x", "tap"]))
elements = st.lists(
    st.builds(Element, box=boxes, text=said, kind=st.just("row"), checked=st.sampled_from([None, True])), max_size=6
).map(tuple)


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("tap Alarm", Tap(x=0.25, y=0.25)),
        ("tap Alarm (2)", Tap(x=0.75, y=0.75)),
        ("hold Wi-Fi", LongPress(x=0.75, y=0.25)),
        ("tap 7", Tap(x=0.25, y=0.75)),
        ("tap 0.1 0.2", Tap(x=0.1, y=0.2)),
    ],
)
def test_what_is_touched_is_called_by_its_name(answer: str, action: Action) -> None:
    assert codec.encode(action) == answer
    assert codec.decode(answer) == action


@pytest.mark.parametrize("answer", ["Tap Wi-Fi", "click Wi-Fi.", "tap Wi-Fi (on)", "I see.\ntap Wi-Fi\ntap Wi-Fi"])
def test_what_small_models_write_around_a_name_is_forgiven(answer: str) -> None:
    assert codec.decode(answer) == Tap(x=0.75, y=0.25)


@pytest.mark.parametrize("answer", ["Alarm", "tap", "tap Bluetooth", "tap alarm", "tap 2", "tap Wi-Fi and Alarm"])
def test_what_no_element_is_called_touches_nothing(answer: str) -> None:
    assert isinstance(codec.decode(answer), Invalid)


def test_a_name_counts_before_a_line_that_reads_the_same() -> None:
    switch = Element(box=(0.0, 0.0, 0.5, 0.5), text="Wi-Fi", kind="switch", checked=True)
    row = Element(box=(0.5, 0.5, 1.0, 1.0), text="Wi-Fi (on)", kind="row")
    for seen in ((switch, row), (row, switch)):
        assert NamedCodec(elements=seen).decode("tap Wi-Fi (on)") == Tap(x=0.75, y=0.75)


def test_a_long_text_gives_its_first_words_as_a_name() -> None:
    long = (
        Element(box=(0, 0, 1, 1), text="Umar Rossi\nWedding gift Hey, did you hear", kind="row"),
        Element(box=(0, 0, 1, 1), text="x" * 99, kind="row"),
    )
    assert NamedCodec(elements=long).names == ("Umar Rossi Wedding gift Hey, did", "x" * MAX_NAME_CHARS)


@given(action=actions, seen=elements)
def test_any_action_on_any_screen_comes_back_equal(action: Action, seen: tuple[Element, ...]) -> None:
    seeing = NamedCodec(elements=seen)
    assert seeing.decode(seeing.encode(action)) == action


@given(seen=elements)
def test_every_element_can_be_touched_by_its_own_name(seen: tuple[Element, ...]) -> None:
    seeing = NamedCodec(elements=seen)
    assert len(set(seeing.names)) == len(seen)
    for name, element in zip(seeing.names, seen, strict=True):
        x, y = element.center
        assert seeing.decode(f"tap {name}") == Tap(x=x, y=y)


@given(text=any_text, seen=elements)
def test_any_answer_on_any_screen_is_an_action(text: str, seen: tuple[Element, ...]) -> None:
    assert isinstance(NamedCodec(elements=seen).decode(text), Action)

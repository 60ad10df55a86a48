"""The phone: touch changes state, state changes the screen, and nothing else does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.errors import UnknownNameError, UserError
from distrl.core.seeds import derive_random
from distrl.core.types import (
    Action,
    Button,
    Element,
    LongPress,
    OpenApp,
    Press,
    Swipe,
    Tap,
    Task,
    TypeText,
    Wait,
)
from distrl.devices.sim.elements import candidates
from distrl.devices.sim.phone import Phone
from distrl.devices.sim.state import Page
from distrl.devices.sim.theme import resolve
from distrl.policies.scripted import RandomPolicy
from distrl.runtime.build import make_phone
from distrl.runtime.checking import see

BACK, HOME, ENTER = (Press(button=b) for b in Button)
ANY = Task(id="any", suite="x", split="x", instruction="Write some words about 7:30 and Ana Lopes", max_steps=15)


def find(phone: Phone, *, id: str = "", text: str = "") -> Element:
    return next(e for e in phone.elements() if (id and e.id == id) or (text and e.text.split("\n")[0] == text))


def tap(phone: Phone, **what: str) -> None:
    x, y = find(phone, **what).center
    phone.perform(Tap(x=x, y=y))


def test_the_launcher_has_at_least_fourteen_apps() -> None:
    assert len(make_phone().tiles()) >= 14


def test_tapping_an_icon_opens_its_app_and_home_leaves_it() -> None:
    phone = make_phone()
    tap(phone, id="app:Notes")
    assert phone.activity == "notes/home"
    phone.perform(HOME)
    assert phone.activity == "launcher/home"


def test_a_note_typed_by_touch_is_in_the_state() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="fab")
    tap(phone, id="title")
    phone.perform(TypeText(text="Groceries, “bread” & 🥖"))
    tap(phone, id="save")
    assert phone.inspect("notes")["notes"][0]["title"] == "Groceries, “bread” & 🥖"


def test_keys_of_the_keyboard_type_letters() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="fab")
    tap(phone, id="title")
    for key in ("key:shift", "key:h", "key:i", "key:x", "key:backspace"):
        tap(phone, id=key)
    assert find(phone, id="title").text == "Hi"


def test_typing_without_a_focused_field_does_nothing() -> None:
    phone = make_phone()
    before = phone.snapshot()
    phone.perform(TypeText(text="hello"))
    after = phone.snapshot()
    phone.restore(before)
    phone.perform(Press(button=Button.ENTER))
    assert phone.snapshot() == after


def test_the_keyboard_covers_the_lower_part_and_back_hides_it_first() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="query")
    keys = [e for e in phone.elements() if e.kind == "key"]
    assert len(keys) >= 30
    assert min(e.box[1] for e in keys) < 0.62
    phone.perform(BACK)
    assert not [e for e in phone.elements() if e.kind == "key"]
    assert phone.activity == "notes/home"


def test_a_dialog_takes_all_touches_and_closes_when_tapped_outside() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    phone.push(Page("notes", "delete", "x"))
    phone.perform(Wait())
    assert {e.text for e in phone.elements() if e.clickable} == {"Cancel", "Delete"}
    phone.perform(Tap(x=0.5, y=0.05))
    assert phone.activity == "notes/home"


def test_a_dialog_dims_what_lies_below() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    bright = np.frombuffer(phone.render(), np.uint8).reshape(600, 270, 3)[100, 5]
    phone.push(Page("notes", "delete", "x"))
    phone.perform(Wait())
    dim = np.frombuffer(phone.render(), np.uint8).reshape(600, 270, 3)[100, 5]
    assert (dim < bright // 2).all()


def test_swiping_up_scrolls_a_long_list_and_stops_at_its_end() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Settings"))
    seen = []
    for _ in range(8):
        seen.append(phone.top().scroll)
        phone.perform(Swipe(x=0.5, y=0.7, to_x=0.5, to_y=0.3))
    assert seen[0] == 0 < seen[1]
    assert phone.top().scroll == seen[-1] == phone.frame().max_scroll


def test_edge_swipes_are_gestures() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="fab")
    phone.perform(Swipe(x=0.0, y=0.5, to_x=0.5, to_y=0.5))
    assert phone.activity == "notes/home"
    phone.perform(Swipe(x=0.5, y=0.99, to_x=0.5, to_y=0.5))
    assert phone.activity == "launcher/home"
    phone.perform(Swipe(x=0.5, y=0.01, to_x=0.5, to_y=0.6))
    assert phone.activity == "system/shade"


def test_a_quick_setting_switches_the_setting() -> None:
    phone = make_phone()
    phone.perform(Swipe(x=0.5, y=0.01, to_x=0.5, to_y=0.6))
    tap(phone, text="Flashlight")
    assert phone.inspect("settings")["flashlight"] is True


def test_dark_theme_and_font_scale_change_the_picture() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    light = phone.render()
    phone.arrange({"settings": {"dark_theme": True}})
    dark = phone.render()
    phone.arrange({"settings": {"dark_theme": False, "font_percent": 120}})
    assert len({light, dark, phone.render()}) == 3
    assert sum(dark) < sum(light) / 2


def test_snapshot_and_restore_bring_everything_back() -> None:
    phone = make_phone(seed=4)
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="fab")
    before, picture = phone.snapshot(), phone.render()
    rng = derive_random(0, "wander")
    policy = RandomPolicy(rng)
    for _ in range(30):
        phone.perform(policy.act(ANY, see(phone)))
    phone.restore(before)
    assert phone.render() == picture
    assert phone.snapshot() == before


def test_two_phones_of_one_seed_are_equal_and_of_two_seeds_differ() -> None:
    assert make_phone(seed=1).snapshot() == make_phone(seed=1).snapshot() != make_phone(seed=2).snapshot()


def test_phones_share_no_state() -> None:
    first, second = make_phone(), make_phone()
    untouched = second.snapshot()
    first.arrange({"notes": {"notes": []}, "settings": {"wifi": False}})
    first.perform(OpenApp(app="Notes"))
    assert second.snapshot() == untouched


def test_arranging_refuses_unknown_names_and_wrong_types() -> None:
    phone = make_phone()
    with pytest.raises(UnknownNameError, match="notes"):
        phone.arrange({"nots": {}})
    with pytest.raises(UnknownNameError, match="wifi"):
        phone.arrange({"settings": {"wify": True}})
    with pytest.raises(UserError, match=r"settings\.wifi"):
        phone.arrange({"settings": {"wifi": "yes"}})


def test_candidates_are_at_most_64_in_reading_order_without_letter_keys() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="query")
    found = phone.candidates()
    assert 0 < len(found) <= 64
    assert not [e for e in found if e.id.startswith("key:") and e.id not in ("key:enter", "key:hide")]
    tops = [e.box[1] for e in found if e.kind != "key"]
    assert tops == sorted(tops)


@pytest.mark.parametrize("scale", [0.1, 0.2, 0.25, 0.333, 0.5, 1.0])
def test_every_scale_draws_a_picture_of_its_size(scale: float) -> None:
    phone = make_phone(scale=scale)
    width, height = phone.size
    assert len(phone.render()) == width * height * 3


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), moves=st.integers(1, 40))
def test_no_sequence_of_actions_breaks_the_phone(seed: int, moves: int) -> None:
    """Elements stay on the screen, the picture has its size, and every handler exists."""
    phone = make_phone(seed=seed)
    rng = derive_random(seed, "moves")
    policy = RandomPolicy(rng)
    for _ in range(moves):
        phone.perform(policy.act(ANY, see(phone)))
        assert len(phone.render()) == 270 * 600 * 3
        for element in phone.elements():
            left, top, right, bottom = element.box
            assert 0 <= left <= right <= 1.001
            assert 0 <= top <= bottom <= 1.001


@pytest.mark.parametrize(
    "action",
    [
        TypeText(text="\x00\x01\x7f\u202e"),
        TypeText(text="x" * 4000),
        OpenApp(app="no such app"),
        LongPress(x=1.0, y=1.0),
        Swipe(x=0, y=0, to_x=0, to_y=0),
        Tap(x=0, y=0),
    ],
)
def test_odd_actions_do_no_harm(action: Action) -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="query")
    phone.perform(action)
    assert len(phone.render()) == 270 * 600 * 3


def test_looking_at_a_phone_does_not_change_it() -> None:
    for app in make_phone().apps:
        phone = make_phone()
        if app != "system":
            phone.perform(OpenApp(app=app))
        before = phone.snapshot()
        phone.render()
        phone.elements()
        assert phone.snapshot() == before, app


def test_the_launcher_turns_pages_and_finds_apps_by_name() -> None:
    phone = make_phone(seed=3)
    first = {e.id for e in phone.elements() if e.kind == "app"}
    phone.perform(Swipe(x=0.8, y=0.4, to_x=0.2, to_y=0.4))
    second = {e.id for e in phone.elements() if e.kind == "app"}
    dock = first & second
    assert len(dock) == 4
    assert len(first - dock) == 12
    phone.perform(Swipe(x=0.5, y=0.5, to_x=0.5, to_y=0.2))
    assert phone.activity == "launcher/drawer"
    tap(phone, id="query")
    phone.perform(TypeText(text="cal"))
    shown = [e.text for e in phone.elements() if e.kind == "app"]
    assert shown == sorted(shown)
    assert {"Calculator", "Calendar"} <= set(shown)
    assert all("cal" in name.casefold() for name in shown)
    phone.perform(ENTER)
    assert phone.activity == "calculator/home"


def test_typing_without_a_field_presses_the_keys_of_a_calculator_and_nothing_elsewhere() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Calculator"))
    for text in ("94", "*8x8", "="):
        phone.perform(TypeText(text=text))
    state = phone.inspect("calculator")
    assert (state["expression"], state["history"][0]["expression"]) == ("8272", "94*88")
    tap(phone, text="History")
    phone.perform(TypeText(text="7"))
    assert phone.inspect("calculator") == state
    phone.perform(OpenApp(app="Notes"))
    before = phone.inspect("notes")
    phone.perform(TypeText(text="94"))
    assert phone.inspect("notes") == before


@pytest.mark.parametrize("percent", [115, 130])
def test_icons_are_touched_where_they_are_drawn_with_larger_type(percent: int) -> None:
    phone = make_phone()
    phone.arrange({"settings": {"font_percent": percent}})
    picture = np.frombuffer(phone.render(), np.uint8).reshape(600, 270, 3)
    element = find(phone, id="app:Phone")
    x = round(element.center[0] * 270)
    top = round(element.box[1] * 600)
    color = list(resolve(phone.apps["dialer"].color, False))
    assert picture[top + 2, x].tolist() == color
    assert picture[top - 2, x].tolist() != color


def test_a_slider_takes_taps_and_drags() -> None:
    phone = make_phone()
    phone.perform(Swipe(x=0.5, y=0.01, to_x=0.5, to_y=0.6))
    left, top, right, bottom = find(phone, id="slider:Brightness").box
    margin = 30 / 1080
    middle = (top + bottom) / 2
    phone.perform(Tap(x=left + margin + (right - left - 2 * margin) * 0.25, y=middle))
    assert phone.inspect("settings")["brightness"] == 25
    phone.perform(Swipe(x=0.5, y=middle, to_x=left + margin + (right - left - 2 * margin) * 0.9, to_y=middle))
    assert phone.inspect("settings")["brightness"] == 90
    phone.perform(Swipe(x=0.5, y=middle, to_x=1.0, to_y=middle))
    assert phone.inspect("settings")["brightness"] == 100


def test_a_toast_is_in_the_ui_tree() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="fab")
    tap(phone, id="save")
    assert any(e.text == "Empty note discarded" and not e.clickable for e in phone.elements())


def test_more_than_64_elements_are_cut_and_plain_text_gives_way_first() -> None:
    def made(index: int, clickable: bool) -> Element:
        return Element(box=(0, index / 200, 1, index / 200), text=str(index), kind="row", clickable=clickable)

    crowd = tuple(made(n, clickable=n % 2 == 0) for n in range(100))
    kept = candidates(crowd)
    assert len(kept) == 64
    assert sum(e.clickable for e in kept) == 50
    assert [int(e.text) for e in kept] == sorted(int(e.text) for e in kept)
    assert len(candidates(tuple(made(n, clickable=True) for n in range(100)))) == 64


def test_half_a_character_typed_is_replaced_and_can_be_stored() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="query")
    phone.perform(TypeText(text="a\ud800b"))
    assert find(phone, id="query").text == "a?b"
    phone.restore(phone.snapshot())


def test_a_field_takes_no_more_than_two_thousand_characters() -> None:
    phone = make_phone()
    phone.perform(OpenApp(app="Notes"))
    tap(phone, id="query")
    for _ in range(2):
        phone.perform(TypeText(text="x" * 1500))
    assert len(find(phone, id="query").text) == 2000

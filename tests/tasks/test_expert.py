"""The expert: reads the screen, closes what is in the way, scrolls to what it cannot see."""

import pytest

from distrl.core.types import (
    Action,
    Button,
    Claim,
    Element,
    Finish,
    Observation,
    Press,
    Screen,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from distrl.tasks.expert import Expert, find
from distrl.tasks.plan import Plan, Stage, choose, enter, field, if_seen, on, plan, slide, stage, tap, toggle

BLANK = Screen(data=b"", width=0, height=0)
BACK = Press(button=Button.BACK)


def element(text: str = "", top: float = 0.25, **more: object) -> Element:
    return Element(box=(0.125, top, 0.375, top + 0.125), text=text, kind=str(more.pop("kind", "button")), **more)  # type: ignore[arg-type]


def act(made: Plan, activity: str, *tree: Element) -> Action:
    seen = Observation(screen=BLANK, activity=activity, time_s=0, ui_tree=tree)
    return Expert(made, lambda app: {}).act(seen)


KEYBOARD = element("a", kind="key", id="key:a")
TO_SAVE = plan("Notes", on("notes/edit", tap("Save")))


def test_it_taps_the_middle_of_what_it_looks_for() -> None:
    assert act(TO_SAVE, "notes/edit", element("Save")) == Tap(x=0.25, y=0.3125)


def test_a_rule_matches_its_page_with_any_argument_but_no_other_page() -> None:
    assert isinstance(act(TO_SAVE, "notes/edit/My note", element("Save")), Tap)
    assert act(TO_SAVE, "notes/editor", element("Save")) == BACK


def test_it_leaves_other_apps_by_the_home_button() -> None:
    assert act(TO_SAVE, "clock/home", element("Save")) == Press(button=Button.HOME)


def test_on_the_launcher_it_taps_the_icon_or_turns_the_page() -> None:
    icon = element("Notes", id="app:Notes")
    assert isinstance(act(TO_SAVE, "launcher/home", icon), Tap)
    turned = act(TO_SAVE, "launcher/home")
    assert isinstance(turned, Swipe)
    assert turned.to_x < turned.x


def test_it_closes_popups_by_their_dismiss_button_or_by_back() -> None:
    assert isinstance(act(TO_SAVE, "system/rate/notes", element("Not now", id="dismiss")), Tap)
    assert act(TO_SAVE, "system/shade") == BACK


def test_it_waits_for_a_page_that_loads() -> None:
    assert act(TO_SAVE, "notes/edit", element("Loading…")) == Wait()


def test_what_it_cannot_see_it_scrolls_to_after_hiding_the_keyboard() -> None:
    assert isinstance(act(TO_SAVE, "notes/edit"), Swipe)
    assert act(TO_SAVE, "notes/edit", KEYBOARD) == BACK


def test_at_the_end_of_a_list_it_turns_around() -> None:
    expert = Expert(TO_SAVE, lambda app: {})
    seen = Observation(screen=BLANK, activity="notes/edit", time_s=0, ui_tree=(element("other"),))
    down, up = expert.act(seen), expert.act(seen)
    assert isinstance(down, Swipe)
    assert isinstance(up, Swipe)
    assert down.to_y < down.y
    assert up.to_y > up.y


def test_a_field_is_tapped_then_cleared_then_typed_into_then_left_alone() -> None:
    made = plan("Notes", on("notes/edit", field("title", "Milk"), tap("Save")))
    save = element("Save", top=0.625)
    clear = element("Clear", top=0.375, id="clear:title")
    assert act(made, "notes/edit", element("Title", id="title"), save) == Tap(x=0.25, y=0.3125)
    assert act(made, "notes/edit", element("Milx", id="title", focused=True), clear, save) == Tap(x=0.25, y=0.4375)
    assert act(made, "notes/edit", element("Title", id="title", focused=True), save) == TypeText(text="Milk")
    assert act(made, "notes/edit", element("Milk", id="title", focused=True), save) == Tap(x=0.25, y=0.6875)


def test_enter_is_pressed_when_the_field_is_right() -> None:
    made = plan("Browser", on("browser/home", enter("query", "cats")))
    assert act(made, "browser/home", element("cats", id="query", focused=True)) == Press(button=Button.ENTER)


def test_switches_and_tabs_are_touched_only_when_they_are_wrong() -> None:
    made = plan("Settings", on("settings/x", choose("Sound"), toggle("Wi-Fi", on=False)))
    sound, wifi = element("Sound", checked=True), element("Wi-Fi", top=0.5, checked=True)
    assert act(made, "settings/x", sound, wifi) == Tap(x=0.25, y=0.5625)
    done = act(made, "settings/x", sound, element("Wi-Fi", top=0.5, checked=False))
    assert done == Finish(claim=Claim.COMPLETE)


def test_a_slider_is_touched_at_the_share_of_its_length() -> None:
    made = plan("Settings", on("settings/x", slide("Media volume", 50)))
    here = element("Media volume 20%", id="slider:Media volume", kind="slider")
    touched = act(made, "settings/x", here)
    assert isinstance(touched, Tap)
    assert (touched.x, touched.y) == pytest.approx((0.25, 0.3125))
    there = element("Media volume 51%", id="slider:Media volume", kind="slider")
    assert act(made, "settings/x", there) == Finish(claim=Claim.COMPLETE)


def test_if_seen_never_scrolls() -> None:
    made = plan("Notes", on("notes/home", if_seen("Skip"), tap("Add")))
    assert act(made, "notes/home", element("Add")) == Tap(x=0.25, y=0.3125)


def test_stages_follow_each_other_when_their_state_is_reached() -> None:
    first: Stage = stage("Notes", on("notes/home", tap("Add")), done=lambda inspect: inspect("notes")["done"])
    made: Plan = (first, stage("Clock", on("clock/home", tap("Alarm"))))
    seen = Observation(screen=BLANK, activity="clock/home", time_s=0, ui_tree=(element("Alarm"),))
    assert Expert(made, lambda app: {"done": False}).act(seen) == Press(button=Button.HOME)
    assert isinstance(Expert(made, lambda app: {"done": True}).act(seen), Tap)


def test_find_prefers_the_whole_text_then_a_line_then_the_beginning() -> None:
    whole, line, start = element("Ana"), element("x\nAna"), element("Ana Lopes")
    assert find((start, line, whole), "Ana", "") is whole
    assert find((start, line), "Ana", "") is line
    assert find((start,), "Ana", "") is start
    assert find((element("Ana", clickable=False),), "Ana", "") is None

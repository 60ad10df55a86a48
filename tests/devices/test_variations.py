"""Variations: each changes something that can be seen, the same for the same seed, and can be got out of the way."""

import pytest

from distrl.core.errors import UnknownNameError
from distrl.core.types import Button, OpenApp, Press, Swipe, Tap, Wait
from distrl.devices.sim.phone import Phone
from distrl.devices.sim.state import Page
from distrl.devices.sim.variations import VARIATIONS
from distrl.runtime.build import make_phone


def varied(*names: str, seed: int = 0) -> Phone:
    phone = make_phone()
    phone.wipe(seed=seed, variation_names=names)
    return phone


def dismiss(phone: Phone) -> None:
    x, y = next(e for e in phone.elements() if e.id == "dismiss").center
    phone.perform(Tap(x=x, y=y))


def popups(name: str, app: str) -> set[str]:
    """The pop-ups that opening an app shows on some phone of twenty."""
    shown = set()
    for seed in range(20):
        phone = varied(name, seed=seed)
        phone.perform(OpenApp(app=app))
        if phone.system.popups:
            shown.add(phone.system.popups[-1].name)
            for _ in range(3):
                if not phone.system.popups:
                    break
                dismiss(phone)
            assert not phone.system.popups
    return shown


@pytest.mark.parametrize(
    ("name", "app", "popup"),
    [
        ("permissions", "Maps", "permission"),
        ("rate", "Music", "rate"),
        ("ads", "Music", "ad"),
        ("crash", "Notes", "crash"),
        ("not_responding", "Notes", "not_responding"),
    ],
)
def test_a_popup_appears_and_can_be_dismissed(name: str, app: str, popup: str) -> None:
    assert popups(name, app) == {popup}


def test_a_crash_closes_the_app() -> None:
    for seed in range(20):
        phone = varied("crash", seed=seed)
        phone.perform(OpenApp(app="Notes"))
        if phone.system.popups:
            phone.perform(Press(button=Button.BACK))
            assert phone.activity.startswith("system/crash"), "a crash dialog is not cancelled by back"
            dismiss(phone)
            assert phone.activity == "launcher/home"
            return
    pytest.fail("no phone of twenty crashed")


def test_cookies_are_asked_for_once_per_shop() -> None:
    phone = varied("cookies")
    phone.perform(OpenApp(app="Browser"))
    page = next(name for name in phone.apps["browser"].pages if name.startswith("shop_") and name.endswith("home"))
    phone.push(Page("browser", page))
    assert phone.top().name == "cookies"
    phone.system.popups.clear()
    phone.push(Page("browser", page))
    assert phone.top().name == page


def test_slow_loading_shows_a_spinner_that_waiting_ends() -> None:
    for seed in range(20):
        phone = varied("slow_loading", seed=seed)
        phone.perform(OpenApp(app="Store"))
        phone.push(Page("store", "home"))
        phone.perform(Wait())
        phone.push(Page("store", "home", str(seed)))
        if any(e.text == "Loading…" for e in phone.elements()):
            phone.perform(Wait())
            phone.perform(Wait())
            assert not any(e.text == "Loading…" for e in phone.elements())
            return
    pytest.fail("no page of twenty loaded slowly")


def test_the_battery_runs_low_and_says_so() -> None:
    phone = varied("low_battery")
    for _ in range(5):
        phone.perform(Swipe(x=0.8, y=0.4, to_x=0.2, to_y=0.4))
    assert phone.activity == "system/low_battery"
    assert phone.settings.battery < 15


@pytest.mark.parametrize("name", ["dark", "font", "three_buttons", "shuffled_icons"])
def test_a_changed_look_shows_on_the_home_screen_or_in_an_app(name: str) -> None:
    plain, changed = varied(), varied(name)
    pictures = []
    for phone in (plain, changed):
        home = phone.render()
        phone.perform(OpenApp(app="Notes"))
        pictures.append((home, phone.render()))
    assert pictures[0] != pictures[1]


def test_new_layout_moves_widgets_of_some_apps() -> None:
    moved = []
    for app in varied().apps.values():
        trees = []
        for phone in (varied(), varied("new_layout")):
            phone.perform(OpenApp(app=app.id))
            trees.append(phone.elements())
        moved += [app.id] if trees[0] != trees[1] else []
    assert len(moved) >= 3


@pytest.mark.parametrize(
    ("label", "activity"), [("Back", "notes/home"), ("Recents", "system/recents"), ("Home", "launcher/home")]
)
def test_three_buttons_are_back_home_and_recents(label: str, activity: str) -> None:
    phone = varied("three_buttons")
    phone.perform(OpenApp(app="Notes"))
    phone.push(Page("notes", "edit"))
    phone.perform(Wait())
    x, y = next(e for e in phone.elements() if e.id == f"nav:{label}").center
    phone.perform(Tap(x=x, y=y))
    assert phone.activity == activity


def test_the_home_button_leaves_a_page_of_the_system_too() -> None:
    phone = varied("three_buttons")
    phone.push(Page("system", "recents"))
    phone.perform(Wait())
    x, y = next(e for e in phone.elements() if e.id == "nav:Home").center
    phone.perform(Tap(x=x, y=y))
    assert phone.activity == "launcher/home"


def test_equal_seeds_vary_alike() -> None:
    def journey(seed: int) -> bytes:
        phone = varied(*VARIATIONS, seed=seed)
        for app in ("Maps", "Music", "Browser", "Notes", "Store"):
            phone.perform(OpenApp(app=app))
            phone.perform(Wait())
        return phone.snapshot()

    assert journey(3) == journey(3) != journey(4)


def test_an_unknown_variation_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="dark"):
        varied("drak")

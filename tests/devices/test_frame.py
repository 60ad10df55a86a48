"""Frames: what lies on what, and that the picture, the ui tree and touch agree."""

import numpy as np
import numpy.typing as npt

from distrl.core.types import Button as Key
from distrl.core.types import OpenApp, Press, Swipe, Tap, Wait
from distrl.devices.sim.app import App, NoState, Ui, do
from distrl.devices.sim.nodes import Box, Text, View
from distrl.devices.sim.phone import Phone
from distrl.runtime.build import make_phone

TAPPED: list[str] = []


def _note(ui: Ui, what: str) -> None:
    TAPPED.append(what)
    ui.toast(what)


def _page(ui: Ui) -> View:
    rows = tuple(
        Box((Text(f"row {n}"),), height=300, fill=f"#{n * 10:02X}0000", tap=do(_note, f"row {n}")) for n in range(20)
    )
    bar = Box((Text("bar"),), height=150, fill="#00FF00", tap=do(_note, "bar"))
    bottom = Box((Text("bottom"),), height=150, fill="#0000FF", tap=do(_note, "bottom"))
    fab = Box(width=200, height=200, fill="#FFFFFF", radius=40, tap=do(_note, "fab"), label="fab")
    return View(bar=bar, body=rows, bottom=bottom, fab=fab, fill="#111111")


PROBE = App(id="probe", name="Probe", icon="cog", color="#000000", pages={"home": _page}, fresh=lambda rng: _State())


class _State(NoState):
    """A state type of its own."""


def probe() -> Phone:
    TAPPED.clear()
    phone = make_phone(more_apps=(PROBE,))
    phone.perform(OpenApp(app="probe"))
    return phone


def pixels(phone: Phone) -> npt.NDArray[np.uint8]:
    return np.frombuffer(phone.render(), np.uint8).reshape(600, 270, 3)


def test_bars_cover_rows_and_the_floating_button_covers_both() -> None:
    picture = pixels(probe())
    assert picture[40, 250].tolist() == [0, 255, 0]
    assert picture[560, 250].tolist() == [0, 0, 255]
    assert picture[100, 250].tolist() == [0, 0, 0]
    assert picture[500, 230].tolist() == [255, 255, 255]


def test_what_is_seen_at_a_point_is_what_is_touched() -> None:
    phone = probe()
    for y, expected in ((60, "bar"), (70, "row 0"), (140, "row 1"), (560, "bottom")):
        phone.perform(Tap(x=0.1, y=y / 600))
        assert TAPPED[-1] == expected
    phone.perform(Tap(x=0.85, y=500 / 600))
    assert TAPPED[-1] == "fab"


def test_scrolling_moves_rows_by_the_length_of_the_swipe() -> None:
    phone = probe()
    phone.perform(Swipe(x=0.5, y=0.5, to_x=0.5, to_y=0.25))
    assert phone.top().scroll == 600
    phone.perform(Tap(x=0.1, y=70 / 600))
    assert TAPPED[-1] == "row 2"
    row = next(e for e in phone.elements() if e.text == "row 2")
    assert row.box[1] * 2400 == 250


def test_the_end_of_a_list_stays_above_the_bottom_bar_with_room_for_the_button() -> None:
    phone = probe()
    for _ in range(20):
        phone.perform(Swipe(x=0.5, y=0.8, to_x=0.5, to_y=0.2))
    viewport = 2400 - 100 - 150 - 150 - 72
    assert phone.top().scroll == 20 * 300 + 200 - viewport
    for _ in range(20):
        phone.perform(Swipe(x=0.5, y=0.2, to_x=0.5, to_y=0.8))
    assert phone.top().scroll == 0


def test_a_row_that_is_cut_is_an_element_as_far_as_it_shows() -> None:
    phone = probe()
    phone.perform(Swipe(x=0.5, y=0.5, to_x=0.5, to_y=0.45))
    cut = next(e for e in phone.elements() if e.text == "row 0")
    assert (round(cut.box[1] * 2400), round(cut.box[3] * 2400)) == (250, 430)


def test_a_toast_shows_and_goes_by_itself() -> None:
    phone = probe()
    before = phone.render()
    phone.perform(Tap(x=0.1, y=60 / 600))
    assert phone.render() != before
    phone.perform(Wait())
    assert phone.render() == before


def test_back_from_the_first_page_goes_home_and_the_app_is_where_it_was() -> None:
    phone = probe()
    phone.perform(Swipe(x=0.5, y=0.5, to_x=0.5, to_y=0.25))
    phone.perform(Press(button=Key.HOME))
    phone.perform(OpenApp(app="Probe"))
    assert phone.top().scroll == 600
    phone.perform(Press(button=Key.BACK))
    assert phone.activity == "launcher/home"

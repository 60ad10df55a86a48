"""Layout and paint: where things are placed and that pixels agree with places."""

import numpy as np
import numpy.typing as npt
import pytest

from distrl.core.errors import UnknownNameError
from distrl.devices.sim.caching import cached_bytes
from distrl.devices.sim.fonts import icon_mask, text_width, word_masks
from distrl.devices.sim.layout import lay_out, wrap
from distrl.devices.sim.nodes import Box, Icon, Picture, Text
from distrl.devices.sim.paint import Style, sprite

QUARTER = Style(scale=0.25, dark=False, font_scale=1.0)


def pixels_of(block: Box, width: int, background: str) -> npt.NDArray[np.uint8]:
    data = np.frombuffer(sprite(block, width, background, QUARTER), np.uint8)
    return data.reshape(-1, round(width * 0.25), 3)


def test_in_a_row_fixed_children_keep_their_width_and_growing_ones_share_the_rest() -> None:
    block = Box((Box(width=100, height=10), Box(grow=1), Box(grow=3)), row=True, gap=20)
    places = [(p.x, p.w) for p in lay_out(block, 540, 1.0).placed[1:]]
    assert places == [(0, 100), (120, 100), (240, 300)]


def test_in_a_column_heights_and_gaps_add_up() -> None:
    block = Box((Box(height=30), Box(height=50)), gap=7, pad=(1, 2, 3, 4))
    laid = lay_out(block, 200, 1.0)
    assert laid.height == 2 + 30 + 7 + 50 + 4
    assert [(p.x, p.y, p.w) for p in laid.placed[1:]] == [(1, 2, 196), (1, 39, 196)]


def test_nothing_leaves_a_row_that_is_too_narrow() -> None:
    block = Box((Box((Text("a very long piece of text indeed"),)), Box(width=100)), row=True)
    assert max(p.x + p.w for p in lay_out(block, 300, 1.0).placed) <= 300


def test_text_wraps_at_words_and_ends_in_an_ellipsis_when_cut() -> None:
    width = int(text_width("alpha beta", 48, "regular")) + 1
    assert wrap("alpha beta gamma", 48, "regular", width, 3) == ("alpha beta", "gamma")
    assert wrap("alpha beta gamma", 48, "regular", width, 1)[0].endswith("…")
    assert text_width(wrap("alpha beta gamma", 48, "regular", width, 1)[0], 48, "regular") <= width


def test_a_larger_font_scale_makes_text_taller() -> None:
    block = Box((Text("Hello", 48),))
    assert lay_out(block, 400, 1.2).height > lay_out(block, 400, 1.0).height


def test_the_text_of_an_element_is_what_it_shows() -> None:
    block = Box((Text("Wi-Fi"), Text("Connected", 44)), id="wifi")
    assert [text for _, text in lay_out(block, 400, 1.0).touchable] == ["Wi-Fi\nConnected"]


def test_text_outside_of_elements_is_an_element_of_its_own() -> None:
    block = Box((Text("Title"), Box((Text("OK"),), id="ok")))
    assert [text for _, text in lay_out(block, 400, 1.0).touchable] == ["Title", "OK"]


def test_equal_blocks_share_one_sprite() -> None:
    first = sprite(Box((Text("same"),)), 400, "bg", QUARTER)
    assert sprite(Box((Text("same"),)), 400, "bg", QUARTER) is first


def test_a_filled_box_is_painted_where_it_is_placed() -> None:
    block = Box((Box(height=80, fill="#FF0000"),), pad=(40, 40, 40, 40))
    pixels = pixels_of(block, 400, "#FFFFFF")
    red = np.argwhere((pixels == (255, 0, 0)).all(axis=2))
    assert red.min(axis=0).tolist() == [10, 10]
    assert red.max(axis=0).tolist() == [29, 89]


def test_the_smallest_text_is_at_least_nine_pixels_high_at_policy_size() -> None:
    words, _ = word_masks("Ágjy", 42 * 0.25, "regular")
    box = words[0][0].getbbox()
    assert box is not None
    assert box[3] - box[1] >= 9


def test_text_keeps_its_width_at_every_scale() -> None:
    full = text_width("Network & internet", 48, "regular")
    _, width = word_masks("Network & internet", 12.0, "regular")
    assert width == pytest.approx(full / 4, abs=2)


def test_an_unknown_icon_names_its_neighbours() -> None:
    with pytest.raises(UnknownNameError, match="magnify"):
        icon_mask("magnifi", 24)


def test_pictures_are_the_same_each_time() -> None:
    one = sprite(Box((Picture("photo", "lake", 200, 200),)), 400, "bg", QUARTER)
    again = sprite(Box((Picture("photo", "lake", 200, 200),), gap=1), 400, "bg", QUARTER)
    assert again is not one
    assert again == one


def test_an_icon_is_painted_in_its_colour() -> None:
    pixels = pixels_of(Box((Icon("square", 80, "#00FF00"),)), 80, "#FFFFFF")
    assert pixels[10, 10].tolist() == [0, 255, 0]


def test_children_of_a_row_stand_in_its_middle() -> None:
    block = Box((Box(width=10, height=20), Box(width=10, height=60)), row=True, pad=(0, 5, 0, 5))
    assert [(p.y, p.h) for p in lay_out(block, 100, 1.0).placed[1:]] == [(25, 20), (5, 60)]


def test_a_cache_of_bytes_forgets_the_least_recently_used_when_full() -> None:
    calls: list[int] = []

    @cached_bytes(max_bytes=10)
    def make(number: int) -> bytes:
        calls.append(number)
        return bytes(4)

    for number in (1, 2, 1, 3, 1, 2):
        make(number)
    assert calls == [1, 2, 3, 2], "3 pushed out 2, because 1 had been asked for since"


def test_a_cache_of_bytes_keeps_what_is_larger_than_itself_for_once() -> None:
    make = cached_bytes(max_bytes=1)(lambda number: bytes(100))
    assert make(1) is make(1)

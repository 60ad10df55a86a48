"""Reading without letters: crops in, pictures of words out, alike in every size, weight and colour."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.policies.tiny.encoder import encode_words
from distrl.policies.tiny.pretrain import random_word
from distrl.policies.tiny.reading import (
    HEIGHT,
    MAX_SEGMENTS,
    WIDTH,
    canonical,
    draw_word,
    read_words,
    trim,
)

from .screens import Pixels, draw_line, make_policy

WHITE, BLACK = (255, 255, 255), (10, 10, 12)
COLOURS = [
    (BLACK, WHITE),
    (WHITE, BLACK),
    ((70, 70, 80), (236, 230, 240)),
    ((103, 80, 164), (254, 247, 255)),
    (WHITE, (200, 40, 40)),
    ((230, 225, 230), (40, 38, 45)),
    ((255, 235, 59), (33, 33, 120)),
]
WEIGHTS = ("Roboto", "RobotoMedium", "RobotoBold", "RobotoLight")


def vectors_of(pictures: list[Pixels]) -> np.ndarray:
    encoder = make_policy("pixels").module.encoder
    assert encoder is not None
    return encode_words(encoder, np.stack(pictures))


def nearest(crop: Pixels, words: list[str]) -> list[str]:
    """For each picture read from a crop, the word whose plain picture is most like it."""
    read = read_words(crop)
    likeness = vectors_of(read) @ vectors_of([draw_word(w) for w in words]).T
    return [words[i] for i in likeness.argmax(axis=1)]


def some_words(count: int, *, seed: int) -> list[str]:
    """Words that differ in more than capitals, each of at least three characters."""
    rng, words = Random(seed), {}
    while len(words) < count:
        word = random_word(rng)
        if len(word) >= 3:
            words.setdefault(word.casefold(), word)
    return list(words.values())


def test_a_word_in_any_size_weight_and_colour_is_nearest_to_its_own_plain_picture() -> None:
    words, rng = some_words(201, seed=5), Random(6)
    plain = vectors_of([draw_word(w) for w in words])
    found = 0
    for number, word in enumerate(words):
        ink, paper = COLOURS[number % len(COLOURS)]
        shown = draw_line(word, size=rng.uniform(9.0, 16.0), weight=rng.choice(WEIGHTS), ink=ink, paper=paper)
        likeness = vectors_of(read_words(shown)) @ plain.T
        found += bool(likeness.max(axis=0).argmax() == number)
    assert found / len(words) >= 0.97


def test_a_word_is_no_more_like_itself_than_one_and_others_are_less() -> None:
    plain = vectors_of([draw_word(w) for w in ("Elena", "Elina", "Marcus", "19:30")])
    likeness = plain @ plain.T
    assert np.allclose(likeness.diagonal(), 1.0, atol=1e-5)
    assert (likeness - np.eye(4) < 0.9).all()


def test_words_come_in_reading_order() -> None:
    first, second = draw_line("Network internet"), draw_line("Mobile hotspot")
    width = max(first.shape[1], second.shape[1])
    crop = np.concatenate(
        [np.pad(line, ((0, 0), (0, width - line.shape[1]), (0, 0)), constant_values=255) for line in (first, second)]
    )
    words = ["hotspot", "internet", "Mobile", "Network"]
    assert list(dict.fromkeys(nearest(crop, words))) == ["Network", "internet", "Mobile", "hotspot"]


def test_dark_on_light_and_light_on_dark_are_the_same_ink() -> None:
    dark, light = draw_line("Alarm", ink=BLACK, paper=WHITE), draw_line("Alarm", ink=WHITE, paper=BLACK)
    for one, other in zip(read_words(dark), read_words(light), strict=True):
        assert np.abs(one.astype(int) - other.astype(int)).mean() < 3


@pytest.mark.parametrize("gap", [0.0, 0.25])
def test_the_outline_of_a_field_is_not_read_even_with_a_gap_for_its_label(gap: float) -> None:
    plain = draw_line("Search", margin=10)
    framed, paper = plain.copy(), plain[0, 0].copy()
    framed[0] = framed[-1] = framed[:, 0] = framed[:, -1] = (90, 90, 90)
    framed[0, 10 : 10 + round(gap * plain.shape[1])] = paper
    assert [p.tobytes() for p in read_words(framed)] == [p.tobytes() for p in read_words(plain)]


def test_round_corners_through_which_the_page_shines_are_not_read() -> None:
    card = draw_line("Search", margin=12).copy()
    for rows in (slice(0, 3), slice(-3, None)):
        for columns in (slice(0, 3), slice(-3, None)):
            card[rows, columns] = (120, 100, 160)
    assert [p.tobytes() for p in read_words(card)] == [p.tobytes() for p in read_words(draw_line("Search", margin=12))]


def test_a_word_that_reaches_into_the_corners_is_read_whole() -> None:
    caption = draw_line("Messages", size=12.0, margin=2)
    app = np.full((60, caption.shape[1], 3), 255, np.uint8)
    app[-len(caption) :] = caption
    assert (vectors_of(read_words(app)) @ vectors_of([draw_word("Messages")]).T).max() > 0.9


def half_circles(shown: Pixels, *, outline: tuple[int, int, int], behind: tuple[int, int, int]) -> Pixels:
    """The same in a field that ends in half circles, with what is behind it."""
    field = shown.copy()
    y, x = np.indices(field.shape[:2])
    radius = field.shape[0] / 2
    from_end = np.minimum(x, field.shape[1] - 1 - x) + 0.5
    distance = np.hypot(np.maximum(radius - from_end, 0.0), y + 0.5 - radius)
    field[distance > radius] = behind
    field[(distance <= radius) & (distance > radius - 1.2)] = outline
    return field


@pytest.mark.parametrize("outline", [WHITE, (90, 70, 160)])
def test_the_half_circles_at_the_ends_of_a_search_field_are_not_read(outline: tuple[int, int, int]) -> None:
    paper = (230, 224, 236)
    plain = draw_line("Search", ink=(80, 80, 90), paper=paper, margin=12)
    field = half_circles(plain, outline=paper if outline == WHITE else outline, behind=WHITE)
    assert [p.tobytes() for p in read_words(field)] == [p.tobytes() for p in read_words(plain)]


def test_a_caption_below_an_icon_keeps_its_corners_whatever_stands_above() -> None:
    caption = draw_line("Garden", size=12.0, margin=2)
    app = np.full((60, caption.shape[1], 3), 255, np.uint8)
    app[-len(caption) :] = caption
    app[:2] = (60, 90, 140)
    assert likeness(app, "Garden") > 0.9


def test_an_icon_beside_a_text_does_not_join_its_words() -> None:
    line = draw_line("Search for a city", size=10.0, margin=2)
    row = np.full((24, line.shape[1] + 24, 3), 255, np.uint8)
    row[3 : 3 + len(line), 24:] = line
    row[3:20, 4:18] = (70, 70, 80)
    assert min(likeness(row, word) for word in ("Search", "for", "city")) > 0.85


@pytest.mark.parametrize("street", [(239, 238, 233), (222, 214, 198), (206, 224, 200)])
def test_a_name_close_to_a_pin_is_read_word_by_word_though_streets_run_through_it(street: tuple[int, int, int]) -> None:
    map_ = (240, 237, 230)
    name = draw_line("Castle Kitchen", size=11.0, weight="RobotoMedium", ink=(32, 33, 36), paper=map_, margin=3)
    crop = np.full((24, 28 + name.shape[1], 3), map_, np.uint8)
    top = (24 - len(name)) // 2
    crop[top : top + len(name), 28 - 3 :][:, : name.shape[1]] = name
    is_street = np.zeros(crop.shape[:2], bool)
    is_street[-2:] = is_street[:, 16:18] = is_street[:, 60:63] = True
    crop[is_street & (np.abs(crop.astype(int) - map_).sum(axis=2) == 0)] = street
    y, x = np.indices(crop.shape[:2])
    crop[np.hypot(x - 11, y - 11) <= 11] = (232, 113, 10)
    assert min(likeness(crop, word) for word in ("Castle", "Kitchen")) > 0.85


def test_faint_curves_in_the_corners_are_not_read() -> None:
    chip = draw_line("Free", margin=12).copy()
    for step in range(6):
        for y, x in ((5 - step, step), (-6 + step, step), (5 - step, -1 - step), (-6 + step, -1 - step)):
            chip[y, x] = (200, 200, 200)
    assert [p.tobytes() for p in read_words(chip)] == [p.tobytes() for p in read_words(draw_line("Free", margin=12))]


def test_words_beside_a_tall_bar_are_cut_from_each_other() -> None:
    line = draw_line("Job interview", size=12.0, margin=2)
    row = np.full((36, line.shape[1] + 10, 3), 255, np.uint8)
    row[10 : 10 + line.shape[0], 10:] = line
    row[3:33, 4:6] = (140, 30, 170)
    words = ["Job", "interview", "Clock"]
    assert {"Job", "interview"} <= set(nearest(row, words))
    likeness = vectors_of(read_words(row)) @ vectors_of([draw_word(w) for w in words]).T
    assert (likeness.max(axis=0)[:2] > 0.85).all()


def likeness(crop: Pixels, word: str) -> float:
    """How much the picture most like a word is like it."""
    return float((vectors_of(read_words(crop)) @ vectors_of([draw_word(word)]).T).max())


@pytest.mark.parametrize("number", ["19:15", "20:10", "11:20", "8:15"])
def test_a_large_number_is_one_word_though_its_ones_stand_apart(number: str) -> None:
    assert likeness(draw_line(number, size=32.0, margin=12), number) > 0.75
    beside = np.concatenate((draw_line(number, size=32.0, margin=12), draw_line("on", size=32.0, margin=12)), axis=1)
    assert likeness(beside, number) > 0.75


@pytest.mark.parametrize("word", ["Toaster", "Sat", "boots"])
def test_a_word_is_also_read_without_the_comma_behind_it(word: str) -> None:
    assert likeness(draw_line(f"Corvo {word}, Refurbished"), word) > 0.85


@pytest.mark.parametrize("word", ["Discover", "Melon", "Monday"])
def test_a_stem_at_the_very_edge_is_no_frame(word: str) -> None:
    line = draw_line(word)
    ink = (line < 128).any(axis=2)
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    assert likeness(line[rows[0] - 2 : rows[-1] + 3, columns[0] :], word) > 0.9


@pytest.mark.parametrize("height", [40, 44, 48, 52, 56])
def test_a_caption_is_read_whole_wherever_the_picture_above_it_ends(height: int) -> None:
    caption = draw_line("Hiking backpack", ink=(235, 235, 240), paper=(22, 20, 28), margin=5)
    picture = np.full((height, caption.shape[1], 3), (236, 214, 200), np.uint8)
    picture[10:-10, 40:60] = (92, 58, 40)
    card = np.concatenate((picture, caption))
    assert likeness(card, "Hiking") > 0.85
    assert likeness(card, "backpack") > 0.85


def test_a_background_that_changes_slowly_is_no_ink() -> None:
    ramp = np.linspace(80, 140, 200).astype(np.uint8)
    wallpaper = np.repeat(np.repeat(ramp[None, :, None], 40, axis=0), 3, axis=2)
    assert read_words(wallpaper) == []
    line = draw_line("Clock", ink=WHITE, paper=(110, 110, 110))
    written = wallpaper.copy()
    place = written[5 : 5 + line.shape[0], 60 : 60 + line.shape[1]]
    np.maximum(place, np.where(line > 140, line, 0), out=place)
    assert "Clock" in nearest(written, ["Clock", "Notes", "Files"])


def test_a_word_beside_a_badge_that_fills_most_of_its_surroundings_is_read() -> None:
    line = draw_line("Elena", margin=4)
    row = np.full((line.shape[0] + 4, 220, 3), 255, np.uint8)
    row[:, 0:22] = (103, 80, 164)
    row[2:-2, 26 : 26 + line.shape[1]] = line
    assert "Elena" in nearest(row, ["Elena", "Marcus", "Clock"])
    alone = row.copy()
    alone[:, 0:22] = 255
    plain = vectors_of(read_words(alone))
    assert (vectors_of(read_words(row)) @ plain.T).max() > 0.95


@pytest.mark.parametrize("shade", [0, 128, 255])
@pytest.mark.parametrize("size", [(1, 1), (1, 50), (50, 1), (3, 3), (40, 200)])
def test_a_blank_crop_has_no_words(size: tuple[int, int], shade: int) -> None:
    assert read_words(np.full((*size, 3), shade, np.uint8)) == []


def test_what_is_hardly_darker_than_its_background_is_not_read() -> None:
    assert read_words(draw_line("Faint", ink=(235, 235, 235), paper=WHITE)) == []


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.integers(1, 120), st.integers(0, 9), st.sampled_from([2, 60, 255]))
def test_any_crop_is_read_as_at_most_twenty_four_pictures_of_one_form(
    height: int, width: int, seed: int, contrast: int
) -> None:
    noise = np.random.default_rng(seed).integers(0, contrast, (height, width, 3), dtype=np.uint8)
    read = read_words(noise)
    assert len(read) <= MAX_SEGMENTS == 24
    assert all(picture.shape == (HEIGHT, WIDTH) == (16, 112) for picture in read)
    assert all(picture.dtype == np.uint8 for picture in read)


def test_the_canonical_form_is_sixteen_high_keeps_the_shape_and_squeezes_what_is_too_wide() -> None:
    square, long = np.full((8, 8), 255, np.uint8), np.full((8, 800), 255, np.uint8)
    assert (canonical(square)[:, :16] == 255).all()
    assert not canonical(square)[:, 16:].any()
    assert (canonical(long) == 255).all()


def test_trimming_leaves_the_ink_and_of_nothing_a_single_pixel() -> None:
    ink = np.zeros((9, 12), np.uint8)
    ink[2:5, 3:10] = 200
    assert trim(ink).shape == (3, 7)
    assert trim(np.zeros((9, 12), np.uint8)).shape == (1, 1)


@settings(deadline=None, max_examples=60)
@given(st.text(min_size=1, max_size=40))
def test_any_word_can_be_drawn(word: str) -> None:
    assert draw_word(word).shape == (16, 112)

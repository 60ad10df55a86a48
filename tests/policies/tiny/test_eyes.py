"""The eyes: what is seen of each element, what is not, and that hardly anything is looked at twice."""

import io

import msgspec
import numpy as np
import pytest
from PIL import Image

from distrl.core.types import Element, Observation, Screen, Situation
from distrl.policies.tiny.encoder import WORD_DIM, WordEncoder
from distrl.policies.tiny.eyes import MAX_ELEMENTS, PixelEyes, TextEyes, pixels_of
from distrl.policies.tiny.features import Moment, moments_of
from distrl.policies.tiny.policy import Mode
from distrl.policies.tiny.rows import Rows
from distrl.policies.tiny.widgets import KNOWN_DIM, NUM_KINDS, WidgetEye

from .screens import HEIGHT, WIDTH, demonstrations, element, make_policy, observation, page, real_situations, task

MODES: tuple[Mode, ...] = ("pixels", "text")


def eyes_of(mode: Mode) -> PixelEyes | TextEyes:
    """Eyes that have seen nothing."""
    module = make_policy("pixels").module
    assert module.encoder is not None
    assert module.widgets is not None
    return PixelEyes(module.encoder, module.widgets) if mode == "pixels" else TextEyes()


def said(moment: Moment) -> list[bytes]:
    return [np.asarray(getattr(moment, name)).tobytes() for name in Moment.__struct_fields__]


def in_disguise(seen: Observation) -> Observation:
    """The same pixels and boxes, everything else another."""
    elements = tuple(
        Element(
            box=e.box, text=f"x{n}", kind="thing", id="id", enabled=False, clickable=False, checked=True, editable=True
        )
        for n, e in enumerate(seen.elements)
    )
    return msgspec.structs.replace(seen, elements=elements, ui_tree=(), activity="?", time_s=9.0)


def test_what_an_element_says_is_one_way_to_cut_it_and_all_ways_are_matched() -> None:
    eyes = eyes_of("pixels")
    sight = eyes.see([page("16")])[0]
    assert eyes.spell(int(sight.elements[0])) == (-1,), "a number, and not the digits 1 and 6"
    assert len(sight.segments) == 3


def test_pixel_eyes_see_boxes_and_pixels_and_nothing_else() -> None:
    eyes = eyes_of("pixels")
    situations = real_situations(12)
    disguised = [
        msgspec.structs.replace(
            s,
            observation=in_disguise(s.observation),
            steps=tuple(msgspec.structs.replace(step, observation=in_disguise(step.observation)) for step in s.steps),
        )
        for s in situations
    ]
    for plain, other in zip(moments_of(situations, eyes), moments_of(disguised, eyes), strict=True):
        assert said(plain) == said(other)


def test_pixel_eyes_that_have_seen_nothing_else_see_the_same_in_a_disguise() -> None:
    seen = demonstrations()[0].steps[0].observation
    one, other = eyes_of("pixels"), eyes_of("pixels")
    (plain,), (disguised,) = one.see([seen]), other.see([in_disguise(seen)])
    assert (one.texts(plain.elements) == other.texts(disguised.elements)).all()
    assert (one.looks(plain.elements) == other.looks(disguised.elements)).all()
    assert (plain.geometry == disguised.geometry).all()
    assert (plain.elements == disguised.elements).all(), "not even what is the same as what"


def test_text_eyes_see_no_pixels() -> None:
    eyes = eyes_of("text")
    for situation in real_situations(12):
        black = Screen(data=b"", width=0, height=0)
        blind = msgspec.structs.replace(
            situation, observation=msgspec.structs.replace(situation.observation, screen=black)
        )
        assert said(moments_of([situation], eyes)[0]) == said(moments_of([blind], eyes)[0])


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Other"},
        {"kind": "row"},
        {"enabled": False},
        {"clickable": False},
        {"checked": True},
        {"checked": False},
        {"editable": True},
        {"focused": True},
    ],
)
def test_text_eyes_tell_every_state_of_an_element_apart(change: dict[str, object]) -> None:
    eyes = eyes_of("text")
    plain = element("Save", kind="button")
    (before,), (after,) = (
        eyes.see([observation(e)])
        for e in (plain, msgspec.structs.replace(plain, **change))  # type: ignore[arg-type]
    )
    told = [(eyes.texts(s.elements).tobytes(), eyes.looks(s.elements).tobytes()) for s in (before, after)]
    assert told[0] != told[1]


def test_the_id_of_an_element_is_invisible() -> None:
    eyes = eyes_of("text")
    named = msgspec.structs.replace(element("Save"), id="save")
    assert (eyes.see([observation(named)])[0].elements == eyes.see([observation(element("Save"))])[0].elements).all()


@pytest.mark.parametrize("mode", MODES)
def test_geometry_is_centre_and_size(mode: Mode) -> None:
    (sight,) = eyes_of(mode).see([observation(element("a", (0.2, 0.5, 0.6, 0.75)), element("b", (0.0, 0.0, 1.0, 0.1)))])
    assert sight.geometry == pytest.approx(np.array([[0.4, 0.625, 0.4, 0.25], [0.5, 0.05, 1.0, 0.1]]))


@pytest.mark.parametrize("mode", MODES)
def test_equal_elements_have_one_number_wherever_they_stand(mode: Mode) -> None:
    eyes = eyes_of(mode)
    (sight,) = eyes.see([page("Alarm", "Timer", "Alarm")])
    one, two, three = sight.elements.tolist()
    assert one == three != two
    assert min(one, two) > 0, "0 stands for nothing"


@pytest.mark.parametrize("mode", MODES)
def test_a_screen_is_looked_at_once(mode: Mode) -> None:
    eyes = eyes_of(mode)
    seen = page("Alarm", "Timer")
    assert eyes.see([seen])[0] is eyes.see([seen])[0]
    count = len(eyes.vectors())
    eyes.see([page("Timer", "Alarm")])
    assert len(eyes.vectors()) == count, "the words were known"


@pytest.mark.parametrize("mode", MODES)
def test_a_word_of_the_instruction_is_the_word_on_the_screen(mode: Mode) -> None:
    eyes = eyes_of(mode)
    (sight,) = eyes.see([page("Alarm", "Stopwatch", "Timer")])
    words = eyes.read("Start the stopwatch!")
    likeness = eyes.vectors()[words] @ eyes.vectors()[sight.segments].T
    by_element = np.maximum.reduceat(likeness, sight.starts, axis=1)
    assert by_element[2].argmax() == 1
    assert by_element[2, 1] > 0.8
    assert np.delete(by_element[2], 1).max() < eyes.sharpness


@pytest.mark.parametrize("mode", MODES)
def test_a_word_finds_itself_however_it_is_written(mode: Mode) -> None:
    eyes = eyes_of(mode)
    seen = page("MAIL", "Mail", "mail")
    (told,) = moments_of([Situation(task=task("open mail"), steps=(), observation=seen)], eyes)
    assert (told.similarity[1] > 0.8).all()


@pytest.mark.parametrize("mode", MODES)
def test_the_text_of_an_element_is_the_mean_of_its_words(mode: Mode) -> None:
    eyes = eyes_of(mode)
    (sight,) = eyes.see([page("Delete timer")])
    words = eyes.meanings()[sight.segments]
    assert len(words) == 2
    assert words.any(axis=1).all(), "both are familiar"
    assert eyes.texts(sight.elements)[0] == pytest.approx(words.mean(axis=0), abs=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_an_element_without_words_has_a_blank_in_their_place(mode: Mode) -> None:
    eyes = eyes_of(mode)
    (sight,) = eyes.see([observation(element(""))])
    assert sight.segments.tolist() == [0]
    assert not eyes.vectors()[0].any()
    assert not eyes.texts(sight.elements).any()


# ---- strange screens


@pytest.mark.parametrize("mode", MODES)
def test_a_screen_without_elements_gives_an_empty_sight(mode: Mode) -> None:
    (sight,) = eyes_of(mode).see([observation()])
    assert len(sight.elements) == len(sight.segments) == len(sight.starts) == 0
    assert sight.geometry.shape == (0, 4)


@pytest.mark.parametrize("mode", MODES)
def test_of_more_than_sixty_four_elements_the_first_are_seen(mode: Mode) -> None:
    many = [element(f"n{i}", (0.0, i / 100, 1.0, (i + 1) / 100)) for i in range(80)]
    (sight,) = eyes_of(mode).see([observation(*many)])
    assert len(sight.elements) == MAX_ELEMENTS == 64
    assert sight.geometry[63, 1] == pytest.approx(0.635)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "box",
    [(0.5, 0.5, 0.5, 0.5), (0.3, 0.2, 0.3, 0.8), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.001, 0.001), (0.0, 0.0, 1.0, 1.0)],
)
def test_boxes_without_size_and_boxes_as_large_as_the_screen_are_seen(
    mode: Mode, box: tuple[float, float, float, float]
) -> None:
    (sight,) = eyes_of(mode).see([observation(element("", box))])
    assert len(sight.elements) == 1


def test_an_encoded_screen_shows_what_the_raw_one_shows() -> None:
    eyes = eyes_of("pixels")
    raw = page("Alarm", "Sleep timer")
    file = io.BytesIO()
    Image.fromarray(pixels_of(raw.screen)).save(file, "PNG")
    encoded = msgspec.structs.replace(
        raw, screen=Screen(data=file.getvalue(), width=WIDTH, height=HEIGHT, encoding="png")
    )
    (one,), (other,) = eyes.see([raw]), eyes.see([encoded])
    assert (one.elements == other.elements).all()
    assert (one.segments == other.segments).all()


def test_the_look_of_an_element_is_what_it_is_taken_for_and_its_mean_colour() -> None:
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    pixels[:, : WIDTH // 4] = (255, 0, 0)
    pixels[:, WIDTH // 4 :] = (0, 0, 255)
    eyes = eyes_of("pixels")
    (sight,) = eyes.see([observation(element("", (0.0, 0.0, 1.0, 1.0)), pixels=pixels)])
    (look,) = eyes.looks(sight.elements)
    assert look[KNOWN_DIM:] == pytest.approx([0.25, 0.0, 0.75], abs=0.01)
    assert sorted(look[:NUM_KINDS]) == [0.0] * (NUM_KINDS - 1) + [1.0]
    assert set(look[NUM_KINDS:KNOWN_DIM]) <= {0.0, 1.0}


def test_eyes_say_whether_anything_changed_as_far_as_they_can_tell() -> None:
    pixel, text = PixelEyes(WordEncoder(), WidgetEye()), TextEyes()
    one, other = page("Alarm"), page("Timer")
    renamed = in_disguise(one)
    repainted = msgspec.structs.replace(one, screen=other.screen)
    assert pixel.is_same(one, one)
    assert pixel.is_same(one, renamed)
    assert not pixel.is_same(one, repainted)
    assert text.is_same(one, one)
    assert text.is_same(one, repainted)
    assert not text.is_same(one, renamed)


def test_a_table_keeps_its_rows_while_it_grows_and_row_zero_is_blank() -> None:
    rows = Rows(WORD_DIM, np.float32)
    numbers = [rows.add(np.full(WORD_DIM, n, np.float32)) for n in range(1, 1000)]
    assert numbers == list(range(1, 1000))
    assert not rows.data[0].any()
    assert rows.data[:, 0].tolist() == list(range(1000))

"""The eye for widgets: what the ui tree says of an element, what is seen of it, and that the eye learns to tell."""

import numpy as np
import pytest
import torch

from distrl.core.types import ELEMENT_KINDS, Element
from distrl.policies.tiny.familiar_words import vocabulary
from distrl.policies.tiny.widgets import (
    HEIGHT,
    KNOWN_DIM,
    NUM_KINDS,
    PICTURED,
    WIDTH,
    Examples,
    WidgetEye,
    WidgetOptions,
    glance_at,
    known_of,
    label_of,
    recognise,
    shares_right,
    train_widgets,
)
from distrl.runtime.labelled import CHECKED_FROM, labelled_elements
from distrl.runtime.policies import SHIPPED, read_weights

BOX = (0.0, 0.0, 1.0, 1.0)


def examples(count: int, seed: int) -> Examples:
    """Switches that are on are bright on the right, those that are off on the left; all else is noise."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        crop = rng.integers(0, 90, (20, 80, 3), dtype=np.uint8)
        is_on = number % 2 == 0
        crop[:, 60:] = 250 if is_on else crop[:, 60:]
        crop[:, :20] = crop[:, :20] if is_on else 250
        label = label_of(Element(box=BOX, text="", kind="switch", checked=is_on))
        made.append((glance_at(crop, 270, 600), label))
    return made


def test_kind_and_state_of_an_element_have_their_places() -> None:
    known = known_of(Element(box=BOX, text="Wi-Fi", kind="switch", checked=False, clickable=False, focused=True))
    assert known[:NUM_KINDS].argmax() == ELEMENT_KINDS.index("switch")
    assert known[:NUM_KINDS].sum() == 1.0
    assert known[NUM_KINDS:].tolist() == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0], (
        "enabled, clickable, on, off, editable, focused"
    )


def test_a_glance_has_one_size_and_knows_the_share_of_the_screen() -> None:
    crop = np.zeros((30, 135, 3), np.uint8)
    crop[:, 68:] = 200
    glance = glance_at(crop, 270, 600)
    assert glance.picture.shape == (HEIGHT, WIDTH, 3)
    assert glance.size == (0.5, 0.05)
    assert (glance.picture[:, 0] == 0).all()
    assert (glance.picture[:, -1] == 200).all()


def test_what_the_eye_says_is_one_kind_and_plain_yes_or_no() -> None:
    said, words = recognise(WidgetEye(), [glance for glance, _ in examples(5, seed=0)])
    assert len(words) == 5
    assert said.shape == (5, KNOWN_DIM)
    assert set(said.ravel()) <= {0.0, 1.0}
    assert (said[:, :NUM_KINDS].sum(axis=1) == 1).all()


def test_an_eye_learns_to_tell_on_from_off_and_says_how_well() -> None:
    torch.manual_seed(0)
    eye = WidgetEye()
    log = list(train_widgets(eye, examples(256, seed=1), examples(64, seed=2), WidgetOptions(epochs=8, batch=32)))
    assert log[-1].loss < 0.3 * log[0].loss
    assert (log[-1].kinds_right, log[-1].flags_right) == (1.0, 1.0)
    assert shares_right(eye, examples(64, seed=3)) == (1.0, 1.0, 1.0)


def icons(count: int, seed: int) -> Examples:
    """A bright left half deletes, a bright right half adds an alarm."""
    made = []
    for number, (glance, _) in enumerate(examples(count, seed)):
        text = "Add alarm" if number % 2 == 0 else "Delete"
        made.append((glance, label_of(Element(box=BOX, text=text, kind="icon"))))
    return made


def test_the_words_of_an_icon_have_equal_shares_and_names_are_none_of_them() -> None:
    shares = label_of(Element(box=BOX, text="Add alarm Zorvath", kind="icon")).words
    assert {word: shares[vocabulary()[word]] for word in ("add", "alarm")} == {"add": 0.5, "alarm": 0.5}
    assert shares.sum() == 1.0
    assert label_of(Element(box=BOX, text="Zorvath", kind="icon")).words[-1] == 1.0
    assert label_of(Element(box=BOX, text="Add alarm", kind="row")).words[-1] == 1.0, "which can be read"


@pytest.mark.parametrize("kind", ["button", "chip", "key", "nav"])
def test_other_kinds_that_may_show_a_sign_instead_of_a_word_are_named_too(kind: str) -> None:
    assert label_of(Element(box=BOX, text="÷", kind=kind)).words[vocabulary()["÷"]] == 1.0


def test_an_eye_learns_what_icons_mean() -> None:
    torch.manual_seed(0)
    eye = WidgetEye()
    log = list(train_widgets(eye, icons(256, seed=1), icons(64, seed=2), WidgetOptions(epochs=10, batch=32)))
    assert log[-1].icons_right == 1.0
    _, words = recognise(eye, [glance for glance, _ in icons(2, seed=3)])
    assert words == [("add", "alarm"), ("delete",)]
    with torch.no_grad():
        eye.known.bias[list(PICTURED)] -= 100.0
    assert recognise(eye, [glance for glance, _ in icons(2, seed=3)])[1] == [(), ()], "only pictures have such words"


@pytest.mark.slow
def test_the_shipped_eye_knows_the_elements_of_screens_that_it_was_not_shown() -> None:
    eye = WidgetEye()
    eye.load_state_dict(read_weights(SHIPPED / "widgets.safetensors"))
    kinds, flags, _ = shares_right(eye, list(labelled_elements(1, first=CHECKED_FROM + 100, seed=5).values()))
    assert kinds > 0.97
    assert flags > 0.98

"""Familiar words: requests and buttons are, names are not; a picture of one is taken for it in every size and style."""

import numpy as np
import pytest

from distrl.policies.tiny.encoder import encode_words
from distrl.policies.tiny.familiar import ALIKE, FamiliarPictures, sensible
from distrl.policies.tiny.familiar_words import familiar_words, vocabulary
from distrl.policies.tiny.policy import TinyPolicy
from distrl.policies.tiny.reading import Cut, draw_word
from distrl.runtime.familiar import familiar_in
from distrl.runtime.policies import SHIPPED, load_eyes
from distrl.tasks.book import load_tasks
from distrl.tasks.generate import SIZES
from distrl.tasks.words import FIRST_NAMES


@pytest.fixture(scope="module")
def policy() -> TinyPolicy:
    policy = TinyPolicy("pixels")
    load_eyes(policy, SHIPPED)
    return policy


def meanings_of(policy: TinyPolicy, words: list[str], **style: object) -> np.ndarray:
    assert policy.module.encoder is not None
    pictures = np.stack([draw_word(word, **style) for word in words])  # type: ignore[arg-type]
    familiar = FamiliarPictures(policy.module.encoder)
    numbers = familiar.numbers(encode_words(policy.module.encoder, pictures), ALIKE)
    return np.stack([familiar.meaning(number) for number in numbers.tolist()])


def cut(start: int, end: int, word: str = "", stretch: int | None = 0) -> tuple[Cut, int]:
    """What was cut from a line, and which familiar word it is."""
    return Cut(np.zeros((8, end - start), np.uint8), start, end, stretch), vocabulary()[word] if word else -1


def sense_of(*cuts: tuple[Cut, int]) -> list[int]:
    return sensible([c for c, _ in cuts], [number for _, number in cuts])


def test_of_the_ways_to_cut_a_line_that_with_familiar_words_counts() -> None:
    assert sense_of(cut(0, 60, "calculator"), cut(0, 14, "car"), cut(16, 60)) == [0]
    assert sense_of(cut(0, 24), cut(0, 14, "for"), cut(18, 24, "a")) == [1, 2], "small words stand close together"


def test_what_is_not_familiar_counts_as_a_whole_and_letters_do_not_break_it_up() -> None:
    assert sense_of(cut(0, 2, "1"), cut(0, 12), cut(5, 12, "6")) == [1], "sixteen"
    assert sense_of(cut(0, 40), cut(0, 18), cut(21, 40)) == [0], "a name"


def test_each_stretch_is_made_sense_of_by_itself_and_what_was_read_across_them_is_not_said() -> None:
    assert sense_of(cut(0, 30, stretch=None), cut(0, 9, "add", 1), cut(20, 30, "alarm", 2)) == [1, 2]
    assert sense_of() == []


def test_a_word_of_a_request_is_familiar_only_if_it_is_that_very_word(policy: TinyPolicy) -> None:
    for word, other in (("Castle", "cache"), ("Rossi", "rosa"), ("Mei", "me"), ("food", "foot")):
        assert other in familiar_words()
        ids = policy.eyes.read(f"{word} {other}")
        assert policy.eyes.meanings()[ids].any(axis=1).tolist() == [False, True]


def test_words_of_requests_and_buttons_are_familiar_and_names_are_not() -> None:
    assert {"delete", "conversation", "alarm", "save", "cart", "cheapest", "settings"} <= familiar_words()
    names = {name.casefold() for name in FIRST_NAMES.words}
    assert len(names & familiar_words()) <= 0.1 * len(names), "a phone may have a name or two of its own"
    assert not any(len(word) > 1 and any(c.isdigit() for c in word) for word in familiar_words())


def test_a_parameter_of_a_few_values_is_a_choice_and_its_words_are_familiar() -> None:
    assert {"plus", "times", "saturday", "bike", "science", "velomart"} <= familiar_words()
    some = [task for task in load_tasks("general", "train") if task.template in ("calculate", "send_text")]
    found = familiar_in(some)
    assert {"minus", "times"} <= found
    assert not {word for task in some for word in task.params.get("name", "").casefold().split()} & found


@pytest.mark.slow
def test_the_list_is_what_the_training_tasks_make_it() -> None:
    assert familiar_in([task for suite in SIZES for task in load_tasks(suite, "train")]) == familiar_words()


@pytest.mark.parametrize("style", [{"pixels": 9.0}, {"pixels": 14.0}, {"weight": "RobotoMedium"}])
def test_a_familiar_word_means_the_same_in_every_size_and_weight(policy: TinyPolicy, style: dict[str, object]) -> None:
    words = ["delete", "alarm", "Messages", "Settings", "conversation", "Save"]
    plain, other = meanings_of(policy, words), meanings_of(policy, words, **style)
    assert plain.any(axis=1).all()
    assert (plain == other).all(axis=1).mean() > 0.8


def test_other_words_mean_nothing(policy: TinyPolicy) -> None:
    strange = ["Zyzzyva", "Quixel", "Brontag", "Ulvdal", "555-0142", "19:35", "Okonjo", "Fjeldstad"]
    assert meanings_of(policy, strange).any(axis=1).mean() < 0.3


def test_capitals_change_nothing(policy: TinyPolicy) -> None:
    small = meanings_of(policy, ["delete", "alarm", "settings"])
    assert small.any(axis=1).all()
    assert (meanings_of(policy, ["Delete", "Alarm", "Settings"]) == small).all()
    assert (meanings_of(policy, ["DELETE", "ALARM", "SETTINGS"]) == small).all()

"""Familiar words: requests and buttons are, names are not; a picture of one is taken for it in every size and style."""

import numpy as np
import pytest

from distrl.policies.tiny.encoder import encode_words
from distrl.policies.tiny.familiar import FamiliarPictures
from distrl.policies.tiny.familiar_words import familiar_words
from distrl.policies.tiny.policy import TinyPolicy
from distrl.policies.tiny.reading import draw_word
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
    numbers = familiar.numbers(encode_words(policy.module.encoder, pictures))
    return np.stack([familiar.meaning(number) for number in numbers.tolist()])


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

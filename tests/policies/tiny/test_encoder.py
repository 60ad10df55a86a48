"""The eye: equal words have equal vectors of length one; and how it is trained."""

import math
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.policies.tiny.encoder import WORD_DIM, WordEncoder, encode_words, hash_word
from distrl.policies.tiny.pretrain import (
    TEMPERATURE,
    PretrainOptions,
    as_on_a_phone,
    contrast,
    draw_batch,
    neighbour,
    pretrain,
    random_word,
)
from distrl.policies.tiny.reading import draw_word

from .screens import make_policy

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(deadline=None)
@given(words)
def test_a_hashed_word_has_length_one_and_no_case(word: str) -> None:
    assert np.linalg.norm(hash_word(word)) == pytest.approx(1.0, abs=1e-5)
    assert (hash_word(word.casefold()) == hash_word(word)).all()


def test_words_that_share_letters_are_more_alike_than_words_that_do_not() -> None:
    elena, elina, other = hash_word("Elena"), hash_word("Elina"), hash_word("Ruxby")
    assert elena @ elena == pytest.approx(1.0, abs=1e-5)
    assert 0.3 < elena @ elina < 0.9
    assert abs(elena @ other) < 0.3


def test_a_vector_has_length_one_and_depends_on_no_other_word_of_the_batch() -> None:
    encoder = make_policy("pixels").module.encoder
    assert encoder is not None
    pictures = np.stack([draw_word(w) for w in ("Elena", "19:30", "$4.50")])
    together = encode_words(encoder, pictures)
    assert together.shape == (3, WORD_DIM)
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    alone = np.concatenate([encode_words(encoder, pictures[i : i + 1]) for i in range(3)])
    assert np.allclose(together, alone, atol=1e-5)


def test_contrast_is_zero_for_perfect_twins_and_large_for_swapped_ones() -> None:
    twins = torch.eye(4)
    loss, matched = contrast(twins, twins)
    # Each row: one logit 1 / 0.07, three of 0.
    assert float(loss) == pytest.approx(math.log(1 + 3 * math.exp(-1 / TEMPERATURE)), abs=1e-6)
    assert float(matched) == 1.0
    loss, matched = contrast(twins, twins.roll(1, dims=0))
    assert float(loss) == pytest.approx(1 / TEMPERATURE, abs=1e-3)
    assert float(matched) == 0.0


def test_a_neighbour_is_one_letter_away() -> None:
    rng = Random(0)
    for _ in range(300):
        word = random_word(rng)
        other = neighbour(word, rng)
        assert other
        assert word
        assert abs(len(word) - len(other)) <= 1 or len(word) == 1
        same = sum(a == b for a, b in zip(word, other, strict=False))
        back = sum(a == b for a, b in zip(reversed(word), reversed(other), strict=False))
        assert same + back >= min(len(word), len(other)) - 2


def test_a_batch_holds_different_words_twice_each() -> None:
    plain, shown = draw_batch(Random(1), 20)
    assert plain.shape == shown.shape == (20, 16, 112)
    assert len({p.tobytes() for p in plain}) == 20
    assert as_on_a_phone("Elena", Random(2)).shape == (16, 112)


def test_pre_training_learns_to_tell_words_apart_and_the_same_way_for_the_same_seed() -> None:
    def run(seed: int) -> list[float]:
        torch.manual_seed(0)
        options = PretrainOptions(updates=12, batch_words=24, learning_rate=2e-3, seed=seed)
        return [progress.loss for progress in pretrain(WordEncoder(), options)]

    losses = run(0)
    assert losses[0] > math.log(24) * 0.8
    assert np.mean(losses[-3:]) < 0.6 * losses[0]
    assert run(0) == losses
    assert run(1) != losses

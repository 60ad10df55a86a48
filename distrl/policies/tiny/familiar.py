"""Familiar words as pictures: vectors of words in, the numbers and meanings of those they are most like out."""

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from distrl.policies.tiny.encoder import WORD_DIM, WordEncoder, encode_words
from distrl.policies.tiny.familiar_words import vocabulary
from distrl.policies.tiny.reading import Cut, draw_word

ALIKE, EXACT = 0.85, 0.999
"""How like a familiar word what was read must be to be taken for it; and what was drawn here, as they are."""
WAYS: tuple[Callable[[str], str], ...] = (str.lower, str.capitalize, str.upper)
"""How words are written on screens: add, Add, ADD."""

_STRANGE, _LETTER = 0.5, 0.3
"""What a stretch of ink is worth that is no familiar word, or a letter only, where a familiar word is worth 1."""

Floats = npt.NDArray[np.float32]


def sensible(cuts: Sequence[Cut], numbers: Sequence[int]) -> list[int]:
    """Which cuts to go by, in reading order, where a line was cut in several ways: those that make most sense of it.

    `numbers` says which familiar word each is; -1 for none. A familiar word is worth its width, all else less.
    """
    chosen: list[int] = []
    is_letter = _are_letters()
    for stretch, found in groupby(range(len(cuts)), key=lambda i: cuts[i].stretch):
        if stretch is None:
            continue
        best: list[tuple[float, tuple[int, ...]]] = []
        line = sorted(found, key=lambda i: cuts[i].end)
        for at, i in enumerate(line):
            share = _STRANGE if numbers[i] < 0 else _LETTER if is_letter[numbers[i]] else 1.0
            before = [best[k] for k in range(at) if cuts[line[k]].end <= cuts[i].start]
            worth, way = max(before, default=(0.0, ()))
            best.append((worth + share * (cuts[i].end - cuts[i].start), (*way, i)))
        chosen += max(best)[1]
    return chosen


@lru_cache(maxsize=1)
def _are_letters() -> tuple[bool, ...]:
    """Of each familiar word, whether it is a single letter."""
    return tuple(len(word) == 1 for word in vocabulary())


@lru_cache(maxsize=1)
def _pictures() -> npt.NDArray[np.uint8]:
    """All familiar words in each of `WAYS`."""
    return np.stack([draw_word(write(word)) for write in WAYS for word in vocabulary()])


class FamiliarPictures:
    """The familiar words as an encoder sees them."""

    _kept: ClassVar[dict[bytes, Floats]] = {}
    """By the encoder's weights: looking at all words takes a second."""

    def __init__(self, encoder: WordEncoder) -> None:
        self._encoder = encoder
        self._vectors: Floats | None = None

    def numbers(self, vectors: Floats, alike: float) -> npt.NDArray[np.int64]:
        """For each vector [N, WORD_DIM] the number of the familiar word it is most like; -1 if it is like none."""
        known = self._known()
        likeness = vectors @ known.T
        best = likeness.argmax(axis=1)
        is_known = likeness[np.arange(len(vectors)), best] > alike
        return np.where(is_known, best % (len(known) // len(WAYS)), -1)

    def meaning(self, number: int) -> Floats:
        """What the familiar word of this number means; zeros for -1."""
        return self._known()[number] if number >= 0 else np.zeros(WORD_DIM, np.float32)

    def _known(self) -> Floats:
        if self._vectors is None:
            self._vectors = self._look_up()
        return self._vectors

    def _look_up(self) -> Floats:
        weights = b"".join(p.detach().numpy().tobytes() for p in self._encoder.parameters())
        key = hashlib.sha256(weights).digest()
        if key not in self._kept:
            self._kept[key] = encode_words(self._encoder, _pictures())
        return self._kept[key]

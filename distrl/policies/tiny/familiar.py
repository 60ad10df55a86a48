"""Familiar words as pictures: vectors of words in, the numbers and meanings of those they are most like out."""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from distrl.policies.tiny.encoder import WORD_DIM, WordEncoder, encode_words
from distrl.policies.tiny.familiar_words import vocabulary
from distrl.policies.tiny.reading import draw_word

ALIKE = 0.85
"""How like a familiar word the picture of a word must be to be taken for it."""
WAYS: tuple[Callable[[str], str], ...] = (str.lower, str.capitalize, str.upper)
"""How words are written on screens: add, Add, ADD."""

Floats = npt.NDArray[np.float32]


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

    def numbers(self, vectors: Floats) -> npt.NDArray[np.int64]:
        """For each vector [N, WORD_DIM] the number of the familiar word it is most like; -1 if it is like none."""
        known = self._known()
        likeness = vectors @ known.T
        best = likeness.argmax(axis=1)
        is_known = likeness[np.arange(len(vectors)), best] > ALIKE
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

"""Familiar words as pictures: vectors of words in, those of the familiar words that they are most like out."""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from distrl.policies.tiny.encoder import WordEncoder, encode_words
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

    def meanings(self, vectors: Floats) -> Floats:
        """For each vector [N, WORD_DIM] that of the familiar word it is most like; zeros if it is like none."""
        if self._vectors is None:
            self._vectors = self._look_up()
        known = self._vectors
        likeness = vectors @ known.T
        best = likeness.argmax(axis=1)
        is_known = likeness[np.arange(len(vectors)), best] > ALIKE
        return np.where(is_known[:, None], known[best % (len(known) // len(WAYS))], np.float32(0.0))

    def _look_up(self) -> Floats:
        weights = b"".join(p.detach().numpy().tobytes() for p in self._encoder.parameters())
        key = hashlib.sha256(weights).digest()
        if key not in self._kept:
            self._kept[key] = encode_words(self._encoder, _pictures())
        return self._kept[key]

"""Words that the tiny policy knows by heart: a list in, the vectors of its words out.

What a word means can be learned for words that come again and again: those of requests and of buttons. A name is not
one of them. A policy that sees the vectors of names learns by heart which name went with which tap, and stumbles over
every new one; so names, numbers and all else that is not on the list are *matched* (features.py) and mean nothing else.

The list is made from the training tasks by `python -m distrl.runtime.familiar`.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from distrl.policies.tiny.encoder import WordEncoder, encode_words
from distrl.policies.tiny.reading import draw_word

PATH = Path(__file__).parent / "weights" / "familiar.txt"
ALIKE = 0.85
"""How like a familiar word the picture of a word must be to be taken for it."""
_WAYS: tuple[Callable[[str], str], ...] = (str, str.capitalize, str.upper)
"""How words are written on screens: add, Add, ADD."""

Floats = npt.NDArray[np.float32]


@lru_cache(maxsize=1)
def familiar_words() -> frozenset[str]:
    """All of them, in small letters."""
    return frozenset(PATH.read_text(encoding="utf-8").split())


@lru_cache(maxsize=1)
def _pictures() -> npt.NDArray[np.uint8]:
    """All familiar words in each of `_WAYS`."""
    return np.stack([draw_word(write(word)) for write in _WAYS for word in sorted(familiar_words())])


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
        return np.where(is_known[:, None], known[best % (len(known) // len(_WAYS))], np.float32(0.0))

    def _look_up(self) -> Floats:
        weights = b"".join(p.detach().numpy().tobytes() for p in self._encoder.parameters())
        key = hashlib.sha256(weights).digest()
        if key not in self._kept:
            self._kept[key] = encode_words(self._encoder, _pictures())
        return self._kept[key]

"""The eye for words: pictures of words (or their letters) in, unit vectors out; the same word gives the same vector.

`WordEncoder` sees pixels and is trained by contrast (pretrain.py), then frozen. `hash_word` is its stand-in in text
mode: counts of character triples and their like, hashed, without parameters. Similarity is the scalar product.
"""

import zlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from distrl.policies.tiny.reading import HEIGHT, WIDTH

WORD_DIM = 128
Vector = npt.NDArray[np.float32]


class WordEncoder(nn.Module):
    """A small convolutional network: [N, HEIGHT, WIDTH] of ink in 0..1 to [N, 128] unit vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 24, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(24, 48, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(48, 96, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(96 * (HEIGHT // 8) * (WIDTH // 8), WORD_DIM),
        )

    def forward(self, ink: Tensor) -> Tensor:
        """Vectors of length 1."""
        vectors: Tensor = nn.functional.normalize(self.layers(ink.unsqueeze(1)), dim=-1)
        return vectors


@lru_cache(maxsize=65536)
def _hash_word(word: str) -> bytes:
    padded = f"^{word.casefold()}$"
    vector = np.zeros(WORD_DIM, np.float32)
    for length in (1, 2, 3):
        for start in range(len(padded) - length + 1):
            code = zlib.crc32(padded[start : start + length].encode())
            vector[code % WORD_DIM] += 1.0 if code & 0x10000 else -1.0
    return (vector / max(float(np.linalg.norm(vector)), 1e-6)).tobytes()


def hash_word(word: str) -> Vector:
    """The vector of a word in text mode."""
    return np.frombuffer(_hash_word(word), np.float32)


@torch.inference_mode()
def encode_words(encoder: WordEncoder, pictures: npt.NDArray[np.uint8]) -> Vector:
    """The vectors of canonical pictures [N, HEIGHT, WIDTH]."""
    vectors: Vector = encoder(torch.from_numpy(pictures).float().div_(255.0)).numpy()
    return vectors

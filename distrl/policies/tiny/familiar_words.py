"""Words that the tiny policy knows by heart: a list of the tree in, words with their numbers out.

What a word means can be learned for words that come again and again: those of requests and of buttons. A name is not
one of them. A policy that sees the vectors of names learns by heart which name went with which tap, and stumbles over
every new one; so names, numbers and all else that is not on the list are *matched* (features.py) and mean nothing else.

The list is made from the training tasks by `python -m distrl.runtime.familiar`.
"""

from functools import lru_cache
from pathlib import Path

PATH = Path(__file__).parent / "weights" / "familiar.txt"


@lru_cache(maxsize=1)
def vocabulary() -> dict[str, int]:
    """All of them, in small letters, with their numbers, in the order of the alphabet."""
    return {word: number for number, word in enumerate(sorted(PATH.read_text(encoding="utf-8").split()))}


@lru_cache(maxsize=1)
def familiar_words() -> frozenset[str]:
    """All of them."""
    return frozenset(vocabulary())

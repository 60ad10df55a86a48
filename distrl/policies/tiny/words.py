"""The words of an instruction: text in, words with their places out, so that a span of them can be typed verbatim.

A word is what stands between blanks, without the punctuation around it: "9:30," is `9:30`, "(Ana)" is `Ana`. What is
typed is the instruction from the first letter of the first word to the last letter of the last one.
"""

import re
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

from distrl.core.types import MAX_TEXT_CHARS

MAX_WORDS = 32
_EDGE = "\"'()[]{}<>,.;:!?\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026"
_BLANKS = re.compile(r"\S+")
SURFACE_DIM = 4


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """An instruction cut into words; `starts` and `ends` are places in `text`."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> str:
        return self.text[self.starts[index] : self.ends[index]]

    def span(self, first: int, last: int) -> str:
        """The text from one word to another, both included."""
        return self.text[self.starts[first] : self.ends[last]]


@lru_cache(maxsize=4096)
def words_of(text: str) -> Words:
    """The words of a text, at most 32 of them, as far as they can all be typed at once."""
    places = []
    for found in _BLANKS.finditer(text[:MAX_TEXT_CHARS]):
        chunk = found.group()
        start = found.start() + len(chunk) - len(chunk.lstrip(_EDGE))
        end = found.end() - (len(chunk) - len(chunk.rstrip(_EDGE)))
        places.append((start, end) if start < end else found.span())
    starts, ends = zip(*places[:MAX_WORDS], strict=True) if places else ((), ())
    return Words(text=text, starts=starts, ends=ends)


@lru_cache(maxsize=4096)
def surface_of(words: Words) -> npt.NDArray[np.float32]:
    """[W, SURFACE_DIM]: whether each word is the last, begins with a capital, has a digit, ends a clause.

    It is how requests show what is to be copied: names are written large, a colon stands before what is to be said.
    """
    surface = np.zeros((len(words), SURFACE_DIM), np.float32)
    for i, end in enumerate(words.ends):
        word = words[i]
        is_last, ends_clause = i == len(words) - 1, words.text[end : end + 1] not in ("", " ")
        surface[i] = (is_last, word[0].isupper(), any(c.isdigit() for c in word), ends_clause)
    return surface

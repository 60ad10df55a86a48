"""The eyes: observations in, rows of a table out: for each candidate element what it says and what it looks like.

Two kinds. `PixelEyes` see a crop of the screenshot per element, of which the ui tree gives the box and nothing else.
`TextEyes` read the ui tree. Either way the words become unit vectors (encoder.py) and everything is kept by content, so
that what was seen once costs a look-up: most of every screen was seen before. Content is known by 64-bit hashes: the
pictures themselves would take gigabytes.
"""

import io
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image

from distrl.core.types import ELEMENT_KINDS, Element, Observation, Screen
from distrl.policies.tiny.encoder import WORD_DIM, WordEncoder, encode_words, hash_word
from distrl.policies.tiny.familiar import FamiliarPictures, familiar_words
from distrl.policies.tiny.reading import Pixels, canonical, draw_word, find_signs, find_words, ink_of
from distrl.policies.tiny.words import words_of

MAX_ELEMENTS = 64
LOOK_WIDTH, LOOK_HEIGHT = 8, 6
_FLAGS = 6
_KEPT_SIGHTS, _KEPT_OBSERVATIONS = 20_000, 1_000

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen on one screen. `segments` are the words of all elements in a row; `starts` where each begins."""

    elements: Ids
    segments: Ids
    starts: Ids
    geometry: Floats


class Rows:
    """A table that grows: row 0 is blank."""

    def __init__(self, width: int, dtype: npt.DTypeLike) -> None:
        self._data = np.zeros((256, width), dtype)
        self._count = 1

    def add(self, row: npt.NDArray[np.generic]) -> int:
        """Keep a row; its number."""
        if self._count == len(self._data):
            self._data = np.concatenate((self._data, np.zeros_like(self._data)))
        self._data[self._count] = row
        self._count += 1
        return self._count - 1

    @property
    def data(self) -> npt.NDArray[np.generic]:
        """All rows so far."""
        return self._data[: self._count]


class Eyes(Protocol):
    """What turns observations into numbers; `look_dim` is how many say what an element looks like."""

    look_dim: int
    sharpness: float

    def see(self, observations: Sequence[Observation]) -> list[Sight]:
        """One sight for each."""
        ...

    def read(self, instruction: str) -> Ids:
        """The words of an instruction."""
        ...

    def vectors(self) -> Floats:
        """The vectors of all words so far, by id."""
        ...

    def meanings(self) -> Floats:
        """What all words so far mean, by id: zeros for those that are not familiar."""
        ...

    def texts(self, ids: Ids) -> Floats:
        """The mean meaning of the words of each of these elements."""
        ...

    def looks(self, ids: Ids) -> Floats:
        """What each of these elements looks like."""
        ...

    def is_same(self, before: Observation, after: Observation) -> bool:
        """Whether nothing changed, as far as these eyes can tell."""
        ...


class _Book:
    """Words and elements by content."""

    def __init__(self, look_dim: int, look_dtype: npt.DTypeLike) -> None:
        self.word_ids: dict[Hashable, int] = {}
        self.element_ids: dict[Hashable, int] = {}
        self.vectors = Rows(WORD_DIM, np.float32)
        self.meanings = Rows(WORD_DIM, np.float32)
        self.texts = Rows(WORD_DIM, np.float32)
        self.looks = Rows(look_dim, look_dtype)
        self.segments: list[tuple[int, ...]] = [()]
        self.sights: OrderedDict[Hashable, Sight] = OrderedDict()
        self.texts_read: dict[str, Ids] = {}
        self.recent: OrderedDict[int, tuple[Observation, Sight]] = OrderedDict()

    def add_word(self, key: Hashable, vector: npt.NDArray[np.generic], meaning: npt.NDArray[np.generic]) -> None:
        """A new word: what it is like, and what it means (nothing, if it is not a familiar one)."""
        self.word_ids[key] = self.vectors.add(vector)
        self.meanings.add(meaning)

    def add_element(
        self, key: Hashable, segments: tuple[int, ...], look: npt.NDArray[np.generic], sign: int = 0
    ) -> None:
        """A new element whose words are known; `sign` is what it shows instead of words that mean something."""
        rows = self.meanings.data[list(segments)]
        has_meaning = bool(rows.any())
        self.texts.add(rows.mean(axis=0) if has_meaning else self.vectors.data[sign])
        self.element_ids[key] = self.looks.add(look)
        self.segments.append(segments)

    def sight(self, keys: Sequence[Hashable], elements: Sequence[Element]) -> Sight:
        """The sight of elements that are all known."""
        ids = [self.element_ids[key] for key in keys]
        parts = [self.segments[i] or (0,) for i in ids]
        starts = np.cumsum([0, *(len(p) for p in parts)])[:-1]
        boxes = np.array([e.box for e in elements], np.float32).reshape(-1, 4)
        size = boxes[:, 2:] - boxes[:, :2]
        return Sight(
            elements=np.array(ids, np.int32),
            segments=np.array([s for p in parts for s in p], np.int32),
            starts=starts.astype(np.int32),
            geometry=np.concatenate((boxes[:, :2] + size / 2, size), axis=1),
        )

    def just_seen(self, observation: Observation) -> Sight | None:
        """The sight of an observation that was looked at a moment ago: history is looked at again and again."""
        known = self.recent.get(id(observation))
        return None if known is None else known[1]

    def note(self, observation: Observation, sight: Sight) -> Sight:
        """Remember a sight as that of this very object, which is held so that no other can take its place."""
        self.recent[id(observation)] = (observation, sight)
        if len(self.recent) > _KEPT_OBSERVATIONS:
            self.recent.popitem(last=False)
        return sight

    def recall(self, key: Hashable) -> Sight | None:
        """A sight seen before."""
        sight = self.sights.get(key)
        if sight is not None:
            self.sights.move_to_end(key)
        return sight

    def keep(self, key: Hashable, sight: Sight) -> Sight:
        """Remember a sight, and forget the one not used for longest."""
        self.sights[key] = sight
        if len(self.sights) > _KEPT_SIGHTS:
            self.sights.popitem(last=False)
        return sight


class TextEyes:
    """Read the ui tree: text, kind and state of each element."""

    look_dim = len(ELEMENT_KINDS) + _FLAGS
    sharpness = 0.5

    def __init__(self) -> None:
        self._book = _Book(self.look_dim, np.float32)

    def see(self, observations: Sequence[Observation]) -> list[Sight]:
        """One sight for each."""
        return [
            self._book.just_seen(o) or self._book.note(o, self._see(o.elements[:MAX_ELEMENTS])) for o in observations
        ]

    def _see(self, elements: tuple[Element, ...]) -> Sight:
        known = self._book.recall(elements)
        if known is not None:
            return known
        keys: list[Hashable] = []
        for e in elements:
            key = (e.text, e.kind, e.enabled, e.clickable, e.checked, e.editable, e.focused)
            if key not in self._book.element_ids:
                self._book.add_element(key, tuple(self.read(e.text).tolist()), _look_of(e))
            keys.append(key)
        return self._book.keep(elements, self._book.sight(keys, elements))

    def read(self, instruction: str) -> Ids:
        """The words of an instruction, or of any text."""
        if instruction in self._book.texts_read:
            return self._book.texts_read[instruction]
        words = words_of(instruction)
        ids = []
        for index in range(len(words)):
            word = words[index].casefold()
            if word not in self._book.word_ids:
                vector = hash_word(word)
                self._book.add_word(word, vector, vector if word in familiar_words() else np.zeros_like(vector))
            ids.append(self._book.word_ids[word])
        self._book.texts_read[instruction] = np.array(ids, np.int32)
        return self._book.texts_read[instruction]

    def vectors(self) -> Floats:
        """The vectors of all words so far."""
        return self._book.vectors.data  # type: ignore[return-value]

    def meanings(self) -> Floats:
        """What all words so far mean."""
        return self._book.meanings.data  # type: ignore[return-value]

    def texts(self, ids: Ids) -> Floats:
        """The mean meaning of the words of each element."""
        return self._book.texts.data[ids]  # type: ignore[return-value]

    def looks(self, ids: Ids) -> Floats:
        """Kind and state of each element."""
        return self._book.looks.data[ids]  # type: ignore[return-value]

    def is_same(self, before: Observation, after: Observation) -> bool:
        """Whether the ui tree is as it was."""
        return before.elements == after.elements


def _look_of(element: Element) -> Floats:
    look = np.zeros(TextEyes.look_dim, np.float32)
    look[element.kind_number] = 1.0
    flags = (element.enabled, element.clickable, element.checked is True, element.checked is False)
    look[-_FLAGS:] = (*flags, element.editable, element.focused)
    return look


class PixelEyes:
    """See crops of the screenshot."""

    look_dim = LOOK_WIDTH * LOOK_HEIGHT * 3
    sharpness = 0.6

    def __init__(self, encoder: WordEncoder) -> None:
        self._encoder = encoder
        self._familiar = FamiliarPictures(encoder)
        self._book = _Book(self.look_dim, np.uint8)

    def see(self, observations: Sequence[Observation]) -> list[Sight]:
        """One sight for each; new words of all of them pass through the encoder together."""
        made: list[Sight | None] = []
        waiting: list[tuple[int, Hashable, list[Hashable], tuple[Element, ...]]] = []
        crops: dict[Hashable, Pixels] = {}
        for place, observation in enumerate(observations):
            sight = self._book.just_seen(observation)
            if sight is not None:
                made.append(sight)
                continue
            elements = observation.elements[:MAX_ELEMENTS]
            screen = observation.screen
            key: Hashable = (screen.width, hash(screen.data), tuple(e.box for e in elements))
            sight = self._book.recall(key)
            made.append(sight)
            if sight is None:
                keys = self._crop(observation.screen, elements, crops)
                waiting.append((place, key, keys, elements))
        if crops:
            self._learn(crops)
        for place, key, keys, elements in waiting:
            made[place] = self._book.keep(key, self._book.sight(keys, elements))
        return [self._book.note(o, sight) for o, sight in zip(observations, made, strict=True) if sight is not None]

    def _crop(self, screen: Screen, elements: Sequence[Element], crops: dict[Hashable, Pixels]) -> list[Hashable]:
        """The keys of the crops of a screen; crops that are new are noted."""
        image = pixels_of(screen)
        keys: list[Hashable] = []
        for e in elements:
            left, right = _pixels_between(e.box[0], e.box[2], screen.width)
            top, bottom = _pixels_between(e.box[1], e.box[3], screen.height)
            crop = image[top:bottom, left:right]
            key = (*crop.shape, hash(crop.tobytes()))
            if key not in self._book.element_ids and key not in crops:
                crops[key] = crop
            keys.append(key)
        return keys

    def _learn(self, crops: dict[Hashable, Pixels]) -> None:
        inks = {key: ink_of(crop) for key, crop in crops.items()}
        words = {key: {_content(word): word for word in find_words(ink)} for key, ink in inks.items()}
        signs = {key: {_content(sign): sign for sign in find_signs(ink)} for key, ink in inks.items()}
        self._encode({content: ink for found in (*words.values(), *signs.values()) for content, ink in found.items()})
        for key, crop in crops.items():
            segments = tuple(self._book.word_ids[content] for content in words[key])
            sign = next((self._book.word_ids[content] for content in signs[key]), 0)
            self._book.add_element(key, segments, _thumbnail(crop), sign)

    def _encode(self, inks: Mapping[Hashable, Pixels]) -> None:
        """The words that are new pass through the encoder, together."""
        new = {key: canonical(ink) for key, ink in inks.items() if key not in self._book.word_ids}
        if new:
            vectors = encode_words(self._encoder, np.stack(list(new.values())))
            for key, vector, meaning in zip(new, vectors, self._familiar.meanings(vectors), strict=True):
                self._book.add_word(key, vector, meaning)

    def read(self, instruction: str) -> Ids:
        """The words of an instruction, drawn as pictures."""
        if instruction in self._book.texts_read:
            return self._book.texts_read[instruction]
        words = words_of(instruction)
        texts = [words[i] for i in range(len(words))]
        self._encode({text: draw_word(text) for text in texts if text not in self._book.word_ids})
        self._book.texts_read[instruction] = np.array([self._book.word_ids[text] for text in texts], np.int32)
        return self._book.texts_read[instruction]

    def vectors(self) -> Floats:
        """The vectors of all words so far."""
        return self._book.vectors.data  # type: ignore[return-value]

    def meanings(self) -> Floats:
        """What all words so far mean."""
        return self._book.meanings.data  # type: ignore[return-value]

    def texts(self, ids: Ids) -> Floats:
        """The mean meaning of the words of each element."""
        return self._book.texts.data[ids]  # type: ignore[return-value]

    def looks(self, ids: Ids) -> Floats:
        """A thumbnail of each element, in 0..1."""
        return self._book.looks.data[ids].astype(np.float32) / 255.0

    def is_same(self, before: Observation, after: Observation) -> bool:
        """Whether the screen is as it was."""
        return before.screen == after.screen


def _content(ink: Pixels) -> Hashable:
    return (*ink.shape, hash(ink.tobytes()))


def _pixels_between(start: float, end: float, size: int) -> tuple[int, int]:
    """The pixels of a stretch in shares; at least one, wherever it lies."""
    first = min(max(round(start * size), 0), size - 1)
    return first, max(min(round(end * size), size), first + 1)


def pixels_of(screen: Screen) -> Pixels:
    """The image of a screen as [height, width, 3]."""
    if screen.encoding == "raw":
        return np.frombuffer(screen.data, np.uint8).reshape(screen.height, screen.width, 3)
    with Image.open(io.BytesIO(screen.data)) as image:
        return np.asarray(image.convert("RGB"))


def _thumbnail(crop: Pixels) -> Pixels:
    small = Image.fromarray(np.ascontiguousarray(crop)).resize((LOOK_WIDTH, LOOK_HEIGHT), Image.Resampling.BOX)
    return np.asarray(small).ravel()

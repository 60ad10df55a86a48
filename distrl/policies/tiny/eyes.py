"""The eyes: observations in, rows of a table out: for each candidate element what it says and what it looks like.

Two kinds. `PixelEyes` see a crop of the screenshot per element, of which the ui tree gives the box and nothing else.
`TextEyes` read the ui tree. Either way the words become unit vectors (encoder.py) and everything is kept by content, so
that what was seen once costs a look-up: most of every screen was seen before. Content is known by 64-bit hashes: the
pictures themselves would take gigabytes.
"""

import io
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image

from distrl.core.types import Element, Observation, Screen
from distrl.policies.tiny.encoder import WORD_DIM, WordEncoder, encode_words, hash_word
from distrl.policies.tiny.familiar import ALIKE, EXACT, WAYS, FamiliarPictures, sensible
from distrl.policies.tiny.familiar_words import vocabulary
from distrl.policies.tiny.reading import Pixels, canonical, draw_word, find_words, ink_of
from distrl.policies.tiny.rows import Rows
from distrl.policies.tiny.widgets import KNOWN_DIM, WidgetEye, glance_at, known_of, recognise
from distrl.policies.tiny.words import words_of

MAX_ELEMENTS = 64
COLOURS = 3
_KEPT_SIGHTS, _KEPT_OBSERVATIONS = 20_000, 1_000

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]
Words = tuple[int, ...]


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen on one screen. `segments` are the words of all elements in a row; `starts` where each begins."""

    elements: Ids
    segments: Ids
    starts: Ids
    geometry: Floats


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

    def ways(self, words: Ids) -> Ids:
        """[V, W]: the ways in which words of an instruction may be written on a screen."""
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

    def spell(self, element: int) -> tuple[int, ...]:
        """The numbers of the familiar words of an element, in its order; -1 for every other word."""
        ...

    def numbers(self, words: Ids) -> tuple[int, ...]:
        """The numbers of words among the familiar ones; -1 for every other word."""
        ...

    def take_words(self, numbers: tuple[int, ...]) -> Ids:
        """Words that other eyes of this kind read, by `numbers`; their ids here."""
        ...

    def take(self, numbers: tuple[int, ...], look: Floats) -> int:
        """An element that other eyes of this kind saw: its words by `spell`, what it looks like; its id here."""
        ...


class _Book:
    """Words and elements by content."""

    def __init__(self, look_dim: int) -> None:
        self.word_ids: dict[Hashable, int] = {}
        self.element_ids: dict[Hashable, int] = {}
        self.vectors = Rows(WORD_DIM, np.float32)
        self.meanings = Rows(WORD_DIM, np.float32)
        self.numbers = [-1]
        """Which familiar word each word is; -1 for those that are none."""
        self.texts = Rows(WORD_DIM, np.float32)
        self.looks = Rows(look_dim, np.float32)
        self.segments: list[Words] = [()]
        """All that may be a word of each element, to be matched."""
        self.said: list[Words] = [()]
        """What each element says."""
        self.sights: OrderedDict[Hashable, Sight] = OrderedDict()
        self.texts_read: dict[str, Ids] = {}
        self.recent: OrderedDict[int, tuple[Observation, Sight]] = OrderedDict()

    def add_word(self, key: Hashable, vector: Floats, meaning: Floats, number: int) -> None:
        """A new word: what it is like, what it means (nothing, if it is not a familiar one), and which it is."""
        self.word_ids[key] = self.vectors.add(vector)
        self.meanings.add(meaning)
        self.numbers.append(number)

    def add_element(self, key: Hashable, look: Floats, said: Words, segments: Words | None = None) -> None:
        """A new element whose words are known, and all that may be a word of it, if that is more."""
        rows = self.meanings.data[list(said)]
        self.texts.add(rows.mean(axis=0) if said else np.zeros(WORD_DIM, np.float32))
        self.element_ids[key] = self.looks.add(look)
        self.said.append(said)
        self.segments.append(said if segments is None else segments)

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


class _Remembering(ABC):
    """What both kinds of eyes have in common: a book of all they saw, and how to read in it."""

    look_dim: int

    def __init__(self) -> None:
        self._book = _Book(self.look_dim)

    @abstractmethod
    def _meaning(self, number: int) -> Floats:
        """What a familiar word means to these eyes."""

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
        """What each element looks like: kind, state, and in pixels its mean colour."""
        return self._book.looks.data[ids]  # type: ignore[return-value]

    def spell(self, element: int) -> tuple[int, ...]:
        """The numbers of the familiar words of an element; -1 for every other word."""
        return tuple(self._book.numbers[word] for word in self._book.said[element])

    def numbers(self, words: Ids) -> tuple[int, ...]:
        """The numbers of words among the familiar ones; -1 for every other word."""
        return tuple(self._book.numbers[word] for word in words.tolist())

    def take_words(self, numbers: tuple[int, ...]) -> Ids:
        """Words that other eyes read. Those that are not familiar mean nothing, so all of them are the same here."""
        return np.array([self._taken(number) for number in numbers], np.int32)

    def _taken(self, number: int) -> int:
        if number >= 0 and number not in self._book.word_ids:
            self._book.add_word(number, self._meaning(number), self._meaning(number), number)
        return self._book.word_ids[number] if number >= 0 else 0

    def take(self, numbers: tuple[int, ...], look: Floats) -> int:
        """An element that other eyes saw; names that it may show are not known here, and mean nothing anyway."""
        key = (numbers, look.tobytes())
        if key not in self._book.element_ids:
            self._book.add_element(key, look, tuple(self._taken(number) for number in numbers))
        return self._book.element_ids[key]


class TextEyes(_Remembering):
    """Read the ui tree: text, kind and state of each element."""

    look_dim = KNOWN_DIM
    sharpness = 0.5

    def _meaning(self, number: int) -> Floats:
        return hash_word(list(vocabulary())[number])

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
                self._book.add_element(key, known_of(e), tuple(self.read(e.text).tolist()))
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
                vector, number = hash_word(word), vocabulary().get(word, -1)
                self._book.add_word(word, vector, vector if number >= 0 else np.zeros_like(vector), number)
            ids.append(self._book.word_ids[word])
        self._book.texts_read[instruction] = np.array(ids, np.int32)
        return self._book.texts_read[instruction]

    def ways(self, words: Ids) -> Ids:
        """One: capitals make no difference here."""
        return words[None]

    def is_same(self, before: Observation, after: Observation) -> bool:
        """Whether the ui tree is as it was."""
        return before.elements == after.elements


class PixelEyes(_Remembering):
    """See crops of the screenshot."""

    look_dim = KNOWN_DIM + COLOURS
    sharpness = 0.6

    def __init__(self, encoder: WordEncoder, widgets: WidgetEye) -> None:
        super().__init__()
        self._encoder = encoder
        self._widgets = widgets
        self._familiar = FamiliarPictures(encoder)
        self._ways: dict[int, list[int]] = {}

    def _meaning(self, number: int) -> Floats:
        return self._familiar.meaning(number)

    def see(self, observations: Sequence[Observation]) -> list[Sight]:
        """One sight for each; new words of all of them pass through the encoder together."""
        made: list[Sight | None] = []
        waiting: list[tuple[int, Hashable, list[Hashable], tuple[Element, ...]]] = []
        crops: dict[Hashable, tuple[Pixels, Screen]] = {}
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
                cut = crops_of(screen, elements, pixels_of(screen))
                crops |= {name: (crop, screen) for name, crop in cut if name not in self._book.element_ids}
                waiting.append((place, key, [name for name, _ in cut], elements))
        if crops:
            self._learn(crops)
        for place, key, keys, elements in waiting:
            made[place] = self._book.keep(key, self._book.sight(keys, elements))
        return [self._book.note(o, sight) for o, sight in zip(observations, made, strict=True) if sight is not None]

    def _learn(self, crops: Mapping[Hashable, tuple[Pixels, Screen]]) -> None:
        cuts = {key: find_words(ink_of(crop)) for key, (crop, _) in crops.items()}
        contents = {key: [_content(cut.ink) for cut in found] for key, found in cuts.items()}
        self._encode({c: cut.ink for key, found in cuts.items() for c, cut in zip(contents[key], found, strict=True)})
        glances = [glance_at(crop, screen.width, screen.height) for crop, screen in crops.values()]
        known, meant = recognise(self._widgets, glances)
        self._draw(word for icon in meant for word in icon)
        ids, numbers = self._book.word_ids, self._book.numbers
        for (key, (crop, _)), what, icon in zip(crops.items(), known, meant, strict=True):
            read = [ids[content] for content in contents[key]]
            means = [ids[word] for word in icon]
            said = [read[i] for i in sensible(cuts[key], [numbers[word] for word in read])]
            colour = crop.reshape(-1, COLOURS).mean(axis=0, dtype=np.float32) / 255
            segments = (*dict.fromkeys((*read, *means)),)
            self._book.add_element(key, np.concatenate((what, colour)), (*said, *means), segments)

    def _encode(self, inks: Mapping[Hashable, Pixels], alike: float = ALIKE) -> None:
        """The words that are new pass through the encoder, together."""
        new = {key: canonical(ink) for key, ink in inks.items() if key not in self._book.word_ids}
        if new:
            vectors = encode_words(self._encoder, np.stack(list(new.values())))
            for key, vector, number in zip(new, vectors, self._familiar.numbers(vectors, alike).tolist(), strict=True):
                self._book.add_word(key, vector, self._familiar.meaning(number), number)

    def _draw(self, texts: Iterable[str]) -> None:
        """Words as pictures, those that were not drawn before."""
        self._encode({text: draw_word(text) for text in texts if text not in self._book.word_ids}, EXACT)

    def read(self, instruction: str) -> Ids:
        """The words of an instruction, drawn as pictures."""
        if instruction in self._book.texts_read:
            return self._book.texts_read[instruction]
        words = words_of(instruction)
        texts = [words[i] for i in range(len(words))]
        written = {text: (text, *(write(text) for write in WAYS)) for text in texts}
        self._draw(way for ways in written.values() for way in ways)
        ids = self._book.word_ids
        self._ways |= {ids[text]: [ids[way] for way in ways] for text, ways in written.items()}
        self._book.texts_read[instruction] = np.array([ids[text] for text in texts], np.int32)
        return self._book.texts_read[instruction]

    def ways(self, words: Ids) -> Ids:
        """As in the instruction, in small letters, with a capital, in capitals: mail, mail, Mail, MAIL."""
        return np.array([self._ways[word] for word in words.tolist()], np.int32).reshape(len(words), -1).T

    def is_same(self, before: Observation, after: Observation) -> bool:
        """Whether the screen is as it was."""
        return before.screen == after.screen


def crops_of(screen: Screen, elements: Sequence[Element], image: Pixels) -> list[tuple[Hashable, Pixels]]:
    """What is to be seen of each element on the image of a screen, by its content."""
    crops: list[tuple[Hashable, Pixels]] = []
    for e in elements:
        left, right = _pixels_between(e.box[0], e.box[2], screen.width)
        top, bottom = _pixels_between(e.box[1], e.box[3], screen.height)
        crop = image[top:bottom, left:right]
        crops.append(((screen.width, *crop.shape, hash(crop.tobytes())), crop))
    return crops


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

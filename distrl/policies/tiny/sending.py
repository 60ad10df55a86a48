"""What was seen, on its way from the worker to the learner: moments in, bytes out, and equal moments back.

Reading a screen takes longer than learning from it, and whoever acted has read it. Pixels and names stay behind: of an
element travel the numbers of its familiar words, and what it looks like; of a moment, how well the words match.
The bytes come from elsewhere, so nothing in them is believed: what does not fit is None, and the screens are read anew.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from distrl.policies.tiny.actions import Verb
from distrl.policies.tiny.eyes import MAX_ELEMENTS, Eyes, Floats, Ids
from distrl.policies.tiny.familiar_words import vocabulary
from distrl.policies.tiny.features import HISTORY, MARK_DIM, MATCH_DIM, PAST_DIM, STATE_DIM, Moment

MOST = 1e6
"""No number that is seen on a screen comes near it."""


class _Element(msgspec.Struct, frozen=True, array_like=True):
    words: tuple[int, ...]
    look: bytes


class _Seen(msgspec.Struct, frozen=True, array_like=True):
    elements: bytes
    past: bytes
    numbers: bytes
    """Everything of a moment that is not a whole number, in the order of `_shapes`."""


class _Parcel(msgspec.Struct, frozen=True, array_like=True):
    elements: tuple[_Element, ...]
    moments: tuple[_Seen, ...]


_PARCELS = msgspec.msgpack.Decoder(_Parcel)


def pack(moments: Sequence[Moment], eyes: Eyes) -> bytes:
    """Moments as bytes. Elements are numbered from 1 as they appear; 0 is none, as in the past of a first moment."""
    places = {0: 0}
    seen = []
    for m in moments:
        elements = [places.setdefault(element, len(places)) for element in m.elements.tolist()]
        past = m.past.copy()
        past[:, 1] = [places.setdefault(element, len(places)) for element in m.past[:, 1].tolist()]
        numbers = np.concatenate([getattr(m, name).ravel() for name in _shapes(0, 0)])
        seen.append(_Seen(np.array(elements, np.int32).tobytes(), past.tobytes(), numbers.astype(np.float32).tobytes()))
    _, *ids = places
    looks = eyes.looks(np.array(ids, np.int32))
    told = tuple(_Element(eyes.spell(element), look.tobytes()) for element, look in zip(ids, looks, strict=True))
    return msgspec.msgpack.encode(_Parcel(told, tuple(seen)))


def unpack(data: bytes, *, words: Ids, count: int, eyes: Eyes) -> tuple[Moment, ...] | None:
    """The moments that were packed, so many, of an instruction with these words; None if that is not what it is."""
    try:
        parcel = _PARCELS.decode(data)
        if len(parcel.moments) != count:
            return None
        ids = np.array([0, *(_take(element, eyes) for element in parcel.elements)], np.int32)
        return tuple(_moment(seen, words, ids) for seen in parcel.moments)
    except (msgspec.DecodeError, ValueError):
        return None


def _shapes(words: int, elements: int) -> Mapping[str, tuple[int, ...]]:
    return {
        "marks": (words, MARK_DIM),
        "geometry": (elements, 4),
        "match": (elements, MATCH_DIM),
        "similarity": (words, elements),
        "is_stuck": (HISTORY,),
        "state": (STATE_DIM,),
    }


def _take(element: _Element, eyes: Eyes) -> int:
    look = np.frombuffer(element.look, np.float32)
    if look.shape != (eyes.look_dim,) or not _is_small(look):
        raise ValueError("not what an element looks like")
    if not all(-1 <= word < len(vocabulary()) for word in element.words):
        raise ValueError("not familiar words")
    return eyes.take(element.words, look)


def _moment(seen: _Seen, words: Ids, ids: Ids) -> Moment:
    elements = np.frombuffer(seen.elements, np.int32)
    past = np.frombuffer(seen.past, np.int32).reshape(HISTORY, PAST_DIM).copy()
    limits = np.array([len(Verb), len(ids) - 1, len(words), len(words)])
    if len(elements) > MAX_ELEMENTS or not (_is_within(elements, 1, len(ids) - 1) and _is_within(past, 0, limits)):
        raise ValueError("elements or words that are not there")
    past[:, 1] = ids[past[:, 1]]
    shapes = _shapes(len(words), len(elements))
    numbers = np.frombuffer(seen.numbers, np.float32)
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    if len(numbers) != sum(sizes) or not _is_small(numbers):
        raise ValueError("numbers of another moment")
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    floats = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
    return Moment(words=words, elements=ids[elements], past=past, **floats)


def _is_within(numbers: Ids, low: int, high: int | npt.NDArray[np.int64]) -> bool:
    return bool(((numbers >= low) & (numbers <= high)).all())


def _is_small(numbers: Floats) -> bool:
    """Finite, too: nothing compares with what is not a number."""
    return bool((np.abs(numbers) <= MOST).all())

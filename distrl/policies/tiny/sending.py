"""What was seen, on its way from the worker to the learner: moments in, bytes out, and equal moments back.

Reading a screen takes longer than learning from it, and whoever acted has read it. Pixels and names stay behind: of
requests and elements travel the numbers of their familiar words, and what elements look like; of a moment, how well the
words match. The bytes come from elsewhere, so nothing in them is believed: what does not fit is None, and the screens
are read anew.
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


class _Seen(msgspec.Struct, frozen=True, array_like=True):
    elements: bytes
    past: bytes
    numbers: bytes
    """Everything of a moment that is not a whole number, in the order of `_shapes`."""


class _Parcel(msgspec.Struct, frozen=True, array_like=True):
    words: tuple[int, ...]
    """Those of the request, by number; -1 for what is no familiar word."""
    elements: tuple[tuple[int, ...], ...]
    """Likewise those of each element."""
    looks: bytes
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
    words = eyes.numbers(moments[0].words)
    looks = eyes.looks(np.array(ids, np.int32)).astype(np.float32).tobytes()
    return msgspec.msgpack.encode(_Parcel(words, tuple(eyes.spell(element) for element in ids), looks, tuple(seen)))


def unpack(data: bytes, *, num_words: int, count: int, eyes: Eyes) -> tuple[Moment, ...] | None:
    """The moments that were packed, so many, of an instruction of so many words; None if that is not what it is."""
    try:
        parcel = _PARCELS.decode(data)
        if len(parcel.moments) != count or len(parcel.words) != num_words:
            return None
        words, ids = _take(parcel, eyes)
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


def _take(parcel: _Parcel, eyes: Eyes) -> tuple[Ids, Ids]:
    """The words of the request and the elements, numbered as here; 0 is no element."""
    looks = np.frombuffer(parcel.looks, np.float32).reshape(len(parcel.elements), eyes.look_dim)
    if not _is_small(looks):
        raise ValueError("not what an element looks like")
    used = set(parcel.words).union(*parcel.elements)
    if used and not -1 <= min(used) <= max(used) < len(vocabulary()):
        raise ValueError("not familiar words")
    elements = (eyes.take(numbers, look) for numbers, look in zip(parcel.elements, looks, strict=True))
    return eyes.take_words(parcel.words), np.array([0, *elements], np.int32)


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

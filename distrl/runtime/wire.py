"""Trajectories on their way: a `Trajectory` in, bytes out, and an equal one back, or a reason why not.

    16 bytes of digest | msgpack: run, body (compressed, without screens), different screens (compressed), T + 1 places

The same bytes travel, lie in a worker's spool and in the learner's journal. They come from elsewhere, so nothing in
them is believed: sizes are bounded before anything is unpacked, pictures have to be whole files of the size that they
are said to have, and numbers have to be such as can be learned from.
"""

import hashlib
import io
import re
from collections.abc import Iterator
from typing import Annotated

import msgspec
import zstandard
from PIL import Image

from distrl.core.errors import DistrlError
from distrl.core.types import Observation, Screen, Trajectory
from distrl.replay.compression import LEVEL
from distrl.replay.packing import screens_of, with_screens, without_screens
from distrl.replay.screens import PackedScreen

DIGEST_BYTES = 16
MAX_BYTES = 256 * 2**20
MAX_BODY_BYTES = 64 * 2**20
MAX_STEPS = 10_000
MAX_PIXELS = 32 * 2**20
MAX_SCREENS_BYTES = 2**30
"""What all raw screens of a trajectory may unpack to: 2,209 different ones of 270 x 600."""
LARGEST_NUMBER = 1e12
"""Sums and squares of what is not larger stay finite in the 32 bits that the learner computes with."""
_NAME = re.compile(r"[A-Za-z0-9._:@-]{1,200}")


class WireError(DistrlError):
    """These bytes are no trajectory that can be used; it would be no better if it were sent again."""


class _Parcel(msgspec.Struct, frozen=True, kw_only=True):
    run: Annotated[str, msgspec.Meta(max_length=200)] = ""
    body: bytes
    screens: Annotated[tuple[PackedScreen, ...], msgspec.Meta(max_length=MAX_STEPS + 1)]
    places: Annotated[tuple[int, ...], msgspec.Meta(max_length=MAX_STEPS + 1)]


_PARCELS = msgspec.msgpack.Decoder(_Parcel)
_TRAJECTORIES = msgspec.msgpack.Decoder(Trajectory)


def encode(trajectory: Trajectory, *, run: str = "") -> bytes:
    """A trajectory as bytes, with the name of the run that it was made for; each of its screens is in them once."""
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=False)
    numbers: dict[Screen, int] = {}
    places = tuple(numbers.setdefault(screen, len(numbers)) for screen in screens_of(trajectory))
    parcel = _Parcel(
        run=run,
        body=compressor.compress(msgspec.msgpack.encode(without_screens(trajectory))),
        screens=tuple(_pack(screen, compressor) for screen in numbers),
        places=places,
    )
    payload = msgspec.msgpack.encode(parcel)
    return _digest(payload) + payload


def decode(data: bytes, *, run: str = "") -> Trajectory:
    """The trajectory that was encoded; a `WireError` that says what is wrong with anything else.

    With the name of a `run`, what was made for another one is wrong too.
    """
    if len(data) > MAX_BYTES:
        raise WireError(f"{len(data):,} bytes are more than a trajectory may have ({MAX_BYTES:,})")
    payload = data[DIGEST_BYTES:]
    if _digest(payload) != data[:DIGEST_BYTES]:
        raise WireError("the digest does not match: damaged, cut short, or not a trajectory")
    try:
        parcel = _checked(_PARCELS.decode(payload))
        if run and parcel.run != run:
            raise ValueError(f"it was made for run {parcel.run[:40]!r}, and this is run {run!r}")
        trajectory = _TRAJECTORIES.decode(_decompress(parcel.body, MAX_BODY_BYTES))
        screens = [_unpack(packed) for packed in parcel.screens]
        whole = with_screens(trajectory, [screens[place] for place in parcel.places])
    except (msgspec.DecodeError, zstandard.ZstdError, ValueError, RecursionError) as error:
        raise WireError(f"cannot be read: {error}") from error
    problems = list(_problems(whole))
    if problems:
        raise WireError("; ".join(problems))
    return whole


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=DIGEST_BYTES).digest()


def _pack(screen: Screen, compressor: zstandard.ZstdCompressor) -> PackedScreen:
    data = compressor.compress(screen.data) if screen.encoding == "raw" else screen.data
    return PackedScreen(data=data, width=screen.width, height=screen.height, encoding=screen.encoding)


def _checked(parcel: _Parcel) -> _Parcel:
    """The same; a `ValueError` if what it claims to hold is wrong or too much. Nothing is unpacked for this."""
    if any(not 0 <= place < len(parcel.screens) for place in parcel.places):
        raise ValueError("names a screen that is not there")
    for packed in parcel.screens:
        if not 0 < packed.width * packed.height <= MAX_PIXELS or packed.width < 0:
            raise ValueError(f"a screen of {packed.width} x {packed.height} pixels")
    total = sum(_num_bytes(packed) for packed in parcel.screens if packed.encoding == "raw")
    if total > MAX_SCREENS_BYTES:
        raise ValueError(f"screens that unpack to {total:,} bytes, more than {MAX_SCREENS_BYTES:,}")
    return parcel


def _num_bytes(packed: PackedScreen) -> int:
    return 3 * packed.width * packed.height


def _unpack(packed: PackedScreen) -> Screen:
    data = packed.data
    if packed.encoding == "raw":
        data = _decompress(data, _num_bytes(packed))
        if len(data) != _num_bytes(packed):
            raise ValueError(f"{len(data):,} bytes are no screen of {packed.width} x {packed.height} pixels")
    else:
        _check_file(packed)
    return Screen(data=data, width=packed.width, height=packed.height, encoding=packed.encoding)


def _check_file(packed: PackedScreen) -> None:
    """Refuse a file that is no picture of its size, or whose checksums say that it is damaged.

    The pixels are not decoded, which would take sixty times as long: the worker did that when the picture was taken.
    Of the formats only PNG has checksums.
    """
    try:
        image = Image.open(io.BytesIO(packed.data), formats=[packed.encoding.upper()])
        size = image.size
        image.verify()
    except Exception as error:  # readers of pictures stumble in many ways over what was made to have them stumble
        raise ValueError(f"a screen that is no whole {packed.encoding} file ({type(error).__name__})") from error
    if size != (packed.width, packed.height):
        raise ValueError(f"a picture of {size[0]} x {size[1]} pixels as a screen of {packed.width} x {packed.height}")


def _decompress(data: bytes, limit: int) -> bytes:
    """Not more than `limit` bytes, whatever the data claims: a small bomb must not fill the memory."""
    size = zstandard.frame_content_size(data)
    if size > limit or size < 0:
        raise ValueError(f"unpacks to {size:,} bytes, more than {limit:,}")
    return zstandard.ZstdDecompressor().decompress(data)


def _problems(trajectory: Trajectory) -> Iterator[str]:
    """What no worker of ours would send."""
    if not trajectory.steps:
        yield "no steps"
    for what, name in (("id", trajectory.id), ("worker", trajectory.worker), ("device", trajectory.device)):
        if not _NAME.fullmatch(name):
            yield f"{what} {name[:40]!r} is not a name"
    if not all(-LARGEST_NUMBER <= number <= LARGEST_NUMBER for number in _numbers(trajectory)):
        yield "a number that is not finite, or far too large"


def _numbers(trajectory: Trajectory) -> Iterator[float]:
    """Every number that a learner could compute with."""
    yield trajectory.verdict.score
    yield from _numbers_seen(trajectory.final)
    for step in trajectory.steps:
        yield from _numbers_seen(step.observation)
        yield from step.rewards.values()
        yield step.decision.log_prob
        yield from step.decision.token_log_probs


def _numbers_seen(observation: Observation) -> Iterator[float]:
    yield observation.time_s
    for element in (*observation.elements, *(observation.ui_tree or ())):
        yield from element.box

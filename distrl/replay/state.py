"""The state of a replay as bytes: what it is, the version of its schema, a digest, and a msgpack document.

The digest is over the document, so that a file which was cut short or damaged is told from a whole one before any of
it is believed.
"""

import hashlib

import msgspec

from distrl.core.errors import UserError
from distrl.replay.sampler import SamplerState
from distrl.replay.screens import PackedScreen

SCHEMA = 1
_MAGIC = b"distrl-replay"
_DIGEST_BYTES = 32
_HEADER_BYTES = len(_MAGIC) + 2 + _DIGEST_BYTES


class ReplayStateError(UserError):
    """These bytes are no state of a replay that this version can read."""


class PackedTrajectory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A trajectory as it is kept; `screens` are T + 1 numbers."""

    body: bytes
    screens: tuple[int, ...]

    @property
    def num_steps(self) -> int:
        """The number of its steps."""
        return len(self.screens) - 1


class ReplayState(msgspec.Struct, frozen=True, kw_only=True):
    """All of a replay: trajectories in the order of the sampler's candidates, whose screens are places in `screens`."""

    sampler: SamplerState
    trajectories: tuple[PackedTrajectory, ...]
    screens: tuple[PackedScreen, ...]
    rng: tuple[int, tuple[int, ...], float | None]


def seal(state: ReplayState) -> bytes:
    """A state as bytes."""
    document = msgspec.msgpack.encode(state)
    return b"".join((_MAGIC, SCHEMA.to_bytes(2, "big"), hashlib.sha256(document).digest(), document))


def unseal(data: bytes) -> ReplayState:
    """The state that was sealed; a `ReplayStateError` if it was not, or not in one piece."""
    if data[: len(_MAGIC)] != _MAGIC:
        raise ReplayStateError("this is no state of a replay")
    if len(data) < _HEADER_BYTES:
        raise ReplayStateError(f"the state of the replay is cut short: {len(data)} bytes")
    schema = int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 2], "big")
    if schema != SCHEMA:
        raise ReplayStateError(f"the state of the replay has schema {schema}; this version reads schema {SCHEMA}")
    document = memoryview(data)[_HEADER_BYTES:]
    if hashlib.sha256(document).digest() != data[_HEADER_BYTES - _DIGEST_BYTES : _HEADER_BYTES]:
        raise ReplayStateError("the state of the replay is damaged or cut short: its digest does not match")
    try:
        return msgspec.msgpack.decode(document, type=ReplayState)
    except msgspec.DecodeError as error:
        raise ReplayStateError(f"the state of the replay cannot be read: {error}") from error

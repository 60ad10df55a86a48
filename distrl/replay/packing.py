"""Trajectories without their screens, as bytes: a fiftieth of the memory that their objects take."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from distrl.core.types import Screen, Trajectory
from distrl.replay.compression import Compression

_BLANK = Screen(data=b"", width=0, height=0)
_DECODER = msgspec.msgpack.Decoder(Trajectory)
_ENCODER = msgspec.msgpack.Encoder()


def screens_of(trajectory: Trajectory) -> tuple[Screen, ...]:
    """The T + 1 screens, the final one last."""
    return (*(step.observation.screen for step in trajectory.steps), trajectory.final.screen)


def pack(trajectory: Trajectory, compression: Compression) -> bytes:
    """Everything but the screens; a `ValueError` for what cannot be written, as a version beyond 64 bits."""
    try:
        body = _ENCODER.encode(without_screens(trajectory))
    except (OverflowError, TypeError) as error:
        raise ValueError(f"trajectory {trajectory.id!r} cannot be written: {error}") from error
    return compression.compress(body)


def unpack_blind(packed: bytes, compression: Compression) -> Trajectory:
    """The trajectory that was packed, with nothing to see."""
    return _DECODER.decode(compression.decompress(packed))


def unpack(packed: bytes, screens: Sequence[Screen], compression: Compression) -> Trajectory:
    """The trajectory that was packed, with its screens."""
    return with_screens(unpack_blind(packed, compression), screens)


def without_screens(trajectory: Trajectory) -> Trajectory:
    """The same with nothing to see."""
    return with_screens(trajectory, [_BLANK] * (len(trajectory.steps) + 1))


def with_screens(trajectory: Trajectory, screens: Sequence[Screen]) -> Trajectory:
    """The same with these T + 1 screens; a `ValueError` if there are more or fewer."""
    if len(screens) != len(trajectory.steps) + 1:
        raise ValueError(f"{len(screens)} screens for {len(trajectory.steps)} steps")
    *seen, last = screens
    steps = tuple(
        replace(step, observation=replace(step.observation, screen=screen))
        for step, screen in zip(trajectory.steps, seen, strict=True)
    )
    return replace(trajectory, steps=steps, final=replace(trajectory.final, screen=last))

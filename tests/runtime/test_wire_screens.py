"""Screens that are files: whole pictures of the size that they are said to have arrive, and nothing else does."""

import io
import struct
import tracemalloc
import warnings
import zlib
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from distrl.core.types import Screen, Trajectory
from distrl.runtime import wire
from distrl.runtime.wire import WireError, decode, encode

from ..replay.episodes import episode
from .pictures import picture

FORMATS = ["png", "jpeg", "webp"]
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def showing(screen: Screen) -> Trajectory:
    return episode(screens=[screen, screen])


def sent(data: bytes, *, width: int = 4, height: int = 3, encoding: str = "png") -> Screen:
    """The screen that arrives when these bytes are sent as a picture."""
    fields: dict[str, Any] = {"data": data, "width": width, "height": height, "encoding": encoding}
    return decode(encode(showing(msgspec.convert(fields, Screen)))).final.screen


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width: int, height: int) -> bytes:
    return SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def pixels(data: bytes) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(data)))


def assert_refused_or_the_same(data: bytes, original: bytes) -> bool:
    """Whether it was refused; if not then what was done to it changes no pixel."""
    try:
        sent(data)
    except WireError:
        return True
    assert (pixels(data) == pixels(original)).all()
    return False


@pytest.mark.parametrize("encoding", FORMATS)
def test_a_picture_arrives_as_the_file_that_it_is(encoding: str) -> None:
    shown = picture(encoding, 40, 30)
    assert decode(encode(showing(shown))) == showing(shown)


def test_a_png_with_a_wrong_bit_is_refused() -> None:
    original = picture().data
    refused = 0
    for place in range(len(original)):
        for bit in range(8):
            damaged = bytearray(original)
            damaged[place] ^= 1 << bit
            refused += assert_refused_or_the_same(bytes(damaged), original)
    # Length and checksum of the last chunk, which is always empty, are not looked at.
    assert refused >= 8 * (len(original) - 8)


def test_a_png_that_is_cut_short_is_refused() -> None:
    original = picture().data
    assert sum(assert_refused_or_the_same(original[:n], original) for n in range(len(original))) >= len(original) - 4


@pytest.mark.parametrize("encoding", FORMATS)
@pytest.mark.parametrize("size", [(40, 31), (39, 30), (30, 40), (1, 1), (4000, 3000)])
def test_a_picture_of_another_size_than_it_says_is_refused(encoding: str, size: tuple[int, int]) -> None:
    with pytest.raises(WireError, match="40 x 30 pixels"):
        sent(picture(encoding, 40, 30).data, width=size[0], height=size[1], encoding=encoding)


@pytest.mark.parametrize("encoding", FORMATS)
def test_what_is_no_picture_of_its_format_is_refused(encoding: str) -> None:
    others = [picture(other).data for other in FORMATS if other != encoding]
    for data in (b"", b"\x00", b"GIF89a", *others):
        with pytest.raises(WireError, match=f"no whole {encoding} file"):
            sent(data, encoding=encoding)


@pytest.mark.parametrize("warnings_are", ["error", "default"])
@pytest.mark.parametrize("side", [12_000, 30_000, 2**31 - 1])
def test_a_small_file_that_says_it_is_a_huge_picture_is_refused_without_the_memory(
    warnings_are: Literal["error", "default"], side: int
) -> None:
    bomb = header(side, side) + chunk(b"IDAT", zlib.compress(bytes(10_000_000))) + chunk(b"IEND", b"")
    tracemalloc.start()
    try:
        with warnings.catch_warnings(record=True), pytest.raises(WireError):
            warnings.simplefilter(warnings_are)
            sent(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_text_in_a_picture_that_unpacks_to_a_hundred_megabytes_is_not_unpacked() -> None:
    text = chunk(b"zTXt", b"a\x00\x00" + zlib.compress(bytes(100 * 2**20)))
    original = picture().data
    bomb = original[:33] + text + original[33:]
    tracemalloc.start()
    try:
        assert assert_refused_or_the_same(bomb, original)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20


PARTS = {
    "header": header(4, 3),
    "no header": SIGNATURE,
    "pixels": chunk(b"IDAT", zlib.compress(bytes(39))),
    "end": chunk(b"IEND", b""),
    "animation": chunk(b"acTL", bytes(8)) + chunk(b"fcTL", bytes(26)),
    "short": chunk(b"IHDR", b"abc"),
    "palette": chunk(b"PLTE", bytes(7)) + chunk(b"tRNS", b""),
    "profile": chunk(b"iCCP", b"x"),
}


@pytest.mark.filterwarnings("ignore:Invalid APNG")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(sorted(PARTS)), max_size=6), st.binary(max_size=30))
def test_a_png_of_any_parts_is_a_picture_or_refused_with_a_reason(parts: list[str], rest: bytes) -> None:
    data = b"".join(PARTS[part] for part in parts) + rest
    try:
        arrived = sent(data)
    except WireError as error:
        assert str(error)
    else:
        assert arrived.data == data
        assert "header" in parts


def test_a_picture_that_is_seen_again_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    check = wire._check_file
    monkeypatch.setattr(wire, "_check_file", lambda packed: (looked.append(packed), check(packed)))
    a, b = picture(), picture(colour=9)
    decode(encode(episode(versions=[0] * 10, screens=[a, b] * 5 + [a])))
    assert len(looked) == 2

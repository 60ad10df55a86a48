"""Trajectories as bytes: what was sent comes back, and nothing that is wrong gets in, whoever made it."""

import math
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from distrl.core.types import Element, Observation, Screen, Trajectory
from distrl.replay.packing import screens_of, with_screens, without_screens
from distrl.runtime import wire
from distrl.runtime.wire import DIGEST_BYTES, LARGEST_NUMBER, MAX_BODY_BYTES, MAX_STEPS, WireError, decode, encode

from ..replay.episodes import episode, screen
from .pictures import with_pictures
from .trajectories import trajectories

POISON = [math.nan, math.inf, -math.inf, 1e300, -10 * LARGEST_NUMBER]
BAD_NAMES = ["", "a/b", "../../etc/passwd", "a b", "a\n", "a\x00", "ä", "x" * 201]
unhurried = settings(max_examples=60, deadline=None)
SMALL = episode("a", versions=(1, 2), screens=[screen(0), screen(1), screen(0)])


def sealed(payload: bytes) -> bytes:
    """What somebody sends who knows how the digest is made: it keeps out accidents, not enemies."""
    return wire._digest(payload) + payload


def parcel_of(trajectory: Trajectory) -> dict[str, Any]:
    """An encoded trajectory as the plain values on its way."""
    return msgspec.msgpack.decode(encode(trajectory)[DIGEST_BYTES:])


def altered(trajectory: Trajectory = SMALL, **fields: Any) -> bytes:
    """An encoded trajectory with some fields of its parcel replaced, and the digest that fits."""
    return sealed(msgspec.msgpack.encode(parcel_of(trajectory) | fields))


def packed_screen(data: bytes, width: int, height: int, encoding: str = "raw") -> dict[str, Any]:
    return {"data": data, "width": width, "height": height, "encoding": encoding}


def compressed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(data)


def without_size(data: bytes) -> bytes:
    """Compressed as a stream: how much it unpacks to is not said."""
    stream = zstandard.ZstdCompressor(level=1).compressobj()
    return stream.compress(data) + stream.flush()


def with_false_size(data: bytes, size: int) -> bytes:
    """Compressed, and a lie about how much it unpacks to: the number behind 4 bytes of magic, flags and window."""
    frame = compressed(data)
    assert frame[6:10] == len(data).to_bytes(4, "little")
    return frame[:6] + size.to_bytes(4, "little") + frame[10:]


@contextmanager
def little_memory() -> Iterator[None]:
    """Whatever happens inside takes less than 16 MB."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20


# ---- what is right comes back


@unhurried
@given(trajectories().map(with_pictures))
def test_what_was_encoded_comes_back_and_every_screen_travels_once(trajectory: Trajectory) -> None:
    whole = decode(encode(trajectory))
    assert whole == trajectory
    assert msgspec.msgpack.encode(whole) == msgspec.msgpack.encode(trajectory), "-0.0 is not 0.0"

    parcel = parcel_of(trajectory)
    assert len(parcel["screens"]) == len(set(screens_of(trajectory)))
    assert len(parcel["places"]) == len(trajectory.steps) + 1


@unhurried
@given(trajectories())
def test_screens_can_be_taken_off_and_put_back(trajectory: Trajectory) -> None:
    bare = without_screens(trajectory)
    assert {(s.data, s.width, s.height) for s in screens_of(bare)} == {(b"", 0, 0)}
    assert with_screens(bare, screens_of(trajectory)) == trajectory


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_two_steps_have_three_screens_and_no_other_number(count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} screens for 2 steps"):
        with_screens(SMALL, [screen(0)] * count)


def test_a_screen_that_is_shown_again_costs_nothing_on_the_way_and_nothing_in_memory() -> None:
    noise = b"".join(wire._digest(bytes([n // 256, n % 256])) for n in range(3 * 64))
    shown = Screen(data=noise, width=32, height=32)
    once = encode(episode(versions=[0], screens=[shown, screen(0)]))
    often = encode(episode(versions=[0] * 9, screens=[shown] * 9 + [screen(0)]))
    assert len(once) > len(noise) == 3072
    assert len(often) < len(once) + 300

    first, *others = screens_of(decode(often))[:9]
    assert all(other.data is first.data for other in others)


def test_raw_screens_are_compressed_and_files_travel_as_they_are() -> None:
    file = b"\x89PNG\r\n\x1a\n" + bytes(1000)
    png = Screen(data=file, width=50, height=20, encoding="png")
    raw = Screen(data=bytes(3000), width=50, height=20)
    sent = parcel_of(episode(screens=[png, raw]))["screens"]
    assert sent[0]["data"] == file
    assert len(sent[1]["data"]) < 50


def test_what_was_made_for_another_run_is_refused_and_whoever_does_not_ask_may_read_it() -> None:
    data = encode(SMALL, run="this")
    assert decode(data, run="this") == decode(data) == SMALL
    with pytest.raises(WireError, match="made for run 'this', and this is run 'that'"):
        decode(data, run="that")
    with pytest.raises(WireError, match="made for run ''"):
        decode(encode(SMALL), run="that")
    with pytest.raises(WireError, match="run"):
        decode(altered(run="x" * 201))


def test_the_same_trajectory_is_always_the_same_bytes() -> None:
    assert encode(SMALL) == encode(decode(encode(SMALL)))


# ---- what is damaged is refused


def test_every_wrong_bit_is_refused() -> None:
    data = encode(SMALL)
    for place in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            with pytest.raises(WireError, match="digest"):
                decode(bytes(damaged))


def test_what_is_cut_short_anywhere_or_goes_on_is_refused() -> None:
    data = encode(SMALL)
    for length in range(len(data)):
        with pytest.raises(WireError):
            decode(data[:length])
    with pytest.raises(WireError, match="digest"):
        decode(data + b"\x00")


def assert_readable_or_refused(data: bytes) -> None:
    """A trajectory or a `WireError`; any other error fails the test by itself."""
    try:
        trajectory = decode(data)
    except WireError as error:
        assert str(error)
    else:
        assert decode(encode(trajectory)) == trajectory


def test_a_wrong_bit_under_a_digest_that_fits_is_a_trajectory_or_refused() -> None:
    payload = encode(SMALL)[DIGEST_BYTES:]
    body = msgspec.msgpack.encode(without_screens(SMALL))
    for original, send in (payload, sealed), (body, lambda damaged: altered(body=compressed(damaged))):
        for place in range(len(original)):
            for bit in (0, 3, 7):
                damaged = bytearray(original)
                damaged[place] ^= 1 << bit
                assert_readable_or_refused(send(bytes(damaged)))


@unhurried
@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    for hostile in (data, sealed(data), altered(body=data), altered(body=compressed(data))):
        with pytest.raises(WireError):
            decode(hostile)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5) | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@unhurried
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("body", "screens", "places"), plain)))
def test_anything_in_the_place_of_a_part_is_refused(parts: dict[str, Any]) -> None:
    assert_readable_or_refused(altered(**parts))


@unhurried
@given(st.sampled_from(sorted(msgspec.to_builtins(SMALL))), plain)
def test_anything_in_the_place_of_a_field_is_a_trajectory_or_refused(field: str, value: Any) -> None:
    body = msgspec.to_builtins(without_screens(SMALL), builtin_types=(bytes,)) | {field: value}
    assert_readable_or_refused(altered(body=compressed(msgspec.msgpack.encode(body))))


# ---- what is meant to do harm is refused


def test_a_pickle_is_not_loaded(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
            return Path.touch, (tmp_path / "harm",)

    harm = pickle.dumps(Harm())
    for data in (harm, sealed(harm), altered(body=harm), altered(body=compressed(harm))):
        with pytest.raises(WireError):
            decode(data)
    assert not (tmp_path / "harm").exists()
    pickle.loads(harm)  # noqa: S301
    assert (tmp_path / "harm").exists(), "it would have done harm"


def test_a_screen_of_one_pixel_that_unpacks_to_a_hundred_megabytes_is_not_unpacked() -> None:
    much = bytes(100 * 2**20)
    bombs = [compressed(much), without_size(much), with_false_size(much, 3)]
    assert max(map(len, bombs)) < 50_000
    for bomb in bombs:
        with little_memory(), pytest.raises(WireError):
            decode(altered(episode(), screens=[packed_screen(bomb, 1, 1)]))


def test_a_body_that_unpacks_to_too_much_is_not_unpacked() -> None:
    much = bytes(MAX_BODY_BYTES + 1)
    for bomb in (compressed(much), without_size(much), with_false_size(much, 9)):
        with little_memory(), pytest.raises(WireError):
            decode(altered(body=bomb))


def test_a_body_that_does_not_say_what_it_unpacks_to_is_refused_however_small() -> None:
    body = msgspec.msgpack.encode(without_screens(SMALL))
    assert decode(altered(body=compressed(body))) == SMALL
    with pytest.raises(WireError, match="unpacks to"):
        decode(altered(body=without_size(body)))


def test_many_large_screens_are_not_unpacked_although_each_alone_would_be() -> None:
    bomb = packed_screen(compressed(bytes(3 * 4096 * 4096)), 4096, 4096)
    screens = [bomb] * 22  # 48 MiB each; 22 of them are 1,056 MiB
    data = altered(episode(versions=[0] * 21), screens=screens, places=list(range(22)))
    with little_memory(), pytest.raises(WireError, match="1,107,296,256 bytes, more than 1,073,741,824"):
        decode(data)


def test_more_bytes_than_allowed_are_not_even_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode(SMALL)
    monkeypatch.setattr(wire, "MAX_BYTES", len(data))
    assert decode(data) == SMALL
    monkeypatch.setattr(wire, "MAX_BYTES", len(data) - 1)
    with pytest.raises(WireError, match="more than a trajectory may have"):
        decode(data)


@pytest.mark.parametrize("nested", [b"\x91", b"\x81\xa1x"])
def test_what_is_nested_too_deeply_is_refused(nested: bytes) -> None:
    deep = b"\x81\xa1x" + nested * 100_000
    for data in (sealed(deep), altered(body=compressed(deep))):
        with pytest.raises(WireError):
            decode(data)


@pytest.mark.parametrize("places", [[0, 1], [0, 1, 0, 1], [], [0, 1, 2], [0, 1, -1], [0, 1, 2**63]])
def test_wrong_places_are_refused(places: list[int]) -> None:
    assert decode(altered(places=[0, 1, 0])) == SMALL
    with pytest.raises(WireError):
        decode(altered(places=places))


@pytest.mark.parametrize(
    "size", [(-4, 3), (4, -3), (-4, -3), (0, 3), (4, 0), (0, 0), (2**31, 2**31), (-(2**63), -(2**63)), (2**25 + 1, 1)]
)
@pytest.mark.parametrize("encoding", ["raw", "png"])
def test_a_screen_of_an_impossible_size_is_refused(size: tuple[int, int], encoding: str) -> None:
    with pytest.raises(WireError, match="pixels"):
        decode(altered(episode(), screens=[packed_screen(compressed(bytes(36)), *size, encoding)]))


@pytest.mark.parametrize("length", [0, 1, 35, 37])
def test_a_raw_screen_with_other_than_three_bytes_for_each_pixel_is_refused(length: int) -> None:
    with pytest.raises(WireError, match="bytes"):
        decode(altered(episode(), screens=[packed_screen(compressed(bytes(length)), 4, 3)]))


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(WireError, match="gif"):
        decode(altered(episode(), screens=[packed_screen(b"GIF", 4, 3, "gif")]))


# ---- what cannot be learned from is refused


def test_a_trajectory_without_steps_is_refused() -> None:
    with pytest.raises(WireError, match="no steps"):
        decode(encode(episode(versions=[])))


def test_a_trajectory_of_too_many_steps_is_refused() -> None:
    longest = decode(encode(episode(versions=[0] * MAX_STEPS)))
    with pytest.raises(WireError, match="10001"):
        decode(encode(replace(longest, steps=(*longest.steps, longest.steps[0]))))


def last_step(**fields: Any) -> Trajectory:
    """A trajectory whose first step is as it should be."""
    first, last = SMALL.steps
    return replace(SMALL, steps=(first, replace(last, **fields)))


def with_box(observation: Observation, number: float) -> Observation:
    return replace(observation, elements=(Element(box=(0, 0, 1, number), text="", kind="text"),))


POISONED: dict[str, Callable[[float], Trajectory]] = {
    "reward": lambda n: last_step(rewards={"task": 1.0, "more": n}),
    "log_prob": lambda n: last_step(decision=replace(SMALL.steps[1].decision, log_prob=n)),
    "token_log_probs": lambda n: last_step(decision=replace(SMALL.steps[1].decision, token_log_probs=(0.0, n))),
    "time": lambda n: last_step(observation=replace(SMALL.final, time_s=n)),
    "box": lambda n: last_step(observation=with_box(SMALL.final, n)),
    "box of the final screen": lambda n: replace(SMALL, final=with_box(SMALL.final, n)),
    "box in the tree": lambda n: replace(SMALL, final=replace(SMALL.final, ui_tree=with_box(SMALL.final, n).elements)),
    "score": lambda n: replace(SMALL, verdict=replace(SMALL.verdict, score=n)),
}


@pytest.mark.parametrize("where", POISONED)
def test_a_number_that_would_poison_the_learner_is_refused(where: str) -> None:
    assert decode(encode(POISONED[where](0.5))) == POISONED[where](0.5)
    for poison in POISON:
        with pytest.raises(WireError, match="not finite, or far too large"):
            decode(encode(POISONED[where](poison)))


@pytest.mark.parametrize("field", ["id", "worker", "device"])
def test_what_is_no_name_is_refused(field: str) -> None:
    good = replace(SMALL, **{field: "emulator-5554@10.0.0.1:5555." + "x" * 172})
    assert decode(encode(good)) == good
    for name in BAD_NAMES:
        with pytest.raises(WireError, match=f"{field} .* is not a name"):
            decode(encode(replace(SMALL, **{field: name})))


@unhurried
@given(st.text(max_size=8))
def test_a_name_that_is_let_in_can_be_a_file_of_that_name(name: str) -> None:
    try:
        decode(encode(replace(SMALL, id=name)))
    except WireError:
        return
    assert Path(f"{name}.sqlite").name == f"{name}.sqlite"
    assert name.isascii() and name.isprintable() and name

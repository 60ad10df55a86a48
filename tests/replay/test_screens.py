"""Screens are kept once, for as long as a trajectory shows them."""

import tracemalloc
from random import Random

import pytest

from distrl.core.types import Screen
from distrl.replay.compression import Compression
from distrl.replay.screens import ScreenStore

from .episodes import episode, make_replay, screen


class CountingCompression(Compression):
    """Counts how often something is compressed."""

    def __init__(self) -> None:
        super().__init__()
        self.num_compressed = 0
        self.num_decompressed = 0

    def compress(self, data: bytes) -> bytes:
        self.num_compressed += 1
        return super().compress(data)

    def decompress(self, packed: bytes) -> bytes:
        self.num_decompressed += 1
        return super().decompress(packed)


def test_equal_screens_of_different_trajectories_are_kept_once() -> None:
    replay = make_replay()
    replay.add(episode("a", versions=(0, 0), screens=[screen(1), screen(2), screen(1)]))
    replay.add(episode("b", versions=(0, 0), screens=[screen(1), screen(3), screen(1)]))

    assert replay.num_screens == 3


def test_a_screen_is_gone_with_the_last_trajectory_that_shows_it() -> None:
    replay = make_replay(capacity_steps=2)
    replay.add(episode("a", screens=[screen(1), screen(2)]))
    replay.add(episode("b", screens=[screen(2), screen(3)]))
    assert replay.num_screens == 3

    assert replay.add(episode("c", screens=[screen(4), screen(4)])) == ("a",)
    assert replay.num_screens == 3  # 1 is gone; b still shows 2
    assert replay.add(episode("d", screens=[screen(4), screen(5)])) == ("b",)
    assert replay.num_screens == 2
    assert replay.get("c") == episode("c", screens=[screen(4), screen(4)])
    assert replay.get("d") == episode("d", screens=[screen(4), screen(5)])


def test_a_refused_or_repeated_trajectory_keeps_no_screens() -> None:
    replay = make_replay(capacity_steps=1)
    replay.add(episode("a"))
    replay.add(episode("a", screens=[screen(8), screen(9)]))
    with pytest.raises(ValueError, match="steps"):
        replay.add(episode("b", versions=(0, 0), screens=[screen(7), screen(8), screen(9)]))
    with pytest.raises(ValueError, match="cannot be written"):
        replay.add(episode("c", versions=(2**64,), screens=[screen(8), screen(9)]))

    assert (replay.ids(), replay.num_screens, replay.num_steps) == (("a",), 1, 1)


def test_pixels_of_another_shape_or_encoding_are_another_screen() -> None:
    data = screen(1).data
    shown = [
        Screen(data=data, width=4, height=3),
        Screen(data=data, width=3, height=4),
        Screen(data=data, width=4, height=3, encoding="png"),
    ]
    replay = make_replay()
    replay.add(episode("a", versions=(0, 0), screens=shown))

    assert replay.num_screens == 3
    assert replay.get("a") == episode("a", versions=(0, 0), screens=shown)


def test_only_raw_screens_are_compressed_and_each_only_once() -> None:
    compression = CountingCompression()
    store = ScreenStore(compression)
    raw = screen(1)
    numbers = {store.keep(raw), store.keep(raw), store.keep(screen(1))}
    encoded = store.keep(Screen(data=b"encoded", width=4, height=3, encoding="jpeg"))

    assert len(numbers) == 1
    assert (compression.num_compressed, compression.num_decompressed) == (1, 0)
    assert store.packed(encoded).data == b"encoded"
    assert store.keep(Screen(data=b"encoded", width=4, height=3, encoding="jpeg")) == encoded


def test_a_screen_that_is_no_longer_recent_is_still_found_and_read() -> None:
    compression = CountingCompression()
    store = ScreenStore(compression, recent_bytes=2 * len(screen(0).data))
    numbers = [store.keep(screen(content)) for content in range(5)]

    assert [store.keep(screen(content)) for content in range(5)] == numbers
    assert [store.get(number) for number in numbers] == [screen(content) for content in range(5)]
    assert (len(store), compression.num_compressed) == (5, 5)


def test_screens_larger_than_all_that_may_be_recent_are_kept_too() -> None:
    store = ScreenStore(Compression(), recent_bytes=10)
    number = store.keep(screen(1))

    assert (store.keep(screen(1)), store.get(number)) == (number, screen(1))


def test_screens_with_the_same_hash_are_not_confused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "__hash__", lambda self: 7)
    store = ScreenStore(Compression(), recent_bytes=0)
    first, second = store.keep(screen(1)), store.keep(screen(2))
    assert first != second

    store.release(first)
    assert (len(store), store.get(second), store.keep(screen(2))) == (1, screen(2), second)


def test_screens_come_and_go_at_random_without_a_trace() -> None:
    store, rng, held = ScreenStore(Compression(), recent_bytes=100), Random(0), []
    for _ in range(2000):
        if held and rng.random() < 0.5:
            content, number = held.pop(rng.randrange(len(held)))
            assert store.get(number) == screen(content)
            store.release(number)
        else:
            content = rng.randrange(12)
            held.append((content, store.keep(screen(content))))
        assert len(store) == len({content for content, _ in held})
    for _, number in held:
        store.release(number)

    assert (len(store), store.num_bytes) == (0, 0)


def test_repeated_screens_take_a_small_share_of_their_pixels() -> None:
    replay = make_replay()
    for number in range(20):
        replay.add(episode(f"{number}", screens=[screen(number % 2, width=270, height=600)] * 2))

    assert replay.num_bytes < 20 * 2000


def test_what_is_compressed_takes_no_more_memory_than_its_bytes() -> None:
    compression, pixels = Compression(), bytes(10**6)
    tracemalloc.start()
    packed = compression.compress(pixels)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(packed) < 1000
    assert taken < 10_000

"""Screens, each kept once: a `Screen` in, a number out, and an equal `Screen` back for the number.

Most screens of an app are seen again and again, by every phone. A screen is found by its hash, which Python computes
once for a bytes object, and then compared in full: no two screens are ever confused. Those that were used last stay
unpacked, so that neither adding nor reading them again costs anything but a look.
"""

import dataclasses
from collections import OrderedDict, defaultdict
from typing import Literal

import msgspec

from distrl.core.types import Screen
from distrl.replay.compression import Compression

RECENT_BYTES = 32 * 2**20
"""How much stays unpacked: 69 screens of 270 x 600."""


class PackedScreen(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A screen as it is kept: raw pixels compressed, encoded files as they are."""

    data: bytes
    width: int
    height: int
    encoding: Literal["raw", "png", "jpeg", "webp"]


@dataclasses.dataclass(slots=True)
class _Kept:
    packed: PackedScreen
    hash: int
    references: int
    unpacked: Screen | None


class ScreenStore:
    """Screens by number, counted: a screen is gone when it has been released as often as it was kept."""

    def __init__(self, compression: Compression, *, recent_bytes: int = RECENT_BYTES) -> None:
        self._compression = compression
        self._recent_bytes = recent_bytes
        self._kept: dict[int, _Kept] = {}
        self._numbers_by_hash: defaultdict[int, list[int]] = defaultdict(list)
        self._recent: OrderedDict[Screen, int] = OrderedDict()
        self._num_recent_bytes = 0
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def num_bytes(self) -> int:
        """What the packed screens take."""
        return sum(len(kept.packed.data) for kept in self._kept.values())

    def keep(self, screen: Screen) -> int:
        """The screen's number, the same for equal screens; release it as often as you kept it."""
        number = self._find(screen)
        if number is None:
            number = self._insert(self._pack(screen), screen)
        self._kept[number].references += 1
        return number

    def release(self, number: int) -> None:
        """Undo one `keep`."""
        kept = self._kept[number]
        kept.references -= 1
        if kept.references > 0:
            return
        del self._kept[number]
        numbers = self._numbers_by_hash[kept.hash]
        numbers.remove(number)
        if not numbers:
            del self._numbers_by_hash[kept.hash]
        if kept.unpacked is not None:
            del self._recent[kept.unpacked]
            self._num_recent_bytes -= len(kept.unpacked.data)

    def get(self, number: int) -> Screen:
        """The screen with this number."""
        kept = self._kept[number]
        screen = kept.unpacked or self._unpack(kept.packed)
        self._remember(number, screen)
        return screen

    def packed(self, number: int) -> PackedScreen:
        """The screen with this number as it is kept."""
        return self._kept[number].packed

    def keep_packed(self, packed: PackedScreen, *, references: int) -> int:
        """The number of a screen that was packed elsewhere; release it as often as there are references."""
        screen = self._unpack(packed)
        number = self._find(screen)
        if number is None:
            number = self._insert(packed, screen)
        self._kept[number].references += references
        return number

    def _find(self, screen: Screen) -> int | None:
        number = self._recent.get(screen)
        if number is not None:
            self._recent.move_to_end(screen)
            return number
        for number in self._numbers_by_hash.get(hash(screen), ()):
            if self._unpack(self._kept[number].packed) == screen:
                self._remember(number, screen)
                return number
        return None

    def _insert(self, packed: PackedScreen, screen: Screen) -> int:
        number = self._next_number
        self._next_number += 1
        self._kept[number] = _Kept(packed, hash(screen), 0, None)
        self._numbers_by_hash[hash(screen)].append(number)
        self._remember(number, screen)
        return number

    def _remember(self, number: int, screen: Screen) -> None:
        """Make this the screen that was used last; those used longest ago are forgotten for it."""
        if len(screen.data) > self._recent_bytes:
            return
        kept = self._kept[number]
        if kept.unpacked is None:
            kept.unpacked = screen
            self._recent[screen] = number
            self._num_recent_bytes += len(screen.data)
        self._recent.move_to_end(kept.unpacked)
        while self._num_recent_bytes > self._recent_bytes:
            forgotten, number = self._recent.popitem(last=False)
            self._kept[number].unpacked = None
            self._num_recent_bytes -= len(forgotten.data)

    def _pack(self, screen: Screen) -> PackedScreen:
        data = self._compression.compress(screen.data) if screen.encoding == "raw" else screen.data
        return PackedScreen(data=data, width=screen.width, height=screen.height, encoding=screen.encoding)

    def _unpack(self, packed: PackedScreen) -> Screen:
        data = self._compression.decompress(packed.data) if packed.encoding == "raw" else packed.data
        return Screen(data=data, width=packed.width, height=packed.height, encoding=packed.encoding)

"""The spool: what a worker finished waits in order until it is acknowledged, over every death of the worker."""

import sqlite3
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from distrl.core.errors import UserError
from distrl.runtime.safe_file import CannotWriteError
from distrl.runtime.spool import MAX_REFUSED, Parcel, Spool

from .journals import assert_is_sound, lines_until_killed


def parcel(id: str, *, size: int = 10) -> Parcel:
    """One whose bytes tell whose they are."""
    return Parcel(id=id, data=(id.encode() * size)[:size])


def make_spool(directory: Path, *, max_bytes: int = 1000) -> Spool:
    return Spool(directory / "spool", max_bytes=max_bytes)


def waiting(spool: Spool) -> str:
    """The ids of all that waits, of one letter each."""
    return "".join(parcel.id for parcel in spool.oldest(1000))


def set_aside(directory: Path) -> list[tuple[str, str, bytes]]:
    """The refused ones, as somebody finds them who looks into the file."""
    database = sqlite3.connect(directory / "spool")
    found = database.execute("SELECT id, reason, data FROM refused ORDER BY rowid").fetchall()
    database.close()
    return found


def test_what_has_waited_longest_comes_out_first_and_stays(tmp_path: Path) -> None:
    spool = make_spool(tmp_path)
    for id, version in (("c", 3), ("a", 1), ("b", 2)):
        assert spool.put(parcel(id), version=version) == 0
    assert spool.oldest(2) == spool.oldest(2) == [parcel("c"), parcel("a")]
    assert waiting(spool) == "cab"
    assert (len(spool), spool.num_bytes) == (3, 30)
    assert spool.oldest(0) == []


def test_what_is_acknowledged_is_gone_and_remembered(tmp_path: Path) -> None:
    spool = make_spool(tmp_path)
    for id in "abc":
        spool.put(parcel(id), version=0)
    for _ in range(2):  # the receipt may come twice
        spool.acknowledge("b")
        assert waiting(spool) == "ac"
        assert spool.acknowledged() == ["b"]
        assert spool.num_bytes == 20


def test_a_receipt_for_what_is_not_there_is_remembered_too(tmp_path: Path) -> None:
    spool = make_spool(tmp_path)
    spool.put(parcel("a"), version=0)
    spool.acknowledge("dropped long ago")
    assert spool.acknowledged() == ["dropped long ago"]
    assert (waiting(spool), spool.num_bytes) == ("a", 10)


def test_what_is_refused_is_set_aside_with_its_reason(tmp_path: Path) -> None:
    spool = make_spool(tmp_path)
    spool.put(parcel("a"), version=0)
    spool.put(parcel("b"), version=0)
    spool.refuse(parcel("a"), "no steps")
    assert waiting(spool) == "b"
    assert (spool.num_bytes, spool.counter("refused"), spool.acknowledged()) == (10, 1, [])
    assert set_aside(tmp_path) == [("a", "no steps", b"aaaaaaaaaa")]


def test_only_so_many_refused_ones_are_kept_but_all_are_counted(tmp_path: Path) -> None:
    spool = make_spool(tmp_path)
    for number in range(MAX_REFUSED + 5):
        spool.put(parcel(f"{number}"), version=0)
        spool.refuse(parcel(f"{number}"), "bad")
    assert spool.counter("refused") == MAX_REFUSED + 5 == 21
    assert [id for id, _, _ in set_aside(tmp_path)] == [f"{number}" for number in range(16)]
    assert (len(spool), spool.num_bytes) == (0, 0)


def test_beyond_the_cap_what_the_oldest_weights_made_goes_first(tmp_path: Path) -> None:
    spool = make_spool(tmp_path, max_bytes=40)
    for id, version in (("a", 5), ("b", 2), ("c", 2), ("d", 9)):
        assert spool.put(parcel(id), version=version) == 0
    assert spool.put(parcel("e"), version=9) == 1
    assert waiting(spool) == "acde", "of two from version 2 the one that has waited longer"
    assert spool.put(parcel("f", size=15), version=9) == 2
    assert waiting(spool) == "def"
    assert (spool.counter("dropped"), spool.num_bytes) == (3, 35)


def test_what_alone_is_larger_than_the_cap_is_kept_alone(tmp_path: Path) -> None:
    spool = make_spool(tmp_path, max_bytes=40)
    spool.put(parcel("a"), version=1)
    spool.put(parcel("b"), version=2)
    assert spool.put(parcel("c", size=41), version=0) == 2
    assert waiting(spool) == "c"
    assert spool.put(parcel("d"), version=3) == 1
    assert waiting(spool) == "d"
    assert spool.counter("dropped") == 3


def test_putting_the_same_again_makes_no_room_for_it(tmp_path: Path) -> None:
    spool = make_spool(tmp_path, max_bytes=30)
    for id in "abc":
        spool.put(parcel(id), version=0)
    assert spool.put(Parcel(id="b", data=b"something else"), version=7) == 0
    assert spool.oldest(9) == [parcel("a"), parcel("b"), parcel("c")]
    assert spool.counter("dropped") == 0


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    spool = make_spool(tmp_path, max_bytes=40)
    for version, id in enumerate("abcdef"):
        spool.put(parcel(id), version=version)
    spool.acknowledge("d")
    spool.refuse(parcel("e"), "bad")
    spool.close()

    spool = make_spool(tmp_path, max_bytes=40)
    assert waiting(spool) == "cf"
    assert (len(spool), spool.num_bytes, spool.acknowledged()) == (2, 20, ["d"])
    assert (spool.counter("dropped"), spool.counter("refused"), spool.counter("other")) == (2, 1, 0)
    assert spool.put(parcel("g", size=30), version=9) == 1
    assert waiting(spool) == "fg", "the versions are remembered too"


def test_a_smaller_cap_takes_effect_with_the_next_parcel(tmp_path: Path) -> None:
    spool = make_spool(tmp_path)
    for id in "abcde":
        spool.put(parcel(id), version=0)
    spool.close()
    spool = make_spool(tmp_path, max_bytes=20)
    assert waiting(spool) == "abcde"
    assert spool.put(parcel("f"), version=0) == 4
    assert waiting(spool) == "ef"


def test_a_file_that_is_no_database_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("my shopping list\n" * 100)
    with pytest.raises(UserError, match="cannot be used"):
        make_spool(tmp_path)


def limit_pages(spool: Spool, more: int) -> None:
    """The disk has room for so many pages more."""
    (used,) = spool._database.execute("PRAGMA page_count").fetchone()
    spool._database.execute(f"PRAGMA max_page_count = {used + more}")


def test_on_a_full_disk_nothing_is_dropped_for_what_cannot_be_kept(tmp_path: Path) -> None:
    spool = make_spool(tmp_path, max_bytes=100_000)
    for id in "abc":
        spool.put(parcel(id, size=20_000), version=0)
    limit_pages(spool, 0)
    with pytest.raises(CannotWriteError, match="full"):
        spool.put(parcel("d", size=90_000), version=1)
    assert (waiting(spool), spool.num_bytes, spool.counter("dropped")) == ("abc", 60_000, 0)

    with pytest.raises(CannotWriteError, match="full"):
        spool.refuse(parcel("a", size=50_000), "a copy of it does not fit either")
    assert (waiting(spool), spool.num_bytes, spool.counter("refused")) == ("abc", 60_000, 0)

    spool.acknowledge("a")  # makes room
    assert spool.put(parcel("e", size=15_000), version=1) == 0
    limit_pages(spool, 1000)
    assert spool.put(parcel("d", size=90_000), version=1) == 3
    assert (waiting(spool), spool.num_bytes) == ("d", 90_000)
    assert_is_sound(tmp_path / "spool")


# ---- a worker that is killed

DELIVER_FOR_EVER = """
import os, sys
from pathlib import Path
from distrl.runtime.spool import Parcel, Spool

spool, life = Spool(Path(sys.argv[1]), max_bytes=10**9), sys.argv[2]
for number in range(10**9):
    name = f"{life}-{number:06d}"
    spool.put(Parcel(id=name, data=name.encode() * 500), version=number)
    os.write(1, f"put {name}\\n".encode())
    if number % 3 == 2:
        for parcel in spool.oldest(2):
            os.write(1, f"acknowledging {parcel.id}\\n".encode())
            spool.acknowledge(parcel.id)
            os.write(1, f"acknowledged {parcel.id}\\n".encode())
"""


def test_over_every_kill_what_was_put_waits_until_it_is_acknowledged(tmp_path: Path) -> None:
    path, rng = tmp_path / "spool", Random(6)
    told: dict[str, list[str]] = {"put": [], "acknowledging": [], "acknowledged": []}
    for life in range(5):
        for line in lines_until_killed(DELIVER_FOR_EVER, [path, life], rng):
            kind, _, name = line.partition(" ")
            told[kind].append(name)

        spool = Spool(path, max_bytes=10**9)
        parcels = spool.oldest(10**6)
        kept, done = [parcel.id for parcel in parcels], set(spool.acknowledged())
        assert len(set(kept)) == len(kept), "nothing twice"
        assert set(told["put"]) <= set(kept) | done, "nothing lost"
        assert not done & set(kept), "what is acknowledged does not wait"
        assert set(told["acknowledged"]) <= done <= set(told["acknowledging"])
        assert kept == sorted(kept), "in the order of putting"
        assert all(parcel.data == parcel.id.encode() * 500 for parcel in parcels), "nothing torn"
        assert spool.num_bytes == 8 * 500 * len(kept), "a name has eight characters"
        spool.close()
    assert told["acknowledged"]
    assert_is_sound(path)


# ---- beside a list that does the same

ids = st.sampled_from("abcdefghij")


class SpoolMachine(RuleBasedStateMachine):
    """The model: id, version and size of what waits, in the order of its arrival."""

    @initialize(max_bytes=st.integers(1, 100))
    def begin(self, max_bytes: int) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.max_bytes = max_bytes
        self.spool = make_spool(Path(self.directory.name), max_bytes=max_bytes)
        self.waiting: list[tuple[str, int, int]] = []
        self.acknowledged: set[str] = set()
        self.num_dropped = self.num_refused = 0

    def num_bytes(self) -> int:
        return sum(size for _, _, size in self.waiting)

    def forget(self, id: str) -> None:
        self.waiting = [kept for kept in self.waiting if kept[0] != id]

    @rule(id=ids, version=st.integers(0, 3), size=st.integers(0, 40))
    def put(self, id: str, version: int, size: int) -> None:
        dropped = 0
        if id not in [kept for kept, _, _ in self.waiting]:
            while self.waiting and self.num_bytes() and self.num_bytes() + size > self.max_bytes:
                self.waiting.remove(min(self.waiting, key=lambda kept: kept[1]))
                dropped += 1
            self.waiting.append((id, version, size))
        self.num_dropped += dropped
        assert self.spool.put(parcel(id, size=size), version=version) == dropped

    @rule(id=ids)
    def acknowledge(self, id: str) -> None:
        self.forget(id)
        self.acknowledged.add(id)
        self.spool.acknowledge(id)

    @rule(place=st.integers(0, 9))
    def refuse(self, place: int) -> None:
        if place < len(self.waiting):
            id, _, size = self.waiting[place]
            self.forget(id)
            self.num_refused += 1
            self.spool.refuse(parcel(id, size=size), "bad")

    @rule()
    def reopen(self) -> None:
        self.spool.close()
        self.spool = make_spool(Path(self.directory.name), max_bytes=self.max_bytes)

    @invariant()
    def the_same_waits(self) -> None:
        if not hasattr(self, "spool"):
            return
        assert self.spool.oldest(99) == [parcel(id, size=size) for id, _, size in self.waiting]
        assert self.spool.oldest(2) == self.spool.oldest(99)[:2]
        assert len(self.spool) == len(self.waiting)
        assert self.spool.num_bytes == self.num_bytes()
        assert self.spool.num_bytes <= self.max_bytes or len([kept for kept in self.waiting if kept[2]]) == 1
        assert self.spool.acknowledged() == sorted(self.acknowledged)
        assert self.spool.counter("dropped") == self.num_dropped
        assert self.spool.counter("refused") == self.num_refused

    def teardown(self) -> None:
        if hasattr(self, "spool"):
            self.spool.close()
            self.directory.cleanup()


TestSpoolMachine = SpoolMachine.TestCase
TestSpoolMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)

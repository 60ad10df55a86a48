"""The journal: what it has said is safe is there, once, whatever is killed, full or done at the same time."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.errors import UserError
from distrl.runtime.journal import Entry, Journal, Life
from distrl.runtime.safe_file import CannotWriteError


def entry(id: str, *, size: int = 10, versions: tuple[int, ...] = (0,)) -> Entry:
    """One whose bytes tell whose they are."""
    return Entry(id=id, worker="w", versions=versions, data=(id.encode() * size)[:size])


def entries(ids: str, *, size: int = 10) -> list[Entry]:
    return [entry(id, size=size) for id in ids]


def ids_in(journal: Journal) -> list[str]:
    return [id for _, id, _, _ in journal.read()]


def assert_is_sound(path: Path) -> None:
    """The file is whole by SQLite's own judgement."""
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "journal.sqlite")
    yield made
    made.close()


# ---- trajectories


def test_what_was_accepted_can_be_read_in_the_order_of_its_places(journal: Journal) -> None:
    assert journal.accept([entry("b", versions=(7, 3, 7)), entry("a")], epoch=1) == [1, 2]
    assert journal.accept([Entry(id="c", worker="v", versions=(), data=b"\x00\xff")], epoch=1) == [3]
    assert list(journal.read()) == [
        (1, "b", (3, 7), b"bbbbbbbbbb"),
        (2, "a", (0,), b"aaaaaaaaaa"),
        (3, "c", (), b"\x00\xff"),
    ]


def test_what_is_sent_again_is_recognised_and_the_first_stays(journal: Journal) -> None:
    journal.accept(entries("ab"), epoch=1)
    again = Entry(id="a", worker="other", versions=(9,), data=b"other")
    places = journal.accept([entry("c"), again, entry("d"), entry("d")], epoch=2)
    assert [place is None for place in places] == [False, True, False, True]
    assert list(journal.after(2)) == [(places[0], b"c" * 10), (places[2], b"d" * 10)]
    assert next(journal.read()) == (1, "a", (0,), b"a" * 10)


def test_places_increase_and_what_came_after_one_of_them_is_what_is_asked_for(journal: Journal) -> None:
    places = [place for id in "abcde" for place in journal.accept([entry(id), entry("a")], epoch=1) if place]
    assert places == sorted(set(places))
    assert len(places) == 5
    for number, place in enumerate(places):
        assert [data[:1] for _, data in journal.after(place)] == [id.encode() for id in "abcde"[number + 1 :]]
    assert len(list(journal.after(-1))) == len(list(journal.after(0))) == 5


def test_it_knows_what_it_contains(journal: Journal) -> None:
    journal.accept(entries("a"), epoch=1)
    assert "a" in journal
    assert "A" not in journal
    assert "" not in journal


def test_nothing_to_accept_is_nothing_to_do(journal: Journal) -> None:
    assert journal.accept([], epoch=1) == []
    assert list(journal.read()) == []
    assert list(journal.after(0)) == []


def test_an_error_in_the_middle_leaves_nothing_behind(journal: Journal) -> None:
    class Broken(list[Entry]):
        def __iter__(self) -> Iterator[Entry]:
            yield entry("a")
            raise ArithmeticError("in the middle")

    with pytest.raises(ArithmeticError):
        journal.accept(Broken(), epoch=1)
    assert "a" not in journal
    assert journal.accept(entries("ab"), epoch=1) == [1, 2]


def test_an_entry_without_bytes_is_an_error_and_not_a_duplicate(journal: Journal) -> None:
    nothing = Entry(id="b", worker="w", versions=(), data=None)  # type: ignore[arg-type]
    with pytest.raises(CannotWriteError, match="NOT NULL"):
        journal.accept([entry("a"), nothing], epoch=1)
    assert list(journal.read()) == []


def test_a_reopened_file_still_has_everything(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    life = journal.begin_epoch()
    journal.accept([entry("a", versions=(0, 1)), entry("b")], epoch=life.epoch)
    journal.note_version(0, "digest", epoch=life.epoch)
    before = list(journal.read()), journal.versions(), journal.lives()
    journal.close()

    journal = Journal(tmp_path / "journal")
    assert (list(journal.read()), journal.versions(), journal.lives()) == before
    *known, new = journal.accept(entries("abc"), epoch=2)
    assert known == [None, None]
    assert new is not None
    assert new > 2
    journal.close()


# ---- versions


def test_a_new_life_continues_behind_every_version_that_was_noted(journal: Journal) -> None:
    assert journal.newest_version() == -1
    assert journal.begin_epoch() == Life(epoch=1, first_version=0)
    for version in (0, 1, 2):
        journal.note_version(version, "digest", epoch=1)
    assert journal.begin_epoch() == Life(epoch=2, first_version=3)
    # Life 2 noted nothing, so nobody acted with its versions: 3 is still free.
    assert journal.begin_epoch() == Life(epoch=3, first_version=3)
    journal.note_version(7, "digest", epoch=3)
    assert journal.begin_epoch() == Life(epoch=4, first_version=8)
    assert journal.versions() == {0: 1, 1: 1, 2: 1, 7: 3}
    assert [(life.epoch, life.first_version) for life in journal.lives()] == [(1, 0), (2, 3), (3, 3), (4, 8)]


def test_a_version_is_never_given_a_second_time_even_by_a_learner_that_should_be_dead(tmp_path: Path) -> None:
    old, new = Journal(tmp_path / "journal"), Journal(tmp_path / "journal")
    old.begin_epoch()
    old.note_version(0, "first", epoch=1)
    life = new.begin_epoch()
    new.note_version(life.first_version, "second", epoch=life.epoch)
    for journal in (old, new):
        with pytest.raises(CannotWriteError, match="UNIQUE"):
            journal.note_version(1, "third", epoch=1)
        assert journal.versions() == {0: 1, 1: 2}
        journal.close()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=6))
def test_over_all_lives_versions_only_increase(tmp_path_factory: pytest.TempPathFactory, counts: list[int]) -> None:
    path = tmp_path_factory.mktemp("lives") / "journal"
    given_out: list[int] = []
    for count in counts:
        journal = Journal(path)
        life = journal.begin_epoch()
        for version in range(life.first_version, life.first_version + count):
            journal.note_version(version, "digest", epoch=life.epoch)
            given_out.append(version)
        journal.close()
    assert given_out == list(range(sum(counts)))


# ---- several at once


def test_threads_that_send_the_same_are_told_once_that_it_is_new(journal: Journal) -> None:
    def send(seed: int) -> list[tuple[str, int]]:
        ids = [f"{number}" for number in range(60)]
        Random(seed).shuffle(ids)
        told: list[tuple[str, int]] = []
        for start in range(0, 60, 3):
            batch = ids[start : start + 3]
            places = journal.accept([entry(id) for id in batch], epoch=1)
            told += [(id, place) for id, place in zip(batch, places, strict=True) if place is not None]
        return told

    with ThreadPoolExecutor(4) as pool:
        told = [pair for part in pool.map(send, range(4)) for pair in part]
    assert len(told) == 60
    assert sorted(told, key=lambda pair: pair[1]) == [(id, place) for place, id, _, _ in journal.read()]


def test_two_connections_wait_for_each_other(tmp_path: Path) -> None:
    def send(name: str) -> None:
        journal = journals[name]
        for number in range(40):
            assert journal.accept([entry(f"{name}{number}"), entry(f"{name}{number}+")], epoch=1) != [None, None]

    journals = {name: Journal(tmp_path / "journal") for name in "ab"}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(send, "ab"))
    assert len(set(ids_in(journals["a"]))) == len(ids_in(journals["b"])) == 160
    for journal in journals.values():
        journal.close()


def test_what_another_thread_has_not_finished_is_not_seen(journal: Journal) -> None:
    inserted = threading.Event()

    class Slow(list[Entry]):
        def __iter__(self) -> Iterator[Entry]:
            yield entry("a")
            inserted.set()
            time.sleep(0.05)  # for the reader to look, if it does not wait
            raise ArithmeticError("and it comes to nothing")

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(journal.accept, Slow(), epoch=1)
        assert inserted.wait(30)
        seen = "a" in journal, list(journal.read())
        assert isinstance(writing.exception(), ArithmeticError)
    assert seen == (False, [])


def test_reading_goes_on_while_more_arrives(journal: Journal) -> None:
    journal.accept(entries("ab"), epoch=1)
    reading = journal.after(0)
    assert next(reading) == (1, b"a" * 10)
    journal.accept(entries("c"), epoch=1)
    assert [place for place, _ in reading] == [2, 3]


# ---- a disk that is full, a file that is something else


def limit_pages(journal: Journal, more: int) -> None:
    """The disk has room for so many pages more."""
    (used,) = journal._database.execute("PRAGMA page_count").fetchone()
    journal._database.execute(f"PRAGMA max_page_count = {used + more}")


def test_a_full_disk_is_told_and_nothing_torn_is_left(journal: Journal, tmp_path: Path) -> None:
    journal.accept(entries("ab"), epoch=1)
    journal.note_version(0, "digest", epoch=1)
    before = list(journal.read())
    limit_pages(journal, 3)
    for _ in range(3):
        with pytest.raises(CannotWriteError, match="full"):
            journal.accept([entry("c"), entry("d", size=50_000), entry("e")], epoch=1)
        assert list(journal.read()) == before
        assert ("c" in journal, "d" in journal) == (False, False)
    assert journal.accept(entries("c"), epoch=1) == [3], "what is small still fits"

    limit_pages(journal, 1000)
    places = journal.accept([entry("c"), entry("d", size=50_000), entry("e")], epoch=1)
    assert [place is None for place in places] == [True, False, False]
    assert ids_in(journal) == ["a", "b", "c", "d", "e"]
    assert_is_sound(tmp_path / "journal.sqlite")


FILL_THE_DISK = """
import json, subprocess, sys
from pathlib import Path
from distrl.runtime.journal import Entry, Journal
from distrl.runtime.safe_file import CannotWriteError

disk = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=True)
ballast = disk / "ballast"
ballast.write_bytes(bytes(600_000))
journal = Journal(disk / "journal")
accepted, error = [], ""
for number in range(1000):
    batch = [Entry(id=f"{number}{half}", worker="w", versions=(0,), data=bytes(20_000)) for half in "ab"]
    try:
        journal.accept(batch, epoch=1)
    except CannotWriteError as full:
        error = str(full)
        break
    accepted += [entry.id for entry in batch]
at_full = [name for _, name, _, _ in journal.read()]
ballast.unlink()
journal.accept(batch, epoch=1)
journal.close()
journal = Journal(disk / "journal")
sound = journal._database.execute("PRAGMA integrity_check").fetchone()[0]
after = [(name, len(data)) for _, name, _, data in journal.read()]
last = [entry.id for entry in batch]
print(json.dumps([error, accepted, at_full, sound, after, last]))
"""


def can_mount() -> bool:
    """Whether a small disk of our own can be had here."""
    if shutil.which("unshare") is None:
        return False
    attempt = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(attempt, capture_output=True).returncode == 0


def test_a_disk_that_is_really_full_is_told_and_once_there_is_room_it_goes_on(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("no small disk can be mounted here")
    command = ["unshare", "-rm", sys.executable, "-c", FILL_THE_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    error, accepted, at_full, sound, after, last = json.loads(done.stdout)
    assert "full" in error or "I/O" in error
    assert len(accepted) >= 10
    assert at_full == accepted, "what was accepted, and no half of a batch"
    assert after == [[id, 20_000] for id in accepted + last]
    assert sound == "ok"


def test_a_closed_journal_says_that_it_cannot_be_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.close()
    with pytest.raises(CannotWriteError, match="closed"):
        journal.accept(entries("a"), epoch=1)


@pytest.mark.parametrize("content", [b"my shopping list\n" * 100, b"SQLite format 3\x00" + bytes(100), b"\xff" * 5000])
def test_a_file_that_is_no_database_is_the_users_mistake_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"journal cannot be used: .+"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_place_where_no_file_can_be_is_the_users_mistake(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "journal", tmp_path):
        with pytest.raises(UserError, match="cannot be used"):
            Journal(path)


# ---- processes that are killed

ACCEPT_FOR_EVER = """
import os, sys
from pathlib import Path
from distrl.runtime.journal import Entry, Journal

journal, life = Journal(Path(sys.argv[1])), sys.argv[2]
for number in range(10**9):
    names = [f"{life}-{number}-{part}" for part in "abc"]
    journal.accept([Entry(id=n, worker="w", versions=(0,), data=n.encode() * 500) for n in names], epoch=1)
    os.write(1, f"{' '.join(names)}\\n".encode())
"""


def lines_until_killed(script: str, arguments: Sequence[object], rng: Random) -> list[str]:
    """What a process wrote in whole lines until it was killed, some time after its first one."""
    command = [sys.executable, "-c", script, *(str(argument) for argument in arguments)]
    # Without a buffer, or what is in it when the first line has been read would be missing from the rest.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        if first:
            time.sleep(rng.uniform(0.0, 0.15))
            os.kill(process.pid, signal.SIGKILL)
        written, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors.decode()
    return (first + written).decode().rpartition("\n")[0].splitlines()


def test_what_was_accepted_survives_every_kill_exactly_once(tmp_path: Path) -> None:
    path, rng, told = tmp_path / "journal", Random(5), list[str]()
    for life in range(5):
        lines = lines_until_killed(ACCEPT_FOR_EVER, [path, life], rng)
        assert lines
        told += [id for line in lines for id in line.split()]

        journal = Journal(path)
        kept = {id: data for _, id, _, data in journal.read()}
        assert len(kept) == len(ids_in(journal)), "nothing twice"
        assert set(told) <= set(kept), "nothing lost"
        assert all(data == id.encode() * 500 for id, data in kept.items()), "nothing torn"
        assert len(kept) % 3 == 0, "no part of a batch"
        assert len(kept) - len(told) <= 3 * (life + 1), "at most the batch that was just accepted is not told of"
        journal.close()
    assert_is_sound(path)


def test_what_is_let_go_is_still_recognised_and_takes_no_room(journal: Journal) -> None:
    sent = [entry(f"t{n}", size=50_000) for n in range(1, 41)]
    journal.accept(sent, epoch=1)
    journal.let_go(30)
    assert [position for position, _ in journal.after(0)] == list(range(31, 41))
    assert ids_in(journal) == [e.id for e in sent]
    assert journal.accept(sent[:1], epoch=1) == [None], "it was there, whatever is left of it"
    journal.accept([entry(f"later{n}", size=50_000) for n in range(29)], epoch=1)
    journal._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert journal._file.path.stat().st_size < 42 * 52_000

"""The journal: what was sent is there once and in order, versions only increase, and several may write at a time."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.runtime.journal import Entry, Journal, Life
from distrl.runtime.safe_file import CannotWriteError

from .journals import entries, entry, ids_in

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

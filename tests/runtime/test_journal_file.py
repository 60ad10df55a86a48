"""The file of a journal when a disk is full, a process is killed, or it is something else: nothing is lost or torn."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from distrl.core.errors import UserError
from distrl.runtime.journal import Journal
from distrl.runtime.safe_file import CannotWriteError

from .journals import assert_is_sound, entries, entry, ids_in, lines_until_killed

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

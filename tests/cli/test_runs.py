"""`distrl runs`: an audit counts every spool it is shown, and says so when it is shown none."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from distrl.runtime.asynchronous import JOURNAL
from distrl.runtime.journal import Entry, Journal
from distrl.runtime.spool import Parcel, Spool
from distrl.runtime.wire import encode

from ..runtime.fleet import plain_trajectory
from .command import distrl


def spool(path: Path, acknowledged: list[str], waiting: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(Spool(path, max_bytes=2**20)) as made:
        for name in waiting:
            made.put(Parcel(id=name, data=b"x"), version=0)
        for name in acknowledged:
            made.acknowledge(name)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run to which a worker here delivered `a` and `b`, and one on another machine `c`."""
    path = tmp_path / "run"
    path.mkdir()
    (path / "config.toml").write_text("")
    with closing(Journal(path / JOURNAL)) as journal:
        life = journal.begin_epoch()
        journal.note_version(0, "", epoch=life.epoch)
        made = [(name, encode(plain_trajectory(name))) for name in "abc"]
        entries = [Entry(id=name, worker="w", versions=(0,), data=data) for name, data in made]
        journal.accept(entries, epoch=life.epoch)
    spool(path / "spool" / "worker-0.sqlite", ["a", "b"], ["d"])
    spool(tmp_path / "from-afar" / "worker-x.sqlite", ["c"], ["e", "f"])
    return path


def audit(run: Path, *more: str | Path) -> tuple[int, dict[str, int]]:
    done = distrl("runs", "audit", str(run), "--json", *map(str, more))
    return done.status, json.loads(done.out)


def test_the_spools_of_other_machines_are_counted_if_they_are_shown(run: Path, tmp_path: Path) -> None:
    status, found = audit(run)
    assert (status, found["acknowledged"], found["stored"], found["waiting"]) == (0, 2, 3, 1)
    status, found = audit(run, "--spool", tmp_path / "from-afar")
    assert (status, found["acknowledged"], found["stored"], found["waiting"]) == (0, 3, 3, 3)


def test_several_are_counted_and_none_twice(run: Path, tmp_path: Path) -> None:
    spool(tmp_path / "more" / "worker-y.sqlite", [], ["g"])
    where = [word for name in ("from-afar", "more", "run/spool", "more") for word in ("--spool", tmp_path / name)]
    status, found = audit(run, *where)
    assert (status, found["acknowledged"], found["waiting"]) == (0, 3, 4)


def test_what_another_machine_was_promised_and_is_not_there_is_lost(run: Path, tmp_path: Path) -> None:
    spool(tmp_path / "from-afar" / "worker-x.sqlite", ["z"], [])
    assert audit(run)[0] == 0
    status, found = audit(run, "--spool", tmp_path / "from-afar")
    assert (status, found["lost"]) == (1, 1)


@pytest.mark.parametrize(
    ("where", "hint"), [("nowhere", "no spools (*.sqlite) in"), ("torn", "worker-x.sqlite cannot be read as a spool")]
)
def test_a_directory_without_spools_and_a_torn_one_are_mistakes(
    run: Path, tmp_path: Path, where: str, hint: str
) -> None:
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "worker-x.sqlite").write_bytes(b"what is this" * 100)
    done = distrl("runs", "audit", str(run), "--spool", str(tmp_path / where))
    assert (done.status, done.out) == (2, "")
    assert hint in done.err
    assert "Traceback" not in done.err

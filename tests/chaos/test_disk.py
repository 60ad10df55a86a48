"""Disks that fail: a kill and an error at every single thing that is done to the disk, and a disk that fills up.

Faults come from strace, which stops a process at a system call of a kind and number; programs are the smallest that
save a checkpoint or accept trajectories. The full disk is a small one in memory, under a whole run in virtual time.
"""

import asyncio
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from distrl.core.errors import UserError
from distrl.runtime.asynchronous import AsyncTraining
from distrl.runtime.checkpoints import load_checkpoint, newest_checkpoint, save_checkpoint
from distrl.runtime.journal import Entry, Journal
from distrl.runtime.run_directory import RunDirectory

from ..runtime.runs import tensorboard_events
from ..runtime.test_asynchronous import lines, run_fleet, slow, sound

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(300)]

CHANGES = "?mkdir,mkdirat,write,pwrite64,fsync,fdatasync,?rename,?renameat,renameat2,?unlink,unlinkat,?rmdir,ftruncate"
KILLED = 137
NOT_SAVED = 3
SAVE = """
import sys
from pathlib import Path
from distrl.runtime.checkpoints import save_checkpoint
number, content = int(sys.argv[2]), int(sys.argv[3])
files = {"weights.bin": bytes([content]) * 100, "state.json": b'{"number": %d}' % content, "empty": b""}
try:
    save_checkpoint(Path(sys.argv[1]), number, files)
except OSError:
    sys.exit(3)
"""
ACCEPT = """
import os, sys
from pathlib import Path
from distrl.runtime.journal import Entry, Journal
from distrl.core.errors import UserError
from distrl.runtime.safe_file import CannotWriteError
try:
    journal = Journal(Path(sys.argv[1]))
except UserError:
    sys.exit(3)
waiting = [Entry(id=f"new-{n}", worker="w", versions=(0,), data=bytes([n]) * 300) for n in range(2)]
while waiting:
    try:
        journal.accept(waiting[:1], epoch=1)
    except CannotWriteError:
        continue
    os.writev(1, [waiting.pop(0).id.encode() + b"\\n"])
journal.close()
"""


def files(number: int) -> dict[str, bytes]:
    return {"weights.bin": bytes([number]) * 100, "state.json": b'{"number": %d}' % number, "empty": b""}


def traced(program: str, *arguments: str, fault: str = "", trace: Path | None = None) -> tuple[int, list[str]]:
    """Run a program under strace, with a fault; its exit status (137 if it was killed) and the lines it wrote."""
    strace = shutil.which("strace")
    assert strace is not None, "these tests need strace: apt-get install strace"
    inject = ["-e", f"inject={fault}"] if fault else []
    command = [strace, "-f", "-qq", "-e", f"trace={CHANGES}", *inject, "-o", str(trace or os.devnull)]
    done = subprocess.run(
        [*command, sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True, timeout=60
    )
    status = KILLED if done.returncode == -9 else done.returncode
    return status, done.stdout.splitlines()


def changes(tmp_path: Path, program: str, *arguments: str) -> list[tuple[str, int]]:
    """Everything that a program does to the disk when nothing fails: kinds of calls, each with its number."""
    trace = tmp_path / "trace"
    status, _ = traced(program, *arguments, trace=trace)
    assert status == 0
    counts = Counter(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE))
    return [(call, n) for call, count in counts.items() for n in range(1, count + 1)]


def with_two(directory: Path) -> Path:
    for number in (1, 2):
        save_checkpoint(directory, number, files(number))
    return directory


# ---- checkpoints


@pytest.mark.parametrize("number", [3, 2], ids=["a-new-one", "one-that-replaces"])
def test_killed_at_any_call_a_checkpoint_is_old_or_new_and_the_next_one_sweeps(tmp_path: Path, number: int) -> None:
    calls = changes(tmp_path, SAVE, str(with_two(tmp_path / "counted")), str(number), "3")
    made = {call for call, _ in calls}
    assert {"write", "fsync", "unlinkat"} <= made
    assert len(calls) >= 16
    results = Counter()
    for call, n in calls:
        directory = with_two(tmp_path / f"{call}-{n}")
        status, _ = traced(SAVE, str(directory), str(number), "3", fault=f"{call}:signal=KILL:when={n}")
        assert status == KILLED
        found, skipped = newest_checkpoint(directory)
        assert found in (files(2), files(3)), (call, n)
        assert skipped == []
        results["new" if found == files(3) else "old"] += 1
        save_checkpoint(directory, 4, files(4))
        assert newest_checkpoint(directory) == (files(4), [])
        left = sorted(directory.iterdir())
        assert len(left) == 2, (call, n, left)
        assert load_checkpoint(left[0]) in (files(2), files(3))
    assert results["old"] >= 8
    assert results["new"] >= 4


def test_whatever_call_fails_a_checkpoint_is_an_error_or_saved_and_the_next_one_succeeds(tmp_path: Path) -> None:
    calls = changes(tmp_path, SAVE, str(with_two(tmp_path / "counted")), "2", "3")
    statuses = set()
    for call, n in calls:
        error = "ENOSPC" if call in ("write", "mkdir", "mkdirat") else "EIO"
        directory = with_two(tmp_path / f"{call}-{n}")
        status, _ = traced(SAVE, str(directory), "2", "3", fault=f"{call}:error={error}:when={n}")
        statuses.add((call, status))
        found, skipped = newest_checkpoint(directory)
        assert skipped == []
        assert found == files(3) if status == 0 else found in (files(2), files(3)), (call, n)
        assert not list(directory.glob(".*")), "what failed takes up no room, and nobody flushes it again"
        save_checkpoint(directory, 4, files(4))
        assert newest_checkpoint(directory) == (files(4), [])
        assert len(list(directory.iterdir())) == 2, (call, n)
    assert {("write", NOT_SAVED), ("fsync", NOT_SAVED), ("unlinkat", 0)} <= statuses
    assert ("fsync", 0) not in statuses, "a flush that failed is a lost write"
    assert {status for _, status in statuses} == {0, NOT_SAVED}


# ---- the journal


def journal_with_one(path: Path) -> Path:
    journal = Journal(path)
    journal.begin_epoch()
    journal.accept([Entry(id="old", worker="w", versions=(0,), data=b"x" * 300)], epoch=1)
    journal.close()
    return path


def ids_in(path: Path) -> list[str]:
    """What is there after a new beginning, which has to find a sound file."""
    journal = Journal(path)
    assert journal._file.rows("PRAGMA integrity_check") == [("ok",)]
    found = [(name, data) for _, name, _, data in journal.read()]
    assert all(data == (b"x" * 300 if name == "old" else bytes([int(name[-1])]) * 300) for name, data in found)
    journal.accept([Entry(id="more", worker="w", versions=(0,), data=b"more")], epoch=1)
    assert "more" in journal
    journal.close()
    return [name for name, _ in found]


@pytest.mark.parametrize(
    ("fault", "at"), [("signal=KILL", ""), ("error=ENOSPC", "write"), ("error=EIO", "sync")], ids=["kill", "full", "io"]
)
def test_whatever_happens_at_any_call_what_the_journal_acknowledged_is_there(
    tmp_path: Path, fault: str, at: str
) -> None:
    every = changes(tmp_path, ACCEPT, str(journal_with_one(tmp_path / "counted.sqlite")))
    calls = [(call, n) for call, n in every if at in call]
    acknowledged = Counter()
    for call, n in calls:
        path = journal_with_one(tmp_path / f"{call}-{n}.sqlite")
        status, told = traced(ACCEPT, str(path), fault=f"{call}:{fault}:when={n}")
        assert status in ((KILLED,) if "KILL" in fault else (0, NOT_SAVED)), (call, n)
        assert status != NOT_SAVED or not told, "it could not even be opened, and said so"
        found = ids_in(path)
        assert len(found) == len(set(found))
        assert {"old", *told} <= set(found), (call, n)
        acknowledged[len(told)] += 1
    if "KILL" in fault:
        assert acknowledged[0], "some were killed before anything was acknowledged"
        assert acknowledged[2], "and some after all was"
    else:
        assert set(acknowledged) <= {0, 2}, "once it is open, what cannot be written is written later"
        assert acknowledged[2] > acknowledged[0]


# ---- a disk that fills up


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB, in memory."""
    path = tmp_path / "disk"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "distrl-test", str(path)], capture_output=True)
    assert made.returncode == 0, f"these tests mount a disk, which root may do: {made.stderr.decode()}"
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(path: Path) -> None:
    """Take up all the room that there is, to the last byte."""
    with path.open("ab", buffering=0) as file:
        for size in (2**20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC


def no_file_is_torn(run: Path) -> None:
    for file in run.glob("*.jsonl"):
        assert all(isinstance(json.loads(line), dict) for line in file.read_text().splitlines()), file
    for file in (run / "tensorboard").iterdir():
        assert sum(1 for _ in tensorboard_events(file)) >= 2, file
    assert not [*run.rglob(".*.aside")]
    for checkpoint in (run / "checkpoints").iterdir():
        load_checkpoint(checkpoint)


def test_a_run_whose_disk_fills_up_goes_on_when_there_is_room_and_nothing_is_lost(small_disk: Path) -> None:
    ballast, run, seen = small_disk / "ballast", small_disk / "run", []

    async def trouble(training: AsyncTraining) -> None:
        while training.learner.num_received < 6:
            await asyncio.sleep(1.0)
        fill(ballast)
        await asyncio.sleep(600.0)
        seen.append(training.learner.num_received)
        ballast.unlink()

    config = slow(train={"num_trajectories": 24}, eval={"every_trajectories": 4})
    training = run_fleet(config, run, during=trouble)
    assert training.learner.num_received >= 24 > seen[0], "it stood still meanwhile"
    events = Counter(line["event"] for line in lines(run, "events"))
    assert events["checkpoint not written"] >= 1, events
    assert sound(run).stored >= 24
    no_file_is_torn(run)
    updates = [row["update"] for row in lines(run, "metrics")]
    assert updates == list(range(1, training.learner.num_updates + 1)), "no line is missing, and none is there twice"


def test_a_run_that_ends_on_a_full_disk_says_so_and_can_be_gone_on_with(small_disk: Path) -> None:
    ballast, run = small_disk / "ballast", small_disk / "run"

    async def trouble(training: AsyncTraining) -> None:
        while training.learner.num_received < 6:
            await asyncio.sleep(1.0)
        fill(ballast)
        await asyncio.sleep(30.0)
        await training.drain()

    config = slow(train={"num_trajectories": 12}, eval={"every_trajectories": 4})
    with pytest.raises(OSError, match="No space left on device"):
        run_fleet(config, run, during=trouble)
    assert newest_checkpoint(run / "checkpoints")[0] is not None
    ballast.unlink()
    stored = sound(run).stored
    again = run_fleet(config, run)
    assert again.learner.num_received >= 12
    assert sound(run).stored >= max(12, stored)
    no_file_is_torn(run)


def test_a_full_disk_at_the_beginning_is_named(small_disk: Path) -> None:
    fill(small_disk / "ballast")
    with pytest.raises(UserError, match=r"cannot write to the run directory .*No space left on device"):
        run_fleet(slow(), small_disk / "run")


def test_lines_that_a_full_disk_has_no_room_for_are_written_when_it_has(small_disk: Path) -> None:
    run, told = RunDirectory(small_disk), 0
    run.start_board(step=1)

    def tell(count: int) -> None:
        nonlocal told
        for _ in range(count):
            told += 1
            run.log("metrics", {"update": told, "text": "x" * 100})
            run.plot({"loss": 0.5}, step=told)

    tell(50)
    fill(small_disk / "ballast")
    tell(100)
    on_disk = [row["update"] for row in run.read("metrics")]
    assert on_disk == list(range(1, len(on_disk) + 1))
    assert 50 <= len(on_disk) < 150, "a file may have some room of its own at its end"
    (small_disk / "ballast").unlink()
    tell(1)
    assert [row["update"] for row in run.read("metrics")] == list(range(1, 152))
    (board,) = (small_disk / "tensorboard").iterdir()
    plotted: list[Any] = [event.step for event in tensorboard_events(board) if event.HasField("summary")]
    assert plotted == list(range(1, 152))

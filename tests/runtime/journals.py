"""Journals for tests: entries whose bytes tell whose they are, what a file holds, and processes that are killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from distrl.runtime.journal import Entry, Journal


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

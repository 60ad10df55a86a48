"""Signals for a whole group of processes: only the command hears them, and drains; Ray goes on until that is done.

A terminal sends Ctrl-C to everything in the foreground, and service managers send SIGTERM to everything of a service.
"""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from distrl.runtime.asynchronous import MAX_WAITING
from distrl.runtime.fleet import DELIVERED_AT_ONCE

from ..runtime.runs import as_options
from .test_ray import PATIENCE_S, QUICK, Run, is_sound, no_process_is_left

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(420)]
# Nothing but draining makes a checkpoint in so short a run.
LONG: dict[str, dict[str, Any]] = {
    "train": {"num_trajectories": 4000},
    "eval": {"every_trajectories": 4000, "episodes": 2},
}
QUEUE = MAX_WAITING + DELIVERED_AT_ONCE


class TerminalRun(Run):
    """`distrl train` in the foreground of a terminal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keyboard, terminal = pty.openpty()
        options = as_options(QUICK | LONG)
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from distrl.cli.main import main; main()",
                "train",
                "--run-dir",
                str(path),
                *options,
            ],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        os.close(terminal)
        self._screen = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # that is how a terminal ends
            while piece := os.read(self.keyboard, 4096):
                self._screen.extend(piece)

    def end(self) -> tuple[int, str, str]:
        status = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        os.close(self.keyboard)
        return status, "", self._screen.decode(errors="replace")


@contextmanager
def ended(run: Run) -> Iterator[Run]:
    """Whatever happens, it does not run on."""
    try:
        yield run
    finally:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate()


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISTRL_TEST_RUN", str(tmp_path / "run"))
    return tmp_path / "run"


def is_alone_in_its_group(run: Run) -> bool:
    """Whether a signal for the group of the command reaches nothing but the command."""
    group = []
    for pid in run.pids():
        with suppress(ProcessLookupError):
            group += [pid] if os.getpgid(pid) == run.process.pid else []
    return group == [run.process.pid]


def was_drained(run: Run, status: int, said: str, *, stored: int) -> None:
    """It stopped in good order; all that was stored by then is in the checkpoint, but for what waited in the queue."""
    assert status == 130, said
    assert "The same command goes on" in said
    audit = run.audit()
    assert is_sound(audit), audit
    checkpoints = [int(found.name) for found in (run.path / "checkpoints").glob("[0-9]*")]
    assert max(checkpoints, default=0) >= stored - QUEUE
    no_process_is_left(run)


def test_sigterm_for_the_whole_group_drains_and_ray_never_writes_among_results(path: Path) -> None:
    with ended(Run(path, "--json", **LONG)) as run:
        run.wait_for_trajectories(4)
        worker = run.pid_of("WorkerActor")
        os.kill(worker, signal.SIGKILL)  # of which Ray tells its driver
        run.pid_of("WorkerActor", other_than=worker)
        run.wait_for_trajectories(40)
        stored = run.audit()["stored"]
        assert is_alone_in_its_group(run)
        os.killpg(run.process.pid, signal.SIGTERM)
        status, out, err = run.end()
        was_drained(run, status, err, stored=stored)
        assert out == ""


def test_ctrl_c_in_a_terminal_drains(path: Path) -> None:
    with ended(TerminalRun(path)) as run:
        assert isinstance(run, TerminalRun)
        run.wait_for_trajectories(40)
        stored = run.audit()["stored"]
        assert is_alone_in_its_group(run)
        os.write(run.keyboard, b"\x03")
        status, _, screen = run.end()
        was_drained(run, status, screen, stored=stored)

"""A whole asynchronous run on a real Ray: processes are killed, the run goes on, and an audit finds nothing amiss."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from distrl.core.errors import UserError

from ..runtime.runs import as_options

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(420)]

PATIENCE_S = 300.0
QUICK: dict[str, dict[str, Any]] = {
    "phone": {"scale": 0.1},
    "policy": {"mode": "text", "start": "scratch"},
    "learner": {"batch_trajectories": 4, "warmup_trajectories": 4, "new_steps_per_update": 40.0},
    "collect": {"num_devices": 4},
    "train": {"num_trajectories": 40},
    "eval": {"every_trajectories": 40, "episodes": 2},
}


class Run:
    """`distrl train` in a process group of its own."""

    def __init__(self, path: Path, *more: str, **tables: dict[str, Any]) -> None:
        self.path = path
        settings = {name: QUICK.get(name, {}) | tables.get(name, {}) for name in {*QUICK, *tables}}
        program = "from distrl.cli.main import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "train", "--run-dir", str(path), *as_options(settings), *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def pid_of(self, actor: str, *, other_than: int = 0) -> int:
        """The process of an actor of this run, as soon as there is one."""
        return self._wait_for(lambda: next((pid for pid in self.pids(actor) if pid != other_than), None))

    def pids(self, name: str = "") -> list[int]:
        """The processes of this run's session, those of one actor if named; raylets make sessions of their own."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                mine = f"DISTRL_TEST_RUN={self.path}".encode() in (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if mine and name in command:
                found.append(int(process.name))
        return found

    def wait_for_trajectories(self, count: int) -> None:
        """Until the journal has so many."""

        def stored() -> bool:
            try:
                return bool(self.audit()["stored"] >= count)
            except UserError:  # the journal is being made
                return False

        self._wait_for(stored)

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err

    def audit(self) -> dict[str, Any]:
        import msgspec

        from distrl.runtime.audit import audit_run

        return dict(msgspec.to_builtins(audit_run(self.path)))

    def _wait_for(self, look: Any) -> Any:
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            assert self.process.poll() is None, self.end()
            if found := look():
                return found
            time.sleep(0.2)
        raise AssertionError("it never happened")


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Starts runs, and ends whatever is left of them."""
    monkeypatch.setenv("DISTRL_TEST_RUN", str(tmp_path / "run"))
    runs: list[Run] = []

    def begin(*more: str, **tables: dict[str, Any]) -> Run:
        runs.append(Run(tmp_path / "run", *more, **tables))
        return runs[-1]

    yield begin
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate()


def no_process_is_left(run: Run) -> None:
    until_s = time.monotonic() + 60.0
    while run.pids() and time.monotonic() < until_s:
        time.sleep(0.2)
    assert {pid: command_of(pid) for pid in run.pids()} == {}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "gone"


def niceness_of(pid: int) -> int:
    """The largest of its threads; on Linux each has its own."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return max(os.getpriority(os.PRIO_PROCESS, int(thread.name)) for thread in threads)


def is_sound(audit: dict[str, Any]) -> bool:
    return audit["lost"] == audit["duplicates"] == audit["unpublished_versions"] == 0 and audit["versions_monotone"]


def test_killed_workers_and_learners_lose_nothing(start: Any) -> None:
    run = start(train={"num_trajectories": 120})
    run.wait_for_trajectories(8)
    learner = run.pid_of("LearnerActor")
    os.kill(learner, signal.SIGKILL)
    run.pid_of("LearnerActor", other_than=learner)
    run.wait_for_trajectories(30)
    worker = run.pid_of("WorkerActor")
    # Where processors are short, updates go first.
    assert niceness_of(worker) > niceness_of(run.pid_of("LearnerActor")) == os.getpriority(os.PRIO_PROCESS, 0)
    os.kill(worker, signal.SIGKILL)
    run.pid_of("WorkerActor", other_than=worker)
    status, out, err = run.end()
    assert status == 0, err
    assert "held-out success" in out
    audit = run.audit()
    assert is_sound(audit), audit
    assert audit["stored"] >= 120
    assert audit["epochs"] >= 2
    no_process_is_left(run)
    assert json.loads((run.path / "summary.json").read_text())["trajectories"] >= 120


def test_ctrl_c_drains_and_the_same_command_goes_on(start: Any) -> None:
    run = start(train={"num_trajectories": 4000})
    run.wait_for_trajectories(8)
    os.killpg(run.process.pid, signal.SIGINT)
    status, _, err = run.end()
    assert status == 130, err
    assert "The same command goes on" in err
    assert list((run.path / "checkpoints").glob("[0-9]*"))
    before = run.audit()
    assert is_sound(before), before
    no_process_is_left(run)
    again = start(train={"num_trajectories": before["stored"] + 8})
    status, _, err = again.end()
    assert status == 0, err
    after = again.audit()
    assert is_sound(after), after
    assert after["epochs"] == 2
    assert after["stored"] >= before["stored"] + 8


def test_a_killed_driver_leaves_no_process_and_a_run_that_goes_on(start: Any) -> None:
    run = start(train={"num_trajectories": 4000})
    run.wait_for_trajectories(4)
    run.process.kill()
    run.process.communicate()
    no_process_is_left(run)
    stored = run.audit()["stored"]
    again = start(train={"num_trajectories": stored + 4})
    status, _, err = again.end()
    assert status == 0, err
    assert is_sound(again.audit())


def test_two_runs_in_one_directory_are_refused(start: Any) -> None:
    run = start(train={"num_trajectories": 4000})
    run.wait_for_trajectories(1)
    second = start(train={"num_trajectories": 4000})
    status, _, err = second.end()
    assert status == 2
    assert "another process trains in" in err
    run.process.terminate()
    status, _, err = run.end()
    assert status == 130, err
    no_process_is_left(run)


def test_nobody_listens_beyond_loopback(start: Any) -> None:
    run = start(train={"num_trajectories": 4000})
    run.wait_for_trajectories(1)
    mine = {f"socket:[{inode}]" for inode in _listening_beyond_loopback()}
    open_sockets = set()
    for pid in run.pids():
        try:
            open_sockets |= {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            continue
    assert open_sockets
    assert not mine & open_sockets
    os.killpg(run.process.pid, signal.SIGINT)
    run.end()


LOOPBACK = ("0100007F:", "00000000000000000000000001000000:", "0000000000000000FFFF00000100007F:")


def _listening_beyond_loopback() -> list[str]:
    """The inodes of sockets that listen on any other address."""
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    return [row[9] for row in rows if row[3] == "0A" and not row[1].startswith(LOOPBACK)]

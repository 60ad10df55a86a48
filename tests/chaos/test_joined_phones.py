"""A run whose learner has no devices, and a machine that joins with a phone of its own: on a real Ray and adb."""

import json
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from distrl.cli.worker import Node
from distrl.core.types import Trajectory
from distrl.runtime.wire import decode

from ..devices.conftest import make_tool
from ..runtime.runs import as_options

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.adb, pytest.mark.timeout(600)]
PATIENCE_S = 300.0
HEAD_TRIES = 3
QUICK: dict[str, dict[str, Any]] = {
    "devices": {"kind": "adb", "settle_s": 0.0, "screenshot": "raw"},
    "policy": {"mode": "text", "start": "scratch"},
    "learner": {"batch_trajectories": 4, "warmup_trajectories": 4, "new_steps_per_update": 40.0},
    "train": {"num_trajectories": 6},
    "eval": {"every_trajectories": 40, "episodes": 1},
}


@contextmanager
def phone() -> Iterator[str]:
    """The serial of a phone that adb can connect to."""
    command = [sys.executable, "-m", "distrl.devices.sim.adbd.process", json.dumps({"scale": 0.1})]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"127.0.0.1:{process.stdout.readline().strip()}"


@contextmanager
def cluster() -> Iterator[str]:
    """The address of a Ray that others can join; it gives itself 30 s to start, which a busy machine may not have."""
    for _ in range(HEAD_TRIES):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        place = [f"--port={port}", "--node-ip-address=127.0.0.1", "--include-dashboard=false", "--num-cpus=1"]
        with Node(["--head", *place], {}) as head:
            if head.wait_until_joined(Event()):
                yield f"127.0.0.1:{port}"
                return
    raise AssertionError("Ray does not start here")


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A command of ours, ended with the block."""
    command = [sys.executable, "-c", "from distrl.cli.main import main; main()", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


def end(process: "subprocess.Popen[str]", beside: "subprocess.Popen[str] | None" = None) -> tuple[int, str]:
    """How it ended and what it said; whoever is beside it has to go on meanwhile."""
    until_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until_s:
        assert beside is None or beside.poll() is None, end(beside)
        time.sleep(0.2)
    assert process.poll() is not None, "it never ends"
    return process.returncode, process.communicate()[0]


def trajectories(run: Path) -> list[Trajectory]:
    with sqlite3.connect(f"file:{run / 'journal.sqlite'}?mode=ro", uri=True) as database:
        return [decode(data) for (data,) in database.execute("SELECT data FROM trajectories") if data]


def test_a_machine_offers_its_phones_by_serial_or_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = make_tool(tmp_path)
    tool.start()
    own = {name: tool.environment[name] for name in ("HOME", "ANDROID_USER_HOME", "ANDROID_ADB_SERVER_PORT")}
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a" * 64, "RAY_worker_niceness": "0"}
    for name, value in {**own, **token, "OMP_NUM_THREADS": "1"}.items():
        monkeypatch.setenv(name, value)
    for name in ("ANDROID_SERIAL", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    run = tmp_path / "run"
    try:
        with phone() as serial, cluster() as address:
            place = ["--address", address, "--workers", "0", "--run-dir", str(run)]
            with started("train", *place, *as_options(QUICK)) as training:
                with started("worker", "--address", address) as silent:
                    status, said = end(silent, beside=training)
                    assert (status, "distrl worker --serials" in said) == (2, True), said
                with started("worker", "--address", address, "--serials", serial) as joined:
                    status, said = end(training, beside=joined)
        assert status == 0, said
        assert {t.device for t in trajectories(run)} == {serial}
    finally:
        tool.stop()

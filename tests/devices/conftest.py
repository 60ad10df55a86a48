"""A private adb server for the tests: on a port and in a home of its own, ended by who started it; an SDK beside it."""

import os
import random
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from distrl.devices.adb.server import find_adb

from .adb_bench import Tool
from .emulator_bench import Sdk


@pytest.fixture(scope="session")
def adb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    """The adb tool with its own server."""
    tool = make_tool(tmp_path_factory.mktemp("adb"))
    tool.start()
    yield tool
    tool.stop()


@pytest.fixture
def fresh_adb(tmp_path: Path) -> Iterator[Tool]:
    """The same for one test alone, which may kill it."""
    tool = make_tool(tmp_path)
    yield tool
    tool.stop()


@pytest.fixture(scope="session")
def debian_adb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    """Debian's adb, years older, with its own server; `make` installs it where it can."""
    found = shutil.which("adb")
    if found is None:
        pytest.skip("no adb on the PATH: apt-get install adb")
    tool = make_tool(tmp_path_factory.mktemp("debian"), binary=Path(found))
    tool.start()
    yield tool
    tool.stop()


@pytest.fixture
def sdk(tmp_path: Path, adb: Tool, monkeypatch: pytest.MonkeyPatch) -> Sdk:
    """An SDK whose emulator is the stand-in, on ports and with slots of its own."""
    made = Sdk(tmp_path, adb.port, first_port=random.randrange(20_000, 30_000, 2))
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


def make_tool(home: Path, *, binary: Path | None = None) -> Tool:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {"HOME": str(home), "ANDROID_USER_HOME": str(home), "ANDROID_ADB_SERVER_PORT": str(port), "TMPDIR": str(home)}
    # Without looking for devices on USB or the network: only what a test connects is there.
    quiet = {"ADB_USB": "0", "ADB_MDNS_AUTO_CONNECT": "0", "ADB_LOCAL_TRANSPORT_MAX_PORT": "5554"}
    return Tool(binary=binary or find_adb({"PATH": ""}), port=port, environment={**os.environ, **own, **quiet})


@pytest.fixture(autouse=True)
def no_foreign_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's owner has set must not reach a test."""
    for name in ("ANDROID_SERIAL", "ANDROID_ADB_SERVER_PORT"):
        monkeypatch.delenv(name, raising=False)

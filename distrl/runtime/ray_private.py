"""A Ray of one's own: its environment, and the process that keeps it.

    python -m distrl.runtime.ray_private DIRECTORY     # prints the address of a new Ray, and keeps it until stdin ends

Ray's processes belong to whoever starts them, and so would get every signal that is meant for the starter's group: a
terminal's Ctrl-C, a service manager's SIGTERM. Then they would be gone before anything is drained. The keeper starts
them in a session of its own; only `distrl train` hears the signal, and decides.
"""

import logging
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TextIO, cast

from distrl.core.errors import DistrlError, UserError

MAX_PARENT = 24
FEWEST_FILES, MANY_FILES = 64, 65_536
_log = logging.getLogger(__name__)


class RayStartError(DistrlError):
    """Ray could not be started."""


def prepare(address: str | None) -> None:
    """Before the first import of Ray, which reads this only then: without an address it is private, and has a token."""
    # By default Ray's processes give way to everything else on the machine, and then hardly run at all.
    os.environ.setdefault("RAY_worker_niceness", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address or "ray" in sys.modules:
        return
    # Ray has one switch that keeps it on loopback, made for systems whose firewalls ask about every listener.
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def session_directory() -> Path:
    """Where a private Ray keeps its sockets, whose paths may have 107 bytes: Ray needs most of them itself."""
    try:
        parent = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise UserError(f"no place for temporary files: {error}; set TMPDIR to a directory that exists") from error
    return Path(tempfile.mkdtemp(prefix="distrl-ray-", dir="/tmp" if len(parent) > MAX_PARENT else None))


def allow_open_files() -> None:
    """As many as the machine allows; an error if Ray could not even start with them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, MANY_FILES)
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < FEWEST_FILES:
        raise UserError(f"Ray needs more open files than this shell allows ({wanted}); try: ulimit -n 4096")


@contextmanager
def kept(directory: Path) -> Iterator[str]:
    """A private Ray for the length of a block, in a directory; its address."""
    command = [sys.executable, "-m", "distrl.runtime.ray_private", str(directory)]
    keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert keeper.stdout is not None
    try:
        address = keeper.stdout.readline().strip()
        if not address:
            raise RayStartError("Ray did not start on this machine; what it said is above")
        yield address
    finally:
        keeper.communicate()


class _WithoutRay:
    """Standard output without what Ray's threads print there: that is for the log."""

    def __init__(self, real: TextIO) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def write(self, text: str) -> int:
        """A piece of what somebody prints."""
        if not threading.current_thread().name.startswith("ray_"):
            return self._real.write(text)
        if text.strip():
            _log.info("Ray says: %s", text.strip())
        return len(text)


@contextmanager
def own_stdout() -> Iterator[None]:
    """Keep standard output for results: Ray tells its driver there of every process and machine that it loses."""
    with redirect_stdout(cast("TextIO", _WithoutRay(sys.stdout))):
        yield


def main() -> None:
    """Start Ray, say where it is, keep it until nobody wants it any more."""
    import ray

    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=512 * 2**20,
        log_to_driver=False,
        configure_logging=False,
        _temp_dir=sys.argv[1],
    )
    sys.stdout.write(f"{ray.get_runtime_context().gcs_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    ray.shutdown()


if __name__ == "__main__":
    main()

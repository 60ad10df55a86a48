"""The reaper: waits until the process that started it is gone, then ends what is left of its private Ray.

    python -m distrl.runtime.reaper DIRECTORY PID     # DIRECTORY is that of the Ray session, PID that of the starter

Some of Ray's helpers outlive a killed driver by minutes. They are known by a variable in their environment that names
the directory; or, since those that give themselves a title write it over their environment, by files they hold open in
it. The starter holds the other end of our standard input, so its death is seen at once, whatever killed it.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

SESSION = "DISTRL_RAY_SESSION"
SWEEPS, PAUSE_S = 100, 0.1


def start(directory: Path) -> "subprocess.Popen[bytes]":
    """A reaper for this process; closing its standard input lets it begin."""
    command = [sys.executable, "-m", "distrl.runtime.reaper", str(directory), str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def processes_of(directory: Path) -> list[int]:
    """All processes that were started for a session."""
    mark = f"{SESSION}={directory}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0") or _is_titled_in(directory, process):
                found.append(int(process.name))
    return found


def _is_titled_in(directory: Path, process: Path) -> bool:
    """Whether this is a part of Ray that writes its log into the directory."""
    if not (process / "cmdline").read_bytes().startswith(b"ray::"):
        return False
    return any(str(file.readlink()).startswith(f"{directory}/") for file in (process / "fd").iterdir())


def reap(directory: Path, *, spare: set[int]) -> None:
    """End every process of a session but some, and remove its directory.

    Again and again until there is none: what is not ended yet may have started another one.
    """
    for _ in range(SWEEPS):
        left = set(processes_of(directory)) - spare
        if not left:
            break
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        threading.Event().wait(PAUSE_S)
    shutil.rmtree(directory, ignore_errors=True)


def main() -> None:
    """Wait, then reap."""
    directory, starter = Path(sys.argv[1]), int(sys.argv[2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    reap(directory, spare={os.getpid(), starter})


if __name__ == "__main__":
    main()

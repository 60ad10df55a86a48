"""The process of an emulator: a command in, something that runs, can be watched, and ends with whoever started it."""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping
from pathlib import Path

from distrl.core.errors import DeviceError
from distrl.devices.emulator.slots import started_at

TAIL_LINES = 15
_PR_SET_PDEATHSIG = 1
END_S = 10.0


class Running:
    """A process with all that it starts, in a group of its own; what it says goes to a file."""

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self.log = log
        self.pid = process.pid
        self.started = started_at(process.pid)

    @classmethod
    async def start(
        cls, command: list[str], log: Path, *, environment: Mapping[str, str], outlives_us: bool = False
    ) -> "Running":
        """Start it; it is killed when this process ends, unless it is to outlive it."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    env=dict(environment),
                    start_new_session=True,
                    preexec_fn=None if outlives_us else _dies_with(),
                )
            except OSError as error:
                raise DeviceError("boot", f"{command[0]} cannot be started: {error.strerror}") from error
        return cls(process, log)

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.returncode is None

    @property
    def returncode(self) -> int | None:
        """How it ended."""
        return self._process.returncode

    def tail(self) -> str:
        """The last lines it said."""
        with contextlib.suppress(OSError):
            lines = self.log.read_bytes()[-8000:].decode(errors="replace").splitlines()
            return "\n".join(f"    {line}" for line in lines[-TAIL_LINES:]) or "    (nothing)"
        return "    (no log)"

    async def end(self) -> None:
        """End it and all that it started, however it is."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self._process.wait()


def _dies_with() -> Callable[[], None] | None:
    """What the kernel is told between fork and exec; only Linux can be told."""
    if not sys.platform.startswith("linux"):
        return None
    kernel = ctypes.CDLL(None, use_errno=True)
    return lambda: kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

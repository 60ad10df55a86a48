"""Slots of a machine: at most 64 emulators, each with its two ports, none given to two runs, none kept by the dead.

A slot is a file with a lock that the kernel takes back when its owner ends, however it ends. Beside the lock it says
which process was started in it; whoever takes the slot next first ends that process if it is still there, and removes
its clone. So what a crashed run left behind is cleaned up by the next one, and nothing else is ever touched.
"""

import contextlib
import fcntl
import os
import select
import signal
import socket
import tempfile
from pathlib import Path

import msgspec

from distrl.core.errors import DeviceError
from distrl.devices.emulator.avd import folder_of, remove_avd, sweep_locks

MAX_EMULATORS = 64
END_S = 5.0


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What was started in a slot. `is_kept`: by `distrl devices start`, for a person, who also stops it."""

    port: int
    pid: int
    started: str
    avd: str = ""
    clone: str = ""
    home: str = ""
    kind: str = "emulator"
    log: str = ""
    is_kept: bool = False
    is_writer: bool = False
    """Whether it runs on the original, whose locks it leaves behind if it is killed."""

    @property
    def is_running(self) -> bool:
        """Whether that very process is still there, and not another with its number."""
        return bool(self.started) and started_at(self.pid) == self.started

    @property
    def serial(self) -> str:
        """What adb calls it."""
        return f"emulator-{self.port}" if self.kind == "emulator" else f"127.0.0.1:{self.port}"


def started_at(pid: int) -> str:
    """When a process began, as the kernel counts; nothing if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def state_folder() -> Path:
    """Where slots are written down: one place for all runs of a user."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(root) / "distrl" / "devices"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"distrl-devices-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


class Slot:
    """Two ports that are ours until `release`, or until this process ends."""

    def __init__(self, port: int, file: Path, lock: int) -> None:
        self.port = port
        self._file = file
        self._lock = lock

    def note(self, record: Record) -> None:
        """Write down what runs here."""
        self._file.write_bytes(msgspec.json.encode(record))

    def release(self) -> None:
        """Give it back; may be called twice."""
        if self._lock >= 0:
            self._file.unlink(missing_ok=True)
            self.leave()

    def leave(self) -> None:
        """Go, and let the note say who is here."""
        os.close(self._lock)
        self._lock = -1


def take_slot(first_port: int, *, folder: Path | None = None) -> Slot:
    """The first slot that is free, swept of what a dead owner left in it."""
    folder = folder or state_folder()
    for port in range(first_port, first_port + 2 * MAX_EMULATORS, 2):
        slot = _try(port, folder)
        if slot is not None:
            return slot
    raise DeviceError(
        "too_many_emulators", f"all {MAX_EMULATORS} slots from port {first_port} are taken: this machine has enough"
    )


def _try(port: int, folder: Path) -> Slot | None:
    file = folder / f"{port}.json"
    lock = os.open(folder / f"{port}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    record = read_record(file)
    if record is not None and record.is_running and record.is_kept:
        os.close(lock)
        return None
    if record is not None:
        end(record)
        file.unlink(missing_ok=True)
    if _is_free(port) and _is_free(port + 1):
        return Slot(port, file, lock)
    os.close(lock)
    return None


def read_record(file: Path) -> Record | None:
    """What a file says; None if it says nothing."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None


def records(folder: Path | None = None) -> list[Record]:
    """Everything that was started and still runs."""
    found = (read_record(file) for file in sorted((folder or state_folder()).glob("*.json")))
    return [record for record in found if record is not None and record.is_running]


def note_kept(record: Record, folder: Path | None = None) -> None:
    """Write down what was started for a person and has no slot of its own."""
    ((folder or state_folder()) / f"{record.kind}-{record.port}.json").write_bytes(msgspec.json.encode(record))


def stop(record: Record, folder: Path | None = None) -> None:
    """End it and forget it."""
    end(record)
    for name in (f"{record.port}.json", f"{record.kind}-{record.port}.json"):
        ((folder or state_folder()) / name).unlink(missing_ok=True)


def end(record: Record) -> None:
    """End a process of ours with all that it started, if it is still that process; its clone goes too."""
    if record.is_running:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            process = os.pidfd_open(record.pid)
            os.killpg(record.pid, signal.SIGKILL)
            select.select([process], [], [], END_S)  # its ports are free only when it is gone
            os.close(process)
    if record.clone and record.home:
        remove_avd(Path(record.home), record.clone)
    if record.is_writer:
        sweep_locks(folder_of(Path(record.home), record.avd))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

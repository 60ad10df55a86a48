"""The run directory: everything a run writes, and the only thing that others read.

config.toml (resolved), metrics.jsonl and TensorBoard events, events.jsonl, evaluations.jsonl, weights/ (safetensors),
checkpoints/, bad_batches/ if there were any. Resuming is the same command again; the same directory with another
configuration is refused. What is appended is whole or not there: what a full disk has no room for waits for room.
"""

import contextlib
import fcntl
import io
import json
import math
import os
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import masked_crc32c

from distrl.core.config import Config, dump_toml
from distrl.core.errors import UserError
from distrl.runtime.checkpoints import write_safely

_MAY_DIFFER = ("num_trajectories", "max_minutes", "spend_limit")
"""Keys that a resumed run may change: how long it goes on, and what its judge may cost."""
_LOCK = ".lock"
MAX_WAITING = 10_000
"""Lines of a file that wait for room on the disk; beyond it the oldest are given up."""
MAX_BAD_BATCHES = 3
"""Batches of a run that are kept because they could not be learned from; more would say the same."""


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.weights = path / "weights"
        self._board: Path | None = None
        self._lock: BinaryIO | None = None
        self._waiting: defaultdict[Path, deque[bytes]] = defaultdict(lambda: deque(maxlen=MAX_WAITING))
        self._is_writing = threading.Lock()

    def open(self, config: Config, *, is_locked: bool = False) -> None:
        """Make the directory, or go on in it; raises `UserError` if it belongs to another configuration.

        One process at a time; `is_locked` if another one holds it open for this one.
        """
        text = dump_toml(config)
        file = self.path / "config.toml"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if file.exists():
                _refuse_other(file.read_text(encoding="utf-8", errors="replace"), text, self.path)
            elif any(path.name != _LOCK and path.suffix != ".aside" for path in self.path.iterdir()):
                raise UserError(f"{self.path} is not empty and not a run; choose another --run-dir")
            self._lock = None if is_locked else _lock(self.path / _LOCK)
            write_safely(file, text.encode())
            self.weights.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot write to the run directory {self.path}: {error.strerror}") from error

    def start_board(self, *, step: int) -> None:
        """Write for TensorBoard from now on; what it was told about this step and later ones is taken back."""
        directory = self.path / "tensorboard"
        directory.mkdir(exist_ok=True)
        # Without the step, the file of a run that is resumed within a second would have the name of the first one's.
        self._board = directory / f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{step}"
        begin = Event(wall_time=time.time(), file_version="brain.Event:2")
        taken_back = Event(wall_time=time.time(), step=step, session_log=SessionLog(status=SessionLog.START))
        self._append(self._board, _framed(begin) + _framed(taken_back))

    def log(self, kind: str, values: Mapping[str, Any]) -> None:
        """Append a line to `<kind>.jsonl`; events carry the time of day, so that people can find them."""
        line = {"time": round(time.time(), 3), **values} if kind == "events" else dict(values)
        self._append(self.path / f"{kind}.jsonl", _json_line(line))

    def plot(self, values: Mapping[str, float], *, step: int) -> None:
        """Numbers for TensorBoard."""
        if self._board is not None:
            numbers = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
            self._append(self._board, _framed(Event(wall_time=time.time(), step=step, summary=Summary(value=numbers))))

    def keep_bad_batch(self, facts: Mapping[str, Any], tensors: bytes) -> str:
        """Write down that an update was refused, with its batch if it is one of the first; where that is, or nothing.

        `facts` has the number of the `update`; what tells of a batch is written behind its tensors.
        """
        directory = self.path / "bad_batches"
        file = directory / f"update-{facts['update']:09d}.json"
        is_kept = len(list(directory.glob("*.json"))) < MAX_BAD_BATCHES
        if is_kept:
            try:
                directory.mkdir(exist_ok=True)
                write_safely(file.with_suffix(".safetensors"), tensors)
                write_safely(file, _json_line(facts))
            except OSError:  # no room; the run goes on without it
                is_kept = False
        where = str(file) if is_kept else ""
        told = {name: facts[name] for name in ("update", "reason", "num_bad_updates") if name in facts}
        self.log("events", {"event": "update refused", **told, "batch": where})
        return where

    def read(self, kind: str) -> list[dict[str, Any]]:
        """The lines of `<kind>.jsonl`; a last line that was cut off is left out."""
        return list(_lines(self.path / f"{kind}.jsonl"))

    def rewrite(self, kind: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Have these lines in `<kind>.jsonl` and no others."""
        file = self.path / f"{kind}.jsonl"
        lines = b"".join(_json_line(row) for row in rows)
        # Usually they are what is there, and then a full disk is no reason not to begin.
        if lines != (file.read_bytes() if file.exists() else b""):
            write_safely(file, lines)

    def close(self) -> None:
        """Write what still waits, if there is room now."""
        with contextlib.suppress(OSError), self._is_writing:
            self._write_waiting()
        self._waiting.clear()
        self._board = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _append(self, path: Path, data: bytes) -> None:
        """Behind what is in a file; it waits if it cannot be written now, but not for a directory that is gone."""
        with self._is_writing:
            self._waiting[path].append(data)
            self._write_waiting()

    def _write_waiting(self) -> None:
        for path, pieces in self._waiting.items():
            try:
                _append_whole(path, b"".join(pieces))
            except FileNotFoundError:
                raise
            except OSError:
                continue
            pieces.clear()


def _lock(path: Path) -> BinaryIO:
    """A file that one process holds as long as it lives; `UserError` while another does."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise UserError(f"another process trains in {path.parent}; wait for it, or choose another --run-dir") from error
    return file


def _json_line(values: Mapping[str, Any]) -> bytes:
    """One line of JSON, which has no word for what is not a number: null stands for it."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }
    return json.dumps(finite, ensure_ascii=False).encode() + b"\n"


def _framed(event: Any) -> bytes:
    """An event as TensorBoard reads it: between its length and two checksums."""
    data = event.SerializeToString()
    length = struct.pack("<Q", len(data))
    return bytes(length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data)))


def _append_whole(path: Path, data: bytes) -> None:
    """All of it or nothing: what a full disk cut off is taken back."""
    if not data:
        return
    with path.open("a+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        # A line that was cut off by a crash must not swallow this one.
        if size and path.suffix == ".jsonl" and not _ends_a_line(file):
            data = b"\n" + data
        try:
            while data:
                data = data[file.write(data) :]
        except OSError:
            file.truncate(size)
            raise


def _ends_a_line(file: io.FileIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for text in path.read_bytes().split(b"\n"):
        try:
            line = json.loads(text)
        except ValueError:  # cut off by a crash, perhaps within a character
            continue
        yield line


def _refuse_other(old: str, new: str, path: Path) -> None:
    def settings(text: str) -> set[str]:
        section, found = "", set()
        for line in text.splitlines():
            if line.startswith("["):
                section = line.strip("[]") + "."
            elif line and not line.startswith("#") and line.split(" =")[0] not in _MAY_DIFFER:
                found.add(section + line)
        return found

    gone, come = settings(old) - settings(new), settings(new) - settings(old)
    if gone or come:
        raise UserError(
            "\n".join(
                [
                    f"{path} holds a run with another configuration; choose another --run-dir, or undo the difference",
                    *(f"  there: {line}" for line in sorted(gone)),
                    *(f"  now:   {line}" for line in sorted(come)),
                ]
            )
        )

"""The run directory: everything a run writes, and the only thing that others read.

config.toml (resolved), metrics.jsonl and TensorBoard events, events.jsonl, evaluations.jsonl, weights/ (safetensors),
checkpoints/. Resuming is the same command again; the same directory with another configuration is refused.
"""

import fcntl
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tensorboardX import SummaryWriter

from distrl.core.config import Config, dump_toml
from distrl.core.errors import UserError
from distrl.runtime.checkpoints import write_safely

_MAY_DIFFER = ("num_trajectories", "max_minutes")
"""Keys that a resumed run may change: how long it goes on."""
_LOCK = ".lock"


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.weights = path / "weights"
        self._board: SummaryWriter | None = None
        self._lock: BinaryIO | None = None

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
        # Files are named by the second: without the step, a run resumed at once would write over the first one's.
        suffix = f".{step}"
        self._board = SummaryWriter(
            str(self.path / "tensorboard"), flush_secs=10, purge_step=step, filename_suffix=suffix
        )

    def log(self, kind: str, values: Mapping[str, Any]) -> None:
        """Append a line to `<kind>.jsonl`; events carry the time of day, so that people can find them."""
        line = {"time": round(time.time(), 3), **values} if kind == "events" else dict(values)
        path = self.path / f"{kind}.jsonl"
        text = _json_line(line)
        with path.open("a+b") as file:
            # A line that was cut off by a crash must not swallow this one.
            if file.tell() and not _ends_a_line(file):
                text = b"\n" + text
            file.write(text)

    def plot(self, values: Mapping[str, float], *, step: int) -> None:
        """Numbers for TensorBoard."""
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)

    def read(self, kind: str) -> list[dict[str, Any]]:
        """The lines of `<kind>.jsonl`; a last line that was cut off is left out."""
        return list(_lines(self.path / f"{kind}.jsonl"))

    def forget_after(self, kind: str, key: str, value: float) -> None:
        """Remove lines beyond a point that a resumed run goes back to, so that none is there twice."""
        kept = [line for line in self.read(kind) if line.get(key, 0) <= value]
        if kept or (self.path / f"{kind}.jsonl").exists():
            write_safely(self.path / f"{kind}.jsonl", b"".join(_json_line(line) for line in kept))

    def close(self) -> None:
        """Flush what is buffered."""
        if self._board is not None:
            self._board.close()
            self._board = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


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


def _ends_a_line(file: BinaryIO) -> bool:
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

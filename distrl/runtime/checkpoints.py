"""Checkpoints: named bytes in, the newest complete set of them out, whatever happened in between.

Everything is written aside, flushed to the disk, and a manifest with digest and size of each file is written last; then
one rename makes it visible. A checkpoint that is torn or damaged is skipped and named, and is none of those that are
kept. What could not be flushed is lost: it is thrown away and never flushed again, since the second try may succeed
without having written anything.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from distrl.core.errors import DistrlError

KEPT = 2
_MANIFEST, _DAMAGED = "manifest.json", "manifest.damaged.json"
_ASIDE, _OLD = ".aside", ".old"


class CheckpointError(DistrlError):
    """A checkpoint that cannot be read."""


class DamagedError(CheckpointError):
    """A checkpoint that is not what was written; it will never be again."""


def save_checkpoint(directory: Path, number: int, files: Mapping[str, bytes]) -> Path:
    """Write a checkpoint; older ones beyond the last two sound ones are removed after it is safe.

    `OSError` if it cannot be written: what was there before is still there, and what was begun takes up no room.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _sweep(directory)
    target, aside = directory / f"{number:09d}", directory / f".{number:09d}{_ASIDE}"
    try:
        aside.mkdir()
        for name, data in files.items():
            _write(aside / name, data)
        manifest = {name: f"{hashlib.sha256(data).hexdigest()} {len(data)}" for name, data in files.items()}
        _write(aside / _MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
        _flush_directory(aside)
        if target.exists():
            target.rename(target.with_suffix(_OLD))
        aside.rename(target)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    _flush_directory(directory)
    _sweep(directory)
    _prune(directory, number)
    return target


def _sweep(directory: Path) -> None:
    """Finish or undo what somebody who was killed had begun."""
    for aside in directory.glob(f".*{_ASIDE}"):
        shutil.rmtree(aside, ignore_errors=True)
    for old in directory.glob(f"*{_OLD}"):
        if old.with_suffix("").exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(old.with_suffix(""))


def _prune(directory: Path, number: int) -> None:
    """Keep the last two sound ones. One with a higher number could not be read, or nobody would be here again."""
    found = _checkpoints(directory)
    kept = [path for path in found if int(path.stem) <= number and _seems_sound(path)][:KEPT]
    for path in found:
        if path not in kept:
            # What cannot be removed now is removed next time; the new checkpoint is safe all the same.
            shutil.rmtree(path, ignore_errors=True)


def _checkpoints(directory: Path) -> list[Path]:
    """The newest first; one that was about to be replaced counts too, behind the one that replaces it."""
    if not directory.is_dir():
        return []
    found = [path for path in directory.iterdir() if path.stem.isdecimal() and path.suffix in ("", _OLD)]
    return sorted(found, key=lambda path: (int(path.stem), path.suffix != _OLD), reverse=True)


def kept_checkpoints(directory: Path) -> list[int]:
    """The numbers of those that seem sound, the newest first."""
    return [int(path.stem) for path in _checkpoints(directory) if _seems_sound(path)]


def _seems_sound(path: Path) -> bool:
    """Whether everything is there in its size. What the digests say is seen when it is read: it takes too long here."""
    try:
        return all(size in ("", str((path / name).stat().st_size)) for name, (_, size) in _manifest(path).items())
    except (OSError, msgspec.DecodeError):
        return False


def _manifest(path: Path) -> dict[str, tuple[str, str]]:
    """Digest and size of each file; without a size if it was written before there were any."""
    lines = msgspec.json.decode((path / _MANIFEST).read_bytes(), type=dict[str, str])
    return {name: line.partition(" ")[::2] for name, line in lines.items()}


def load_checkpoint(path: Path) -> dict[str, bytes]:
    """The files of one checkpoint; raises `CheckpointError` if anything is missing or not as it was written."""
    try:
        manifest = _manifest(path)
        files = {name: (path / name).read_bytes() for name in manifest}
    except (OSError, msgspec.DecodeError) as error:
        raise CheckpointError(f"checkpoint {path} is incomplete: {error}") from error
    for name, (digest, _) in manifest.items():
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise DamagedError(f"checkpoint {path} is damaged: {name} is not what was written")
    return files


def newest_checkpoint(directory: Path) -> tuple[dict[str, bytes] | None, list[str]]:
    """The files of the newest complete checkpoint, or None; and what was wrong with those that were skipped.

    A damaged one loses its manifest: now that it is known, it is not to be kept in the place of a sound one.
    """
    skipped: list[str] = []
    for path in _checkpoints(directory):
        try:
            return load_checkpoint(path), skipped
        except CheckpointError as error:
            skipped.append(str(error))
            if isinstance(error, DamagedError):
                with contextlib.suppress(OSError):  # who may only read will not write the next one either
                    (path / _MANIFEST).rename(path / _DAMAGED)
    return None, skipped


def write_safely(path: Path, data: bytes) -> None:
    """Write a file aside, flush it to the disk, and put it in its place: it is old or new, never half."""
    aside = path.with_name(f".{path.name}{_ASIDE}")
    try:
        _write(aside, data)
        aside.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

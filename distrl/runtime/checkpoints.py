"""Checkpoints: named bytes in, the newest complete set of them out, whatever happened in between.

Everything is written aside, flushed to the disk, and a manifest with the digest of each file is written last; then one
rename makes it visible. A checkpoint that is torn or damaged is skipped and named.
"""

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from distrl.core.errors import DistrlError

KEPT = 2
_MANIFEST = "manifest.json"


class CheckpointError(DistrlError):
    """A checkpoint that cannot be read."""


def save_checkpoint(directory: Path, number: int, files: Mapping[str, bytes]) -> Path:
    """Write a checkpoint; older ones beyond the last two are removed after it is safe."""
    directory.mkdir(parents=True, exist_ok=True)
    target, aside = directory / f"{number:09d}", directory / f".{number:09d}.aside"
    if aside.exists():
        shutil.rmtree(aside)
    aside.mkdir()
    for name, data in files.items():
        write_safely(aside / name, data)
    manifest = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    write_safely(aside / _MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    _replace(target, aside)
    _flush_directory(directory)
    for old in sorted(path for path in directory.iterdir() if path.name.isdecimal())[:-KEPT]:
        shutil.rmtree(old)
    return target


def _replace(target: Path, aside: Path) -> None:
    """Put a complete checkpoint in its place; one that is there already steps aside under a name that counts too."""
    if target.exists():
        old = target.with_name(f"{target.name}0")
        target.rename(old)
        aside.rename(target)
        shutil.rmtree(old)
    else:
        aside.rename(target)


def load_checkpoint(path: Path) -> dict[str, bytes]:
    """The files of one checkpoint; raises `CheckpointError` if anything is missing or not as it was written."""
    try:
        manifest = msgspec.json.decode((path / _MANIFEST).read_bytes(), type=dict[str, str])
        files = {name: (path / name).read_bytes() for name in manifest}
    except (OSError, msgspec.DecodeError) as error:
        raise CheckpointError(f"checkpoint {path} is incomplete: {error}") from error
    for name, digest in manifest.items():
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise CheckpointError(f"checkpoint {path} is damaged: {name} is not what was written")
    return files


def newest_checkpoint(directory: Path) -> tuple[dict[str, bytes] | None, list[str]]:
    """The files of the newest complete checkpoint, or None; and what was wrong with those that were skipped."""
    skipped: list[str] = []
    found = sorted((p for p in directory.iterdir() if p.name.isdecimal()), reverse=True) if directory.is_dir() else []
    for path in found:
        try:
            return load_checkpoint(path), skipped
        except CheckpointError as error:
            skipped.append(str(error))
    return None, skipped


def write_safely(path: Path, data: bytes) -> None:
    """Write a file aside, flush it to the disk, and put it in its place: it is old or new, never half."""
    aside = path.with_name(f".{path.name}.aside")
    with aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    aside.rename(path)


def _flush_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

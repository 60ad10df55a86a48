"""Checkpoints: whole or not there, whatever fails while they are written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from distrl.runtime.checkpoints import (
    KEPT,
    CheckpointError,
    load_checkpoint,
    newest_checkpoint,
    save_checkpoint,
    write_safely,
)


def files(number: int) -> dict[str, bytes]:
    return {"weights.bin": bytes([number]) * 100, "state.json": f'{{"number": {number}}}'.encode(), "empty": b""}


class PowerCutError(Exception):
    """Nothing after this happens."""


@contextmanager
def power_cut(monkeypatch: pytest.MonkeyPatch, at_operation: int) -> Iterator[list[str]]:
    """The operation of this number on the disk fails; the names of those that were made."""
    made: list[str] = []

    def failing(name: str, real: Any) -> Any:
        def operation(*arguments: Any, **named: Any) -> Any:
            if len(made) == at_operation:
                raise PowerCutError(name)
            made.append(name)
            return real(*arguments, **named)

        return operation

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing("fsync", os.fsync))
        patch.setattr(Path, "rename", failing("rename", Path.rename))
        patch.setattr(Path, "mkdir", failing("mkdir", Path.mkdir))
        patch.setattr(Path, "open", failing("open", Path.open))
        yield made


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path / "checkpoints", 7, files(7))
    assert load_checkpoint(path) == files(7)
    assert newest_checkpoint(tmp_path / "checkpoints") == (files(7), [])


def test_the_newest_is_that_of_the_highest_number(tmp_path: Path) -> None:
    for number in (9, 10, 100):
        save_checkpoint(tmp_path, number, files(number))
    assert newest_checkpoint(tmp_path)[0] == files(100)


def test_two_are_kept(tmp_path: Path) -> None:
    for number in range(5):
        save_checkpoint(tmp_path, number, files(number))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000000003", "000000004"]
    assert KEPT == 2


def test_saving_again_replaces(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, files(1) | {"old": b"x"})
    path = save_checkpoint(tmp_path, 1, files(2))
    assert load_checkpoint(path) == files(2)


def test_there_may_be_none(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) == (None, [])
    assert newest_checkpoint(tmp_path / "nowhere") == (None, [])


def test_other_files_are_no_checkpoints(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, files(1))
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".000000002.aside").mkdir()
    assert newest_checkpoint(tmp_path) == (files(1), [])


@pytest.mark.parametrize("name", ["weights.bin", "state.json", "empty", "manifest.json"])
def test_a_checkpoint_without_one_of_its_files_is_skipped_and_named(tmp_path: Path, name: str) -> None:
    save_checkpoint(tmp_path, 1, files(1))
    (save_checkpoint(tmp_path, 2, files(2)) / name).unlink()
    found, (reason,) = newest_checkpoint(tmp_path)
    assert found == files(1)
    assert "000000002 is incomplete" in reason
    assert name in reason


@pytest.mark.parametrize("name", ["weights.bin", "state.json", "empty"])
def test_a_damaged_checkpoint_is_skipped_and_named(tmp_path: Path, name: str) -> None:
    save_checkpoint(tmp_path, 1, files(1))
    file = save_checkpoint(tmp_path, 2, files(2)) / name
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    found, (reason,) = newest_checkpoint(tmp_path)
    assert found == files(1)
    assert f"000000002 is damaged: {name}" in reason


def test_a_manifest_cut_anywhere_makes_its_checkpoint_incomplete(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, files(1))
    whole = (path / "manifest.json").read_bytes()
    for length in range(len(whole.rstrip())):
        (path / "manifest.json").write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="incomplete"):
            load_checkpoint(path)


@pytest.mark.parametrize("content", [b"[]", b'{"weights.bin": 3}', b"null", b"\xff\xfe"])
def test_a_manifest_that_says_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = save_checkpoint(tmp_path, 1, files(1))
    (path / "manifest.json").write_bytes(content)
    with pytest.raises(CheckpointError):
        load_checkpoint(path)


def test_all_that_are_damaged_are_named(tmp_path: Path) -> None:
    for number in (1, 2):
        (save_checkpoint(tmp_path, number, files(number)) / "weights.bin").write_bytes(b"?")
    found, reasons = newest_checkpoint(tmp_path)
    assert found is None
    assert [("000000002" in r, "000000001" in r) for r in reasons] == [(True, False), (False, True)]


def test_wherever_the_power_fails_the_newest_checkpoint_is_the_old_one_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for at_operation in range(60):
        directory = tmp_path / f"{at_operation}"
        for number in (1, 2):
            save_checkpoint(directory, number, files(number))
        try:
            with power_cut(monkeypatch, at_operation) as made:
                save_checkpoint(directory, 3, files(3))
            break
        except PowerCutError:
            found, skipped = newest_checkpoint(directory)
            assert found in (files(2), files(3)), made
            assert skipped == []
            results.append(found == files(3))
            save_checkpoint(directory, 3, files(3))
            assert newest_checkpoint(directory) == (files(3), []), "what the cut left behind is no obstacle"
    else:
        raise AssertionError("the power never stayed on")
    # Four files with an opening, a flush and a renaming each; the directory; its renaming and flush.
    assert len(results) >= 14
    assert results == sorted(results), "once it is there it stays"
    assert results[-1], "the last flush comes after it is there"


def test_wherever_the_power_fails_a_file_is_old_or_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model"
    seen = []
    for at_operation in range(9):
        write_safely(file, b"old")
        try:
            with power_cut(monkeypatch, at_operation):
                write_safely(file, b"the new one")
        except PowerCutError:
            seen.append(file.read_bytes())
        else:
            assert file.read_bytes() == b"the new one"
            break
    assert seen == [b"old"] * 3


def test_a_file_is_flushed_before_it_is_put_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with power_cut(monkeypatch, 99) as made:
        write_safely(tmp_path / "model", b"x")
    assert made == ["open", "fsync", "rename"]


def test_the_manifest_is_written_last_and_everything_before_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with power_cut(monkeypatch, 99) as made:
        save_checkpoint(tmp_path, 1, files(1))
    written = [name for name in made if name in ("open", "fsync", "rename")]
    assert written[-5:] == ["open", "fsync", "rename", "rename", "fsync"], "manifest, then the directory"

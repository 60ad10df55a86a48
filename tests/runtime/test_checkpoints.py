"""Checkpoints: whole or not there, whatever fails while they are written."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from distrl.runtime.checkpoints import (
    KEPT,
    CheckpointError,
    kept_checkpoints,
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


@pytest.mark.parametrize("name", ["weights.bin", "state.json", "manifest.json"])
def test_one_that_is_torn_is_none_of_the_two_that_are_kept(tmp_path: Path, name: str) -> None:
    save_checkpoint(tmp_path, 1, files(1))
    file = save_checkpoint(tmp_path, 2, files(2)) / name
    file.write_bytes(file.read_bytes()[:-10])
    file = save_checkpoint(tmp_path, 3, files(3)) / name
    assert kept_checkpoints(tmp_path) == [3, 1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000000001", "000000003"]
    file.unlink()
    assert newest_checkpoint(tmp_path)[0] == files(1)


def test_one_that_was_found_damaged_is_none_of_the_two_that_are_kept(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, files(1))
    (save_checkpoint(tmp_path, 2, files(2)) / "weights.bin").write_bytes(b"!" * 100)
    assert newest_checkpoint(tmp_path)[0] == files(1)
    save_checkpoint(tmp_path, 3, files(3))
    assert kept_checkpoints(tmp_path) == [3, 1]


def test_a_manifest_without_sizes_is_as_good_as_ever(tmp_path: Path) -> None:
    for number in (1, 2):
        manifest = save_checkpoint(tmp_path, number, files(number)) / "manifest.json"
        manifest.write_text(re.sub(r" \d+\"", '"', manifest.read_text()))
    save_checkpoint(tmp_path, 3, files(3))
    assert kept_checkpoints(tmp_path) == [3, 2]
    assert load_checkpoint(tmp_path / "000000002") == files(2)


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
    for path in [save_checkpoint(tmp_path, number, files(number)) for number in (1, 2)]:
        (path / "weights.bin").write_bytes(b"?")
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
    # The directory; four files with an opening and a flush each; its own flush, its renaming, and that flushed.
    assert len(results) >= 12
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
    *made, last = made
    assert made[-5:] == ["open", "fsync", "fsync", "rename", "fsync"], "manifest, what names the files, the directory"
    assert last == "open", "a look at what is there, to see which are to be kept"


def test_what_a_kill_left_behind_is_swept_whatever_the_next_number_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        save_checkpoint(tmp_path, number, files(number))
    with power_cut(monkeypatch, 6), pytest.raises(PowerCutError):
        save_checkpoint(tmp_path, 3, files(3))
    assert (tmp_path / ".000000003.aside").is_dir()
    save_checkpoint(tmp_path, 4, files(4))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000000002", "000000004"]


def test_wherever_the_power_fails_while_one_is_replaced_the_next_replacing_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that steps aside is whole; if it is still there next time it is no obstacle."""
    seen = set()
    for at_operation in range(60):
        directory = tmp_path / f"{at_operation}"
        save_checkpoint(directory, 1, files(1))
        try:
            with power_cut(monkeypatch, at_operation):
                save_checkpoint(directory, 1, files(2))
            break
        except PowerCutError:
            found, skipped = newest_checkpoint(directory)
            assert found in (files(1), files(2))
            assert skipped == []
            seen |= {path.suffix for path in directory.iterdir()}
        save_checkpoint(directory, 1, files(3))
        assert newest_checkpoint(directory) == (files(3), [])
        assert [p.name for p in directory.iterdir()] == ["000000001"]
    assert {"", ".old", ".aside"} <= seen


def test_after_all_were_damaged_the_first_of_the_new_beginning_is_kept(tmp_path: Path) -> None:
    for number in (8, 16):
        (save_checkpoint(tmp_path, number, files(number)) / "weights.bin").write_bytes(b"?")
    save_checkpoint(tmp_path, 0, files(0))
    assert newest_checkpoint(tmp_path) == (files(0), [])


@pytest.mark.parametrize("failing", [OSError(errno.ENOSPC, "no room"), OSError(errno.EIO, "broken")])
def test_what_cannot_be_written_raises_takes_up_no_room_and_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: OSError
) -> None:
    save_checkpoint(tmp_path / "checkpoints", 1, files(1))
    write_safely(tmp_path / "model", b"old")

    def fail(descriptor: int) -> None:
        raise failing

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match=str(failing.strerror)):
            save_checkpoint(tmp_path / "checkpoints", 2, files(2))
        with pytest.raises(OSError, match=str(failing.strerror)):
            write_safely(tmp_path / "model", b"new")
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["000000001"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoints", "model"]
    assert (tmp_path / "model").read_bytes() == b"old"
    assert newest_checkpoint(tmp_path / "checkpoints") == (files(1), [])
    save_checkpoint(tmp_path / "checkpoints", 2, files(2))
    assert newest_checkpoint(tmp_path / "checkpoints") == (files(2), [])

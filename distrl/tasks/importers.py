"""Task lists that users already have: plain text, JSONL or CSV in, `Task`s out.

A list is taken as a whole or not at all: every mistake in it is reported at once, with its line. Imported tasks have no
template and so no ground truth (`NO_GROUND_TRUTH` says what follows from that).
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from distrl.core.errors import UserError
from distrl.core.types import Task

NO_GROUND_TRUTH: Final = (
    "Imported tasks have no ground truth: nothing but a judge can say whether one was solved, so a run on them needs a "
    "judge."
)
"""What a user must know before training on an imported list."""

MAX_INSTRUCTION_CHARS: Final = 2_000
"""The longest instruction."""

MAX_TASKS: Final = 100_000
"""The longest list."""

MAX_STEPS_LIMIT: Final = 1_000
"""The largest `max_steps` of a task."""

_MAX_FILE_BYTES: Final = 1 << 30
_MAX_SHOWN: Final = 100
_MAX_MISTAKES: Final = 1_000
_INSTRUCTION_KEYS: Final = ("instruction", "goal", "task")
_ID: Final = re.compile(r"[^\s/\\\x00-\x1f\x7f]{1,200}")
_SUITE: Final = re.compile(r"[\w.-]{1,100}")
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f]")

_Row = tuple[int, Mapping[str, Any]]


def import_tasks(path: str | Path, *, suite: str = "", max_steps: int = 15) -> tuple[Task, ...]:
    """The tasks of a `.txt`, `.jsonl` or `.csv` file, in its order; raises one `UserError` with all its mistakes.

    `suite` is the stem of the file unless given; a task without an id is called after its line, `<suite>-0001`.
    `max_steps` holds for each task that names none.
    """
    path = Path(path)
    readers = {".txt": _text_rows, ".jsonl": _jsonl_rows, ".ndjson": _jsonl_rows, ".csv": _csv_rows}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UserError(
            f"{path}: cannot import {path.suffix or 'a file without extension'!r}; use .txt, .jsonl or .csv"
        )
    if not 1 <= max_steps <= MAX_STEPS_LIMIT:
        raise UserError(f"max_steps must lie in [1, {MAX_STEPS_LIMIT}], got {max_steps}")
    if suite and not _SUITE.fullmatch(suite):
        raise UserError(f"a suite is named with letters, digits, '_', '.' and '-', got {suite!r}")
    suite = suite or re.sub(r"[^\w.-]+", "-", path.stem)
    book = _Import(path=path, suite=suite, max_steps=max_steps)
    for line, row in reader(_lines(book), book):
        book.add(line, row)
        if len(book.tasks) > MAX_TASKS:
            book.mistake(line, f"more than {MAX_TASKS:,} tasks")
        if len(book.mistakes) > _MAX_MISTAKES or len(book.tasks) > MAX_TASKS:
            break
    if not book.tasks and not book.mistakes:
        book.mistake(1, "no tasks")
    if book.mistakes:
        raise UserError(book.report())
    return tuple(book.tasks)


@dataclass(kw_only=True)
class _Import:
    """One list on its way in: what is good so far, and what is not."""

    path: Path
    suite: str
    max_steps: int
    tasks: list[Task] = field(default_factory=list)
    mistakes: list[tuple[int, str]] = field(default_factory=list)
    line_of_id: dict[str, int] = field(default_factory=dict)
    line_of_instruction: dict[str, int] = field(default_factory=dict)

    def mistake(self, line: int, message: str) -> None:
        self.mistakes.append((line, message))

    def report(self) -> str:
        """All mistakes in the order of the file, a line for each."""
        shown = [f"{self.path}:{line}: {message}" for line, message in sorted(self.mistakes)[:_MAX_SHOWN]]
        if len(self.mistakes) > _MAX_SHOWN:
            shown.append(f"... and {len(self.mistakes) - _MAX_SHOWN} more mistakes")
        return "\n".join(shown)

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """Make a task of one row, or note each thing that is wrong with it."""
        before = len(self.mistakes)
        instruction = self._instruction(line, row)
        task_id = self._id(line, row)
        max_steps = self._max_steps(line, row)
        split = self._split(line, row)
        tags = self._tags(line, row)
        if len(self.mistakes) == before:
            self.tasks.append(
                Task(id=task_id, suite=self.suite, split=split, instruction=instruction, max_steps=max_steps, tags=tags)
            )

    def _instruction(self, line: int, row: Mapping[str, Any]) -> str:
        value = next((row[key] for key in _INSTRUCTION_KEYS if row.get(key) is not None), None)
        if not isinstance(value, str):
            self.mistake(
                line,
                "no instruction (under instruction, goal or task)" if value is None else "the instruction is not text",
            )
            return ""
        instruction = value.strip()
        if not instruction:
            self.mistake(line, "the instruction is empty")
        elif len(instruction) > MAX_INSTRUCTION_CHARS:
            self.mistake(
                line, f"the instruction has {len(instruction):,} characters; at most {MAX_INSTRUCTION_CHARS:,}"
            )
        elif _CONTROL.search(instruction) or not _is_unicode(instruction):
            self.mistake(line, "the instruction has a control character or half a surrogate pair")
        elif (first := self.line_of_instruction.setdefault(instruction, line)) != line:
            self.mistake(line, f"the same instruction as line {first}")
        return instruction

    def _id(self, line: int, row: Mapping[str, Any]) -> str:
        value = row.get("id")
        if value is None or value == "":
            value = f"{self.suite}-{line:04d}"
        elif isinstance(value, bool) or not isinstance(value, str | int) or not _is_id(str(value)):
            self.mistake(line, "the id must be up to 200 characters without spaces and slashes")
            return ""
        task_id = str(value)
        if (first := self.line_of_id.setdefault(task_id, line)) != line:
            self.mistake(line, f"the same id as line {first}: {task_id!r}")
        return task_id

    def _max_steps(self, line: int, row: Mapping[str, Any]) -> int:
        value = row.get("max_steps")
        if value is None or value == "":
            return self.max_steps
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 9:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_STEPS_LIMIT:
            self.mistake(line, f"max_steps must be a whole number in [1, {MAX_STEPS_LIMIT}], got {str(value)[:40]!r}")
            return self.max_steps
        return value

    def _split(self, line: int, row: Mapping[str, Any]) -> str:
        value = row.get("split")
        if value is None or value == "":
            return "train"
        if not isinstance(value, str) or not _WORD.fullmatch(value):
            self.mistake(line, f"the split must be a word like train or test, got {str(value)[:40]!r}")
            return ""
        return value

    def _tags(self, line: int, row: Mapping[str, Any]) -> tuple[str, ...]:
        value = row.get("tags")
        if value is None:
            return ()
        tags = re.split("[,;]", value) if isinstance(value, str) else value
        if not isinstance(tags, list) or not all(isinstance(tag, str) and _is_unicode(tag) for tag in tags):
            self.mistake(line, "tags must be a list of words")
            return ()
        return tuple(tag.strip() for tag in tags if tag.strip())


def _is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None and _is_unicode(text)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _lines(book: _Import) -> list[str]:
    """The lines of the file without their ends; each that is not UTF-8 is a mistake and becomes a blank one."""
    try:
        if book.path.exists() and not book.path.is_file():
            raise UserError(f"{book.path}: cannot be read: it is not a file")
        if book.path.stat().st_size > _MAX_FILE_BYTES:
            raise UserError(f"{book.path}: larger than 1 GiB")
        data = book.path.read_bytes()
    except OSError as error:
        raise UserError(f"{book.path}: cannot be read: {error.strerror or error}") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{book.path}:1: the file is UTF-16; save it as UTF-8")
    lines = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            lines.append(line.removesuffix(b"\r").decode("utf-8"))
        except UnicodeDecodeError as error:
            book.mistake(number, f"not UTF-8 (byte {line[error.start]:#04x} at position {error.start})")
            lines.append("")
    return lines


def _text_rows(lines: list[str], book: _Import) -> Iterator[_Row]:
    """One instruction a line; blank lines and `#` comments are skipped."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, {"instruction": line}


def _jsonl_rows(lines: list[str], book: _Import) -> Iterator[_Row]:
    """One object a line; blank lines are skipped."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            book.mistake(number, f"not JSON: {error}")
            if len(book.mistakes) > _MAX_MISTAKES:
                return
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            book.mistake(number, f"a JSON object was expected, not {type(row).__name__}")


def _csv_rows(lines: list[str], book: _Import) -> Iterator[_Row]:
    """A header, then a task a row; a quoted field may span lines, and a row is named by its first."""
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), strict=True)
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            first_line, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip().lower() for cell in cells]
                if not set(header) & set(_INSTRUCTION_KEYS):
                    book.mistake(first_line, "no column is called instruction, goal or task")
                    return
            elif len(cells) > len(header):
                book.mistake(first_line, f"{len(cells)} fields under {len(header)} columns: is a comma not quoted?")
            else:
                yield first_line, dict(zip(header, (cell.strip() for cell in cells), strict=False))
    except csv.Error as error:
        book.mistake(line, f"not CSV: {error}")

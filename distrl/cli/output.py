"""How verbs speak: results on stdout, everything meant for a person on stderr.

In: what a verb has to say. Out: text, JSON, notes and progress, each only where it is wanted: notes and progress keep
silent under `-q`, progress with `--json` too; it is a bar on a terminal, and now and then a line elsewhere. Colour
follows NO_COLOR and whether stderr is a terminal.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

PATIENCE_S = 2.0
"""Work shorter than this shows no progress bar."""
LINE_EVERY_S = 30.0
"""How often a log file is told how far long work is."""

Advance = Callable[[int], None]
"""Says that so many more items are done."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """What one command says, and to whom."""

    is_quiet: bool = False
    is_json: bool = False

    @staticmethod
    def of(context: typer.Context, *, is_json: bool = False) -> "Output":
        """The output of the running command: `-q` as given before the verb, `--json` as given after it."""
        settings = context.obj if isinstance(context.obj, Output) else Output()
        return replace(settings, is_json=is_json)

    def write(self, text: str) -> None:
        """A result, as a line of text on stdout."""
        typer.echo(text)

    def write_json(self, data: Any) -> None:
        """A result, as JSON on stdout."""
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))

    def note(self, text: str) -> None:
        """A remark for the person watching, on stderr."""
        if not self.is_quiet:
            typer.echo(text, err=True)

    def console(self) -> "Console":
        """A rich console on stderr for tables and colour; silent under `-q`."""
        from rich.console import Console

        return Console(stderr=True, quiet=self.is_quiet, highlight=False)

    @contextlib.contextmanager
    def progress(self, label: str, total: int) -> Iterator[Advance]:
        """A bar with the time left, drawn once the work has taken two seconds; lines where there is no terminal.

        The block calls what it is given after each piece of work: `advance(1)`.
        """
        if self.is_quiet or self.is_json:
            yield lambda count: None
            return
        if not sys.stderr.isatty():
            yield _Lines(label, total, self.note).advance
            return
        bar = _PatientBar(label, total)
        try:
            yield bar.advance
        finally:
            bar.close()


class _Lines:
    """How far work is, as a line every half a minute."""

    def __init__(self, label: str, total: int, note: Callable[[str], None]) -> None:
        self._label = label
        self._total = total
        self._note = note
        self._done = 0
        self._started_s = self._told_s = time.monotonic()

    def advance(self, count: int) -> None:
        """Count work as done, and tell it if it is time to."""
        self._done += count
        now_s = time.monotonic()
        if now_s - self._told_s >= LINE_EVERY_S and self._done < self._total:
            self._told_s = now_s
            left_s = (now_s - self._started_s) / self._done * (self._total - self._done)
            self._note(f"{self._label}: {self._done:,} of {self._total:,}, about {left_s / 60:.0f} min left")


class _PatientBar:
    """A progress bar that appears late, so that short work leaves no trace on the terminal."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._started_s = time.monotonic()
        self._drawn: tuple[Progress, Any] | None = None

    def advance(self, count: int) -> None:
        """Count work as done, and draw it if it is time to."""
        self._done += count
        if self._drawn is None and time.monotonic() - self._started_s >= PATIENCE_S:
            self._drawn = self._draw()
        if self._drawn is not None:
            progress, task = self._drawn
            progress.update(task, completed=self._done)

    def close(self) -> None:
        """Leave the terminal as it was found."""
        if self._drawn is not None:
            self._drawn[0].stop()

    def _draw(self) -> "tuple[Progress, Any]":
        """Start the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        task = progress.add_task(self._label, total=self._total)
        progress.start()
        return progress, task

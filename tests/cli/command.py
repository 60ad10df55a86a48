"""The command line without a process of its own: what it says and its exit status, in a fraction of the time."""

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from distrl.cli.main import main


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str


def distrl(*arguments: str) -> Done:
    """Run a command as `main` does; an exception that is no exit comes through, as its traceback would."""
    out, err = io.StringIO(), io.StringIO()
    status = 0
    arguments_given = patch.object(sys, "argv", ["distrl", *arguments])
    with arguments_given, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
    return Done(status=status, out=out.getvalue(), err=err.getvalue())


def contents(directory: Path) -> dict[str, bytes]:
    """Everything below a directory, to see that nothing was written."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}

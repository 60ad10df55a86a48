"""A SQLite file that outlives every killed process: a path and a schema in, transactions out.

Written ahead and never torn; with `synchronous=NORMAL` a power cut may take the last moment, a killed process nothing.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from distrl.core.errors import DistrlError, UserError

BUSY_S = 30.0


class CannotWriteError(DistrlError):
    """Nothing can be written for now (a full disk, an error of the device); what was written stays."""


class SafeFile:
    """One connection, used by one thread at a time."""

    def __init__(self, path: Path, schema: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            self.database = sqlite3.connect(path, timeout=BUSY_S, check_same_thread=False, isolation_level=None)
            self.database.execute("PRAGMA journal_mode=WAL")
            self.database.execute("PRAGMA synchronous=NORMAL")
            self.database.executescript(schema)
        except sqlite3.DatabaseError as error:
            raise UserError(f"{path} cannot be used: {error}") from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: everything in it or nothing; `CannotWriteError` if nothing."""
        with self._lock:
            try:
                self.database.execute("BEGIN IMMEDIATE")
                yield
                self.database.execute("COMMIT")
            except BaseException as error:
                self._roll_back()
                if isinstance(error, sqlite3.Error):
                    raise CannotWriteError(f"{self.path} cannot be written: {error}") from error
                raise

    def rows(self, query: str, *values: Any) -> list[Any]:
        """What is committed; what another thread is writing is waited for, since it may come to nothing."""
        with self._lock:
            return self.database.execute(query, values).fetchall()

    def _roll_back(self) -> None:
        # A file that is closed, or a device that fails again, has nothing to undo; the first error is the one to tell.
        with suppress(sqlite3.Error):
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self.database.close()

"""The spool of a worker: finished trajectories in, the oldest out until the learner has acknowledged them.

It outlives the worker, so what a killed one had not delivered is delivered by its successor. Up to a cap: beyond it
what the oldest weights made goes first, and is counted. What the learner refuses is set aside, not sent for ever.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from distrl.core.errors import UserError
from distrl.runtime.safe_file import BUSY_S, SafeFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS parcels (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS acknowledged (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (id TEXT PRIMARY KEY, reason TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""
MAX_REFUSED = 16
"""How many refused trajectories are kept to look at."""


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """Something to deliver."""

    id: str
    data: bytes


class Spool:
    """One file for one worker."""

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self._file = SafeFile(path, SCHEMA)
        self._database = self._file.database
        self._max_bytes = max_bytes

    @property
    def num_bytes(self) -> int:
        """What all that waits takes."""
        ((count,),) = self._file.rows("SELECT COALESCE(SUM(LENGTH(data)), 0) FROM parcels")
        return int(count)

    def put(self, parcel: Parcel, *, version: int) -> int:
        """Keep it until it is acknowledged; how many others had to go for it, none if it was there."""
        with self._file.writing():
            if self._file.rows("SELECT 1 FROM parcels WHERE id = ?", parcel.id):
                return 0
            dropped = self._make_room(len(parcel.data))
            self._database.execute(
                "INSERT INTO parcels (id, version, data) VALUES (?, ?, ?)", (parcel.id, version, parcel.data)
            )
            self._count("dropped", dropped)
        return dropped

    def _make_room(self, size: int) -> int:
        dropped, left = 0, self.num_bytes
        while left + size > self._max_bytes and left > 0:
            seq, length = self._database.execute(
                "SELECT seq, LENGTH(data) FROM parcels ORDER BY version, seq LIMIT 1"
            ).fetchone()
            self._database.execute("DELETE FROM parcels WHERE seq = ?", (seq,))
            dropped, left = dropped + 1, left - length
        return dropped

    def oldest(self, count: int) -> list[Parcel]:
        """What has waited longest."""
        rows = self._database.execute("SELECT id, data FROM parcels ORDER BY seq LIMIT ?", (count,))
        return [Parcel(id=name, data=data) for name, data in rows]

    def acknowledge(self, name: str) -> None:
        """The learner has it: forget it here, and remember that it was promised."""
        with self._file.writing():
            self._remove(name)
            self._database.execute("INSERT OR IGNORE INTO acknowledged VALUES (?)", (name,))

    def refuse(self, parcel: Parcel, reason: str) -> None:
        """The learner will never have it: set it aside with the reason."""
        with self._file.writing():
            self._remove(parcel.id)
            self._count("refused", 1)
            (kept,) = self._database.execute("SELECT COUNT(*) FROM refused").fetchone()
            if kept < MAX_REFUSED:
                self._database.execute(
                    "INSERT OR IGNORE INTO refused VALUES (?, ?, ?)", (parcel.id, reason, parcel.data)
                )

    def acknowledged(self) -> list[str]:
        """All ids that the learner has promised to keep."""
        return [name for (name,) in self._database.execute("SELECT id FROM acknowledged ORDER BY id")]

    def counter(self, name: str) -> int:
        """How many were `dropped` or `refused`, over all lives of the worker."""
        row = self._database.execute("SELECT value FROM counters WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def __len__(self) -> int:
        (count,) = self._database.execute("SELECT COUNT(*) FROM parcels").fetchone()
        return int(count)

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def _remove(self, name: str) -> None:
        self._database.execute("DELETE FROM parcels WHERE id = ?", (name,))

    def _count(self, name: str, more: int) -> None:
        if more:
            self._database.execute(
                "INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + ?",
                (name, more, more),
            )


class SpoolFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a spool says to somebody who only looks."""

    acknowledged: frozenset[str]
    num_waiting: int


def look_into(path: Path) -> SpoolFacts:
    """What is in a spool, also beside the worker whose it is; `UserError` if it cannot be read.

    Nothing is changed, and nothing made: one that is only just being made is empty.
    """
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=BUSY_S)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'counters'").fetchone():
                return SpoolFacts(acknowledged=frozenset(), num_waiting=0)
            acknowledged = frozenset(name for (name,) in database.execute("SELECT id FROM acknowledged"))
            ((waiting,),) = database.execute("SELECT COUNT(*) FROM parcels")
    except sqlite3.DatabaseError as error:
        raise UserError(f"{path} cannot be read as a spool: {error}") from error
    return SpoolFacts(acknowledged=acknowledged, num_waiting=waiting)

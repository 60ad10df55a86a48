"""The journal of a run: every accepted trajectory and every published version, once, in one SQLite file.

A trajectory is acknowledged after its row is committed, so what a worker was told is safe here whatever is killed. Ids
are unique: what is sent again is recognised. An epoch is one life of the learner: a version is noted before it is
published, so that a learner which comes back to an older checkpoint never gives a number a second time.

What is still to be judged waits in a table of its own; it gets its place when it has its verdict, so that the learner
sees it then and whoever is killed in between forgets nothing.

The bytes of a trajectory are kept until every checkpoint that is kept has learned from it; id and versions stay.
"""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from distrl.core.types import Trajectory
from distrl.runtime.safe_file import SafeFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS trajectories (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, worker TEXT NOT NULL, epoch INTEGER NOT NULL,
    versions TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS versions (
    version INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS epochs (epoch INTEGER PRIMARY KEY AUTOINCREMENT, first_version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS run (name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pending (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, worker TEXT NOT NULL, epoch INTEGER NOT NULL,
    versions TEXT NOT NULL, data BLOB NOT NULL);
"""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory to be kept: its id, who made it, the versions that acted in it, and its bytes."""

    id: str
    worker: str
    versions: tuple[int, ...]
    data: bytes
    is_pending: bool = False
    """Whether it waits for its verdict."""


def entry_of(trajectory: Trajectory, data: bytes) -> Entry:
    """What is written down of a trajectory."""
    return Entry(
        id=trajectory.id,
        worker=trajectory.worker,
        versions=trajectory.policy_versions,
        data=data,
        is_pending=trajectory.verdict.is_pending,
    )


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One life of the learner: versions from `first_version` on are its own."""

    epoch: int
    first_version: int


class Journal:
    """One file; safe for use by several threads of one process."""

    def __init__(self, path: Path) -> None:
        self._file = SafeFile(path, SCHEMA)
        self._database = self._file.database
        with self._file.writing():
            name = secrets.token_hex(8)
            self._database.execute("INSERT INTO run SELECT ? WHERE NOT EXISTS (SELECT 1 FROM run)", (name,))
        ((self.run,),) = self._file.rows("SELECT name FROM run")
        """The name of the run, which no other has, also not one in the same directory after this one was deleted."""

    def begin_epoch(self) -> Life:
        """A new life of the learner; its versions continue behind every one that was ever noted."""
        with self._file.writing():
            first = self.newest_version() + 1
            cursor = self._database.execute("INSERT INTO epochs (first_version) VALUES (?)", (first,))
            return Life(epoch=int(cursor.lastrowid or 0), first_version=first)

    def accept(self, entries: Sequence[Entry], *, epoch: int) -> list[int | None]:
        """Keep what is new, all of it or nothing; the place of each, None if it was there. Returns when it is safe.

        The place of what is pending is one among those that wait.
        """
        with self._file.writing():
            return [self._insert(entry, epoch) for entry in entries]

    def _insert(self, entry: Entry, epoch: int) -> int | None:
        versions = " ".join(str(version) for version in sorted(set(entry.versions)))
        table, other = ("pending", "trajectories") if entry.is_pending else ("trajectories", "pending")
        cursor = self._database.execute(
            f"INSERT INTO {table} (id, worker, epoch, versions, data) SELECT ?1, ?2, ?3, ?4, ?5"
            f" WHERE NOT EXISTS (SELECT 1 FROM {other} WHERE id = ?1) ON CONFLICT (id) DO NOTHING",
            (entry.id, entry.worker, epoch, versions, entry.data),
        )
        return cursor.lastrowid if cursor.rowcount == 1 else None

    # ---- what waits for a verdict

    def pending(self) -> dict[str, int]:
        """The ids of all that waits, the oldest first, each with the size of its bytes."""
        return dict(self._file.rows("SELECT id, LENGTH(data) FROM pending ORDER BY seq"))

    def pending_size(self, name: str) -> int:
        """The size of what waits; 0 if it does not."""
        rows = self._file.rows("SELECT LENGTH(data) FROM pending WHERE id = ?", name)
        return int(rows[0][0]) if rows else 0

    def read_pending(self, name: str) -> bytes:
        """Its bytes; none if it does not wait."""
        rows = self._file.rows("SELECT data FROM pending WHERE id = ?", name)
        return bytes(rows[0][0]) if rows else b""

    def settle(self, name: str, data: bytes) -> int | None:
        """Give what waited its place, with these bytes; None if it has one already. Without bytes it is let go."""
        with self._file.writing():
            cursor = self._database.execute(
                "INSERT INTO trajectories (id, worker, epoch, versions, data)"
                " SELECT id, worker, epoch, versions, ?2 FROM pending WHERE id = ?1 ON CONFLICT (id) DO NOTHING",
                (name, data),
            )
            place = cursor.lastrowid if cursor.rowcount == 1 else None
            self._database.execute("DELETE FROM pending WHERE id = ?", (name,))
            return place

    def note_version(self, version: int, digest: str, *, epoch: int) -> None:
        """Write down a version before anybody can act with it."""
        with self._file.writing():
            self._database.execute("INSERT INTO versions VALUES (?, ?, ?)", (version, epoch, digest))

    def let_go(self, position: int) -> None:
        """Forget the bytes of everything up to a place. The file does not shrink, but what follows takes their room."""
        with self._file.writing():
            self._database.execute(
                "UPDATE trajectories SET data = x'' WHERE seq <= ? AND length(data) > 0", (position,)
            )

    def skip_to(self, position: int) -> None:
        """Give no place up to this one any more: a checkpoint has it behind it, and a power cut may have taken the row.

        Otherwise what comes next would have such a place, and be passed over by the next life.
        """
        table = ("trajectories", position)
        with self._file.writing():
            self._database.execute("UPDATE sqlite_sequence SET seq = MAX(seq, ?2) WHERE name = ?1", table)
            self._database.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2"
                " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)",
                table,
            )

    def newest_version(self) -> int:
        """The highest number that was ever noted; -1 if there is none."""
        ((newest,),) = self._file.rows("SELECT MAX(version) FROM versions")
        return -1 if newest is None else int(newest)

    def after(self, position: int) -> Iterator[tuple[int, bytes]]:
        """All trajectories that came later than a place and are still kept, each with its own."""
        for seq, _, _, data in self._after(position):
            if data:
                yield seq, data

    def read(self) -> Iterator[tuple[int, str, tuple[int, ...], bytes]]:
        """Everything: place, id, versions and bytes, which are none if they were let go."""
        for seq, name, versions, data in self._after(0):
            yield seq, name, tuple(int(version) for version in versions.split()), data

    def _after(self, position: int) -> Iterator[tuple[int, str, str, bytes]]:
        """One at a time: all together may be more than the memory holds."""
        query = "SELECT seq, id, versions, data FROM trajectories WHERE seq > ? ORDER BY seq LIMIT 1"
        while rows := self._file.rows(query, position):
            yield rows[0]
            position = rows[0][0]

    def versions(self) -> dict[int, int]:
        """The epoch of every version that was noted."""
        return dict(self._file.rows("SELECT version, epoch FROM versions ORDER BY version"))

    def lives(self) -> list[Life]:
        """All lives of the learner."""
        rows = self._file.rows("SELECT epoch, first_version FROM epochs ORDER BY epoch")
        return [Life(epoch=epoch, first_version=first) for epoch, first in rows]

    def __contains__(self, name: str) -> bool:
        query = "SELECT 1 FROM trajectories WHERE id = ?1 UNION SELECT 1 FROM pending WHERE id = ?1"
        return bool(self._file.rows(query, name))

    def close(self) -> None:
        """Release the file."""
        self._file.close()

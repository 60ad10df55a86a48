"""The journal of a run: every accepted trajectory and every published version, once, in one SQLite file.

A trajectory is acknowledged after its row is committed, so what a worker was told is safe here whatever is killed. Ids
are unique: what is sent again is recognised. An epoch is one life of the learner: a version is noted before it is
published, so that a learner which comes back to an older checkpoint never gives a number a second time.

The bytes of a trajectory are kept until every checkpoint that is kept has learned from it; id and versions stay.
"""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from distrl.runtime.safe_file import SafeFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS trajectories (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, worker TEXT NOT NULL, epoch INTEGER NOT NULL,
    versions TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS versions (
    version INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS epochs (epoch INTEGER PRIMARY KEY AUTOINCREMENT, first_version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS run (name TEXT NOT NULL);
"""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory to be kept: its id, who made it, the versions that acted in it, and its bytes."""

    id: str
    worker: str
    versions: tuple[int, ...]
    data: bytes


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
        """Keep what is new, all of it or nothing; the place of each, None if it was there. Returns when it is safe."""
        with self._file.writing():
            return [self._insert(entry, epoch) for entry in entries]

    def _insert(self, entry: Entry, epoch: int) -> int | None:
        versions = " ".join(str(version) for version in sorted(set(entry.versions)))
        cursor = self._database.execute(
            "INSERT INTO trajectories (id, worker, epoch, versions, data) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO NOTHING",
            (entry.id, entry.worker, epoch, versions, entry.data),
        )
        return cursor.lastrowid if cursor.rowcount == 1 else None

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
        return bool(self._file.rows("SELECT 1 FROM trajectories WHERE id = ?", name))

    def close(self) -> None:
        """Release the file."""
        self._file.close()

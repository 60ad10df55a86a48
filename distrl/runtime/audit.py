"""The audit of an asynchronous run: its directory in, what the promises say about it out, from its files alone.

Everything is counted again: what workers were told is safe (their spools remember it) must be in the journal, whole,
and once; every version that acted must have been published; versions only go up. The spools of other machines are
counted if copies of them are at hand.
"""

import itertools
import os
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from distrl.core.errors import UserError
from distrl.core.types import Outcome, Ruling, Trajectory
from distrl.runtime.asynchronous import JOURNAL, SPOOLS
from distrl.runtime.spool import look_into
from distrl.runtime.wire import WireError, decode


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. A sound run has no `lost`, no `duplicates`, no `unpublished_versions` and no `orphans`."""

    acknowledged: int
    """Trajectories that workers were told are safe."""
    stored: int
    """Trajectories in the journal, whole or let go of."""
    let_go: int
    """Trajectories whose bytes are no longer kept: every checkpoint that is kept has learned from them."""
    waiting: int
    """Trajectories that wait in spools to be delivered."""
    pending: int
    """Trajectories in the journal that wait for their verdict."""
    unjudged_rewards: int
    """Trajectories that were rewarded for a success that no judge has seen."""
    lost: int
    """Acknowledged, but not in the journal, or not readable there."""
    duplicates: int
    """Trajectories that are in the journal under more than one number."""
    versions: int
    versions_monotone: bool
    unpublished_versions: int
    """Versions that acted without having been published."""
    epochs: int
    """Lives of the learner."""
    orphans: list[int]
    """Processes of a run that is not going on."""

    @property
    def is_sound(self) -> bool:
        """Whether every promise was kept."""
        broken = self.lost or self.duplicates or self.unpublished_versions or self.orphans or self.unjudged_rewards
        return not broken and self.versions_monotone


def audit_run(run: Path, more_spools: Sequence[Path] = ()) -> Audit:
    """Count everything again; `UserError` if this is not the directory of an asynchronous run.

    `more_spools` are directories with spools of workers on other machines.
    """
    path = run / JOURNAL
    if not path.is_file():
        raise UserError(f"{run} has no {JOURNAL}: it is not the directory of an asynchronous run")
    with _reading(path) as journal:
        if not _has(journal, "epochs"):
            raise UserError(f"{run} has only just begun: its journal is empty")
        stored: set[str] = set()
        versions_used: set[int] = set()
        damaged = duplicates = let_go = unjudged = 0
        query = "SELECT id, versions, data FROM {} ORDER BY seq"
        tables = ["pending", "trajectories"] if _has(journal, "pending") else ["trajectories"]
        for name, versions, data in itertools.chain.from_iterable(journal.execute(query.format(t)) for t in tables):
            duplicates += name in stored
            if data:
                trajectory = _read(data)
                damaged += trajectory is None
                unjudged += trajectory is not None and not _is_judged(trajectory)
            else:
                let_go += 1
            stored.add(name)
            versions_used |= {int(version) for version in versions.split()}
        noted = journal.execute("SELECT version, epoch FROM versions ORDER BY rowid").fetchall()
        (pending,) = journal.execute("SELECT COUNT(*) FROM pending").fetchone() if len(tables) > 1 else (0,)
        (epochs,) = journal.execute("SELECT COUNT(*) FROM epochs").fetchone()
    acknowledged, waiting = _count([*(run / SPOOLS).glob("*.sqlite"), *_found_in(more_spools)])
    published = [version for version, _ in noted]
    return Audit(
        acknowledged=len(acknowledged),
        stored=len(stored) - damaged,
        let_go=let_go,
        pending=pending,
        unjudged_rewards=unjudged,
        waiting=waiting,
        lost=len(acknowledged - stored) + damaged,
        duplicates=duplicates,
        versions=len(published),
        versions_monotone=all(a[0] < b[0] and a[1] <= b[1] for a, b in itertools.pairwise(noted)),
        unpublished_versions=len(versions_used - set(published)),
        epochs=epochs,
        orphans=_orphans(run),
    )


def _has(journal: sqlite3.Connection, table: str) -> bool:
    return bool(journal.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone())


def _read(data: bytes) -> Trajectory | None:
    try:
        return decode(data)
    except WireError:
        return None


def _is_judged(trajectory: Trajectory) -> bool:
    """Whether every reward of a success traces to a judge that said so."""
    is_rewarded = trajectory.outcome is Outcome.SUCCEEDED or any("success" in step.rewards for step in trajectory.steps)
    return not is_rewarded or (trajectory.verdict.ruling is Ruling.SUCCESS and bool(trajectory.verdict.judge))


def _reading(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, also beside a run that goes on."""
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30.0)


def _found_in(directories: Sequence[Path]) -> list[Path]:
    """All spools of some directories; a directory without any is a mistake, or an audit would say nothing about it."""
    found = [(directory, list(directory.glob("*.sqlite"))) for directory in directories]
    if empty := [str(directory) for directory, spools in found if not spools]:
        raise UserError(f"no spools (*.sqlite) in {', '.join(empty)}")
    return [path for _, spools in found for path in spools]


def _count(spools: Collection[Path]) -> tuple[frozenset[str], int]:
    """The training trajectories that workers were told are safe, and how many are still to be delivered."""
    facts = [look_into(path) for path in sorted({path.resolve() for path in spools})]
    return frozenset().union(*(fact.acknowledged for fact in facts)), sum(fact.num_waiting for fact in facts)


def _orphans(run: Path) -> list[int]:
    """Processes that still work in a run whose driver, who holds its lock, is gone."""
    lock = run / ".lock"
    mark = str(run.resolve())
    inside, holders = [], 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            files = [os.readlink(link) for link in (process / "fd").iterdir()]
        except OSError:
            continue
        if str(lock.resolve()) in files:
            holders += 1
        elif any(file.startswith(mark + "/") and file.endswith(".sqlite") for file in files):
            inside.append(int(process.name))
    return [] if holders else [pid for pid in inside if pid != os.getpid()]

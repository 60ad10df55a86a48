"""How far a judge can be trusted: recorded trajectories in, how often it agrees with what is known about them out.

What is known is ground truth, where a run recorded it, or what people say in a CSV file. Every trajectory of the sample
that a run keeps is judged once more, from what was recorded of it, and so is what its journal still has. Shares are of
all that were judged: accuracy, false_success, false_failure and unknown add up to 1.
"""

import asyncio
import csv
import itertools
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from distrl.core.errors import JudgeError, UserError
from distrl.core.types import Ruling, Trajectory, Verdict
from distrl.runtime.asynchronous import JOURNAL
from distrl.runtime.sample import DIRECTORY, read_sample, sampled_ids
from distrl.runtime.wire import WireError, decode

MAX_KEPT = 200
"""Disagreements whose trajectories are kept for the page; the numbers count all."""
_TRUTHS = (Ruling.SUCCESS, Ruling.FAILURE)

Ask = Callable[[Trajectory], Awaitable[Verdict]]
Labels = Mapping[str, Ruling]


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory about which the judge says something else, and what."""

    trajectory: Trajectory
    truth: Ruling
    verdict: Verdict


class JudgeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    n: int
    """Trajectories that were judged."""
    accuracy: float
    """Share of them of which the judge said what is known."""
    false_success: float
    """Share of them that it called a success and that were none."""
    false_failure: float
    unknown: float
    cost: float
    """What this check cost, in the money of the configured prices; what was remembered cost nothing."""
    by_suite: dict[str, dict[str, dict[str, int]]]
    """How many, by suite, then by what is known, then by what the judge said."""
    unknown_reasons: dict[str, int]
    """Why there was no verdict, the most frequent first."""
    skipped: int
    """Trajectories of the run about which nothing is known, or whose bytes are gone."""


def read_labels(path: Path) -> dict[str, Ruling]:
    """What people say, from a CSV file with the columns `id` and `verdict`; `UserError` names every bad line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
            columns = set(rows[0]) if rows else set()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as labels: {error}") from error
    if not rows or not {"id", "verdict"} <= columns:
        raise UserError(f"{path}: a first line with the columns id and verdict is wanted, and a line for each label")
    labels: dict[str, Ruling] = {}
    problems = []
    for line, row in enumerate(rows, start=2):
        name, word = (row["id"] or "").strip(), (row["verdict"] or "").strip().lower()
        if not name or word not in _TRUTHS:
            problems.append(f"  line {line}: success or failure is wanted, got {word!r} for {name!r}")
        elif labels.setdefault(name, Ruling(word)) != word:
            problems.append(f"  line {line}: {name!r} has both labels")
    if problems:
        more = [f"  and {len(problems) - 10} more"] if len(problems) > 10 else []
        raise UserError("\n".join([f"{path}: {len(problems)} bad labels", *problems[:10], *more]))
    return labels


def count_trajectories(run: Path) -> int:
    """How many trajectories of a run may be judged again, for a bar that says how far it is."""
    names = sampled_ids(run)
    if (run / JOURNAL).is_file():
        with _reading(run) as journal:
            names |= {name for (name,) in journal.execute("SELECT id FROM trajectories WHERE length(data) > 0")}
    return len(names)


def read_trajectories(run: Path) -> Iterator[Trajectory | None]:
    """Everything that a run still has: the sample that it keeps, then what its journal has not let go of, each once.

    None for each that is gone or damaged; one in memory at a time. `UserError` if there is neither.
    """
    if not (run / DIRECTORY).is_dir() and not (run / JOURNAL).is_file():
        raise UserError(f"{run} has recorded nothing: neither {DIRECTORY}/ nor {JOURNAL} is there")
    seen: set[str] = set()
    for found in itertools.chain(read_sample(run), _read_journal(run)):
        if found is None:
            yield None
        elif found.id not in seen:
            seen.add(found.id)
            yield found


def _read_journal(run: Path) -> Iterator[Trajectory | None]:
    if not (run / JOURNAL).is_file():
        return
    with _reading(run) as journal:
        for (data,) in journal.execute("SELECT data FROM trajectories ORDER BY seq"):
            try:
                yield decode(data) if data else None
            except WireError:
                yield None


@contextmanager
def _reading(run: Path) -> Iterator[sqlite3.Connection]:
    """The journal, which is not changed, also beside a run that goes on; `UserError` if it is none."""
    path = run / JOURNAL
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30.0)) as journal:
            yield journal
    except sqlite3.DatabaseError as error:
        raise UserError(f"{path} cannot be read: {error}") from error


def known_about(trajectory: Trajectory, labels: Labels | None) -> Ruling | None:
    """Success or failure, as the label says or, without labels, ground truth; None if neither says anything."""
    if labels is not None:
        return labels.get(trajectory.id)
    verdict = trajectory.verdict
    if verdict.truth is not None:
        return Ruling.SUCCESS if verdict.truth else Ruling.FAILURE
    return verdict.ruling if verdict.judge == "rule" and verdict.ruling in _TRUTHS else None


class Tally:
    """Counts agreement."""

    def __init__(self) -> None:
        self.disagreements: list[Disagreement] = []
        self.num_disagreements = 0
        self._counts: Counter[tuple[str, Ruling, Ruling]] = Counter()
        self._reasons: Counter[str] = Counter()

    def add(self, trajectory: Trajectory, truth: Ruling, verdict: Verdict) -> None:
        """Count one, and keep it if the judge disagrees."""
        self._counts[trajectory.task.suite, truth, verdict.ruling] += 1
        if verdict.ruling is Ruling.UNKNOWN:
            self._reasons[verdict.reason] += 1
        if verdict.ruling is not truth:
            self.num_disagreements += 1
            if len(self.disagreements) < MAX_KEPT:
                self.disagreements.append(Disagreement(trajectory=trajectory, truth=truth, verdict=verdict))

    def result(self, *, cost: float, skipped: int) -> JudgeCheck:
        """The numbers; `UserError` if nothing was judged."""
        n = self._counts.total()
        if n == 0:
            raise UserError("nothing to check: no trajectory that is kept has a verdict of the rule, or a label")
        table: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
        for suite, truth in itertools.product(sorted({suite for suite, _, _ in self._counts}), _TRUTHS):
            table[suite][truth.value] = {said.value: self._counts[suite, truth, said] for said in Ruling}
        return JudgeCheck(
            n=n,
            accuracy=sum(self._share(truth, truth) for truth in _TRUTHS),
            false_success=self._share(Ruling.FAILURE, Ruling.SUCCESS),
            false_failure=self._share(Ruling.SUCCESS, Ruling.FAILURE),
            unknown=sum(self._share(truth, Ruling.UNKNOWN) for truth in _TRUTHS),
            cost=cost,
            by_suite=dict(table),
            unknown_reasons=dict(self._reasons.most_common(10)),
            skipped=skipped,
        )

    def _share(self, truth: Ruling, said: Ruling) -> float:
        found = sum(count for (_, *pair), count in self._counts.items() if pair == [truth, said])
        return found / self._counts.total()


async def judge_again(
    trajectories: Iterator[Trajectory | None],
    ask: Ask,
    *,
    labels: Labels | None = None,
    limit: int | None = None,
    at_once: int = 1,
    on_judged: Callable[[], None] = lambda: None,
) -> tuple[Tally, int]:
    """Ask about everything of which something is known, so many at a time; the tally, and how many were skipped."""
    tally, skipped = Tally(), 0
    waiting: list[tuple[Trajectory, Ruling]] = []
    num_asked = 0

    async def ask_all() -> None:
        verdicts = await asyncio.gather(*(_verdict(ask, trajectory) for trajectory, _ in waiting))
        for (trajectory, truth), verdict in zip(waiting, verdicts, strict=True):
            tally.add(trajectory, truth, verdict)
            on_judged()
        waiting.clear()

    for trajectory in trajectories:
        truth = known_about(trajectory, labels) if trajectory is not None else None
        if trajectory is None or truth is None:
            skipped += 1
            continue
        if limit is not None and num_asked >= limit:
            break
        waiting.append((trajectory, truth))
        num_asked += 1
        if len(waiting) >= at_once:
            await ask_all()
    await ask_all()
    return tally, skipped


async def _verdict(ask: Ask, trajectory: Trajectory) -> Verdict:
    """What the judge says; no answer is unknown, as it is in training."""
    try:
        return await ask(trajectory)
    except JudgeError as error:
        return Verdict(ruling=Ruling.UNKNOWN, judge="", reason=str(error))

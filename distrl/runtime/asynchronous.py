"""Asynchronous training: the learner beside a fleet that never waits for it.

    drain -> replay -> sample -> update -> re-prioritise -> publish

One event loop holds the hub and this; what computes is handed to `compute`, so that deliveries are taken meanwhile.
When what happens is said in learner_loop.py; this is who learns there, and what is remembered, evaluated and told.
"""

import asyncio
import contextlib
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from distrl.core.clock import Clock, LoopClock
from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.core.types import Trajectory
from distrl.runtime.build_desk import open_desk
from distrl.runtime.checkpoints import KEPT, kept_checkpoints
from distrl.runtime.evaluator import evaluate_on_fleet
from distrl.runtime.hub import Hub
from distrl.runtime.journal import Journal, entry_of
from distrl.runtime.learner_loop import LearnerLoop
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Listener, Progress, RunState, held_out_tasks
from distrl.runtime.safe_file import CannotWriteError
from distrl.runtime.spool import Parcel, Spool, look_into
from distrl.runtime.tensors import pack_tensors
from distrl.runtime.wire import WireError, decode

T = TypeVar("T")
Compute = Callable[[Callable[[], T]], Awaitable[T]]

JOURNAL, SPOOLS = "journal.sqlite", "spool"
MAX_WAITING = 16
"""Trajectories in the queue; then deliveries wait. What waits here is learned from late, so it is short."""
CHECKPOINT_S = 120.0
"""What arrives between two checkpoints is learned again after a kill, and kept in the journal until then."""
CHECKPOINT_AGAIN_S = 10.0
"""When a checkpoint that could not be written is tried again."""
SILENT_S = 60.0
"""A worker that was not heard of for so long is not waited for."""
FLEET_S = 5.0
"""Seconds between two rows about the fleet."""


_COMPUTING = ThreadPoolExecutor(1, "computing")
"""One thread, always the same: memory that a thread has freed is not given to others, and an update may need much."""


async def in_thread(work: Callable[[], T]) -> T:
    """Compute beside the event loop: torch lets others run while it works."""
    return await asyncio.get_running_loop().run_in_executor(_COMPUTING, work)


class AsyncTraining(RunState):
    """A run whose trajectories come from a fleet."""

    def __init__(
        self,
        config: Config,
        run: RunDirectory,
        *,
        listener: Listener = lambda progress: None,
        clock: Clock | None = None,
        compute: Callable[[Callable[[], Any]], Awaitable[Any]] = in_thread,
        wrap: Callable[[bytes], Any] = lambda data: data,
    ) -> None:
        super().__init__(config, run, listener=listener)
        self._run = run
        self._clock = clock or LoopClock()
        self._compute = compute
        self._wrap = wrap
        self._is_draining = False
        self._evaluation: asyncio.Task[None] | None = None
        self._resumed_at = 0
        self._saved: dict[int, int] = {}
        """How far the checkpoints that are kept have learned, by their number."""
        self._published_bytes = 0
        self._num_owed = 0
        """Updates for what the last life had not learned from yet: they are made, whatever waits."""

    def open(self) -> Hub:
        """Go on from the newest checkpoint, what arrived after it and what waits in spools; the hub of this life."""
        self.journal = Journal(self._run.path / JOURNAL)
        is_resumed = self._resume()
        self.journal.skip_to(self._resumed_at)
        self._run.start_board(step=self.learner.num_updates + 1)
        life = self.journal.begin_epoch()
        self.policy.version = max(self.policy.version, life.first_version)
        self.hub = Hub(
            self.journal,
            life,
            clock=self._clock,
            max_waiting=MAX_WAITING,
            run=self.journal.run,
            on_event=lambda kind, values: self._run.log("events", {"event": kind, **values}),
        )
        self._run.log("events", {"event": "resumed" if is_resumed else "begun", "epoch": life.epoch})
        self.loop = LearnerLoop(self.hub, self, self._clock, max_policy_lag=self.config.collect.max_policy_lag)
        self.loop.position = self._resumed_at
        for path in sorted((self._run.path / SPOOLS).glob("*.sqlite")):
            self._take_over(path, epoch=life.epoch)
        for position, data in self.journal.after(self._resumed_at):
            self._recover(position, data)
        self._num_owed = self.learner.num_due
        self.desk = open_desk(self.config, self._run, self.hub, self.journal, self.loop, clock=self._clock)
        return self.hub

    def _take_over(self, path: Path, *, epoch: int) -> None:
        """What a worker here has not delivered goes into the journal: there may be fewer workers now than there were.

        One that is there may deliver the same at the same time: it is told that it is a duplicate.
        """
        count = 0
        try:
            if not look_into(path).num_waiting:
                return
            with contextlib.closing(Spool(path, max_bytes=self.config.collect.spool_mb * 2**20)) as spool:
                while parcels := spool.oldest(1):
                    count += self._take(parcels[0], spool, epoch)
        except (UserError, CannotWriteError, sqlite3.DatabaseError) as error:  # what is left stays there
            reason = f"{path.name}: {error}"
            self._run.log("events", {"event": "spool not taken over", "reason": reason, "trajectories": count})
        else:
            self._run.log("events", {"event": "spool taken over", "spool": path.name, "trajectories": count})

    def _take(self, parcel: Parcel, spool: Spool, epoch: int) -> bool:
        """Whether something spooled is in the journal now; it has left the spool in any case."""
        try:
            t = decode(parcel.data, run=self.journal.run)
        except WireError as error:
            spool.refuse(parcel, str(error))
            return False
        self.journal.accept([entry_of(t, parcel.data)], epoch=epoch)
        spool.acknowledge(parcel.id)
        return True

    def _recover(self, position: int, data: bytes) -> None:
        """A trajectory that was acknowledged after the checkpoint: it is learned from now, unless it is too old now."""
        try:
            trajectory = decode(data)
            if not self.loop.is_too_old(trajectory):
                self._learn_from(trajectory)
        except WireError as error:
            self._run.log("events", {"event": "journal entry skipped", "position": position, "reason": str(error)})
        self.loop.position = position

    # ---- the run

    async def run(self) -> None:
        """Consumes what arrives, produces versions; ends with the trajectories, the time, or `drain`."""
        async with contextlib.nullcontext() if self.desk is None else self.desk.working():
            await self._train()
            await self._finish()

    async def _train(self) -> None:
        began_s, before_s = self._clock.now(), self._trained_s
        told_s = began_s
        # What was recovered is saved soon, or a learner that is killed again and again would recover more and more.
        saved_s = began_s - CHECKPOINT_S * (self._num_owed > 0)
        await self.publish()
        while not self._is_over():
            if self._is_first_evaluation_due():
                self._begin_evaluation()
            await self.loop.turn()
            now_s = self._clock.now()
            self._trained_s = before_s + now_s - began_s
            if self._is_evaluation_due() or now_s - saved_s > CHECKPOINT_S:
                saved_s = now_s if await self._save() else now_s - CHECKPOINT_S + CHECKPOINT_AGAIN_S
            if self._is_evaluation_due():
                self._begin_evaluation()
            if now_s - told_s > FLEET_S:
                self.hub.forget_silent(SILENT_S)
                self._log_fleet(now_s - told_s)
                told_s = now_s

    # ---- the student of the loop

    @property
    def version(self) -> int:
        """That of the weights of now."""
        return self.policy.version

    @version.setter
    def version(self, version: int) -> None:
        self.policy.version = version

    @property
    def num_left(self) -> int:
        """Trajectories to the end of the run."""
        return self.config.train.num_trajectories - self.learner.num_received

    @property
    def is_due(self) -> bool:
        """Whether enough has arrived for an update."""
        return self.learner.is_due

    async def learn_from(self, trajectory: Trajectory) -> None:
        """Take in what arrived."""
        await self._compute(lambda: self._learn_from(trajectory))
        self.hub.success = self.curriculum.success
        self._listener(self._progress())

    async def update(self) -> None:
        """One update; in a simulation it takes its time without computing longer.

        If more waits than the learner can make updates for, it is the last one for all that has arrived.
        """
        is_behind = self.hub.depth > 0 and self._num_owed <= 0 and not self.loop.is_synchronous
        self._num_owed -= 1
        self._log_update(await self._compute(self.learner.spend_all if is_behind else self.learner.spend))
        await self._clock.sleep(self.config.simulation.update_s)

    async def publish(self) -> None:
        """The newest version, if it is not out yet. Only what acts travels, and the eye stays where it is."""
        if self.hub.newest >= self.policy.version:
            return
        data = pack_tensors(self.policy.snapshot().parameters)
        self._published_bytes = len(data)
        try:
            await self.hub.publish(self.policy.version, data, wrap=self._wrap)
        except (
            CannotWriteError
        ) as error:  # a full disk; the fleet goes on with the version before, and this comes again
            self._run.log("events", {"event": "version not published", "reason": str(error)})

    async def drain(self) -> None:
        """End soon: what has arrived is safe, a checkpoint is made."""
        self._is_draining = True
        if self._evaluation is not None:
            self._evaluation.cancel()
        await self.hub.wake()

    async def _finish(self) -> None:
        """The last evaluation, unless there is no time for it, and the last checkpoint."""
        if not self._is_draining:
            await self.hub.stop_collecting()
            await self.publish()
            self._listener(replace(self._progress(), is_ending=True))
            await self._end_of_evaluation()
            is_measured = bool(self.curve) and self.curve[-1]["trajectories"] == self.learner.num_received
            if not (is_measured or self._is_draining or self.hub.newest < 0):
                self._begin_evaluation()
                await self._end_of_evaluation()
        elif self._evaluation is not None:
            self._evaluation.cancel()
        try:
            await self._compute(self._checkpoint)
        finally:
            await self.hub.end()

    async def _end_of_evaluation(self) -> None:
        """Wait for it, unless the run is drained meanwhile."""
        if self._evaluation is None:
            return
        try:
            await self._evaluation
        except asyncio.CancelledError:
            if not self._is_draining:
                raise

    async def _save(self) -> bool:
        """A checkpoint; False if there is no room for it, which is no reason to stop learning."""
        try:
            await self._compute(self._checkpoint)
        except (OSError, CannotWriteError) as error:
            self.loop.counters["checkpoint_failures"] += 1
            self._run.log("events", {"event": "checkpoint not written", "reason": str(error)})
            return False
        return True

    def _checkpoint(self) -> None:
        """What all checkpoints that are kept have learned from need not be kept in the journal any more."""
        number, position = self.learner.num_received, self.loop.position
        super()._checkpoint()
        self._saved[number] = position
        kept = kept_checkpoints(self._run.checkpoints)
        self._saved = {n: self._saved[n] for n in kept if n in self._saved}
        if len(self._saved) == len(kept) == KEPT:
            with contextlib.suppress(CannotWriteError):  # the next one makes up for it
                self.journal.let_go(min(self._saved.values()))

    # ---- when is what due

    def _is_over(self) -> bool:
        return self._is_draining or self.learner.num_received >= self.config.train.num_trajectories or self._is_late()

    def _is_first_evaluation_due(self) -> bool:
        """As soon as there is something to evaluate: a full disk may keep the first version back."""
        return not self.curve and self._evaluation is None and self.hub.newest >= 0

    def _is_evaluation_due(self) -> bool:
        if self._evaluation is not None:
            if not self._evaluation.done():
                return False
            if not self._evaluation.cancelled():
                self._evaluation.result()  # what went wrong there is not to be lost
        done = self.curve[-1]["trajectories"] if self.curve else 0
        return self.learner.num_received - done >= self.config.eval.every_trajectories

    def _begin_evaluation(self) -> None:
        """Have the newest published version evaluated, while training goes on."""
        self.hub.pinned = self.hub.newest
        self._evaluation = asyncio.get_running_loop().create_task(self._evaluate(self._progress(), self.hub.pinned))

    async def _evaluate(self, at: Progress, version: int) -> None:
        name = f"evaluation-{self.hub.life.epoch}-{version}"
        reports = await evaluate_on_fleet(
            self.hub,
            self._clock,
            held_out_tasks(self.config),
            name=name,
            version=version,
            has_sampled=self.config.eval.has_sampled,
            judge=None if self.desk is None else self.desk.judge_evaluated,
        )
        self._note_evaluation(reports, at)

    # ---- what is written

    def _log_fleet(self, elapsed_s: float) -> None:
        """A row about queue, lag and waiting times, with the verdict of what limits the run."""
        row: dict[str, Any] = {
            "trajectories": self.learner.num_received,
            "workers": len(self.hub.members),
            "devices": self.hub.num_devices,
            "queue_depth": self.hub.depth,
            "queue_wait_s": _mean(self.loop.queued_s),
            "lag_mean": _mean(self.loop.lags),
            "lag_max": max(self.loop.lags, default=0),
            "learner_idle_share": round(min(1.0, self.loop.waited_s / elapsed_s), 3),
            "num_bad_updates": self.learner.num_bad_updates,
            "published_bytes": self._published_bytes,
            **{f"num_{name}": count for name, count in {**self.hub.counters, **self.loop.counters}.items()},
            **self.hub.fleet_means(),
            **({} if self.desk is None else self.desk.row()),
        }
        self.loop.waited_s = 0.0
        row["limit"] = limit_of(row)
        self._run.log("fleet", row)
        numbers = {f"fleet/{name}": value for name, value in row.items() if isinstance(value, int | float)}
        self._run.plot(numbers, step=self.learner.num_updates)
        if self.desk is not None:  # also while nothing arrives: then people want to know why
            self._listener(self._progress())

    def _progress(self) -> Progress:
        told = super()._progress()
        desk = self.desk
        words = {} if desk is None else {"judging": desk.words(), "judging_paused": desk.paused}
        return told if desk is None else replace(told, **words, judging_alert=desk.alert)

    def _plain_state(self) -> dict[str, Any]:
        return super()._plain_state() | {"journal_position": self.loop.position}

    def _restore_plain(self, state: Mapping[str, Any]) -> None:
        super()._restore_plain(state)
        self._resumed_at = state.get("journal_position", 0)
        self._saved = {self.learner.num_received: self._resumed_at}


def check_asynchronous(config: Config) -> None:
    """What only a plain run in one thread can do is refused."""
    plain = "for --runtime serial with instant phones"
    if config.train.mode != "online":
        raise UserError(f"train.mode = {config.train.mode!r} is {plain}; asynchronous runs are online")
    if config.collect.lag_versions:
        raise UserError(f"collect.lag_versions is {plain}; asynchronous runs have a lag of their own")


def limit_of(row: dict[str, Any]) -> str:
    """What the run waits for most: `learner`, `device`, `inference` or `judge`, from measured waiting times."""
    if row["learner_idle_share"] < 0.1 and row.get("send_share", 0.0) > 0.05:
        return "learner"
    if row.get("judge_pending", 0) > max(1, row.get("devices", 0)):
        return "judge"
    shares = {name: row.get(f"{name}_share", 0.0) for name in ("device", "inference", "judge")}
    if row["learner_idle_share"] < 0.1 and max(shares.values()) < 0.5:
        return "learner"
    return max(shares, key=lambda name: shares[name])


def spool_path(run: Path, worker: str) -> Path:
    """Where a worker keeps what is not delivered: in the run's directory, or at home on a machine that has none."""
    if run.is_dir():
        return run / SPOOLS / f"{worker}.sqlite"
    return Path.home() / ".local" / "state" / "distrl" / run.name / f"{worker}.sqlite"


def _mean(values: deque[Any]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0

"""Judging beside collection: episodes that wait for a verdict in, judged episodes for the learner out.

    worker --deliver--> hub --> journal (pending) --> desk: asks the judge --> journal (judged) --> queue --> learner

No device waits for a judge, and neither does the learner: it goes on with what is judged. What waits is in the journal,
so a restart forgets nothing, and a verdict that was paid for is remembered by its content. An outage delays: an episode
is asked about until there is an answer. An answer that is unknown is one: that episode is not trained on, and counted.
The room for what waits is bounded; beyond it the oldest go unjudged, and are counted.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from distrl.core.calls.limits import Spending
from distrl.core.clock import Clock
from distrl.core.errors import JudgeError
from distrl.core.interfaces import Judge
from distrl.core.types import Ruling, Trajectory, Verdict
from distrl.runtime.hub import Hub
from distrl.runtime.journal import Journal
from distrl.runtime.probe import Probe
from distrl.runtime.safe_file import CannotWriteError
from distrl.runtime.verdicts import judged, judged_by_truth, with_verdict
from distrl.runtime.wire import WireError, decode, encode

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 15.0
"""Pauses of somebody who got no answer; the judge has pauses of its own between the tries for one answer."""
MAX_TRIES = 5
"""Failures of one episode while others were answered: then it is the episode, and not an outage."""
PAUSED_AFTER = 2
"""Questions in a row without an answer after which people are told."""
HOUR_S = 3600.0

OnEvent = Callable[[str, dict[str, Any]], None]


class DeskOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a desk works."""

    is_each_step: bool
    reward: float
    num_at_once: int
    max_bytes: int


class Desk:
    """Where one run's episodes are judged."""

    def __init__(
        self,
        judge: Judge,
        hub: Hub,
        journal: Journal,
        options: DeskOptions,
        *,
        clock: Clock,
        spending: Callable[[], Spending],
        probe: Probe | None = None,
        is_stale: Callable[[Trajectory], bool] = lambda trajectory: False,
        on_event: OnEvent = lambda kind, values: None,
    ) -> None:
        self._judge = judge
        self._hub = hub
        self._journal = journal
        self._options = options
        self._clock = clock
        self._spending = spending
        self._probe = probe or Probe()
        self._is_stale = is_stale
        self._on_event = on_event
        self._sizes = journal.pending()
        self._num_bytes = sum(self._sizes.values())
        self._waiting: deque[str] = deque(self._sizes)
        self._tries: Counter[str] = Counter()
        self._num_answers = 0
        self._num_failures = 0
        """Questions in a row without an answer."""
        self._answers_at: dict[str, int] = {}
        self._life: asyncio.Future[None] | None = None
        self._rates: deque[tuple[float, Spending]] = deque([(clock.now(), spending())])
        self.counters: Counter[str] = Counter()
        self.paused = ""
        """Why there are no verdicts at the moment; nothing if there are."""
        hub.on_pending = self.hear
        self._told = self.row()

    def __len__(self) -> int:
        """How many episodes wait for their verdict, those included that are asked about."""
        return len(self._sizes)

    def hear(self, name: str) -> None:
        """Something was written down that waits for a verdict."""
        num_bytes = self._journal.pending_size(name)
        self._sizes[name] = num_bytes
        self._num_bytes += num_bytes
        self._waiting.append(name)
        while self._num_bytes > self._options.max_bytes and len(self._waiting) > 1:
            self._let_go(self._waiting.popleft(), "dropped_unjudged")

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Judge for as long as the block lasts; what is not judged by then waits for the next life."""
        life = self._life = asyncio.ensure_future(self.run())
        try:
            yield
        finally:
            self._life = None
            life.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await life
            self._on_event("judging ended", {"waiting": len(self)})

    async def run(self) -> None:
        """Consumes what waits, waits for the judge and for room in the queue, produces arrivals; ends if cancelled."""
        await asyncio.gather(*(self._clerk() for _ in range(self._options.num_at_once)))

    async def _clerk(self) -> None:
        """One episode at a time; after a failure a pause, which is longer after each in a row."""
        failures = 0
        while True:
            while not self._waiting:
                await self._hub.until(lambda: bool(self._waiting))
            name = self._waiting.popleft()
            try:
                is_done = await self._see_to(name)
            except asyncio.CancelledError:
                self._waiting.appendleft(name)
                raise
            failures = 0 if is_done else failures + 1
            if not is_done:
                self._waiting.append(name)
                await self._clock.sleep(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failures - 1, 10)))

    async def _see_to(self, name: str) -> bool:
        """Whether an episode has left; otherwise it is to be asked about again."""
        try:
            trajectory = decode(self._journal.read_pending(name))
        except WireError as error:
            self._on_event("pending entry skipped", {"id": name, "reason": str(error)})
            self._let_go(name, "damaged_unjudged")
            return True
        if self._is_stale(trajectory):
            self._let_go(name, "stale_unjudged")
            return True
        try:
            done = await self._ask(trajectory)
        except JudgeError as error:
            gone = self._given_up(trajectory, error)
            if gone is None:
                return False
            done = gone
        try:
            await self._hub.settle(done, encode(done, run=self._journal.run))
        except CannotWriteError:
            self.counters["journal_failures"] += 1
            return False
        self._forget(name)
        self.counters[f"judged_{done.verdict.ruling.value}"] += 1
        self._probe.look_at(done)
        return True

    async def _ask(self, trajectory: Trajectory) -> Trajectory:
        options = self._options
        done = await judged(trajectory, self._judge, is_each_step=options.is_each_step, reward=options.reward)
        self._num_answers += 1
        self._num_failures = 0
        if self.paused:
            self.paused = ""
            self._on_event("judging goes on", {"waiting": len(self)})
        return done

    def _given_up(self, trajectory: Trajectory, error: JudgeError) -> Trajectory | None:
        """The episode without a verdict, if it is the episode that cannot be judged; None if it is the judge."""
        name, is_up = trajectory.id, self._num_answers > self._answers_at.get(trajectory.id, 0)
        self._answers_at[name] = self._num_answers
        self._tries[name] += is_up
        self.counters["judge_failures"] += 1
        if self._tries[name] >= MAX_TRIES:
            reason = f"no verdict in {MAX_TRIES} tries: {error}"
            verdict = Verdict(ruling=Ruling.UNKNOWN, judge=self._judge.name, reason=reason)
            return with_verdict(trajectory, verdict, count=len(trajectory.steps), reward=0.0)
        self._num_failures += 1
        if not self.paused and self._num_failures >= PAUSED_AFTER:
            self.paused = str(error)
            self._on_event("judging paused", {"reason": self.paused, "waiting": len(self)})
        return None

    def _let_go(self, name: str, why: str) -> None:
        """An episode that nobody will judge: its id stays, as of everything that is let go."""
        self.counters[why] += 1
        with contextlib.suppress(CannotWriteError):  # it is still there in the next life, and let go then
            self._journal.settle(name, b"")
        self._forget(name)
        self._hub.pass_over()

    def _forget(self, name: str) -> None:
        self._num_bytes -= self._sizes.pop(name, 0)
        self._answers_at.pop(name, None)
        del self._tries[name]

    # ---- evaluations

    async def judge_evaluated(self, trajectory: Trajectory) -> Trajectory:
        """An episode of an evaluation with its verdict: of ground truth where there is one, else of the judge.

        What a policy is measured by is not what it may have learned to deceive. Waits through an outage.
        """
        options, failures = self._options, 0
        if trajectory.verdict.truths:
            return await judged_by_truth(trajectory, is_each_step=options.is_each_step, reward=options.reward)
        while True:
            try:
                return await self._ask(trajectory)
            except JudgeError as error:
                gone = self._given_up(trajectory, error)
                if gone is not None:
                    self._forget(trajectory.id)
                    return gone
            failures += 1
            await self._clock.sleep(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failures - 1, 10)))

    # ---- what is told

    def row(self) -> dict[str, Any]:
        """What a row about the fleet says of judging; called every few seconds."""
        if self._life is not None and self._life.done():
            self._life.result()  # what went wrong there is not to be lost
        now_s, spent = self._clock.now(), self._spending()
        self._rates.append((now_s, spent))
        while now_s - self._rates[0][0] > HOUR_S:
            self._rates.popleft()
        began_s, before = self._rates[0]
        hours = max(now_s - began_s, 1.0) / HOUR_S
        self._told = {
            "judge_pending": len(self),
            "judge_calls_per_hour": round((spent.calls - before.calls) / hours, 1),
            "judge_cost_per_hour": round((spent.cost - before.cost) / hours, 4),
            "judge_cost": round(spent.cost, 6),
            "judge_paused": self.paused,
            "false_success_share": round(self._probe.share, 4),
            **{f"num_{name}": count for name, count in self.counters.items()},
        }
        return self._told

    def words(self) -> str:
        """The same for a person, in a line."""
        row = self._told
        told = (
            f"judging: {row['judge_pending']:,} wait, {row['judge_calls_per_hour']:,.0f} calls/h, "
            f"cost {row['judge_cost']:.4g} ({row['judge_cost_per_hour']:.3g}/h)"
        )
        told += f"; PAUSED: {self.paused}" if self.paused else ""
        return f"{told}; {self.alert}" if self.alert else told

    @property
    def alert(self) -> str:
        """What people have to look at: the judge may be deceived."""
        rising = self._probe.rising
        return f"the judge's successes are false more and more often: {', '.join(rising)}" if rising else ""

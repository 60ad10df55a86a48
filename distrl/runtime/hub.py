"""The hub: where workers and the learner meet. Workers deliver and ask for news; the learner takes and publishes.

    worker --deliver--> [ decode, journal ] --> queue --take--> learner
    worker <--news----- newest weights, evaluation orders <--publish, order-- learner

One event loop, no threads; how calls reach it (directly, or through Ray) is not its business. The queue is bounded:
when it is full a delivery waits, so the worker does, and nothing is dropped. Delivering twice is harmless.
"""

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import Callable, Collection
from typing import Any, Literal

import msgspec

from distrl.core.clock import Clock
from distrl.core.types import Trajectory
from distrl.runtime.journal import Journal, Life, entry_of
from distrl.runtime.members import Member, means_of
from distrl.runtime.orders import Order, Orders
from distrl.runtime.safe_file import CannotWriteError
from distrl.runtime.wire import WireError, decode

NEWS_S = 10.0
"""Longest wait for news: after it the worker hears that there is none, and the hub that the worker lives."""
FULL_S = 30.0
"""Longest wait of a delivery at a full queue; then the worker is told to come again."""
MISSED_VERSIONS = 20
"""A worker that delivers while so many newer versions come out, and takes none of them, is told of in an event."""


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """Weights that may be acted with. `data` is their bytes, or what the transport fetches them by."""

    version: int
    digest: str
    data: Any


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker knows, as it says with every call for news: an answer that was lost on its way is given again."""

    version: int
    """That of its weights; -1 before it has any."""
    is_collecting: bool
    """What it was told last; at first it is to collect."""
    orders: frozenset[str] | None
    """Those that it has heard of and not answered; None if it does not say."""


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker should know. `published` is None if it has the newest; `success` is by template."""

    epoch: int
    published: Published | None
    orders: tuple[Order, ...]
    success: dict[str, float]
    is_collecting: bool
    """Without it only what is ordered is to be played."""
    is_over: bool
    run: str = ""
    """The name of the run, to be put on everything that is made for it."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a delivery: `accepted` and `duplicate` are safe; `later` is to be sent again; `refused` never."""

    kind: Literal["accepted", "duplicate", "later", "refused", "fenced"]
    reason: str = ""


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory on its way to the learner, its place in the journal, and when it arrived."""

    trajectory: Trajectory
    position: int
    time_s: float


class Hub:
    """The meeting point of one run in one life of its learner."""

    def __init__(
        self,
        journal: Journal,
        life: Life,
        *,
        clock: Clock,
        max_waiting: int,
        run: str = "",
        on_event: Callable[[str, dict[str, Any]], None] = lambda kind, values: None,
    ) -> None:
        self.life = life
        self.run = run
        """A name that no other run has: what was made for another is refused. Without one nothing is."""
        self.members: dict[str, Member] = {}
        self.success: dict[str, float] = {}
        self.counters: Counter[str] = Counter()
        self.taken_from: Counter[str] = Counter()
        """By worker: what it made and the hub took, trajectories and episodes of evaluations."""
        self.newest = -1
        self.pinned = -1
        """A version that is kept although it is not the newest: that of the evaluation which goes on."""
        self.is_over = False
        self._is_collecting = True
        self._journal = journal
        self._clock = clock
        self._max_waiting = max_waiting
        self._on_event = on_event
        self.on_pending: Callable[[str], None] = lambda name: None
        """Who is told of what waits for a verdict."""
        self._queue: deque[Arrival] = deque()
        self._num_refused = 0
        self._evaluated: deque[tuple[str, Trajectory]] = deque()
        self._published: dict[int, Published] = {}
        self._orders = Orders()
        self._changed = asyncio.Condition()

    # ---- for workers

    async def join(self, worker: str, ticket: str, place: str, num_devices: int) -> int:
        """Become a member, or come back; the epoch. A second worker of the same name takes the first one's place."""
        member = self.members.get(worker)
        if member is not None and member.ticket != ticket:
            self._on_event("worker replaced", {"worker": worker, "old": member.place, "new": place})
        if member is None or member.ticket != ticket:  # it plays none of what was ordered before it came
            self._orders.take_back(worker)
            member = Member(ticket=ticket, place=place, num_devices=num_devices, heard_s=0.0, stats={})
            self.members[worker] = member
        member.place, member.num_devices, member.heard_s = place, num_devices, self._clock.now()
        await self.wake()
        return self.life.epoch

    async def news(self, worker: str, ticket: str, have: Known | int, stats: dict[str, float]) -> News | Receipt:
        """What the worker does not know; waits for it, but not for long. `stats` is what the worker measured.

        A number alone is that of its weights, from a worker that says nothing else.
        """
        if fenced := self._fenced(worker, ticket):
            return fenced
        known = have if isinstance(have, Known) else Known(version=have, is_collecting=self._is_collecting, orders=None)
        member = self.members[worker]
        member.heard_s, member.stats = self._clock.now(), stats
        member.num_asked += 1
        call = member.num_asked
        if known.version != member.version:
            member.version, member.num_missed = known.version, 0
        if known.orders is not None and self._orders.take_back(worker, but=known.orders):
            await self.wake()
        await self._wait(
            lambda: (
                self.newest > known.version
                or self._share_of(worker) > 0
                or self._is_collecting != known.is_collecting
                or self.is_over
                or self._fenced(worker, ticket) is not None
            ),
            NEWS_S,
        )
        if fenced := self._fenced(worker, ticket):
            return fenced
        is_awaited = self.members[worker] is member and member.num_asked == call
        return News(
            epoch=self.life.epoch,
            published=self._published[self.newest] if self.newest > known.version else None,
            orders=self._orders.give(worker, self._share_of(worker)) if is_awaited else (),
            success=self.success,
            is_collecting=self._is_collecting,
            is_over=self.is_over,
            run=self.run,
        )

    async def weights(self, version: int) -> Published | None:
        """The weights of one version, if they are still kept: evaluations need theirs longer than others."""
        return self._published.get(version)

    async def report(self, worker: str, ticket: str, data: bytes) -> Receipt:
        """Take an episode of an evaluation. It is not written down: if it is lost on the way it is ordered again."""
        if fenced := self._fenced(worker, ticket):
            return fenced
        self.members[worker].heard_s = self._clock.now()
        trajectory = self._read(worker, data)
        if isinstance(trajectory, Receipt):
            return trajectory
        self._evaluated.append((trajectory.purpose, trajectory))
        self._orders.remove([trajectory.purpose])
        self.taken_from[worker] += 1
        await self.wake()
        return Receipt(kind="accepted")

    async def deliver(self, worker: str, ticket: str, parcels: list[bytes]) -> list[Receipt]:
        """Take trajectories; returns when they are safe, or says of each why not."""
        if fenced := self._fenced(worker, ticket):
            return [fenced] * len(parcels)
        began_s = self._clock.now()
        self.members[worker].heard_s = began_s
        self._look_at_version(worker)
        if not await self._wait(lambda: len(self._queue) < self._max_waiting or not self._is_collecting, FULL_S):
            self.counters["deliveries_at_full_queue"] += 1
            return [Receipt(kind="later", reason="the queue is full")] * len(parcels)
        self.counters["queue_blocked_ms"] += round(1000 * (self._clock.now() - began_s))
        receipts = self._keep(worker, parcels)
        kinds = Counter(receipt.kind for receipt in receipts)
        self.taken_from[worker] += kinds["accepted"]
        self._num_refused += kinds["refused"]
        await self.wake()
        return receipts

    def _keep(self, worker: str, parcels: list[bytes]) -> list[Receipt]:
        """Write down everything that is new at once; a receipt for each."""
        read = [self._read(worker, data, is_for_training=True) for data in parcels]
        whole = [(t, data) for t, data in zip(read, parcels, strict=True) if isinstance(t, Trajectory)]
        try:
            entries = [entry_of(trajectory, data) for trajectory, data in whole]
            positions = iter(self._journal.accept(entries, epoch=self.life.epoch))
        except CannotWriteError as error:
            self.counters["journal_failures"] += 1
            self._on_event("journal cannot be written", {"reason": str(error)})
            return [r if isinstance(r, Receipt) else Receipt(kind="later", reason=str(error)) for r in read]
        # One place for each entry, in their order: an id that comes twice at once has a place and then none.
        return [r if isinstance(r, Receipt) else self._enqueue(r, next(positions)) for r in read]

    def _read(self, worker: str, data: bytes, *, is_for_training: bool = False) -> Trajectory | Receipt:
        try:
            trajectory = decode(data, run=self.run)
            if is_for_training and trajectory.purpose:
                raise WireError("an episode of an evaluation is not for training")
            return trajectory
        except WireError as error:
            self.counters["refused"] += 1
            self._on_event("trajectory refused", {"worker": worker, "reason": str(error)})
            return Receipt(kind="refused", reason=str(error))

    def _enqueue(self, trajectory: Trajectory, position: int | None) -> Receipt:
        """Hand on what is safe now; what has no place of its own in the journal was there before."""
        if position is None:
            self.counters["duplicates"] += 1
            return Receipt(kind="duplicate")
        self.counters["accepted"] += 1
        if trajectory.verdict.is_pending:
            self.on_pending(trajectory.id)
        else:
            self._queue.append(Arrival(trajectory=trajectory, position=position, time_s=self._clock.now()))
        return Receipt(kind="accepted")

    # ---- for the desk that judges

    async def settle(self, trajectory: Trajectory, data: bytes) -> None:
        """Hand on what has its verdict now, once there is room in the queue; `CannotWriteError` if it cannot be kept.

        It gets its place in the journal and in the queue in one go, since the learner sees places in their order.
        """
        await self.until(lambda: len(self._queue) < self._max_waiting or self.is_over)
        position = self._journal.settle(trajectory.id, data)
        if position is not None:
            self._queue.append(Arrival(trajectory=trajectory, position=position, time_s=self._clock.now()))
            await self.wake()

    def pass_over(self) -> None:
        """Nobody will see something that was delivered, so nobody may wait for it."""
        self._num_refused += 1

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait until something is true, as long as it takes."""
        while not await self._wait(is_true, FULL_S):
            continue

    # ---- for the learner

    async def take(self, max_count: int, timeout_s: float) -> list[Arrival]:
        """What has arrived, the oldest first; waits for the first of it, up to a time."""
        await self._wait(lambda: bool(self._queue), timeout_s)
        taken = [self._queue.popleft() for _ in range(min(max_count, len(self._queue)))]
        if taken:
            await self.wake()
        return taken

    def take_refused(self) -> int:
        """How many deliveries were refused since this was last asked: nobody will see them, so nobody may wait."""
        count, self._num_refused = self._num_refused, 0
        return count

    async def take_evaluated(self, timeout_s: float) -> list[tuple[str, Trajectory]]:
        """Finished evaluation episodes with the ids of their orders."""
        await self._wait(lambda: bool(self._evaluated), timeout_s)
        taken, self._evaluated = list(self._evaluated), deque()
        return taken

    async def publish(
        self, version: int, data: bytes, *, wrap: Callable[[bytes], Any] = lambda data: data
    ) -> Published:
        """Make weights visible, all at once, after they are written down. Only the newest stay, and pinned ones."""
        assert version > max(self.newest, self.life.first_version - 1), "versions only go up, also over lives"
        digest = hashlib.sha256(data).hexdigest()
        self._journal.note_version(version, digest, epoch=self.life.epoch)
        published = Published(version=version, digest=digest, data=wrap(data))
        self._published = {v: p for v, p in self._published.items() if v == self.pinned}
        self._published[version] = published
        self.newest = version
        await self.wake()
        return published

    async def order(self, orders: list[Order]) -> None:
        """Have these episodes played by whoever asks next; again, unless they wait to be played already."""
        self._orders.add(orders)
        await self.wake()

    async def withdraw(self, names: Collection[str]) -> None:
        """Have orders played by nobody; what comes of those that are played already is for nobody either."""
        self._orders.remove(names)
        await self.wake()

    async def stop_collecting(self) -> None:
        """Have only what is ordered played from now on; what is on its way is kept, and not waited for."""
        self._is_collecting = False
        await self.wake()

    async def end(self) -> None:
        """Tell everybody that the run is over."""
        self.is_over, self._is_collecting = True, False
        await self.wake()

    @property
    def depth(self) -> int:
        """Trajectories that wait for the learner."""
        return len(self._queue)

    def fleet_means(self) -> dict[str, float]:
        """What the workers measured, averaged over the devices of those who have measured it; costs are summed."""
        return means_of(self.members.values())

    def forget_silent(self, longest_s: float) -> None:
        """Workers that were not heard of for so long are no longer counted; they may come back."""
        for worker, member in list(self.members.items()):
            if self._clock.now() - member.heard_s > longest_s:
                del self.members[worker]
                self._orders.take_back(worker)
                self._on_event("worker lost", {"worker": worker, "place": member.place})

    @property
    def num_devices(self) -> int:
        """Devices of all members."""
        return sum(member.num_devices for member in self.members.values())

    async def wake(self) -> None:
        """Have everybody who waits look again."""
        async with self._changed:
            self._changed.notify_all()

    # ---- inside

    def _fenced(self, worker: str, ticket: str) -> Receipt | None:
        member = self.members.get(worker)
        if member is None:
            return Receipt(kind="fenced", reason="unknown")
        if member.ticket != ticket:
            return Receipt(kind="fenced", reason=f"another worker named {worker} has joined from {member.place}")
        return None

    def _look_at_version(self, worker: str) -> None:
        """Tell, once, of a worker that goes on delivering and takes no newer weights."""
        member = self.members[worker]
        if self.newest <= member.version or self.newest == member.seen:
            return
        member.seen = self.newest
        member.num_missed += 1
        if member.num_missed == MISSED_VERSIONS:
            self.counters["weights_not_taken"] += 1
            where = {"worker": worker, "place": member.place}
            self._on_event("weights not taken", {**where, "version": member.version, "newest": self.newest})

    def _share_of(self, worker: str) -> int:
        """How many more evaluation episodes a worker may get: half of its devices go on collecting, if they are to."""
        if not self._orders or worker not in self.members:
            return 0
        num_devices = self.members[worker].num_devices
        share = max(1, num_devices // 2 if self._is_collecting else num_devices)
        return min(len(self._orders), max(0, share - self._orders.num_played_by(worker)))

    async def _wait(self, is_true: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until something is true; False if it is not within the time."""
        if is_true():
            return True
        try:
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(is_true)
        except TimeoutError:
            return False
        return True

"""A worker's side of the hub: what it finished goes out and is safe, what is new comes in and is verified.

    Worker --send--> Courier --spool--> deliver until acknowledged         (goes on while the learner is away)
    Worker <--snapshot-- Follower <--news-- newest weights, evaluation orders, success by template
    Worker <--next-- FleetTasks: orders first, else a task of its own curriculum

The hub is reached through `HubLink`; whatever goes wrong with it is a `HubAwayError`, and then the worker carries on
with the weights it has and comes back later, at a time of its own, so that a thousand workers do not come at once.
"""

import asyncio
import hashlib
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from random import Random
from typing import Protocol

import msgspec

from distrl.core.clock import Clock
from distrl.core.errors import DistrlError, ServerError, UserError
from distrl.core.types import Trajectory
from distrl.runtime.curriculum import Assignment, Curriculum
from distrl.runtime.hub import Known, News, Published, Receipt
from distrl.runtime.orders import Order
from distrl.runtime.safe_file import CannotWriteError
from distrl.runtime.spool import Parcel, Spool
from distrl.runtime.wire import encode
from distrl.runtime.worker import Snapshot

log = logging.getLogger(__name__)
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 10.0
DELIVERED_AT_ONCE = 8
MAX_UNDELIVERED = 8
"""Trajectories that may wait for a learner that is there but slow; then the devices wait too."""


class HubAwayError(DistrlError):
    """The hub did not answer: it is down, restarting, or out of reach."""


class FencedError(DistrlError):
    """Another worker has taken this one's name; there is nothing left to do but to stop."""


class HubLink(Protocol):
    """The hub as a worker calls it; see `Hub` for what the calls do."""

    async def join(self, worker: str, ticket: str, place: str, num_devices: int) -> int:
        """Become a member."""
        ...

    async def news(self, worker: str, ticket: str, have: Known, stats: dict[str, float]) -> News | Receipt:
        """What is new to a worker that has what a `Known` says."""
        ...

    async def weights(self, version: int) -> Published | None:
        """One version."""
        ...

    async def deliver(self, worker: str, ticket: str, parcels: list[bytes]) -> list[Receipt]:
        """Hand over trajectories."""
        ...

    async def report(self, worker: str, ticket: str, data: bytes) -> Receipt:
        """Hand over an episode of an evaluation."""
        ...

    async def fetch(self, published: Published) -> bytes:
        """The bytes of published weights."""
        ...


class Patience:
    """Waiting times that grow with every failure in a row, each with a random part."""

    def __init__(self, clock: Clock, rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self.failures = 0

    def succeeded(self) -> None:
        """Start anew."""
        self.failures = 0

    async def wait(self) -> None:
        """After a failure."""
        longest = min(FIRST_WAIT_S * 2.0 ** min(self.failures, 20), LONGEST_WAIT_S)
        self.failures += 1
        await self._clock.sleep(self._rng.uniform(longest / 2, longest))


class Identity:
    """Who a worker is to the hub: its name, a ticket that no other process has, where it runs, and what for."""

    def __init__(self, name: str, ticket: str, place: str, num_devices: int) -> None:
        self.name = name
        self.ticket = ticket
        self.place = place
        self.num_devices = num_devices
        self.run = ""
        """The run that it works for; known with the first news, and so before anything is made for it."""
        self.orders: Counter[str] = Counter()
        """How often it has heard of each order without having answered it."""

    async def join(self, link: HubLink) -> int:
        """Become a member again, after either side was away."""
        return await link.join(self.name, self.ticket, self.place, self.num_devices)


async def raise_if_replaced(identity: Identity, link: HubLink, receipt: Receipt) -> None:
    """A hub that does not know us (it was restarted) is joined again; one that knows another of our name is left."""
    if receipt.reason != "unknown":
        raise FencedError(f"worker {identity.name} ({identity.place}) stops: {receipt.reason}")
    await identity.join(link)


class Courier:
    """Delivers trajectories, the oldest first, each until it is acknowledged or refused for good."""

    def __init__(self, identity: Identity, link: HubLink, spool: Spool, *, patience: Patience) -> None:
        self._identity = identity
        self._link = link
        self._spool = spool
        self._patience = patience
        self._changed = asyncio.Event()
        self._delivered = asyncio.Event()
        self._is_away = False
        self._num_put = 0
        self.counters: Counter[str] = Counter()

    async def send(self, trajectory: Trajectory) -> None:
        """Returns when it is on disk; waits while the learner is there but has too much to do."""
        if trajectory.purpose:
            await self._report(trajectory)
            return
        parcel = Parcel(id=trajectory.id, data=encode(trajectory, run=self._identity.run))
        while not self._is_put(parcel, version=min(trajectory.policy_versions)):
            await self._patience.wait()
        self._changed.set()
        self._num_put += 1
        turn = self._num_put
        # In turn: if all were let go when the last but few are delivered, the learner would wait for a whole episode.
        while len(self._spool) - (self._num_put - turn) > MAX_UNDELIVERED and not self._is_away:
            self._delivered.clear()
            await self._delivered.wait()

    async def _report(self, trajectory: Trajectory) -> None:
        """An episode of an evaluation: if it does not arrive, the hub hears that nobody has it, and orders it again."""
        identity = self._identity
        try:
            data = encode(trajectory, run=identity.run)
            receipt = await self._link.report(identity.name, identity.ticket, data)
            self.counters[f"evaluations_{receipt.kind}"] += 1
        except HubAwayError:
            self.counters["evaluations_lost"] += 1
        finally:
            identity.orders -= Counter([trajectory.purpose])

    def _is_put(self, parcel: Parcel, *, version: int) -> bool:
        """Whether it is on disk now; a disk that is full today need not be so tomorrow."""
        try:
            self.counters["dropped"] += self._spool.put(parcel, version=version)
        except CannotWriteError:
            self.counters["spool_failures"] += 1
            return False
        return True

    async def run(self) -> None:
        """Consumes the spool, waits for the hub, produces acknowledgements; ends when it is cancelled."""
        while True:
            parcels = self._spool.oldest(DELIVERED_AT_ONCE)
            if not parcels:
                self._changed.clear()
                await self._changed.wait()
                continue
            try:
                await self._deliver(parcels)
            except HubAwayError:
                self._is_away = True
                self._delivered.set()  # nobody waits for a learner that is away: there is the spool
                await self._patience.wait()
            except CannotWriteError:  # what was acknowledged and could not be noted is sent again, which is harmless
                self.counters["spool_failures"] += 1
                await self._patience.wait()

    async def _deliver(self, parcels: list[Parcel]) -> None:
        identity = self._identity
        receipts = await self._link.deliver(identity.name, identity.ticket, [parcel.data for parcel in parcels])
        self._is_away = False
        for parcel, receipt in zip(parcels, receipts, strict=True):
            self.counters[receipt.kind] += 1
            if receipt.kind in ("accepted", "duplicate"):
                self._spool.acknowledge(parcel.id)
            elif receipt.kind == "refused":
                self._spool.refuse(parcel, receipt.reason)
        self._delivered.set()
        if any(receipt.kind == "later" for receipt in receipts):
            await self._patience.wait()
            return
        self._patience.succeeded()
        if receipts[-1].kind == "fenced":
            await raise_if_replaced(identity, self._link, receipts[-1])

    async def flush(self) -> None:
        """Wait until everything is delivered; the caller has a deadline."""
        while len(self._spool):
            self._delivered.clear()
            await self._delivered.wait()


class Follower:
    """Has the newest verified weights, and what else there is to know."""

    def __init__(
        self,
        identity: Identity,
        link: HubLink,
        *,
        load: Callable[[int, bytes], Snapshot | Awaitable[Snapshot]],
        patience: Patience,
        tell: Callable[[News], Awaitable[None]],
        measure: Callable[[], dict[str, float]],
    ) -> None:
        self._identity = identity
        self._link = link
        self._load = load
        self._patience = patience
        self._tell = tell
        self._measure = measure
        self.snapshot: Snapshot | None = None
        self._pinned: dict[int, Snapshot] = {}
        self._is_collecting = True
        self.counters: Counter[str] = Counter()

    @property
    def version(self) -> int:
        """That of the newest weights; -1 before there are any."""
        return -1 if self.snapshot is None else self.snapshot.version

    def weights(self, assignment: Assignment) -> Snapshot:
        """What to act with: the weights of the evaluation, or the newest."""
        if assignment.version in self._pinned:
            return self._pinned[assignment.version]
        # An order of an evaluation that is over already: nobody counts what comes of it.
        assert self.snapshot is not None, "no task is given out before there are weights"
        return self.snapshot

    async def run(self) -> None:
        """Consumes news, waits for the hub, ends with the run (or when it is cancelled)."""
        while True:
            try:
                identity, stats = self._identity, self._measure()
                news = await self._link.news(identity.name, identity.ticket, self._known(), stats)
                if isinstance(news, Receipt):
                    await raise_if_replaced(self._identity, self._link, news)
                    continue
                is_newest = news.published is None or await self._take(news.published)
                orders = await self._pin(news.orders)
            except HubAwayError:
                await self._patience.wait()
                continue
            identity.run, self._is_collecting = news.run, news.is_collecting
            identity.orders.update(order.id for order in orders)
            await self._tell(msgspec.structs.replace(news, orders=orders))
            if news.is_over:
                return
            if is_newest and orders == news.orders:
                self._patience.succeeded()
            else:
                await self._patience.wait()

    def _known(self) -> Known:
        """What the hub need not tell again; what it said and is not in here was lost on the way."""
        orders = frozenset(self._identity.orders)
        return Known(version=self.version, is_collecting=self._is_collecting, orders=orders)

    async def _take(self, published: Published) -> bool:
        """Whether the weights arrived as they are."""
        snapshot = await self._verified(published)
        if snapshot is not None and snapshot.version > self.version:
            self.snapshot = snapshot
        return snapshot is not None

    async def _verified(self, published: Published) -> Snapshot | None:
        """The weights if they are what was published; else the old ones are kept, and these come again."""
        data = await self._link.fetch(published)
        if hashlib.sha256(data).hexdigest() != published.digest:
            self.counters["damaged_weights"] += 1
            return None
        try:
            loaded = self._load(published.version, data)
            return await loaded if isinstance(loaded, Awaitable) else loaded
        except (ServerError, UserError) as error:
            if self.snapshot is None and isinstance(error, UserError):
                raise  # there is nothing else to act with, and what does not fit will not fit later
            self.counters["adapters_not_loaded"] += 1
            log.warning("version %d does not act yet: %s", published.version, error)
            return None

    async def _pin(self, orders: tuple[Order, ...]) -> tuple[Order, ...]:
        """Have the weights of every order, and no others; the orders whose weights could be had."""
        wanted = {order.version for order in orders}
        if not wanted:
            return ()
        kept = {version: snapshot for version, snapshot in self._pinned.items() if version in wanted}
        if self.snapshot is not None and self.snapshot.version in wanted:
            kept.setdefault(self.snapshot.version, self.snapshot)
        for version in wanted - set(kept):
            published = await self._link.weights(version)
            snapshot = None if published is None else await self._verified(published)
            if snapshot is not None:
                kept[version] = snapshot
        self._pinned = kept
        return tuple(order for order in orders if order.version in kept)


class FleetTasks:
    """What a worker does next: what was ordered, else a task of its own choice."""

    def __init__(self, curriculum: Curriculum, *, is_synchronous: bool) -> None:
        self._curriculum = curriculum
        self._is_synchronous = is_synchronous
        self._orders: deque[Order] = deque()
        self._acted_with: dict[int, int] = {}
        self._version = -1
        self._changed = asyncio.Condition()
        self._is_collecting = True
        self._is_over = False

    async def hear(self, news: News, version: int) -> None:
        """Something is new."""
        self._orders.extend(news.orders)
        self._curriculum.hear(news.success)
        self._version = version
        self._is_collecting = news.is_collecting
        self._is_over = self._is_over or news.is_over
        async with self._changed:
            self._changed.notify_all()

    async def end(self) -> None:
        """Give out nothing more."""
        self._is_over = True
        async with self._changed:
            self._changed.notify_all()

    async def next(self, loop: int) -> Assignment | None:
        """The next attempt; waits for the first weights, and for new ones where every round has its own."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._is_over or self._may_begin(loop))
        if self._is_over:
            return None
        if self._orders:
            order = self._orders.popleft()
            return Assignment(task=order.task, purpose=order.id, version=order.version, is_greedy=order.is_greedy)
        self._acted_with[loop] = self._version
        return self._curriculum.next()

    def _may_begin(self, loop: int) -> bool:
        if self._orders or not self._is_collecting:
            return bool(self._orders)
        return self._version > (self._acted_with.get(loop, -1) if self._is_synchronous else -1)

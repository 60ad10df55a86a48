"""Hubs in a directory, disks that are full for a while, and links that lose, repeat and damage on purpose."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar

import msgspec

from distrl.core.clock import LoopClock
from distrl.core.types import Outcome, Trajectory
from distrl.runtime.fleet import Courier, Follower, HubAwayError, HubLink, Identity, Patience
from distrl.runtime.hub import Hub, News, Order, Published, Receipt
from distrl.runtime.journal import Entry, Journal
from distrl.runtime.safe_file import CannotWriteError
from distrl.runtime.spool import Parcel, Spool
from distrl.runtime.wire import encode

from .fleet import FakeWeights, plain_trajectory, task

T = TypeVar("T")
Fault = Literal["well", "lost request", "lost answer", "twice", "restart", "restart after"]


# ---- disks


class TightJournal(Journal):
    """A journal on a disk that is full whenever `is_full` says so."""

    is_full = False

    def accept(self, entries: Sequence[Entry], *, epoch: int) -> list[int | None]:
        self._look()
        return super().accept(entries, epoch=epoch)

    def note_version(self, version: int, digest: str, *, epoch: int) -> None:
        self._look()
        super().note_version(version, digest, epoch=epoch)

    def _look(self) -> None:
        if self.is_full:
            raise CannotWriteError("the disk is full")


class TightSpool(Spool):
    """A spool on such a disk."""

    is_full = False

    def put(self, parcel: Parcel, *, version: int) -> int:
        self._look()
        return super().put(parcel, version=version)

    def acknowledge(self, name: str) -> None:
        self._look()
        super().acknowledge(name)

    def _look(self) -> None:
        if self.is_full:
            raise CannotWriteError("the disk is full")


# ---- hubs


class Learner:
    """The journal of a run and the hubs of all lives of its learner."""

    def __init__(self, directory: Path, *, max_waiting: int = 4) -> None:
        self.journal = TightJournal(directory / "journal.sqlite")
        self.lives: list[Hub] = []
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._max_waiting = max_waiting

    def begin(self) -> Hub:
        """A new life: what the last hub knew is gone, what is in the journal is not."""
        hub = Hub(
            self.journal,
            self.journal.begin_epoch(),
            clock=LoopClock(),
            max_waiting=self._max_waiting,
            on_event=lambda kind, values: self.events.append((kind, values)),
        )
        self.lives.append(hub)
        return hub

    async def arrived(self) -> Counter[str]:
        """How often each trajectory came to the learner, in all of its lives."""
        return Counter([a.trajectory.id for hub in self.lives for a in await hub.take(1000, timeout_s=0.0)])

    def journalled(self) -> list[str]:
        """The ids in the journal, the oldest first."""
        return [name for _, name, _, _ in self.journal.read()]


async def joined(learner: Learner, *, num_devices: int = 2) -> Hub:
    """A hub that worker `w` with ticket `t` has joined."""
    hub = learner.begin()
    await hub.join("w", "t", "here:1", num_devices)
    return hub


async def deliver(hub: Hub, *names: str, **options: Any) -> list[str]:
    """Have worker `w` deliver trajectories of these ids; what became of each."""
    return [receipt.kind for receipt in await hub.deliver("w", "t", [parcel(name, **options) for name in names])]


def parcel(name: str, **options: Any) -> bytes:
    return encode(plain_trajectory(name, **options))


def evaluated(order: str, name: str, outcome: Outcome = Outcome.SUCCEEDED) -> Trajectory:
    """What comes of an order."""
    return msgspec.structs.replace(plain_trajectory(name, outcome=outcome), purpose=order)


def order(name: str, *, version: int = 0, is_greedy: bool = True) -> Order:
    return Order(id=name, task=task(name), version=version, is_greedy=is_greedy)


def orders(count: int, *, version: int = 0) -> list[Order]:
    return [order(f"e-{n}", version=version) for n in range(count)]


async def news(hub: Hub, *, have: int = 99, worker: str = "w", ticket: str = "t") -> News:
    """What a worker hears that has all weights."""
    heard = await hub.news(worker, ticket, have, {})
    assert isinstance(heard, News), heard
    return heard


# ---- links


class FlakyLink:
    """A learner that is reached as the script says, one fault for each call; after its end all goes well.

    `is_away` makes every call fail, and the first `num_damaged` fetches bring weights with a bit that is wrong.
    """

    def __init__(self, learner: Learner, script: Iterable[Fault] = (), *, num_damaged: int = 0) -> None:
        self.learner = learner
        self.is_away = False
        self.num_damaged = num_damaged
        self.calls: Counter[str] = Counter()
        self._script = iter(script)

    def heal(self) -> None:
        """From now on no call is lost."""
        self._script = iter(())

    async def join(self, worker: str, ticket: str, place: str, num_devices: int) -> int:
        return await self._call("join", lambda hub: hub.join(worker, ticket, place, num_devices))

    async def news(self, worker: str, ticket: str, have: int, stats: dict[str, float]) -> News | Receipt:
        return await self._call("news", lambda hub: hub.news(worker, ticket, have, stats))

    async def weights(self, version: int) -> Published | None:
        return await self._call("weights", lambda hub: hub.weights(version))

    async def deliver(self, worker: str, ticket: str, parcels: list[bytes]) -> list[Receipt]:
        return await self._call("deliver", lambda hub: hub.deliver(worker, ticket, parcels))

    async def fetch(self, published: Published) -> bytes:
        async def get(hub: Hub) -> bytes:
            return bytes(published.data)

        data = await self._call("fetch", get)
        if self.num_damaged:
            self.num_damaged -= 1
            return bytes([data[0] ^ 1]) + data[1:]
        return data

    async def _call(self, name: str, ask: Callable[[Hub], Awaitable[T]]) -> T:
        self.calls[name] += 1
        fault = next(self._script, "well")
        if fault == "restart":
            self.learner.begin()
        if self.is_away or fault in ("lost request", "restart"):
            raise HubAwayError(fault)
        answer = await ask(self.learner.lives[-1])
        if fault == "twice":
            answer = await ask(self.learner.lives[-1])
        if fault == "restart after":
            self.learner.begin()
        if fault in ("lost answer", "restart after"):
            raise HubAwayError(fault)
        return answer


# ---- workers


IDENTITY = Identity("w", "t", "here:1", 2)


def make_courier(link: HubLink, spool: Spool, identity: Identity = IDENTITY) -> Courier:
    return Courier(identity, link, spool, patience=Patience(LoopClock(), Random(0)))


class Listener:
    """A follower of a link, the news it told of, the version it had then, and what it loaded."""

    def __init__(self, link: HubLink, identity: Identity = IDENTITY, *, stats: dict[str, float] | None = None) -> None:
        self.heard: list[News] = []
        self.versions: list[int] = []
        self.loaded: list[tuple[int, bytes]] = []
        self.follower = Follower(
            identity,
            link,
            load=self._load,
            patience=Patience(LoopClock(), Random(0)),
            tell=self._hear,
            measure=lambda: stats or {},
        )

    @property
    def orders(self) -> list[str]:
        """All that was ordered."""
        return [order.id for heard in self.heard for order in heard.orders]

    def _load(self, version: int, data: bytes) -> FakeWeights:
        self.loaded.append((version, data))
        return FakeWeights(version)

    async def _hear(self, news: News) -> None:
        self.heard.append(news)
        self.versions.append(self.follower.version)


@asynccontextmanager
async def running(*loops: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Loops in the background for as long as the block lasts; what one of them raises is raised at its end."""
    tasks = [asyncio.ensure_future(loop) for loop in loops]
    try:
        yield
    finally:
        for each in tasks:
            each.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result


async def timed(waiting: Awaitable[T]) -> tuple[float, T]:
    """The virtual seconds that something takes, and what comes of it."""
    began_s = LoopClock().now()
    result = await waiting
    return round(LoopClock().now() - began_s, 3), result


async def later(seconds: float, do: Callable[[], Awaitable[T]]) -> T:
    """Do something after a while."""
    await asyncio.sleep(seconds)
    return await do()

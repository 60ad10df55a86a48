"""The courier: everything that is sent arrives once, whatever happens on the way, and nobody hurries a hub back."""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.clock import LoopClock, run_virtual
from distrl.runtime.fleet import (
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    MAX_UNDELIVERED,
    FencedError,
    Patience,
)
from distrl.runtime.hub import Receipt
from distrl.runtime.spool import Parcel, Spool
from distrl.runtime.wire import encode

from .fleet import plain_trajectory
from .hubs import (
    Fault,
    FlakyLink,
    Learner,
    TightSpool,
    joined,
    make_courier,
    running,
    timed,
)

LARGE = 10 * 2**20
FAULTS: tuple[Fault, ...] = ("well", "lost request", "lost answer", "twice", "restart", "restart after")


# ---- patience


class NotingClock:
    """Notes how long it was asked to sleep, and does not."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []

    def now(self) -> float:
        return sum(self.slept_s)

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)


def waits(seed: int, count: int) -> list[float]:
    clock = NotingClock()

    async def run() -> None:
        patience = Patience(clock, Random(seed))
        for _ in range(count):
            await patience.wait()

    run_virtual(run())
    return clock.slept_s


def test_waits_double_up_to_the_longest_and_are_random_within_their_upper_half() -> None:
    longest = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert (longest[0], longest[-1]) == (FIRST_WAIT_S, LONGEST_WAIT_S)
    for n, bound in enumerate(longest):
        drawn = [waits(seed, len(longest))[n] for seed in range(50)]
        assert bound / 2 <= min(drawn) < 0.6 * bound
        assert 0.9 * bound < max(drawn) <= bound


def test_a_thousand_failures_still_wait_no_longer_than_the_longest() -> None:
    assert max(waits(0, 2000)) <= LONGEST_WAIT_S


def test_success_starts_the_waits_anew() -> None:
    clock = NotingClock()

    async def run() -> None:
        patience = Patience(clock, Random(0))
        for _ in range(8):
            await patience.wait()
        patience.succeeded()
        await patience.wait()

    run_virtual(run())
    assert clock.slept_s[-2] >= LONGEST_WAIT_S / 2
    assert clock.slept_s[-1] <= FIRST_WAIT_S


# ---- courier


def delivered(learner: Learner, spool: Spool, script: list[Fault], count: int) -> Counter[str]:
    """Send so many through a link of such faults, until all are acknowledged; how often each arrived."""
    link = FlakyLink(learner, script)
    courier = make_courier(link, spool)

    async def run() -> Counter[str]:
        learner.begin()
        async with running(courier.run()):
            for n in range(count):
                await courier.send(plain_trajectory(f"w-{n}"))
                await asyncio.sleep(0.1 * (n % 3))
            await courier.flush()
        return await learner.arrived()

    return run_virtual(run())


@pytest.mark.parametrize("fault", FAULTS)
def test_everything_sent_arrives_once_through_every_fault(learner: Learner, spool: TightSpool, fault: Fault) -> None:
    names = [f"w-{n}" for n in range(4)]
    assert delivered(learner, spool, ["well", fault, fault, "well", fault], 4) == Counter(names)
    assert learner.journalled() == spool.acknowledged() == names
    assert len(spool) == 0


@settings(max_examples=60, deadline=None)
@given(script=st.lists(st.sampled_from(FAULTS), max_size=14), count=st.integers(1, 6))
def test_everything_sent_arrives_once_and_in_order_whatever_happens(script: list[Fault], count: int) -> None:
    names = [f"w-{n}" for n in range(count)]
    with tempfile.TemporaryDirectory() as directory:
        learner, spool = (
            Learner(Path(directory), max_waiting=100),
            Spool(Path(directory) / "spool.sqlite", max_bytes=LARGE),
        )
        try:
            assert delivered(learner, spool, script, count) == Counter(names)
            assert learner.journalled() == spool.acknowledged() == names
        finally:
            learner.journal.close()
            spool.close()


def test_while_the_learner_is_away_sending_does_not_wait_and_all_is_delivered_when_it_is_back(
    learner: Learner, spool: TightSpool
) -> None:
    link = FlakyLink(learner)
    courier = make_courier(link, spool)

    async def run() -> tuple[float, int, int]:
        link.is_away = True
        async with running(courier.run()):
            began_s = LoopClock().now()
            for n in range(3 * MAX_UNDELIVERED):
                await courier.send(plain_trajectory(f"w-{n:02d}"))
            sent_s, waiting = LoopClock().now() - began_s, len(spool)
            await asyncio.sleep(600.0)
            assert len(spool) == waiting
            calls = link.calls["deliver"]
            link.is_away = False
            learner.begin()
            taking = asyncio.ensure_future(take_all())
            await courier.flush()
            taking.cancel()
            # It is there again: that it is slow is waited for again.
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(100.0):
                    for n in range(24, 24 + 3 * MAX_UNDELIVERED):
                        await courier.send(plain_trajectory(f"w-{n:02d}"))
            return sent_s, waiting, calls

    async def take_all() -> None:
        while True:
            await learner.lives[-1].take(4, timeout_s=1.0)

    sent_s, waiting, calls = run_virtual(run())
    assert (sent_s, waiting) == (0.0, 24)
    # Six growing waits, then 5 to 10 s each.
    assert 66 <= calls <= 130
    assert learner.journalled()[:24] == [f"w-{n:02d}" for n in range(24)]


def test_while_the_learner_is_there_but_slow_sending_waits(learner: Learner, spool: TightSpool) -> None:
    courier = make_courier(FlakyLink(learner), spool)
    sent: list[int] = []

    async def send_all() -> None:
        for n in range(40):
            await courier.send(plain_trajectory(f"w-{n:02d}"))
            sent.append(n)

    async def run() -> list[int]:
        hub = await joined(learner)
        async with running(courier.run()):
            sending = asyncio.ensure_future(send_all())
            waiting = []
            for _ in range(5):  # far longer than a delivery waits at a full queue
                await asyncio.sleep(100.0)
                waiting.append(len(spool))
            before = len(sent)
            while not sending.done() or len(spool):
                await hub.take(4, timeout_s=1.0)
            return [before, *waiting]

    before, *waiting = run_virtual(run())
    # One more than may wait is that of the sender who waits.
    assert waiting == [MAX_UNDELIVERED + 1] * 5
    assert before < 40
    assert courier.counters["later"] >= 5
    assert learner.journalled() == [f"w-{n:02d}" for n in range(40)]


def test_a_hub_that_cannot_write_is_asked_less_and_less_often(learner: Learner, spool: TightSpool) -> None:
    link = FlakyLink(learner)
    courier = make_courier(link, spool)

    async def run() -> int:
        await joined(learner)
        learner.journal.is_full = True
        async with running(courier.run()):
            await courier.send(plain_trajectory("w-0"))
            await asyncio.sleep(60.0)
            calls = link.calls["deliver"]
            learner.journal.is_full = False
            await courier.flush()
        return calls

    assert run_virtual(run()) <= 6 + 60 / 5
    assert learner.journalled() == ["w-0"]


def test_what_is_refused_is_set_aside_and_not_sent_again(learner: Learner, spool: TightSpool) -> None:
    link = FlakyLink(learner)
    courier = make_courier(link, spool)

    async def run() -> int:
        await joined(learner)
        spool.put(Parcel(id="bad", data=b"what is this"), version=0)
        async with running(courier.run()):
            await courier.send(plain_trajectory("w-0"))
            await courier.flush()
            await asyncio.sleep(100.0)
        return link.calls["deliver"]

    assert run_virtual(run()) == 1
    assert learner.journalled() == spool.acknowledged() == ["w-0"]
    assert spool.counter("refused") == courier.counters["refused"] == 1


def test_the_spool_of_a_killed_worker_is_delivered_by_the_next(learner: Learner, tmp_path: Path) -> None:
    async def run() -> None:
        await joined(learner)
        killed = Spool(tmp_path / "spool.sqlite", max_bytes=LARGE)
        await make_courier(FlakyLink(learner), killed).send(plain_trajectory("w-0"))
        killed.close()
        courier = make_courier(FlakyLink(learner), Spool(tmp_path / "spool.sqlite", max_bytes=LARGE))
        async with running(courier.run()):
            await courier.flush()

    run_virtual(run())
    assert learner.journalled() == ["w-0"]


def test_what_cannot_be_put_on_a_full_disk_is_put_there_when_it_is_not(learner: Learner, spool: TightSpool) -> None:
    courier = make_courier(FlakyLink(learner), spool)

    async def run() -> float:
        await joined(learner)
        async with running(courier.run()):
            spool.is_full = True
            sending = asyncio.ensure_future(timed(courier.send(plain_trajectory("w-0"))))
            await asyncio.sleep(20.0)
            assert not sending.done()
            spool.is_full = False
            sent_s, _ = await sending
            await courier.flush()
        return sent_s

    assert 20.0 <= run_virtual(run()) <= 20.0 + LONGEST_WAIT_S
    assert learner.journalled() == spool.acknowledged() == ["w-0"]
    assert courier.counters["spool_failures"] >= 5


def test_what_was_acknowledged_and_could_not_be_noted_is_sent_again(learner: Learner, spool: TightSpool) -> None:
    courier = make_courier(FlakyLink(learner), spool)

    async def run() -> Counter[str]:
        await joined(learner)
        await courier.send(plain_trajectory("w-0"))
        spool.is_full = True
        async with running(courier.run()):
            await asyncio.sleep(20.0)
            assert learner.journalled() == ["w-0"]
            assert spool.acknowledged() == []
            spool.is_full = False
            await courier.flush()
        return await learner.arrived()

    assert run_virtual(run()) == {"w-0": 1}
    assert spool.acknowledged() == ["w-0"]
    assert courier.counters["duplicate"] >= 1


def test_what_had_to_go_from_the_spool_is_counted(learner: Learner, tmp_path: Path) -> None:
    link = FlakyLink(learner)
    courier = make_courier(link, Spool(tmp_path / "small.sqlite", max_bytes=2000))

    async def run() -> None:
        link.is_away = True
        async with running(courier.run()):
            for n in range(12):
                await courier.send(plain_trajectory(f"w-{n}"))

    run_virtual(run())
    assert courier.counters["dropped"] > 0


class HeldLink(FlakyLink):
    """One whose deliveries are on their way until they may arrive."""

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self.may_arrive = asyncio.Event()

    async def deliver(self, worker: str, ticket: str, parcels: list[bytes]) -> list[Receipt]:
        await self.may_arrive.wait()
        return await super().deliver(worker, ticket, parcels)


def test_what_is_dropped_on_its_way_lets_nobody_send_more_than_may_wait(learner: Learner, tmp_path: Path) -> None:
    large, small = plain_trajectory("large", num_steps=4000), [plain_trajectory(f"w-{n:02d}") for n in range(20)]
    size = len(encode(large)) + 10
    assert size > 10 * len(encode(small[0]))
    spool, link = Spool(tmp_path / "small.sqlite", max_bytes=size), HeldLink(learner)
    courier = make_courier(link, spool)

    async def send_all() -> None:
        for each in small:
            await courier.send(each)

    async def run() -> int:
        await joined(learner)
        async with running(courier.run()):
            await courier.send(plain_trajectory("on-its-way"))
            await asyncio.sleep(1.0)
            await courier.send(large)
            assert courier.counters["dropped"] == 1
            link.may_arrive.set()
            await courier.flush()
            link.may_arrive.clear()
            sending = asyncio.ensure_future(send_all())
            await asyncio.sleep(100.0)
            waiting = len(spool)
            sending.cancel()
            return waiting

    assert run_virtual(run()) == MAX_UNDELIVERED + 1
    assert learner.journalled() == ["on-its-way", "large"]


def test_a_courier_whose_name_was_taken_stops_and_says_by_whom(learner: Learner, spool: TightSpool) -> None:
    courier = make_courier(FlakyLink(learner), spool)

    async def run() -> None:
        hub = await joined(learner)
        await hub.join("w", "another", "there:2", 1)
        async with running(courier.run()):
            await courier.send(plain_trajectory("w-0"))
            await asyncio.sleep(1.0)

    with pytest.raises(FencedError, match=r"here:1.*there:2"):
        run_virtual(run())
    assert len(spool) == 1

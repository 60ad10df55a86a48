"""News that is lost on its way: a worker says what it knows, so the hub tells it again at once, and exactly that."""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.types import Outcome
from distrl.runtime.evaluation import Report
from distrl.runtime.evaluator import REORDER_S, evaluate_on_fleet
from distrl.runtime.fleet import LONGEST_WAIT_S, Identity
from distrl.runtime.hub import NEWS_S, Hub, Known, News, Receipt
from distrl.runtime.spool import Spool
from distrl.runtime.wire import encode

from .fleet import tasks
from .hubs import (
    Fault,
    FlakyLink,
    Learner,
    Listener,
    TightSpool,
    evaluated,
    joined,
    later,
    make_courier,
    orders,
    running,
    timed,
)

SOON_S = 1.0
"""Longer than the first wait after a lost answer, shorter than a call for news."""


async def ask(
    hub: Hub, *held: str, worker: str = "w", version: int = 99, is_collecting: bool = True
) -> tuple[float, News]:
    """How long a worker waits that knows so much, and what it hears."""
    known = Known(version=version, is_collecting=is_collecting, orders=frozenset(held))
    waited_s, heard = await timed(hub.news(worker, "t", known, {}))
    assert isinstance(heard, News), heard
    return waited_s, heard


def names(heard: News) -> list[str]:
    return [each.id for each in heard.orders]


# ---- what the hub is told


def test_a_worker_that_does_not_know_that_nothing_is_collected_hears_it_at_once(learner: Learner) -> None:
    async def run() -> list[tuple[float, bool]]:
        hub = await joined(learner)
        await hub.stop_collecting()
        answers = [await ask(hub), await ask(hub, is_collecting=False), await ask(hub)]
        return [(waited_s, heard.is_collecting) for waited_s, heard in answers]

    assert run_virtual(run()) == [(0.0, False), (NEWS_S, False), (0.0, False)]


def test_orders_that_a_worker_was_given_and_does_not_have_are_given_again_at_once(learner: Learner) -> None:
    async def run() -> list[tuple[float, list[str]]]:
        hub = await joined(learner, num_devices=6)
        await hub.order(orders(6))
        # The second answer is lost; then it has heard all, and has answered e-1 by itself.
        answers = [await ask(hub), await ask(hub), await ask(hub, "e-0", "e-1", "e-2")]
        await hub.report("w", "t", encode(evaluated("e-1", "x")))
        answers += [await ask(hub, "e-0", "e-2"), await ask(hub, "e-0", "e-2", "e-3")]
        return [(waited_s, names(heard)) for waited_s, heard in answers]

    first = ["e-0", "e-1", "e-2"]
    assert run_virtual(run()) == [(0.0, first), (0.0, first), (NEWS_S, []), (0.0, ["e-3"]), (NEWS_S, [])]


def test_what_one_worker_does_not_have_another_that_waits_gets_at_once(learner: Learner) -> None:
    async def run() -> tuple[float, list[str]]:
        hub = await joined(learner, num_devices=4)
        await hub.join("other", "t", "there", 8)
        await hub.order(orders(2))
        assert names((await ask(hub))[1]) == ["e-0", "e-1"]
        waiting = asyncio.ensure_future(ask(hub, worker="other"))
        await asyncio.sleep(3.0)
        await hub.join("w", "t", "here:1", 2)  # now it has room for one
        await asyncio.sleep(1.0)
        assert names((await ask(hub))[1]) == ["e-0"]
        waited_s, heard = await waiting
        return waited_s, names(heard)

    assert run_virtual(run()) == (4.0, ["e-1"])


def test_a_worker_that_does_not_say_what_it_has_keeps_what_it_was_given(learner: Learner) -> None:
    async def run() -> list[str]:
        hub = await joined(learner)
        await hub.order(orders(1))
        heard = [await hub.news("w", "t", 99, {}) for _ in range(2)]
        return [each.id for one in heard if isinstance(one, News) for each in one.orders]

    assert run_virtual(run()) == ["e-0"]


def test_a_call_that_its_worker_has_given_up_takes_no_orders(learner: Learner) -> None:
    async def run() -> list[tuple[float, list[str]]]:
        hub = await joined(learner, num_devices=8)
        given_up, awaited = asyncio.ensure_future(ask(hub)), asyncio.ensure_future(later(1.0, lambda: ask(hub)))
        await asyncio.sleep(2.0)
        await hub.order(orders(2))
        return [(waited_s, names(heard)) for waited_s, heard in (await given_up, await awaited)]

    assert run_virtual(run()) == [(2.0, []), (1.0, ["e-0", "e-1"])]


def test_a_call_from_before_the_hub_had_forgotten_its_worker_takes_no_orders(learner: Learner) -> None:
    async def run() -> list[str]:
        hub = await joined(learner)
        given_up = asyncio.ensure_future(ask(hub))
        await asyncio.sleep(2.0)
        hub.forget_silent(1.0)
        await hub.join("w", "t", "here:1", 2)
        await hub.order(orders(1))
        return names((await given_up)[1]) + names((await ask(hub))[1])

    assert run_virtual(run()) == ["e-0"]


# ---- a worker whose answers are lost


def fresh(num_devices: int = 2) -> Identity:
    return Identity("w", "t", "here:1", num_devices)


class ReportingLink(FlakyLink):
    """Loses reports as well."""

    async def report(self, worker: str, ticket: str, data: bytes) -> Receipt:
        return await self._call("report", lambda hub: hub.report(worker, ticket, data))


@pytest.mark.parametrize("fault", ["lost answer", "twice", "well"])
def test_the_end_of_collecting_is_heard_soon_whatever_is_lost(learner: Learner, fault: Fault) -> None:
    listener = Listener(FlakyLink(learner, ["well", "well", fault]), fresh())

    async def run() -> float:
        hub = await joined(learner)
        await hub.publish(0, b"weights")
        async with running(listener.follower.run()):
            await asyncio.sleep(3.0)
            await hub.stop_collecting()
            while listener.heard[-1].is_collecting:
                await asyncio.sleep(0.1)
            return LoopClock().now() - 3.0

    assert run_virtual(run()) < SOON_S


@pytest.mark.parametrize("fault", ["lost answer", "twice", "well"])
def test_orders_are_heard_once_and_soon_whatever_is_lost(learner: Learner, fault: Fault) -> None:
    listener = Listener(FlakyLink(learner, ["well", "well", fault]), fresh(4))

    async def run() -> list[str]:
        hub = await joined(learner, num_devices=4)
        await hub.publish(0, b"weights")
        async with running(listener.follower.run()):
            await asyncio.sleep(3.0)
            await hub.order(orders(2))
            await asyncio.sleep(SOON_S)
            soon = listener.orders
            await asyncio.sleep(3 * NEWS_S)
            assert listener.orders == soon
            return soon

    assert run_virtual(run()) == ["e-0", "e-1"]


@pytest.mark.parametrize("fault", ["lost request", "lost answer", "well"])
def test_an_order_whose_report_is_lost_is_ordered_again_and_one_that_arrived_is_not(
    learner: Learner, spool: TightSpool, fault: Fault
) -> None:
    identity, link = fresh(), ReportingLink(learner)
    listener, courier = Listener(link, identity), make_courier(link, spool, identity)

    async def run() -> tuple[list[str], list[str]]:
        hub = await joined(learner)
        hub.run = "this"
        await hub.publish(0, b"weights")
        await hub.order(orders(1))
        async with running(listener.follower.run()):
            await asyncio.sleep(1.0)
            link._script = iter([fault])
            await courier.send(evaluated("e-0", "x"))
            await asyncio.sleep(2 * NEWS_S)
            return listener.orders, [of for of, _ in await hub.take_evaluated(timeout_s=0.0)]

    heard, reported = run_virtual(run())
    assert heard == (["e-0"] * 2 if fault == "lost request" else ["e-0"])
    assert reported == ([] if fault == "lost request" else ["e-0"])


def test_an_order_that_comes_again_before_the_receipt_of_its_report_is_still_held(
    learner: Learner, spool: TightSpool
) -> None:
    class SlowLink(ReportingLink):
        async def report(self, worker: str, ticket: str, data: bytes) -> Receipt:
            receipt = await super().report(worker, ticket, data)
            await asyncio.sleep(5.0)
            return receipt

    identity, link = fresh(), SlowLink(learner)
    listener, courier = Listener(link, identity), make_courier(link, spool, identity)

    async def run() -> list[str]:
        hub = await joined(learner)
        await hub.publish(0, b"weights")
        await hub.order(orders(1))
        async with running(listener.follower.run()):
            await asyncio.sleep(1.0)
            sending = asyncio.ensure_future(courier.send(evaluated("e-0", "x", Outcome.ABORTED_DEVICE)))
            await asyncio.sleep(1.0)
            await hub.order(orders(1))
            await sending
            await asyncio.sleep(3 * NEWS_S)
        return listener.orders

    assert run_virtual(run()) == ["e-0"] * 2


def test_what_cannot_be_played_for_want_of_weights_keeps_no_other_news_away(learner: Learner) -> None:
    listener = Listener(FlakyLink(learner), fresh())

    async def run() -> tuple[float, int]:
        hub = await joined(learner)
        await hub.publish(5, b"weights")
        await hub.order(orders(1, version=3))
        following = asyncio.ensure_future(listener.follower.run())
        await asyncio.sleep(60.0)
        calls = listener.follower._link.calls["news"]  # type: ignore[attr-defined]
        await hub.end()
        ended_s, _ = await timed(following)
        return ended_s, calls

    ended_s, calls = run_virtual(run())
    assert ended_s <= LONGEST_WAIT_S
    assert calls <= 7 + 60 / 5
    assert listener.orders == []


# ---- an evaluation by such a worker


async def play(listener: Listener, courier: Any, attempts: Counter[str]) -> None:
    """Plays what was ordered, one after the other."""
    played = 0
    while True:
        for name in listener.orders[played:]:
            played += 1
            attempts[name] += 1
            await asyncio.sleep(1.0)
            await courier.send(evaluated(name, f"{name}-{attempts[name]}"))
        await asyncio.sleep(0.1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["well", "lost request", "lost answer", "twice"]), max_size=30))
def test_whatever_is_lost_an_evaluation_ends_soon_and_counts_every_order_once(script: list[Fault]) -> None:
    attempts: Counter[str] = Counter()

    async def run(learner: Learner, spool: Spool) -> tuple[list[Report], float]:
        identity, link = fresh(4), ReportingLink(learner)
        listener, courier = Listener(link, identity), make_courier(link, spool, identity)
        hub = await joined(learner, num_devices=4)
        await hub.publish(0, b"weights")
        async with running(listener.follower.run(), play(listener, courier, attempts)):
            await asyncio.sleep(1.0)
            link._script = iter(script)
            reports = await evaluate_on_fleet(hub, LoopClock(), tasks(3), name="e", version=0, has_sampled=False)
            return reports, LoopClock().now() - 1.0

    with tempfile.TemporaryDirectory() as directory:
        learner, spool = Learner(Path(directory)), Spool(Path(directory) / "spool.sqlite", max_bytes=2**20)
        try:
            (report,), seconds = run_virtual(run(learner, spool))
        finally:
            learner.journal.close()
            spool.close()
    assert report.episodes == 3
    # An order is played again only if its report may have been lost.
    assert sum(attempts.values()) - 3 <= sum(fault.startswith("lost") for fault in script)
    # Each lost report costs one call for news, and others wait for no longer than they have to.
    assert seconds < 3.0 + (NEWS_S + LONGEST_WAIT_S) * (1 + sum(fault.startswith("lost") for fault in script))
    if script.count("well") == len(script):
        assert seconds < REORDER_S / 10
    assert set(attempts) == {f"e-greedy-{n}" for n in range(3)}


def test_an_evaluation_leaves_no_orders_behind(learner: Learner) -> None:
    async def run() -> tuple[list[str], list[str], list[str]]:
        hub = await joined(learner, num_devices=4)
        await hub.join("dies", "t", "there", 2)
        evaluation = asyncio.ensure_future(
            evaluate_on_fleet(hub, LoopClock(), tasks(2), name="e", version=0, has_sampled=False)
        )
        await asyncio.sleep(1.0)
        (taken,) = names((await ask(hub, worker="dies"))[1])
        # Ordered again after a while: w plays both, and what `dies` has is for nobody.
        await asyncio.sleep(REORDER_S + 2.0)
        both = names((await ask(hub))[1])
        for name in both:
            await hub.report("w", "t", encode(evaluated(name, name)))
        await evaluation
        await hub.join("dies", "its next process", "there", 2)
        return [taken], sorted(both), names((await ask(hub))[1])

    assert run_virtual(run()) == (["e-greedy-0"], ["e-greedy-0", "e-greedy-1"], [])


def test_an_evaluation_that_is_stopped_is_played_by_nobody(learner: Learner) -> None:
    async def run() -> tuple[list[str], list[str], int]:
        hub = await joined(learner, num_devices=2)
        evaluation = asyncio.ensure_future(
            evaluate_on_fleet(hub, LoopClock(), tasks(5), name="e", version=0, has_sampled=False)
        )
        await asyncio.sleep(1.0)
        first = names((await ask(hub))[1])
        evaluation.cancel()
        await asyncio.wait([evaluation])
        second = names((await ask(hub, *first))[1])
        await hub.order(orders(1))
        return first, second, len((await ask(hub, *first))[1].orders)

    assert run_virtual(run()) == (["e-greedy-0"], [], 1)

"""The hub: what is delivered is safe before it is acknowledged, and news and orders reach whoever waits."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from distrl.core.clock import run_virtual
from distrl.runtime.hub import FULL_S, NEWS_S, Hub, News, Receipt
from distrl.runtime.journal import Journal
from distrl.runtime.wire import encode

from .hubs import Learner, deliver, evaluated, joined, later, news, order, orders, parcel, timed

# ---- deliveries


def test_what_is_acknowledged_is_in_the_journal_for_every_other_process(learner: Learner, tmp_path: Path) -> None:
    async def run() -> list[str]:
        return await deliver(await joined(learner), "a", "b")

    assert run_virtual(run()) == ["accepted", "accepted"]
    reader = Journal(tmp_path / "journal.sqlite")
    assert [(name, data) for _, name, _, data in reader.read()] == [("a", parcel("a")), ("b", parcel("b"))]


def test_trajectories_are_taken_in_the_order_of_the_journal(learner: Learner) -> None:
    async def run() -> list[list[tuple[str, int]]]:
        hub = await joined(learner)
        await deliver(hub, "b", "a")
        await deliver(hub, "c")
        assert hub.depth == 3
        return [[(a.trajectory.id, a.position) for a in await hub.take(2, timeout_s=1.0)] for _ in range(3)]

    assert run_virtual(run()) == [[("b", 1), ("a", 2)], [("c", 3)], []]


def test_the_learner_waits_for_the_first_arrival_up_to_a_time(learner: Learner) -> None:
    async def run() -> tuple[Any, ...]:
        hub = await joined(learner)
        nothing_s, nothing = await timed(hub.take(4, timeout_s=5.0))
        (waited_s, arrivals), _ = await asyncio.gather(
            timed(hub.take(4, timeout_s=5.0)), later(3.0, lambda: deliver(hub, "a"))
        )
        return nothing_s, nothing, waited_s, [(a.trajectory.id, a.time_s) for a in arrivals]

    assert run_virtual(run()) == (5.0, [], 3.0, [("a", 8.0)])


def test_a_trajectory_arrives_as_it_was_sent(learner: Learner) -> None:
    async def run() -> bytes:
        hub = await joined(learner)
        await deliver(hub, "a", num_steps=3, version=7)
        (arrival,) = await hub.take(1, timeout_s=0.0)
        return encode(arrival.trajectory)

    assert run_virtual(run()) == parcel("a", num_steps=3, version=7)


def test_a_duplicate_is_recognised_and_taken_once(learner: Learner) -> None:
    async def run() -> tuple[list[str], dict[str, int], Hub]:
        hub = await joined(learner)
        await deliver(hub, "a")
        return await deliver(hub, "a", "b"), await learner.arrived(), hub

    receipts, arrived, hub = run_virtual(run())
    assert receipts == ["duplicate", "accepted"]
    assert arrived == {"a": 1, "b": 1}
    assert (hub.counters["accepted"], hub.counters["duplicates"]) == (2, 1)


def test_a_duplicate_within_one_delivery_is_taken_once(learner: Learner) -> None:
    async def run() -> tuple[list[str], dict[str, int]]:
        return await deliver(await joined(learner), "a", "b", "a"), await learner.arrived()

    assert run_virtual(run()) == (["accepted", "accepted", "duplicate"], {"a": 1, "b": 1})


def test_a_duplicate_is_recognised_by_the_next_hub_on_the_same_journal(learner: Learner) -> None:
    async def run() -> tuple[list[str], int, list[int]]:
        await deliver(await joined(learner), "a")
        hub = await joined(learner)
        return await deliver(hub, "a"), hub.depth, [life.life.epoch for life in learner.lives]

    assert run_virtual(run()) == (["duplicate"], 0, [1, 2])


def test_at_a_full_queue_a_delivery_waits_until_something_is_taken(learner: Learner) -> None:
    async def run() -> tuple[Any, ...]:
        hub = await joined(learner)
        await deliver(hub, "a", "b", "c", "d")
        delivery = asyncio.ensure_future(timed(deliver(hub, "e")))
        await asyncio.sleep(7.0)
        assert not delivery.done()
        assert learner.journalled() == ["a", "b", "c", "d"]
        taken = await hub.take(1, timeout_s=0.0)
        return await delivery, [a.trajectory.id for a in taken], hub.counters["queue_blocked_ms"]

    assert run_virtual(run()) == ((7.0, ["accepted"]), ["a"], 7000)


def test_a_delivery_that_waited_too_long_is_told_to_come_again_and_loses_nothing(learner: Learner) -> None:
    async def run() -> tuple[Any, ...]:
        hub = await joined(learner)
        await deliver(hub, "a", "b", "c", "d")
        first = await timed(hub.deliver("w", "t", [parcel("e"), parcel("f")]))
        before = learner.journalled()
        await hub.take(4, timeout_s=0.0)
        return first, before, await deliver(hub, "e", "f"), learner.journalled(), hub.counters

    first, before, again, after, counters = run_virtual(run())
    assert first == (FULL_S, [Receipt(kind="later", reason="the queue is full")] * 2)
    assert before == ["a", "b", "c", "d"]
    assert again == ["accepted", "accepted"]
    assert after == ["a", "b", "c", "d", "e", "f"]
    assert counters["deliveries_at_full_queue"] == 1


def test_of_many_that_wait_no_more_go_on_than_there_is_room_for(learner: Learner) -> None:
    async def run() -> list[int]:
        hub = await joined(learner)
        deliveries = [asyncio.ensure_future(deliver(hub, f"t{n:02d}")) for n in range(20)]
        depths = []
        while not all(delivery.done() for delivery in deliveries):
            await asyncio.sleep(1.0)
            depths.append(hub.depth)
            await hub.take(3, timeout_s=0.0)
        assert all(delivery.result() == ["accepted"] for delivery in deliveries)
        return depths

    depths = run_virtual(run())
    assert depths == [4] * 6 + [2]
    assert sorted(learner.journalled()) == [f"t{n:02d}" for n in range(20)]


def test_when_nothing_more_is_collected_what_is_on_its_way_is_not_held_up(learner: Learner) -> None:
    async def run() -> tuple[float, list[str]]:
        hub = await joined(learner)
        await deliver(hub, "a", "b", "c", "d")
        delivery, _ = await asyncio.gather(timed(deliver(hub, "e")), later(2.0, hub.stop_collecting))
        return delivery

    assert run_virtual(run()) == (2.0, ["accepted"])


def test_what_cannot_be_read_is_refused_with_a_reason_and_an_event(learner: Learner) -> None:
    async def run() -> tuple[list[Receipt], Hub]:
        hub = await joined(learner)
        return await hub.deliver("w", "t", [parcel("a"), b"what is this", parcel("b")]), hub

    (first, second, third), hub = run_virtual(run())
    assert (first.kind, second.kind, third.kind) == ("accepted", "refused", "accepted")
    assert "digest" in second.reason
    assert learner.events == [("trajectory refused", {"worker": "w", "reason": second.reason})]
    assert learner.journalled() == ["a", "b"]
    assert (hub.depth, hub.counters["refused"]) == (2, 1)


def test_while_the_journal_cannot_be_written_deliveries_come_later_and_nothing_is_lost(learner: Learner) -> None:
    async def run() -> tuple[Any, ...]:
        hub = await joined(learner)
        learner.journal.is_full = True
        during = await hub.deliver("w", "t", [parcel("a"), b"junk"])
        taken = hub.depth
        learner.journal.is_full = False
        return during, taken, await deliver(hub, "a"), await learner.arrived(), hub.counters["journal_failures"]

    during, taken, after, arrived, failures = run_virtual(run())
    assert [receipt.kind for receipt in during] == ["later", "refused"]
    assert during[0].reason == "the disk is full"
    assert taken == 0
    assert (after, arrived, failures) == (["accepted"], {"a": 1}, 1)
    assert ("journal cannot be written", {"reason": "the disk is full"}) in learner.events


def test_what_an_evaluation_played_is_handed_to_it_and_never_trained_on(learner: Learner) -> None:
    async def run() -> tuple[Any, ...]:
        hub = await joined(learner)
        waiting = asyncio.ensure_future(timed(hub.take_evaluated(timeout_s=9.0)))
        await asyncio.sleep(2.0)
        receipts = [await hub.report("w", "t", data) for data in (encode(evaluated("e-0", "x")), b"junk")]
        waited_s, played = await waiting
        nothing = await hub.take_evaluated(timeout_s=0.0)
        kinds = [receipt.kind for receipt in receipts]
        return kinds, waited_s, [(of, t.id) for of, t in played], nothing, await learner.arrived()

    assert run_virtual(run()) == (["accepted", "refused"], 2.0, [("e-0", "x")], [], {})
    assert learner.journalled() == []


def test_what_an_evaluation_played_is_refused_as_something_to_learn_from(learner: Learner) -> None:
    async def run() -> list[Receipt]:
        hub = await joined(learner)
        return await hub.deliver("w", "t", [encode(evaluated("e-0", "x"))])

    (receipt,) = run_virtual(run())
    assert (receipt.kind, "evaluation" in receipt.reason) == ("refused", True)
    assert learner.journalled() == []


def test_a_full_queue_does_not_hold_up_an_evaluation(learner: Learner) -> None:
    async def run() -> tuple[float, Receipt]:
        hub = await joined(learner)
        await deliver(hub, "a", "b", "c", "d")
        return await timed(hub.report("w", "t", encode(evaluated("e-0", "x"))))

    assert run_virtual(run()) == (0.0, Receipt(kind="accepted"))


# ---- news


@pytest.mark.parametrize("what", ["version", "orders", "end", "stop_collecting"])
def test_news_is_waited_for_and_comes_at_once(learner: Learner, what: str) -> None:
    async def run() -> tuple[float, News]:
        hub = await joined(learner)
        happen = {
            "version": lambda: hub.publish(0, b"weights"),
            "orders": lambda: hub.order(orders(1)),
            "end": hub.end,
            "stop_collecting": hub.stop_collecting,
        }[what]
        heard, _ = await asyncio.gather(timed(news(hub, have=-1)), later(3.0, happen))
        return heard

    waited_s, heard = run_virtual(run())
    assert waited_s == 3.0
    assert (heard.published is not None) == (what == "version")
    assert [order.id for order in heard.orders] == (["e-0"] if what == "orders" else [])
    assert heard.is_over == (what == "end")
    assert heard.is_collecting == (what not in ("end", "stop_collecting"))


def test_after_a_while_a_worker_hears_that_there_is_no_news(learner: Learner) -> None:
    async def run() -> tuple[float, News]:
        hub = await joined(learner)
        hub.success = {"plain": 0.25}
        await hub.publish(0, b"weights")
        return await timed(news(hub, have=0))

    nothing = News(epoch=1, published=None, orders=(), success={"plain": 0.25}, is_collecting=True, is_over=False)
    assert run_virtual(run()) == (NEWS_S, nothing)


def test_old_weights_are_replaced_without_a_wait(learner: Learner) -> None:
    async def run() -> list[tuple[float, int | None]]:
        hub = await joined(learner)
        for version in range(3):
            await hub.publish(version, b"weights")
        waits = [await timed(news(hub, have=have)) for have in (-1, 1, 2)]
        return [(waited_s, heard.published and heard.published.version) for waited_s, heard in waits]

    assert run_virtual(run()) == [(0.0, 2), (0.0, 2), (NEWS_S, None)]


# ---- orders


@pytest.mark.parametrize(("num_devices", "share"), [(1, 1), (2, 1), (5, 2), (8, 4)])
def test_half_of_the_devices_of_a_worker_get_orders_however_often_it_asks(
    learner: Learner, num_devices: int, share: int
) -> None:
    async def run() -> list[tuple[float, list[str]]]:
        hub = await joined(learner, num_devices=num_devices)
        await hub.order(orders(10))
        asked = [await timed(news(hub)) for _ in range(2)]
        # One comes back: there is room for one more.
        await hub.report("w", "t", encode(evaluated("e-0", "x")))
        asked.append(await timed(news(hub)))
        return [(waited_s, [order.id for order in heard.orders]) for waited_s, heard in asked]

    first = [f"e-{n}" for n in range(share)]
    assert run_virtual(run()) == [(0.0, first), (NEWS_S, []), (0.0, [f"e-{share}"])]


def test_a_worker_that_waits_gets_the_next_order_when_one_comes_back(learner: Learner) -> None:
    async def run() -> tuple[float, list[str]]:
        hub = await joined(learner)
        await hub.order(orders(2))
        await news(hub)
        played = encode(evaluated("e-0", "x"))
        (waited_s, heard), _ = await asyncio.gather(timed(news(hub)), later(4.0, lambda: hub.report("w", "t", played)))
        return waited_s, [order.id for order in heard.orders]

    assert run_virtual(run()) == (4.0, ["e-1"])


def test_all_devices_get_orders_when_nothing_is_collected(learner: Learner) -> None:
    async def run() -> int:
        hub = await joined(learner, num_devices=5)
        await hub.stop_collecting()
        await hub.order(orders(10))
        return len((await news(hub)).orders)

    assert run_virtual(run()) == 5


def test_each_order_goes_to_one_worker(learner: Learner) -> None:
    async def run() -> list[str]:
        hub = learner.begin()
        for n in range(4):
            await hub.join(f"w{n}", "t", "here", 4)
        asking = [asyncio.ensure_future(news(hub, worker=f"w{n}")) for n in range(4)]
        await asyncio.sleep(1.0)
        await hub.order(orders(7))
        heard = await asyncio.gather(*asking)
        assert max(len(each.orders) for each in heard) == 2
        return [order.id for each in heard for order in each.orders]

    assert sorted(run_virtual(run())) == [f"e-{n}" for n in range(7)]


def test_what_waits_to_be_played_is_not_ordered_twice(learner: Learner) -> None:
    async def run() -> list[str]:
        hub = await joined(learner, num_devices=20)
        for _ in range(3):
            await hub.order(orders(3))
        return [order.id for order in (await news(hub)).orders]

    assert run_virtual(run()) == ["e-0", "e-1", "e-2"]


def test_what_came_back_after_it_was_ordered_again_is_not_played_again(learner: Learner) -> None:
    async def run() -> list[str]:
        hub = await joined(learner, num_devices=20)
        await hub.order(orders(3))
        await news(hub)
        await hub.order(orders(3))
        await hub.report("w", "t", encode(evaluated("e-1", "x")))
        return [order.id for order in (await news(hub)).orders]

    assert run_virtual(run()) == ["e-0", "e-2"]


@pytest.mark.parametrize(
    ("how", "next_order"), [("ordered again", "e-1"), ("another life of the worker", "e-0"), ("lost and found", "e-0")]
)
def test_a_lost_order_is_played_by_the_next_and_takes_no_place(learner: Learner, how: str, next_order: str) -> None:
    async def run() -> list[str]:
        hub, ticket = await joined(learner), "t"
        await hub.order(orders(2))
        await news(hub)  # e-0 is never played
        if how == "ordered again":
            await hub.order([order("e-0")])
        elif how == "another life of the worker":
            ticket = "t2"
            await hub.join("w", ticket, "here:2", 2)
        else:
            await asyncio.sleep(100.0)
            hub.forget_silent(60.0)
            await hub.join("w", ticket, "here:1", 2)
        return [order.id for order in (await news(hub, ticket=ticket)).orders]

    assert run_virtual(run()) == [next_order]

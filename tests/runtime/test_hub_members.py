"""The hub: who is a member, and which versions there are."""

import asyncio
import hashlib
from typing import Any

import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.runtime.fleet import Identity
from distrl.runtime.hub import MISSED_VERSIONS, Hub, Receipt
from distrl.runtime.safe_file import CannotWriteError
from distrl.runtime.spool import Parcel
from distrl.runtime.wire import encode

from .fleet import plain_trajectory
from .hubs import (
    FlakyLink,
    Learner,
    Listener,
    TightSpool,
    deliver,
    evaluated,
    joined,
    make_courier,
    news,
    parcel,
    running,
    timed,
)

# ---- members


def test_a_second_worker_of_the_same_name_fences_the_first(learner: Learner) -> None:
    async def run() -> tuple[Any, ...]:
        hub = await joined(learner)
        waiting = asyncio.ensure_future(timed(hub.news("w", "t", 99, {})))
        await asyncio.sleep(3.0)
        await hub.join("w", "t2", "there:2", 1)
        deliveries = await hub.deliver("w", "t", [parcel("a"), parcel("b")])
        return await waiting, deliveries, hub.members["w"].place, await hub.deliver("w", "t2", [parcel("c")])

    (waited_s, heard), deliveries, place, others = run_virtual(run())
    fenced = Receipt(kind="fenced", reason="another worker named w has joined from there:2")
    assert (waited_s, heard, deliveries) == (3.0, fenced, [fenced] * 2)
    assert (place, others[0].kind, learner.journalled()) == ("there:2", "accepted", ["c"])
    assert learner.events == [("worker replaced", {"worker": "w", "old": "here:1", "new": "there:2"})]


def test_a_stranger_is_told_that_it_is_unknown(learner: Learner) -> None:
    async def run() -> tuple[Any, ...]:
        hub = learner.begin()
        return await hub.news("w", "t", -1, {}), await hub.deliver("w", "t", [parcel("a")])

    unknown = Receipt(kind="fenced", reason="unknown")
    assert run_virtual(run()) == (unknown, [unknown])
    assert learner.journalled() == []


def test_who_joins_again_with_its_ticket_is_the_same(learner: Learner) -> None:
    async def run() -> tuple[list[str], int]:
        hub = await joined(learner)
        assert await hub.join("w", "t", "here:1", 2) == 1
        return await deliver(hub, "a"), hub.num_devices

    assert run_virtual(run()) == (["accepted"], 2)
    assert learner.events == []


def test_what_each_worker_made_is_counted_and_nothing_twice(learner: Learner) -> None:
    async def run() -> dict[str, int]:
        hub = await joined(learner)
        await hub.join("v", "t", "there:2", 1)
        await deliver(hub, "a", "b")
        await deliver(hub, "b")
        await hub.deliver("v", "t", [b"what is this"])
        await hub.report("w", "t", encode(evaluated("e-0", "x")))
        return dict(hub.taken_from)

    assert run_virtual(run()) == {"w": 3, "v": 0}


def test_silent_workers_are_forgotten_and_may_come_back(learner: Learner) -> None:
    async def run() -> tuple[Any, ...]:
        hub = await joined(learner)
        await hub.join("talks", "t", "there:2", 3)
        await hub.join("sends", "t", "there:3", 4)
        await asyncio.sleep(55.0)
        await hub.news("talks", "t", -1, {})
        await hub.deliver("sends", "t", [parcel("a")])
        hub.forget_silent(65.1)
        everybody = hub.num_devices
        await asyncio.sleep(0.2)
        hub.forget_silent(65.1)
        left = sorted(hub.members)
        receipt = await deliver(hub, "a")
        await hub.join("w", "t", "here:1", 2)
        return everybody, left, receipt, hub.num_devices

    assert run_virtual(run()) == (9, ["sends", "talks"], ["fenced"], 9)
    assert learner.events == [("worker lost", {"worker": "w", "place": "here:1"})]


def test_what_workers_measured_is_averaged_over_their_devices(learner: Learner) -> None:
    async def run() -> list[dict[str, float]]:
        hub = learner.begin()
        means = [hub.fleet_means()]
        await hub.publish(0, b"")
        for worker, num_devices, stats in (("a", 1, {"device_share": 0.2}), ("b", 3, {"device_share": 0.8})):
            await hub.join(worker, "t", "here", num_devices)
            await hub.news(worker, "t", -1, stats)
        return [*means, hub.fleet_means()]

    # (1 * 0.2 + 3 * 0.8) / 4
    assert run_virtual(run()) == [{}, {"device_share": 0.65}]


def test_what_a_server_was_asked_by_all_workers_is_summed(learner: Learner) -> None:
    async def run() -> dict[str, float]:
        hub = learner.begin()
        await hub.publish(0, b"")
        spent = {"a": (3.0, 2000.0, 0.00125), "b": (5.0, 1000.0, 0.0005)}
        for worker, (calls, tokens, cost) in spent.items():
            await hub.join(worker, "t", "here", 2)
            stats = {"policy_calls": calls, "policy_tokens": tokens, "policy_cost": cost, "device_share": 0.5}
            await hub.news(worker, "t", -1, stats)
        return hub.fleet_means()

    told = run_virtual(run())
    assert told == {"device_share": 0.5, "policy_calls": 8.0, "policy_tokens": 3000.0, "policy_cost": 0.00175}


def test_who_has_not_measured_something_is_not_in_its_average(learner: Learner) -> None:
    async def run() -> dict[str, float]:
        hub = learner.begin()
        await hub.publish(0, b"")
        measured = {"a": {"device_share": 0.2, "judge_share": 0.5}, "b": {"device_share": 0.8}, "c": {}}
        for worker, stats in measured.items():
            await hub.join(worker, "t", "here", 2)
            await hub.news(worker, "t", -1, stats)
        await hub.join("has said nothing yet", "t", "here", 100)
        return hub.fleet_means()

    assert run_virtual(run()) == {"device_share": 0.5, "judge_share": 0.5}


def test_who_joins_again_is_known_by_what_it_measured(learner: Learner) -> None:
    async def run() -> dict[str, float]:
        hub = await joined(learner)
        await hub.publish(0, b"")
        await hub.news("w", "t", -1, {"device_share": 0.5})
        await hub.join("w", "t", "here:1", 2)
        return hub.fleet_means()

    assert run_virtual(run()) == {"device_share": 0.5}


# ---- workers that take no new weights


async def publish_and_deliver(hub: Hub, count: int, *, have: int | None) -> None:
    """So many versions, each followed by a call for news and two deliveries of a worker that has `have`, or each."""
    for _ in range(count):
        version = hub.newest + 1
        await hub.publish(version, b"weights")
        await hub.news("w", "t", version if have is None else have, {})
        for n in range(2):
            await deliver(hub, f"t-{version}-{n}")
            await hub.take(9, timeout_s=0.0)


def stuck(version: int, newest: int) -> tuple[str, dict[str, Any]]:
    return "weights not taken", {"worker": "w", "place": "here:1", "version": version, "newest": newest}


def test_a_worker_that_delivers_and_takes_no_new_weights_is_told_of_once(learner: Learner) -> None:
    async def run() -> list[int]:
        hub = await joined(learner)
        noted = []
        await publish_and_deliver(hub, 3, have=None)
        # It stays at version 2.
        for count in (MISSED_VERSIONS - 1, 1, 100):
            await publish_and_deliver(hub, count, have=2)
            noted.append(hub.counters["weights_not_taken"])
        # It takes the newest, and stays there.
        have = hub.newest
        for count in (MISSED_VERSIONS - 1, 1):
            await publish_and_deliver(hub, count, have=have)
            noted.append(hub.counters["weights_not_taken"])
        return noted

    assert run_virtual(run()) == [0, 1, 1, 1, 2]
    last = 2 + MISSED_VERSIONS + 100
    assert learner.events == [stuck(2, 2 + MISSED_VERSIONS), stuck(last, last + MISSED_VERSIONS)]


def test_a_worker_that_takes_new_weights_or_delivers_nothing_is_not_told_of(learner: Learner) -> None:
    async def run() -> int:
        hub = await joined(learner)
        await publish_and_deliver(hub, 3 * MISSED_VERSIONS, have=None)
        for version in range(hub.newest + 1, hub.newest + 100):
            await hub.publish(version, b"weights")
        for n in range(2 * MISSED_VERSIONS):  # what it had spooled while it was out of reach, all at once
            await deliver(hub, f"spooled-{n}")
            await hub.take(9, timeout_s=0.0)
        return hub.counters["weights_not_taken"]

    assert run_virtual(run()) == 0
    assert learner.events == []


# ---- runs


def hub_of(learner: Learner, run: str) -> Hub:
    """A hub of a run with a name; the learner's link leads to it."""
    life = learner.journal.begin_epoch()
    learner.lives.append(Hub(learner.journal, life, clock=LoopClock(), max_waiting=4, run=run))
    return learner.lives[-1]


def test_what_was_made_for_another_run_is_refused_and_not_kept(learner: Learner) -> None:
    async def run() -> tuple[list[Receipt], Receipt]:
        hub = hub_of(learner, "this")
        await hub.join("w", "t", "here:1", 2)
        runs = {"a": "this", "b": "that", "c": ""}
        receipts = await hub.deliver("w", "t", [encode(plain_trajectory(n), run=r) for n, r in runs.items()])
        return receipts, await hub.report("w", "t", encode(evaluated("e-0", "x"), run="that"))

    receipts, report = run_virtual(run())
    assert [receipt.kind for receipt in receipts] == ["accepted", "refused", "refused"]
    assert "made for run 'that', and this is run 'this'" in receipts[1].reason
    assert report.kind == "refused"
    assert learner.journalled() == ["a"]


def test_a_worker_delivers_what_it_makes_for_a_run_and_sets_aside_what_its_spool_has_of_another(
    learner: Learner, spool: TightSpool
) -> None:
    identity, link = Identity("w", "t", "here:1", 2), FlakyLink(learner)
    courier = make_courier(link, spool, identity)

    async def run() -> None:
        hub = hub_of(learner, "this")
        await hub.publish(0, b"weights")
        spool.put(Parcel(id="old", data=encode(plain_trajectory("old"), run="that")), version=0)
        async with running(Listener(link, identity).follower.run(), courier.run()):
            await asyncio.sleep(1.0)
            await courier.send(plain_trajectory("new"))
            await courier.flush()

    run_virtual(run())
    assert learner.journalled() == spool.acknowledged() == ["new"]
    assert spool.counter("refused") == 1


# ---- versions


def test_a_version_is_written_down_before_it_is_visible(learner: Learner) -> None:
    seen = []

    async def run() -> None:
        hub = learner.begin()

        def wrap(data: bytes) -> str:
            seen.append((learner.journal.newest_version(), hub.newest))
            return data.decode()

        published = await hub.publish(7, b"weights", wrap=wrap)
        assert (published.version, published.data) == (7, "weights")
        assert published.digest == hashlib.sha256(b"weights").hexdigest()
        assert await hub.weights(7) == published

    run_virtual(run())
    assert seen == [(7, -1)]
    assert learner.journal.versions() == {7: 1}


def test_a_version_that_cannot_be_written_down_is_not_visible(learner: Learner) -> None:
    async def run() -> tuple[int, int]:
        hub = learner.begin()
        await hub.publish(0, b"old")
        learner.journal.is_full = True
        with pytest.raises(CannotWriteError):
            await hub.publish(1, b"new")
        assert await hub.weights(1) is None
        before = hub.newest
        learner.journal.is_full = False
        await hub.publish(1, b"new")
        return before, hub.newest

    assert run_virtual(run()) == (0, 1)


def test_only_the_newest_version_and_the_pinned_one_are_kept(learner: Learner) -> None:
    async def run() -> list[list[int]]:
        hub, kept = learner.begin(), []
        for version in range(6):
            await hub.publish(version, b"weights")
            hub.pinned = {1: 1, 4: 4}.get(version, hub.pinned)
            kept.append([v for v in range(6) if await hub.weights(v)])
        return kept

    assert run_virtual(run()) == [[0], [1], [1, 2], [1, 3], [1, 4], [4, 5]]


def test_versions_never_go_back_not_even_in_the_next_life(learner: Learner) -> None:
    async def run() -> tuple[int, int]:
        hub = learner.begin()
        await hub.publish(3, b"weights")
        for version in (2, 3):
            with pytest.raises(AssertionError, match="only go up"):
                await hub.publish(version, b"others")
        following = learner.begin()
        with pytest.raises(AssertionError, match="only go up"):
            await following.publish(1, b"others")
        await following.publish(following.life.first_version, b"others")
        return hub.newest, following.newest

    assert run_virtual(run()) == (3, 4)
    assert learner.journal.versions() == {3: 1, 4: 2}


def test_nothing_is_left_running(learner: Learner) -> None:
    async def run() -> float:
        hub = await joined(learner)
        await deliver(hub, "a")
        await hub.take(1, timeout_s=1.0)
        await hub.end()
        assert (await news(hub)).is_over
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return LoopClock().now()

    assert run_virtual(run()) == 0.0

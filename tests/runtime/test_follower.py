"""The follower: only whole and newer weights are acted with, and a hub that is away is waited for."""

import asyncio
from typing import Any

import pytest

from distrl.core.clock import run_virtual
from distrl.core.errors import ServerError, UserError
from distrl.runtime.curriculum import Assignment
from distrl.runtime.fleet import (
    FencedError,
    Identity,
)
from distrl.runtime.hub import News, Published, Receipt

from .fleet import tasks
from .hubs import (
    FlakyLink,
    Learner,
    Listener,
    joined,
    order,
    orders,
    running,
)

# ---- follower


def test_a_follower_has_the_newest_weights_and_ends_with_the_run(learner: Learner) -> None:
    listener = Listener(FlakyLink(learner), stats={"device_share": 0.5})

    async def run() -> tuple[list[int], dict[str, float]]:
        hub = await joined(learner)
        versions = [listener.follower.version]
        following = asyncio.ensure_future(listener.follower.run())
        for version in (0, 1, 5):
            await hub.publish(version, b"weights %d" % version)
            await asyncio.sleep(1.0)
            versions.append(listener.follower.version)
        await hub.end()
        await following
        return versions, hub.members["w"].stats

    assert run_virtual(run()) == ([-1, 0, 1, 5], {"device_share": 0.5})
    assert listener.loaded == [(0, b"weights 0"), (1, b"weights 1"), (5, b"weights 5")]
    assert [heard.is_over for heard in listener.heard] == [False, False, False, True]


def test_damaged_weights_are_not_acted_with_and_are_fetched_again(learner: Learner) -> None:
    link = FlakyLink(learner)
    listener = Listener(link)

    async def run() -> tuple[int, int]:
        hub = await joined(learner)
        await hub.publish(0, b"old")
        async with running(listener.follower.run()):
            await asyncio.sleep(1.0)
            link.num_damaged = 3
            await hub.publish(1, b"new")
            await asyncio.sleep(0.05)
            during = listener.follower.version
            await asyncio.sleep(10.0)
            return during, listener.follower.version

    assert run_virtual(run()) == (0, 1)
    assert listener.loaded == [(0, b"old"), (1, b"new")]
    assert listener.follower.counters["damaged_weights"] == 3


@pytest.mark.models
def test_a_version_that_a_server_does_not_load_never_acts_and_is_tried_again(learner: Learner) -> None:
    listener = Listener(FlakyLink(learner))
    load, refusals = listener.follower._load, 3

    async def load_or_not(version: int, data: bytes) -> Any:
        nonlocal refusals
        await asyncio.sleep(0.01)
        if version == 1 and refusals:
            refusals -= 1
            raise ServerError("no room for another adapter")
        return load(version, data)

    listener.follower._load = load_or_not

    async def run() -> tuple[int, int]:
        hub = await joined(learner)
        await hub.publish(0, b"old")
        async with running(listener.follower.run()):
            await asyncio.sleep(1.0)
            await hub.publish(1, b"new")
            await asyncio.sleep(0.05)
            during = listener.follower.version
            await asyncio.sleep(10.0)
            return during, listener.follower.version

    assert run_virtual(run()) == (0, 1)
    assert listener.loaded == [(0, b"old"), (1, b"new")]
    assert listener.follower.counters["adapters_not_loaded"] == 3


@pytest.mark.models
@pytest.mark.parametrize("first_bad", [0, 1])
def test_weights_that_do_not_fit_leave_the_old_ones_acting_and_end_who_has_none(
    learner: Learner, first_bad: int
) -> None:
    listener = Listener(FlakyLink(learner))
    load = listener.follower._load

    def load_what_fits(version: int, data: bytes) -> Any:
        if version >= first_bad:
            raise UserError("these weights do not fit")
        return load(version, data)

    listener.follower._load = load_what_fits

    async def run() -> int:
        hub = await joined(learner)
        await hub.publish(0, b"old")
        async with running(listener.follower.run()):
            await asyncio.sleep(1.0)
            await hub.publish(1, b"new")
            await asyncio.sleep(1.0)
            return listener.follower.version

    if first_bad:
        assert run_virtual(run()) == 0
        assert listener.follower.counters["adapters_not_loaded"] > 0
    else:
        with pytest.raises(UserError, match="do not fit"):
            run_virtual(run())


def test_weights_that_are_always_damaged_are_fetched_less_and_less_often(learner: Learner) -> None:
    link = FlakyLink(learner, num_damaged=10_000)
    listener = Listener(link)

    async def run() -> int:
        hub = await joined(learner)
        await hub.publish(0, b"weights")
        async with running(listener.follower.run()):
            await asyncio.sleep(60.0)
        return link.calls["fetch"]

    assert run_virtual(run()) <= 7 + 60 / 5
    assert listener.loaded == []


def test_a_version_is_only_replaced_by_a_newer_one(learner: Learner) -> None:
    class Rewinding(FlakyLink):
        """Its news is of an old version, again and again."""

        async def news(self, worker: str, ticket: str, have: int, stats: dict[str, float]) -> News | Receipt:
            heard = await super().news(worker, ticket, have, stats)
            assert isinstance(heard, News)
            return heard if heard.published else News(**{**asdict(heard), "published": old[0]})

    def asdict(heard: News) -> dict[str, Any]:
        return {name: getattr(heard, name) for name in heard.__struct_fields__}

    old: list[Published] = []
    listener = Listener(Rewinding(learner))

    async def run() -> set[int]:
        hub = await joined(learner)
        old.append(await hub.publish(3, b"old"))
        await hub.publish(5, b"new")
        async with running(listener.follower.run()):
            await asyncio.sleep(100.0)
        return set(listener.versions)

    assert run_virtual(run()) == {5}
    assert (3, b"old") in listener.loaded


def test_a_follower_keeps_its_weights_while_the_hub_is_away_and_joins_the_next_life(learner: Learner) -> None:
    link = FlakyLink(learner)
    listener = Listener(link)

    async def run() -> tuple[Any, ...]:
        hub = await joined(learner)
        await hub.publish(0, b"old")
        async with running(listener.follower.run()):
            await asyncio.sleep(1.0)
            link.is_away = True
            await asyncio.sleep(300.0)
            during = listener.follower.version
            link.is_away = False
            following = learner.begin()
            await asyncio.sleep(20.0)
            members = list(following.members)
            await following.publish(following.life.first_version, b"new")
            await asyncio.sleep(20.0)
            return during, members, listener.follower.version, listener.heard[-1].epoch

    assert run_virtual(run()) == (0, ["w"], 1, 2)


def test_a_follower_whose_name_was_taken_stops_and_says_by_whom(learner: Learner) -> None:
    listener = Listener(FlakyLink(learner))

    async def run() -> None:
        hub = await joined(learner)
        async with running(listener.follower.run()):
            await asyncio.sleep(1.0)
            await hub.join("w", "another", "there:2", 1)
            await asyncio.sleep(1.0)

    with pytest.raises(FencedError, match=r"worker w \(here:1\) stops: .*there:2"):
        run_virtual(run())


def test_orders_are_played_with_their_own_version_and_all_else_with_the_newest(learner: Learner) -> None:
    listener = Listener(FlakyLink(learner))
    follower = listener.follower
    (some,) = tasks(1)

    async def run() -> list[int]:
        hub = await joined(learner)
        await hub.publish(0, b"evaluated")
        hub.pinned = 0
        await hub.publish(1, b"newest")
        await hub.order(orders(1, version=0))
        async with running(follower.run()):
            await asyncio.sleep(1.0)
            await hub.publish(2, b"newer")
            await asyncio.sleep(1.0)
        return [follower.weights(Assignment(task=some, version=version)).version for version in (0, None)]

    assert run_virtual(run()) == [0, 2]
    assert listener.orders == ["e-0"]
    assert listener.loaded == [(1, b"newest"), (0, b"evaluated"), (2, b"newer")]


def test_the_newest_weights_are_not_fetched_again_for_an_order(learner: Learner) -> None:
    link = FlakyLink(learner)
    listener = Listener(link, Identity("w", "t", "here:1", 8))

    async def run() -> None:
        hub = await joined(learner, num_devices=8)
        await hub.publish(0, b"weights")
        async with running(listener.follower.run()):
            await hub.order(orders(3))
            await asyncio.sleep(1.0)
            await hub.publish(1, b"newer")
            await hub.order([order("again")])
            await asyncio.sleep(1.0)

    run_virtual(run())
    assert listener.orders == ["e-0", "e-1", "e-2", "again"]
    assert link.calls["weights"] == 0
    assert link.calls["fetch"] == 2


def test_the_weights_of_an_evaluation_are_let_go_of_at_the_next(learner: Learner) -> None:
    listener = Listener(FlakyLink(learner), Identity("w", "t", "here:1", 80))
    follower = listener.follower
    (some,) = tasks(1)

    async def run() -> list[int]:
        hub = await joined(learner, num_devices=80)
        async with running(follower.run()):
            for version in range(5):
                await hub.publish(version, b"weights")
                hub.pinned = version
                await hub.order([order(f"e-{version}", version=version)])
                await asyncio.sleep(1.0)
        return [follower.weights(Assignment(task=some, version=version)).version for version in (3, 4)]

    # That of an evaluation that is over is whatever is there: nobody counts it.
    assert run_virtual(run()) == [4, 4]
    assert listener.orders == [f"e-{version}" for version in range(5)]


@pytest.mark.parametrize("num_damaged", [0, 1])
def test_an_order_whose_weights_cannot_be_had_is_not_played(learner: Learner, num_damaged: int) -> None:
    link = FlakyLink(learner)
    listener = Listener(link)

    async def run() -> int:
        hub = await joined(learner)
        await hub.publish(0, b"old")
        hub.pinned = 0 if num_damaged else -1
        await hub.publish(1, b"new")
        async with running(listener.follower.run()):
            await asyncio.sleep(1.0)
            link.num_damaged = num_damaged
            await hub.order([order("gone", version=0)])
            await asyncio.sleep(1.0)
            await hub.order([order("gone", version=1), order("e-1", version=1)])
            await asyncio.sleep(30.0)
            return listener.follower.version

    assert run_virtual(run()) == 1
    assert listener.orders == ["gone"]
    assert [ordered.version for heard in listener.heard for ordered in heard.orders] == [1]

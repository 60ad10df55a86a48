"""What a worker does next: orders first, one task a version where all wait, and all of it together."""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.clock import run_virtual
from distrl.core.types import Trajectory
from distrl.devices.pool import PoolError
from distrl.runtime.curriculum import Assignment, Curriculum
from distrl.runtime.fleet import (
    FleetTasks,
)
from distrl.runtime.hub import News, Order
from distrl.runtime.spool import Spool

from .fleet import CountingPolicy, FakeEnvironment, make_worker, plain_trajectory, raises, tasks
from .hubs import (
    IDENTITY,
    Fault,
    FlakyLink,
    Learner,
    Listener,
    make_courier,
    order,
    running,
    timed,
)

LARGE = 10 * 2**20
FAULTS: tuple[Fault, ...] = ("well", "lost request", "lost answer", "twice", "restart", "restart after")


# ---- tasks


def some_news(
    *names: str, is_collecting: bool = True, is_over: bool = False, success: dict[str, float] | None = None
) -> News:
    given = tuple(order(name, version=7, is_greedy=name != "sampled") for name in names)
    return News(
        epoch=1, published=None, orders=given, success=success or {}, is_collecting=is_collecting, is_over=is_over
    )


def make_tasks(*, is_synchronous: bool = False) -> FleetTasks:
    return FleetTasks(Curriculum(tasks(3), Random(0)), is_synchronous=is_synchronous)


async def is_waiting(given: FleetTasks, loop: int = 0) -> bool:
    """Whether there is nothing to do for a loop now."""
    try:
        async with asyncio.timeout(1000.0):
            await given.next(loop)
    except TimeoutError:
        return True
    return False


def test_nothing_is_given_out_before_the_first_weights() -> None:
    async def run() -> tuple[bool, float, Assignment | None]:
        given = make_tasks()
        await given.hear(some_news(), -1)
        before = await is_waiting(given)
        asking = asyncio.ensure_future(timed(given.next(0)))
        await asyncio.sleep(5.0)
        await given.hear(some_news(), 0)
        return before, *await asking

    before, waited_s, assignment = run_virtual(run())
    assert (before, waited_s) == (True, 5.0)
    assert assignment is not None
    assert (assignment.purpose, assignment.version, assignment.is_greedy) == ("", None, None)


def test_orders_come_first_with_their_version_and_greediness() -> None:
    async def run() -> list[tuple[Any, ...]]:
        given = make_tasks()
        await given.hear(some_news("greedy", "sampled"), 9)
        taken = [await given.next(loop) for loop in range(3)]
        return [(a.purpose, a.version, a.is_greedy, a.task.id) for a in taken if a is not None]

    first, second, third = run_virtual(run())
    assert first == ("greedy", 7, True, "greedy")
    assert second == ("sampled", 7, False, "sampled")
    assert third[:3] == ("", None, None)


def test_each_order_is_given_to_one_of_the_loops_that_wait() -> None:
    async def run() -> list[str]:
        given = make_tasks()
        await given.hear(some_news(is_collecting=False), 0)
        asking = [asyncio.ensure_future(given.next(loop)) for loop in range(5)]
        await asyncio.sleep(1.0)
        await given.hear(some_news("a", "b", is_collecting=False), 0)
        await asyncio.sleep(1.0)
        assert sum(each.done() for each in asking) == 2
        await given.end()
        return [a.purpose for a in await asyncio.gather(*asking) if a is not None]

    assert sorted(run_virtual(run())) == ["a", "b"]


def test_synchronous_loops_get_one_task_for_each_version() -> None:
    async def run() -> tuple[bool, ...]:
        given = make_tasks(is_synchronous=True)
        await given.hear(some_news(), 0)
        assert await given.next(0)
        first = (await is_waiting(given, 0), await is_waiting(given, 1), await is_waiting(given, 1))
        await given.hear(some_news(), 0)
        no_news = await is_waiting(given, 0)
        await given.hear(some_news(), 1)
        return (*first, no_news, await is_waiting(given, 0), await is_waiting(given, 0))

    assert run_virtual(run()) == (True, False, True, True, False, True)


def test_an_order_is_not_the_task_of_a_synchronous_version() -> None:
    async def run() -> list[str]:
        given = make_tasks(is_synchronous=True)
        await given.hear(some_news("a"), 0)
        taken = [await given.next(0), await given.next(0)]
        assert await is_waiting(given, 0)
        await given.hear(some_news("b"), 0)
        return [a.purpose for a in (*taken, await given.next(0)) if a is not None]

    assert run_virtual(run()) == ["a", "", "b"]


def test_asynchronous_loops_always_have_something_to_do() -> None:
    async def run() -> list[Assignment | None]:
        given = make_tasks()
        await given.hear(some_news(), 0)
        return [await given.next(0) for _ in range(20)]

    assert None not in run_virtual(run())


def test_without_collecting_only_orders_are_given_out() -> None:
    async def run() -> tuple[str, bool, bool]:
        given = make_tasks()
        await given.hear(some_news("a", is_collecting=False), 3)
        first = await given.next(0)
        assert first is not None
        during = await is_waiting(given)
        await given.hear(some_news(), 3)
        return first.purpose, during, await is_waiting(given)

    assert run_virtual(run()) == ("a", True, False)


@pytest.mark.parametrize("how", ["end", "news"])
def test_the_end_gives_none_to_all_loops_also_to_those_that_wait(how: str) -> None:
    async def run() -> list[Any]:
        given = make_tasks()
        asking = [asyncio.ensure_future(timed(given.next(loop))) for loop in range(3)]
        await asyncio.sleep(2.0)
        await (given.end() if how == "end" else given.hear(some_news("a", is_over=True), 0))
        late = await given.next(0)
        await given.hear(some_news(), 1)  # old news that comes late
        return [*await asyncio.gather(*asking), late, await given.next(1)]

    assert run_virtual(run()) == [(2.0, None)] * 3 + [None, None]


def test_tasks_are_drawn_by_the_success_that_the_learner_knows() -> None:
    async def run() -> dict[str, float]:
        curriculum = Curriculum(tasks(3), Random(0))
        await FleetTasks(curriculum, is_synchronous=False).hear(some_news(success={"plain": 0.9}), 0)
        return curriculum.success

    assert run_virtual(run()) == {"plain": 0.9}


# ---- together


@pytest.mark.parametrize("num_working", [0, 1])
def test_a_worker_ends_and_says_why_when_all_its_devices_fail_and_not_before(num_working: int) -> None:
    environments = {name: FakeEnvironment(failing_resets=10**6) for name in ("a", "b")}
    environments |= {f"works-{n}": FakeEnvironment(step_s=10.0) for n in range(num_working)}
    sent: list[str] = []

    async def send(trajectory: Trajectory) -> None:
        sent.append(trajectory.device)

    async def run() -> None:
        given = make_tasks()
        await given.hear(some_news(), 0)
        worker = make_worker(environments, CountingPolicy(), send)
        async with asyncio.timeout(10_000.0):
            await worker.run(given)

    if num_working:
        with raises(TimeoutError):
            run_virtual(run())
        assert Counter(sent).keys() == {"works-0"}
        assert len(sent) > 100
    else:
        with raises(PoolError, "all 2 devices of this worker failed 6 relaunches in a row (vanish 16)"):
            run_virtual(run())


@settings(max_examples=15, deadline=None)
@given(script=st.lists(st.sampled_from(FAULTS), max_size=20), num_damaged=st.integers(0, 3))
def test_a_whole_worker_survives_every_script_of_faults(script: list[Fault], num_damaged: int) -> None:
    async def run(learner: Learner, spool: Spool) -> tuple[Counter[str], int]:
        learner.begin()
        link = FlakyLink(learner, script, num_damaged=num_damaged)
        courier, listener = make_courier(link, spool), Listener(link)
        async with running(courier.run(), listener.follower.run()):
            for n in range(5):
                await courier.send(plain_trajectory(f"w-{n}"))
                await asyncio.sleep(3.0)
            await courier.flush()
            link.heal()
            hub = learner.lives[-1]
            await hub.publish(hub.life.first_version, b"weights")
            await asyncio.sleep(200.0)
        assert all(data == b"weights" for _, data in listener.loaded)
        return await learner.arrived(), listener.follower.version - learner.lives[-1].newest

    with tempfile.TemporaryDirectory() as directory:
        learner, spool = (
            Learner(Path(directory), max_waiting=100),
            Spool(Path(directory) / "spool.sqlite", max_bytes=LARGE),
        )
        try:
            arrived, behind = run_virtual(run(learner, spool))
        finally:
            learner.journal.close()
            spool.close()
    assert arrived == Counter(f"w-{n}" for n in range(5))
    assert behind == 0


def test_the_identity_joins_with_all_that_the_hub_should_know(learner: Learner) -> None:
    async def run() -> tuple[int, str, str, int]:
        learner.begin()
        epoch = await IDENTITY.join(FlakyLink(learner))
        member = learner.lives[-1].members["w"]
        return epoch, member.ticket, member.place, member.num_devices

    assert run_virtual(run()) == (1, "t", "here:1", 2)


def test_an_order_is_what_its_assignment_says() -> None:
    (some,) = tasks(1)
    ordered = Order(id="e", task=some, version=3, is_greedy=False)

    async def run() -> Assignment | None:
        given = make_tasks()
        heard = News(epoch=1, published=None, orders=(ordered,), success={}, is_collecting=True, is_over=False)
        await given.hear(heard, -1)
        return await given.next(0)

    assert run_virtual(run()) == Assignment(task=some, purpose="e", version=3, is_greedy=False)

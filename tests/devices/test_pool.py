"""The pool: leases, healing by escalation, quarantine; with devices that fail as they are told, on virtual time."""

import asyncio
from collections import Counter
from random import Random

import pytest

from distrl.core.clock import LoopClock
from distrl.core.errors import DeviceError
from distrl.devices.pool import Pool, PoolOptions

from .bench import Bench, virtually

# ---- leases


def test_there_are_as_many_leases_as_devices_and_the_next_waits() -> None:
    async def run() -> list[tuple[float, str]]:
        bench = Bench("a", "b")
        return await asyncio.gather(*(bench.use(for_s=10.0) for _ in range(5)))

    assert virtually(run()) == [(0.0, "a"), (0.0, "b"), (10.0, "a"), (10.0, "b"), (20.0, "a")]


def test_who_waits_is_unblocked_by_the_first_that_comes_back() -> None:
    async def run() -> list[tuple[float, str]]:
        bench = Bench("a", "b")
        return await asyncio.gather(bench.use(for_s=10.0), bench.use(for_s=4.0), bench.use())

    assert virtually(run())[-1] == (4.0, "b")


def test_states_say_what_becomes_of_a_device() -> None:
    async def run() -> list[dict[str, int]]:
        bench = Bench("a", "b", a_reset=["x"] * 2 + ["well"])
        seen = [dict(bench.pool.states())]
        async with bench.pool.lease():
            seen.append(dict(bench.pool.states()))
            raise DeviceError("x", "x")
        seen.append(dict(bench.pool.states()))
        for _ in range(2):
            await asyncio.sleep(5.1)
            seen.append(dict(bench.pool.states()))
        return seen

    assert virtually(run()) == [
        {"ready": 2},
        {"leased": 1, "ready": 1},
        {"healing": 1, "ready": 1},
        {"quarantined": 1, "ready": 1},
        {"ready": 2},
    ]


def test_another_error_gives_the_device_back_and_goes_on() -> None:
    async def run() -> Bench:
        bench = Bench("a")
        with pytest.raises(ZeroDivisionError):
            async with bench.pool.lease():
                _ = 1 / 0
        assert await bench.use() == (0.0, "a")
        return bench

    bench = virtually(run())
    assert bench.done == []
    assert not bench.pool.failures_by_cause


def test_a_cancelled_lease_gives_the_device_back() -> None:
    async def run() -> tuple[float, str]:
        bench = Bench("a")
        user = asyncio.ensure_future(bench.use(for_s=100.0))
        await asyncio.sleep(3.0)
        user.cancel()
        return await bench.use()

    assert virtually(run()) == (3.0, "a")


@pytest.mark.parametrize("is_given_already", [False, True])
def test_a_cancelled_waiter_loses_no_device(is_given_already: bool) -> None:
    async def run() -> list[tuple[float, str]]:
        bench = Bench("a")
        ready = asyncio.Event()

        async def hold() -> None:
            async with bench.pool.lease():
                await ready.wait()
            if is_given_already:  # the device is on its way to the waiter, which does not know yet
                waiter.cancel()

        holder = asyncio.ensure_future(hold())
        await asyncio.sleep(1.0)
        waiter, next_one = asyncio.ensure_future(bench.use()), asyncio.ensure_future(bench.use())
        await asyncio.sleep(1.0)
        if not is_given_already:
            waiter.cancel()
        ready.set()
        await asyncio.gather(holder, waiter, return_exceptions=True)
        assert waiter.cancelled()
        return [await next_one, await bench.use()]

    assert virtually(run()) == [(2.0, "a"), (2.0, "a")]


# ---- healing


def test_a_device_error_ends_the_block_and_goes_no_further() -> None:
    async def run() -> tuple[list[str], Bench]:
        bench, steps = Bench("a"), []
        async with bench.pool.lease() as device:
            steps.append(device.name)
            raise DeviceError("vanish", "gone")
            steps.append("unreachable")
        steps.append("after")
        assert await bench.use() == (0.0, "a")
        return steps, bench

    steps, bench = virtually(run())
    assert steps == ["a", "after"]
    assert bench.done == [(0.0, "reset")]


def test_others_are_lent_while_one_is_healed() -> None:
    async def run() -> list[tuple[float, str]]:
        bench = Bench("a", "b", a_reset=["x"] * 3)
        await bench.fail()
        others = [await bench.use(for_s=1.0) for _ in range(3)]
        await asyncio.sleep(60.0)
        return [*others, await asyncio.gather(bench.use(), bench.use())]

    *others, both = virtually(run())
    assert others == [(0.0, "b"), (1.0, "b"), (2.0, "b")]
    assert {name for _, name in both} == {"a", "b"}


def test_healing_escalates_from_reset_to_relaunch_to_quarantine_that_doubles_up_to_its_maximum() -> None:
    async def run() -> tuple[Bench, tuple[float, str]]:
        bench = Bench("a", a_reset=["x"] * 5)
        await bench.fail()
        return bench, await bench.use()

    bench, had = virtually(run())
    relaunch = ["close", "make", "reset"]
    quarantines_s = [10.0, 20.0, 40.0, 40.0]
    times_s = [sum(quarantines_s[:n]) for n in range(5)]
    assert bench.done == [(0.0, "reset"), *((time_s, what) for time_s in times_s for what in relaunch)]
    assert had == (pytest.approx(110.0), "a")


def test_failures_are_counted_by_cause() -> None:
    async def run() -> Pool:
        bench = Bench("a", "b", a_reset=["boot", "hang", "boot"])
        await bench.fail("vanish")
        await bench.fail("crash")
        await asyncio.sleep(1000.0)
        return bench.pool

    pool = virtually(run())
    assert pool.failures_by_cause == {"vanish": 1, "crash": 1, "boot": 2, "deadline": 1}
    assert pool.num_relaunches == 3
    assert pool.states() == {"ready": 2}


def test_a_reset_that_hangs_is_caught_by_the_deadline() -> None:
    async def run() -> tuple[Bench, tuple[float, str]]:
        bench = Bench("a", a_reset=["hang"])
        await bench.fail()
        return bench, await bench.use()

    bench, had = virtually(run())
    assert bench.done == [(0.0, "reset"), (100.0, "close"), (100.0, "make"), (100.0, "reset")]
    assert had == (pytest.approx(100.0), "a")
    assert bench.pool.failures_by_cause["deadline"] == 1


@pytest.mark.parametrize(("plan", "after_s"), [("hang", 100.0), ("x", 0.0), ("bug", 0.0)])
def test_a_device_that_cannot_be_closed_is_made_anew_all_the_same(plan: str, after_s: float) -> None:
    async def run() -> tuple[Bench, tuple[float, str]]:
        bench = Bench("a", a_reset=["x"], a_close=[plan])
        await bench.fail()
        return bench, await bench.use()

    bench, had = virtually(run())
    assert had == (pytest.approx(after_s), "a")
    assert bench.pool.failures_by_cause["close"] == 1


def test_a_device_that_cannot_be_made_is_made_later() -> None:
    async def run() -> tuple[Bench, tuple[float, str]]:
        bench = Bench("a", a_reset=["x"], a_make=["well", "no port", "no port"])
        await bench.fail()
        return bench, await bench.use()

    bench, had = virtually(run())
    assert had == (pytest.approx(30.0), "a")
    assert bench.pool.failures_by_cause == {"vanish": 1, "x": 1, "no port": 2}


def test_an_unforeseen_error_in_healing_does_not_lose_the_device() -> None:
    async def run() -> tuple[Bench, tuple[float, str]]:
        bench = Bench("a", a_reset=["bug", "bug"])
        await bench.fail()
        return bench, await bench.use()

    bench, had = virtually(run())
    assert had == (pytest.approx(10.0), "a")
    assert bench.pool.failures_by_cause == {"vanish": 1, "OSError": 2}


@pytest.mark.parametrize(("has_success", "num_relaunches"), [(True, 0), (False, 2)])
def test_success_resets_the_escalation(has_success: bool, num_relaunches: int) -> None:
    async def run() -> tuple[Pool, float]:
        bench = Bench("a")
        for _ in range(3):
            await bench.fail()
            if has_success:
                await bench.use()
        had_s, _ = await bench.use()
        return bench.pool, had_s

    pool, had_s = virtually(run())
    assert pool.num_relaunches == num_relaunches
    # The first failure is a reset, the second a relaunch, the third a quarantine of 10 s.
    assert had_s == pytest.approx(0.0 if has_success else 10.0)


def test_devices_escalate_each_for_itself() -> None:
    async def run() -> Pool:
        bench = Bench("a", "b", "c")
        for _ in range(3):
            await bench.fail()
        await asyncio.sleep(1.0)
        return bench.pool

    pool = virtually(run())
    assert (pool.num_relaunches, pool.states()) == (0, {"ready": 3})


# ---- the end


def test_close_closes_all_whatever_they_do_and_leaves_no_task() -> None:
    async def run() -> tuple[Bench, float]:
        bench = Bench("a", "b", "c", "d", a_reset=["x"] * 9, b_reset=["hang"], c_close=["x"], d_close=["hang"])
        await bench.fail()
        await bench.fail()
        await asyncio.sleep(5.0)
        assert bench.pool.states() == {"quarantined": 1, "healing": 1, "ready": 2}
        bench.done.clear()
        await bench.pool.close()
        return bench, LoopClock().now()

    bench, now_s = virtually(run())
    assert bench.done == [(5.0, "close")] * 4
    assert bench.pool.failures_by_cause["close"] == 2
    assert now_s == pytest.approx(105.0)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_no_device_is_lent_twice_and_none_is_lost(seed: int) -> None:
    rng = Random(seed)

    async def run() -> tuple[Pool, Counter[str]]:
        names = ("a", "b", "c")
        plans = {f"{name}_reset": rng.choices(["well", "x", "hang", "bug"], k=20) for name in names}
        bench, lent = Bench(*names, options=PoolOptions(max_relaunches=100), **plans), Counter[str]()

        async def use() -> None:
            async with bench.pool.lease() as device:
                lent[device.name] += 1
                assert lent[device.name] == 1
                try:
                    await asyncio.sleep(rng.uniform(0.0, 5.0))
                    if rng.random() < 0.4:
                        raise DeviceError("x", "x")
                finally:
                    lent[device.name] -= 1

        users = [asyncio.ensure_future(use()) for _ in range(60)]
        for user in rng.sample(users, 20):
            await asyncio.sleep(rng.uniform(0.0, 10.0))
            user.cancel()
        await asyncio.gather(*users, return_exceptions=True)
        assert all(user.cancelled() or user.exception() is None for user in users)
        await asyncio.sleep(1e5)
        return bench.pool, lent

    pool, lent = virtually(run())
    assert pool.states() == {"ready": 3}
    assert not any(lent.values())

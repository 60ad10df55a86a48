"""A pool in which nothing works: whoever waits hears why, but not while a single device still works."""

import asyncio

import pytest

from distrl.core.clock import LoopClock
from distrl.core.errors import DeviceError
from distrl.devices.pool import PoolError, PoolOptions

from .bench import Bench, virtually

FEW = PoolOptions(probe_s=100.0, quarantine_s=10.0, max_quarantine_s=40.0, max_relaunches=3)


async def given_up(bench: Bench) -> tuple[float, str]:
    """When whoever waits for a device hears that there will be none, and why."""
    with pytest.raises(PoolError) as caught:
        await bench.use()
    return LoopClock().now(), str(caught.value)


def test_when_all_relaunches_of_all_devices_have_failed_whoever_waits_hears_why() -> None:
    async def run() -> list[tuple[float, str]]:
        bench = Bench("a", "b", options=FEW, a_reset=["boot"] * 99, b_reset=["boot", "hang", *["offline"] * 99])
        await bench.fail()
        await bench.fail()
        heard = [*await asyncio.gather(given_up(bench), given_up(bench)), await given_up(bench)]
        await bench.pool.close()
        return heard

    # The relaunches of a are at 0, 10, 30, 70 and 110 s; those of b at 0, where it hangs for 100 s, at 110 and 130 s.
    heard = virtually(run())
    assert [time_s for time_s, _ in heard] == [pytest.approx(130.0)] * 3
    for _, reason in heard:
        assert "all 2 devices of this worker failed 3 relaunches in a row" in reason
        assert "(boot 7, vanish 2, offline 2, deadline 1)" in reason
        assert "look at its log" in reason


def test_the_only_device_is_given_up_after_its_last_relaunch_and_not_before() -> None:
    async def run(num_failures: int) -> tuple[float, str]:
        bench = Bench("a", options=FEW, a_reset=["boot"] * num_failures)
        await bench.fail()
        try:
            return await bench.use()
        except PoolError as error:
            return LoopClock().now(), str(error)
        finally:
            await bench.pool.close()

    # A reset that fails and two relaunches; the third, after a quarantine of 10 and one of 20 s, is the last.
    assert virtually(run(3)) == (pytest.approx(30.0), "a")
    had_s, reason = virtually(run(4))
    assert had_s == pytest.approx(30.0)
    assert "the only device of this worker failed 3 relaunches in a row (boot 4, vanish 1)" in reason


def test_one_device_that_works_keeps_the_pool_going() -> None:
    async def run() -> tuple[set[str], int]:
        bench = Bench("a", "b", "c", options=FEW, a_reset=["x"] * 999, b_reset=["x"] * 999)
        await asyncio.gather(bench.fail(), bench.fail())
        used = {(await bench.use(for_s=100.0))[1] for _ in range(100)}
        await bench.pool.close()
        return used, bench.pool.num_relaunches

    used, num_relaunches = virtually(run())
    assert used == {"c"}
    assert num_relaunches > 100


def test_a_device_that_is_used_may_still_save_the_pool() -> None:
    async def run() -> list[tuple[float, str]]:
        bench = Bench("a", "b", options=FEW, a_reset=["hang", *["x"] * 99])
        await bench.fail()
        for _ in range(5):  # b fails at work, again and again, and comes back each time
            await bench.fail()
        used = await asyncio.gather(bench.use(for_s=500.0), bench.use())
        await bench.pool.close()
        return used

    # b comes back after 10, 20 and 40 s; a, whose reset hangs for 100 s, is beyond hope at 130 s.
    assert virtually(run()) == [(pytest.approx(70.0), "b"), (pytest.approx(570.0), "b")]


def test_a_device_that_resets_well_and_fails_at_work_every_time_is_given_up_too() -> None:
    async def run() -> tuple[int, str]:
        bench, attempts = Bench("a", options=FEW), 0
        with pytest.raises(PoolError) as caught:
            while True:
                await bench.fail("missing app")
                attempts += 1
        await bench.pool.close()
        return attempts, str(caught.value)

    attempts, reason = virtually(run())
    assert attempts == 5  # the first, one after the reset, and one after each relaunch
    assert "(missing app 5)" in reason


def test_whoever_waits_hears_at_once_that_the_last_device_has_failed_at_work() -> None:
    async def run() -> float:
        bench = Bench("a", options=PoolOptions(max_relaunches=0))
        await bench.fail()

        async def hold() -> None:
            async with bench.pool.lease():
                await asyncio.sleep(1.0)
                raise DeviceError("x", "x")

        _, (heard_s, _) = await asyncio.gather(hold(), given_up(bench))
        await bench.pool.close()
        return heard_s

    assert virtually(run()) == 1.0


def test_whoever_is_cancelled_while_the_pool_gives_up_is_cancelled() -> None:
    async def run() -> bool:
        bench = Bench("a", options=PoolOptions(max_relaunches=0))
        await bench.fail()

        async def hold() -> None:
            async with bench.pool.lease():
                await asyncio.sleep(1.0)
                raise DeviceError("x", "x")
            waiter.cancel()  # it has an answer, and does not know yet

        holder, waiter = asyncio.ensure_future(hold()), asyncio.ensure_future(bench.use())
        await asyncio.wait([holder, waiter])
        await bench.pool.close()
        return waiter.cancelled()

    assert virtually(run())

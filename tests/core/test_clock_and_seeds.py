"""Time that jumps, and seeds that stay."""

import asyncio
import gc

import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.seeds import derive_random, derive_seed


def test_a_thousand_virtual_hours_pass_without_waiting() -> None:
    clock = LoopClock()

    async def wait() -> float:
        for _ in range(1000):
            await clock.sleep(3600.0)
        return clock.now()

    assert run_virtual(wait()) == 3_600_000.0


@pytest.mark.parametrize("when", ["_JumpingSelector", "asyncio.SelectorEventLoop.__init__"])
@pytest.mark.filterwarnings("error")
def test_an_interruption_while_a_loop_is_made_says_nothing_but_itself(
    monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    said: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", said.append)

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"distrl.core.clock.{when}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_virtual(LoopClock().sleep(1.0))
    gc.collect()
    assert said == []


def test_sleepers_wake_in_the_order_of_their_times_and_ties_in_the_order_they_lay_down() -> None:
    clock = LoopClock()

    async def sleepers() -> list[tuple[str, float]]:
        woken: list[tuple[str, float]] = []

        async def sleep(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append((name, clock.now()))

        await asyncio.gather(sleep("c", 3.0), sleep("a", 1.0), sleep("b1", 2.0), sleep("b2", 2.0))
        return woken

    expected = [("a", 1.0), ("b1", 2.0), ("b2", 2.0), ("c", 3.0)]
    assert [run_virtual(sleepers()) for _ in range(3)] == [expected] * 3


def test_nested_tasks_overlap_their_waits() -> None:
    clock = LoopClock()

    async def child(depth: int) -> None:
        await clock.sleep(10.0)
        if depth:
            await asyncio.gather(child(depth - 1), child(depth - 1))

    async def family() -> float:
        await child(3)
        return clock.now()

    # Four generations of ten seconds; the eight of the last one wait side by side.
    assert run_virtual(family()) == 40.0


def test_a_deadline_strikes_at_its_virtual_time() -> None:
    clock = LoopClock()

    async def late() -> float:
        try:
            async with asyncio.timeout(5.0):
                await clock.sleep(60.0)
        except TimeoutError:
            return clock.now()
        return -1.0

    assert run_virtual(late()) == 5.0


def test_virtual_time_starts_at_zero_in_every_run() -> None:
    async def now() -> float:
        return LoopClock().now()

    assert [run_virtual(now()), run_virtual(now())] == [0.0, 0.0]


def test_sleeping_for_nothing_does_not_yield() -> None:
    async def instant() -> list[str]:
        said: list[str] = []
        other = asyncio.ensure_future(asyncio.to_thread(lambda: None))
        other.add_done_callback(lambda _: said.append("other"))
        await LoopClock().sleep(0)
        said.append("self")
        await other
        return said

    assert run_virtual(instant())[0] == "self"


def test_a_thread_is_waited_for_although_time_is_virtual() -> None:
    async def work() -> int:
        return await asyncio.to_thread(lambda: sum(range(10)))

    assert run_virtual(work()) == 45


def test_seeds_are_the_same_in_every_process_and_version() -> None:
    assert derive_seed(0) == 4_761_921_975_702_974_394
    assert derive_seed(7, "device", 3) == 5_145_165_763_712_443_493
    assert derive_random(7, "device", 3).random() == 0.3915822571770894


def test_different_names_and_seeds_give_different_seeds() -> None:
    seeds = {derive_seed(seed, name, index) for seed in range(10) for name in ("a", "b") for index in range(50)}
    assert len(seeds) == 10 * 2 * 50


def test_names_are_kept_apart() -> None:
    assert derive_seed(1, "ab", "c") != derive_seed(1, "a", "bc")
    assert derive_seed(1, "a", "b") != derive_seed(1, "b", "a")
    assert derive_seed(12) != derive_seed(1, 2)


def test_seeds_fit_in_sixty_three_bits() -> None:
    assert all(0 <= derive_seed(0, index) < 2**63 for index in range(1000))


def test_generators_of_different_purposes_do_not_disturb_each_other() -> None:
    alone = derive_random(0, "a")
    expected = [alone.random() for _ in range(3)]
    first, second = derive_random(0, "a"), derive_random(0, "b")
    interleaved = []
    for _ in range(3):
        interleaved.append(first.random())
        second.random()
    assert interleaved == expected


def test_timers_still_fire_after_a_hundred_virtual_years() -> None:
    async def wait() -> float:
        for seconds in (3e9, 0.1, 1e-3, 3.3):
            await asyncio.sleep(seconds)
        return asyncio.get_running_loop().time()

    assert run_virtual(wait()) == pytest.approx(3e9 + 3.401, abs=1e-3)

"""A bench of phones whose every call goes as planned, in a pool, on virtual time."""

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.errors import DeviceError
from distrl.core.interfaces import Device
from distrl.core.types import Action, Observation, Screen
from distrl.devices.pool import Pool, PoolOptions

T = TypeVar("T")
OPTIONS = PoolOptions(probe_s=100.0, quarantine_s=10.0, max_quarantine_s=40.0)


class Phone:
    """Does with each call what the bench has planned for it."""

    def __init__(self, name: str, bench: "Bench") -> None:
        self.name = name
        self._bench = bench

    async def reset(self) -> None:
        await self._bench.do(self.name, "reset")

    async def observe(self) -> Observation:
        return Observation(screen=Screen(data=bytes(3), width=1, height=1), activity="", time_s=0.0)

    async def perform(self, action: Action) -> None:
        pass

    async def close(self) -> None:
        await self._bench.do(self.name, "close")


class Bench:
    """Phones whose calls go as planned, one plan after the other, then well; all that was done is noted with its time.

    A plan is "well", "hang", "bug" (an error that is no device's) or the cause of a `DeviceError`.
    """

    def __init__(self, *names: str, options: PoolOptions = OPTIONS, **plans: Sequence[str]) -> None:
        self.plans = {what: deque(plan) for what, plan in plans.items()}
        self.done: list[tuple[float, str]] = []
        self.pool = Pool({name: partial(self._make, name) for name in names}, clock=LoopClock(), options=options)
        self.done.clear()  # what comes after the start

    def _make(self, name: str) -> Device:
        plan = self._plan(name, "make")
        if plan != "well":
            raise DeviceError(plan, plan)
        return Phone(name, self)

    async def do(self, name: str, what: str) -> None:
        plan = self._plan(name, what)
        if plan == "hang":
            await asyncio.sleep(1e6)
        elif plan == "bug":
            raise OSError("no such file")
        elif plan != "well":
            raise DeviceError(plan, plan)

    def _plan(self, name: str, what: str) -> str:
        self.done.append((round(LoopClock().now(), 3), what))
        plans = self.plans.get(f"{name}_{what}")
        return plans.popleft() if plans else "well"

    async def fail(self, cause: str = "vanish") -> None:
        """Lease a device and have it fail."""
        async with self.pool.lease():
            raise DeviceError(cause, cause)

    async def use(self, for_s: float = 0.0) -> tuple[float, str]:
        """Lease a device for a while; when it was had, and which."""
        async with self.pool.lease() as device:
            had_s = LoopClock().now()
            await asyncio.sleep(for_s)
            return had_s, device.name


def virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run on virtual time; nothing may be left running."""

    async def run() -> T:
        result = await main
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return run_virtual(run())

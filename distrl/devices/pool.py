"""The pool: devices of one worker, lent to whoever has something to do on them, and healed when they fail.

    lease -> use -> give back in order -> ready
                 -> give back with an error -> reset -> relaunch -> quarantine, longer each time -> relaunch -> ...

Every failure is counted by its cause. A device that is being healed stalls nobody: others are lent meanwhile, and
whoever waits is unblocked by the first that is ready. When no device has worked through `max_relaunches` relaunches in
a row there is nothing to wait for: whoever waits gets a `PoolError` that says why. One device that works is enough.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Literal

import msgspec

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError, DistrlError
from distrl.core.interfaces import Device

_log = logging.getLogger(__name__)
State = Literal["ready", "leased", "healing", "quarantined"]


class PoolError(DistrlError):
    """No device works any more, and somebody has to look at them."""


class PoolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How patient the pool is."""

    probe_s: float = 120.0
    """Deadline of a reset and of the look at the screen after it."""
    quarantine_s: float = 10.0
    """The first quarantine; each one after it is twice as long."""
    max_quarantine_s: float = 600.0
    max_relaunches: int = 6
    """How many in a row may fail, of every device: 310 s of quarantine and six starts. More is not a passing fault."""


class Pool:
    """Devices by name. Each is made by its maker, again if it has to be."""

    def __init__(
        self, makers: Mapping[str, Callable[[], Device]], *, clock: Clock, options: PoolOptions | None = None
    ) -> None:
        self._makers = makers
        self._clock = clock
        self._options = options or PoolOptions()
        self._devices = {name: maker() for name, maker in makers.items()}
        self._ready = deque(self._devices)
        self._states: dict[str, State] = dict.fromkeys(self._devices, "ready")
        self._failing: dict[str, Counter[str]] = {name: Counter() for name in self._devices}
        """How often each device has failed since it worked last, by cause."""
        self._waiting: deque[asyncio.Future[str]] = deque()
        self._healing: set[asyncio.Task[None]] = set()
        self.failures_by_cause: Counter[str] = Counter()
        self.num_relaunches = 0

    def __len__(self) -> int:
        return len(self._devices)

    def states(self) -> Counter[State]:
        """How many devices are in each state."""
        return Counter(self._states.values())

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Device]:
        """A device for a while. A `DeviceError` that leaves the block sends it to be healed, and goes no further.

        `PoolError` if all devices fail, now or while this waits for one.
        """
        name = await self._take()
        self._states[name] = "leased"
        try:
            yield self._devices[name]
        except DeviceError as error:
            self._states[name] = "healing"
            self._note(name, error.cause)
            _log.warning("%s failed (%s) and is healed: %s", name, error.cause, error)
            task = asyncio.get_running_loop().create_task(self._heal(name))
            self._healing.add(task)
            task.add_done_callback(self._healing.discard)
        except BaseException:
            self._put(name)
            raise
        else:
            self._failing[name].clear()
            self._put(name)

    async def close(self) -> None:
        """Release every device, healthy or not."""
        for task in tuple(self._healing):
            task.cancel()
        await asyncio.gather(*self._healing, return_exceptions=True)
        await asyncio.gather(*(self._close(name) for name in self._devices))

    # ---- inside

    async def _take(self) -> str:
        if self._is_broken:
            raise self._error()
        if self._ready:
            return self._ready.popleft()
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._put(waiting.result())
            raise

    def _put(self, name: str) -> None:
        self._states[name] = "ready"
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(name)
                return
        self._ready.append(name)

    def _note(self, name: str, cause: str) -> None:
        self.failures_by_cause[cause] += 1
        self._failing[name][cause] += 1
        while self._is_broken and self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(self._error())

    @property
    def _is_broken(self) -> bool:
        """Whether nothing works: all are being healed, and each failed at work, at a reset and at all relaunches."""
        most = 2 + self._options.max_relaunches
        return all(
            self._states[name] in ("healing", "quarantined") and causes.total() >= most
            for name, causes in self._failing.items()
        )

    def _error(self) -> PoolError:
        causes = sum(self._failing.values(), Counter[str]())
        counts = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
        what = "the only device" if len(self) == 1 else f"all {len(self)} devices"
        return PoolError(
            f"{what} of this worker failed {self._options.max_relaunches} relaunches in a row ({counts}). "
            "Start one by hand and look at its log; see that memory, disk and ports are free. Then start again: "
            "what is finished is kept"
        )

    async def _heal(self, name: str) -> None:
        """Until it works again: reset, then relaunch, then quarantine and relaunch again."""
        while True:
            failures = self._failing[name].total()
            try:
                if failures > 1:
                    await self._quarantine(name, failures - 2)
                    await self._relaunch(name)
                async with asyncio.timeout(self._options.probe_s):
                    await self._devices[name].reset()
                    await self._devices[name].observe()
            except Exception as error:  # nobody waits for this task: what it raised would lose the device for ever
                self._note(name, _cause_of(error))
                _log.warning("%s cannot be healed yet (%s): %s", name, _cause_of(error), error)
            else:
                self._put(name)
                return

    async def _quarantine(self, name: str, times: int) -> None:
        """Wait, longer each time; not at all before the first relaunch."""
        if times == 0:
            return
        self._states[name] = "quarantined"
        longer = 2.0 ** min(times - 1, 30)
        await self._clock.sleep(min(self._options.quarantine_s * longer, self._options.max_quarantine_s))
        self._states[name] = "healing"

    async def _relaunch(self, name: str) -> None:
        """Throw the device away and make it anew."""
        self.num_relaunches += 1
        await self._close(name)
        self._devices[name] = self._makers[name]()

    async def _close(self, name: str) -> None:
        """Release a device; one that cannot even do that is counted and left behind."""
        try:
            async with asyncio.timeout(self._options.probe_s):
                await self._devices[name].close()
        except Exception:
            self.failures_by_cause["close"] += 1


def _cause_of(error: Exception) -> str:
    if isinstance(error, DeviceError):
        return error.cause
    return "deadline" if isinstance(error, TimeoutError) else type(error).__name__

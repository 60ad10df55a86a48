"""Time as an argument: real clocks wait, virtual clocks jump.

`run_virtual` drives a coroutine on an event loop whose time is a number: whenever nothing is ready it jumps to the
next timer, so that hours of waiting cost nothing and every run is the same. Library code waits with `clock.sleep`
and never with the time module.
"""

import asyncio
import contextlib
import selectors
import time
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> float:
        """Seconds; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let others run for so long."""
        ...


class LoopClock:
    """The clock of the running event loop: real on a plain loop, virtual under `run_virtual`."""

    def now(self) -> float:
        """Seconds of the running loop, or of the machine when none runs."""
        try:
            return asyncio.get_running_loop().time()
        except RuntimeError:
            return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the running loop; nothing at all for zero, so that instant devices stay instant."""
        if seconds > 0:
            await asyncio.sleep(seconds)


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that never waits: the time it was asked to wait is added to the loop's clock instead."""

    virtual_now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready:
            return ready
        if timeout is None:
            # No timer is left: only another thread can wake this loop, so wait for it for real.
            return super().select(None)
        self.virtual_now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, starting at 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        # asyncio runs what is due before now plus this. It must be more than a float's step at any time a run can
        # reach (a hundred years), or the loop waits for a timer that is due and never comes.
        self._clock_resolution = 1e-6

    def __del__(self) -> None:
        """One whose making was interrupted has nothing to close, and nothing to say about it."""
        with contextlib.suppress(AttributeError):
            super().__del__()

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.virtual_now


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on virtual time."""
    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(main)
    finally:
        main.close()  # Ctrl-C may come before it has begun, of which Python would warn

"""What keeps calls from harming a server, a budget and a run: a clock in, permission to call out.

`Slots` bound how many calls are under way, `Pace` how many begin in a minute, `Breaker` stops calling a server that
fails again and again, `Purse` stops at a sum of money. All count within one process; each worker has its own.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import msgspec

from distrl.core.clock import Clock
from distrl.core.errors import ServerError

MINUTE_S = 60.0


class Slots:
    """So many calls at a time; half as many whenever the server says that it is too much, one more as it recovers."""

    def __init__(self, most: int) -> None:
        self.limit = most
        self.most_at_once = 0
        self._most = most
        self._used = 0
        self._successes = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a free slot and hold it."""
        while self._used >= self.limit:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # the turn may have been given already, and would be lost
                raise
        self._used += 1
        self.most_at_once = max(self.most_at_once, self._used)
        try:
            yield
        finally:
            self._used -= 1
            self._wake()

    def shrink(self) -> None:
        """The server has too much to do."""
        self.limit, self._successes = max(1, self.limit // 2), 0

    def grow(self) -> None:
        """A call went well; one slot more after as many of them as there are slots."""
        self._successes += 1
        if self._successes >= self.limit and self.limit < self._most:
            self.limit, self._successes = self.limit + 1, 0
            self._wake()

    def _wake(self) -> None:
        free = self.limit - self._used
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


class Pace:
    """So many calls in any minute, and none before the time that a server named."""

    def __init__(self, calls_per_minute: int | None, clock: Clock) -> None:
        self._most = calls_per_minute
        self._clock = clock
        self._begun: deque[float] = deque()
        self._not_before_s = float("-inf")

    def hold(self, seconds: float) -> None:
        """No call by anybody for so long."""
        self._not_before_s = max(self._not_before_s, self._clock.now() + seconds)

    def reserve(self, *, within_s: float) -> float:
        """Take the next place; how long to wait for it. `ServerError`, and no place, if that is too long."""
        now = self._clock.now()
        while self._begun and self._begun[0] <= now - MINUTE_S:
            self._begun.popleft()
        start = max(now, self._not_before_s)
        if self._most is not None and len(self._begun) >= self._most:
            start = max(start, self._begun[-self._most] + MINUTE_S)
        if start - now > within_s:
            raise ServerError(f"the next call may begin in {start - now:.0f} s, which is too late")
        self._begun.append(start)
        return start - now


class Breaker:
    """Stops all calls for a while after so many failures in a row; after the pause, one more begins the next."""

    def __init__(self, failures: int, pause_s: float, clock: Clock) -> None:
        self._most = failures
        self._pause_s = pause_s
        self._clock = clock
        self._failures = 0
        self._until_s = float("-inf")
        self._why = ""

    def check(self) -> None:
        """Raise `ServerError` while the pause lasts."""
        left_s = self._until_s - self._clock.now()
        if left_s > 0:
            raise ServerError(f"the server is left alone for {left_s:.0f} s more: {self._why}")

    def succeeded(self) -> None:
        """The server works."""
        self._failures = 0

    def forgive(self) -> None:
        """What failed is known and can be mended: call again at once."""
        self._failures, self._until_s = 0, float("-inf")

    def failed(self, why: str, *, at_once: bool = False) -> bool:
        """Count a failure; whether a pause begins with it. Calls that were under way then do not begin another."""
        now = self._clock.now()
        self._failures += 1
        if now < self._until_s or not (at_once or self._failures >= self._most):
            return False
        self._failures = self._most - 1
        self._until_s, self._why = now + self._pause_s, why
        return True


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a call, as the server counts them."""

    prompt_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    completion_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """What a million tokens cost, in whatever money the limit is in."""

    prompt: float = 0.0
    completion: float = 0.0

    def of(self, usage: Usage) -> float:
        """What a call cost."""
        return (usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion) / 1e6


class Purse:
    """Counts what calls cost, and refuses the next one when the limit is reached."""

    def __init__(self, limit: float | None, prices: Prices) -> None:
        self.spent = 0.0
        self._limit = limit
        self._prices = prices
        self._dearest = 0.0

    def check(self) -> None:
        """Raise `ServerError` if nothing is left. Calls under way may still go beyond the limit."""
        if self._limit is not None and self.spent >= self._limit:
            raise ServerError(f"the spend limit of {self._limit:g} is reached ({self.spent:.4f} spent): no more calls")

    def pay(self, usage: Usage | None) -> float:
        """What a call cost; one whose tokens were not told costs as much as the dearest so far."""
        cost = self._dearest if usage is None else self._prices.of(usage)
        self._dearest = max(self._dearest, cost)
        self.spent += cost
        return cost

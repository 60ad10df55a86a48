"""Evaluation beside training: held-out tasks in, reports out, on the same fleet that goes on collecting.

Every episode is an order that some worker takes. What comes back twice counts once. The hub gives an order to others
when its worker is gone, or does not have it because an answer was lost; what is held for too long is ordered again. All
of one evaluation is played with the same version of the weights. Episodes that nobody has judged yet are judged here.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

from distrl.core.clock import Clock
from distrl.core.types import Outcome, Task, Trajectory
from distrl.runtime.evaluation import Report, summarise
from distrl.runtime.hub import Hub
from distrl.runtime.orders import Order

REORDER_S = 120.0
"""When nothing has come back for so long, what is missing is ordered again, also from those who still hold it."""


MAX_UNKNOWN = 3
"""How often a task is played whose episodes the judge has no verdict on; then the last one counts, as no success."""

JudgeNow = Callable[[Trajectory], Awaitable[Trajectory]]


async def evaluate_on_fleet(
    hub: Hub,
    clock: Clock,
    tasks: Sequence[Task],
    *,
    name: str,
    version: int,
    has_sampled: bool,
    judge: JudgeNow | None = None,
) -> list[Report]:
    """The report of the likeliest actions, then that of sampled ones; waits for the fleet as long as it takes."""
    orders = {
        f"{name}-{kind}-{number}": Order(id=f"{name}-{kind}-{number}", task=task, version=version, is_greedy=is_greedy)
        for kind, is_greedy in (("greedy", True), ("sampled", False))[: 1 + has_sampled]
        for number, task in enumerate(tasks)
    }
    evaluation = _Evaluation(hub, clock, orders, judge)
    try:
        finished = await evaluation.played()
    finally:  # what was ordered again, or of a run that ends, must not be played after this
        evaluation.close()
        await hub.withdraw(orders)
    played = [finished[key] for key in orders]
    return [summarise(played[i : i + len(tasks)]) for i in range(0, len(played), len(tasks))]


class _Evaluation:
    """The orders of one evaluation, and what has come of them."""

    def __init__(self, hub: Hub, clock: Clock, orders: Mapping[str, Order], judge: JudgeNow | None) -> None:
        self._hub = hub
        self._clock = clock
        self._orders = orders
        self._judge = judge
        self._finished: dict[str, Trajectory] = {}
        self._asked: dict[str, asyncio.Future[Trajectory]] = {}
        self._unknown: Counter[str] = Counter()
        self._heard_s = clock.now()

    async def played(self) -> dict[str, Trajectory]:
        """What came of each order."""
        await self._hub.order(list(self._orders.values()))
        self._heard_s = self._clock.now()
        while len(self._finished) < len(self._orders):
            for order, trajectory in await self._hub.take_evaluated(timeout_s=1.0):
                if order not in self._orders or order in self._finished or order in self._asked:
                    continue
                if trajectory.verdict.is_pending and self._judge is not None:
                    self._heard_s = self._clock.now()
                    self._asked[order] = asyncio.ensure_future(self._judge(trajectory))
                else:
                    await self._count(order, trajectory)
            for order in [order for order, answer in self._asked.items() if answer.done()]:
                await self._count(order, self._asked.pop(order).result())
            if self._clock.now() - self._heard_s > REORDER_S:
                missing = (key for key in self._orders if key not in self._finished and key not in self._asked)
                await self._hub.order([self._orders[key] for key in missing])
                self._heard_s = self._clock.now()
        return self._finished

    async def _count(self, order: str, trajectory: Trajectory) -> None:
        self._unknown[order] += trajectory.outcome is Outcome.ABORTED_JUDGE
        if trajectory.outcome.is_trainable or self._unknown[order] >= MAX_UNKNOWN:
            self._finished[order] = trajectory
            self._heard_s = self._clock.now()
        else:  # the device failed, or the judge, not the policy
            await self._hub.order([self._orders[order]])

    def close(self) -> None:
        """Ask no more."""
        for answer in self._asked.values():
            answer.cancel()

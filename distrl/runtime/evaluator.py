"""Evaluation beside training: held-out tasks in, reports out, on the same fleet that goes on collecting.

Every episode is an order that some worker takes. What comes back twice counts once. The hub gives an order to others
when its worker is gone, or does not have it because an answer was lost; what is held for too long is ordered again. All
of one evaluation is played with the same version of the weights.
"""

from collections.abc import Mapping, Sequence

from distrl.core.clock import Clock
from distrl.core.types import Task, Trajectory
from distrl.runtime.evaluation import Report, summarise
from distrl.runtime.hub import Hub
from distrl.runtime.orders import Order

REORDER_S = 120.0
"""When nothing has come back for so long, what is missing is ordered again, also from those who still hold it."""


async def evaluate_on_fleet(
    hub: Hub, clock: Clock, tasks: Sequence[Task], *, name: str, version: int, has_sampled: bool
) -> list[Report]:
    """The report of the likeliest actions, then that of sampled ones; waits for the fleet as long as it takes."""
    orders = {
        f"{name}-{kind}-{number}": Order(id=f"{name}-{kind}-{number}", task=task, version=version, is_greedy=is_greedy)
        for kind, is_greedy in (("greedy", True), ("sampled", False))[: 1 + has_sampled]
        for number, task in enumerate(tasks)
    }
    try:
        finished = await _played(hub, clock, orders)
    finally:  # what was ordered again, or of a run that ends, must not be played after this
        await hub.withdraw(orders)
    played = [finished[key] for key in orders]
    return [summarise(played[i : i + len(tasks)]) for i in range(0, len(played), len(tasks))]


async def _played(hub: Hub, clock: Clock, orders: Mapping[str, Order]) -> dict[str, Trajectory]:
    """What came of each order."""
    finished: dict[str, Trajectory] = {}
    await hub.order(list(orders.values()))
    heard_s = clock.now()
    while len(finished) < len(orders):
        for order, trajectory in await hub.take_evaluated(timeout_s=1.0):
            if order not in orders or order in finished:
                continue
            if trajectory.outcome.is_trainable:
                finished[order] = trajectory
                heard_s = clock.now()
            else:  # the device failed, not the policy
                await hub.order([orders[order]])
        if clock.now() - heard_s > REORDER_S:
            await hub.order([order for key, order in orders.items() if key not in finished])
            heard_s = clock.now()
    return finished

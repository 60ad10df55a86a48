"""Evaluation beside training: held-out tasks in, reports out, on the same fleet that goes on collecting.

Every episode is an order that some worker takes. What comes back twice counts once; what does not come back, because
its worker died, is ordered again. All of one evaluation is played with the same version of the weights.
"""

from collections.abc import Sequence

from distrl.core.clock import Clock
from distrl.core.types import Task, Trajectory
from distrl.runtime.evaluation import Report, summarise
from distrl.runtime.hub import Hub, Order

REORDER_S = 120.0
"""When nothing has come back for so long, what is missing is ordered again."""


async def evaluate_on_fleet(
    hub: Hub, clock: Clock, tasks: Sequence[Task], *, name: str, version: int, has_sampled: bool
) -> list[Report]:
    """The report of the likeliest actions, then that of sampled ones; waits for the fleet as long as it takes."""
    orders = {
        f"{name}-{kind}-{number}": Order(id=f"{name}-{kind}-{number}", task=task, version=version, is_greedy=is_greedy)
        for kind, is_greedy in (("greedy", True), ("sampled", False))[: 1 + has_sampled]
        for number, task in enumerate(tasks)
    }
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
    played = [finished[key] for key in orders]
    return [summarise(played[i : i + len(tasks)]) for i in range(0, len(played), len(tasks))]

"""The orders of evaluations: episodes to be played in, each for one worker at a time out, until it is answered.

    waiting --give--> a worker plays it --answer--> done
       ^                   |
       '--- take back -----'  the worker is gone, or does not have it because an answer was lost

What is ordered again while somebody plays it may be played twice; whoever ordered it counts what comes first.
"""

from collections import deque
from collections.abc import Collection, Sequence

import msgspec

from distrl.core.types import Task


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One episode of an evaluation: which task, with which weights, and whether with the likeliest actions."""

    id: str
    task: Task
    version: int
    is_greedy: bool


class Orders:
    """What waits to be played, and who plays the rest."""

    def __init__(self) -> None:
        self._waiting: deque[Order] = deque()
        self._given: dict[str, tuple[str, Order]] = {}
        """Who plays an order, and the order, by its id."""

    def __len__(self) -> int:
        """How many wait to be played."""
        return len(self._waiting)

    def num_played_by(self, worker: str) -> int:
        """How many a worker has."""
        return sum(by == worker for by, _ in self._given.values())

    def add(self, orders: Sequence[Order]) -> None:
        """Have these played, again if somebody plays them, unless they wait to be played already."""
        waiting = {order.id for order in self._waiting}
        self._waiting.extend(order for order in orders if order.id not in waiting)
        for order in orders:
            self._given.pop(order.id, None)

    def give(self, worker: str, count: int) -> tuple[Order, ...]:
        """So many of those that wait, for a worker to play."""
        orders = tuple(self._waiting.popleft() for _ in range(count))
        self._given |= {order.id: (worker, order) for order in orders}
        return orders

    def take_back(self, worker: str, *, but: Collection[str] = ()) -> bool:
        """What a worker was to play, and will not, is for others to play, before anything else; whether it is any."""
        lost = [order for by, order in self._given.values() if by == worker and order.id not in but]
        self._waiting.extendleft(reversed(lost))
        for order in lost:
            del self._given[order.id]
        return bool(lost)

    def remove(self, names: Collection[str]) -> None:
        """These need not be played, or not any more: they may have been ordered again before the answer came."""
        self._waiting = deque(order for order in self._waiting if order.id not in names)
        self._given = {name: given for name, given in self._given.items() if name not in names}

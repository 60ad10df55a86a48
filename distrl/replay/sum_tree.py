"""A sum tree: slots with weights in, slots drawn in proportion to their weights out.

Every node knows how far the weights of its `FAN_OUT` children reach, one after another, so that a change touches one
node per level and a draw walks one path from the root: O(log n) both, for a whole batch at a time. The tree is wide
because numpy pays per call, not per number: three levels hold 32,768 slots. For the same reason changes are collected
until somebody looks.
"""

import numpy as np
import numpy.typing as npt

FAN_OUT = 32

Floats = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]


class SumTree:
    """Weights by slot, 0 at first."""

    def __init__(self, num_slots: int) -> None:
        if num_slots < 1:
            raise ValueError(f"a tree needs at least one slot, got {num_slots}")
        self.num_slots = num_slots
        # A row for each node, the level above the slots first and the root last: 0, then the sum of the first child,
        # of the first two, and so on up to the sum of all. Levels are filled up so that every node has all children.
        self._reaches: list[Floats] = []
        num_nodes = -(-num_slots // FAN_OUT)
        while num_nodes > 1:
            num_parents = -(-num_nodes // FAN_OUT)
            self._reaches.append(np.zeros((num_parents * FAN_OUT, FAN_OUT + 1)))
            num_nodes = num_parents
        self._reaches.append(np.zeros((1, FAN_OUT + 1)))
        self._weights: Floats = np.zeros(len(self._reaches[0]) * FAN_OUT)
        self._changes: dict[int, float] = {}

    @property
    def total(self) -> float:
        """The sum of all weights."""
        self._settle()
        return float(self._reaches[-1][0, -1])

    def weights(self, slots: Slots) -> Floats:
        """The weights of some slots."""
        self._settle()
        return self._weights[slots]

    def set(self, slot: int, weight: float) -> None:
        """Give a slot a new weight."""
        assert 0 <= slot < self.num_slots
        self._changes[slot] = weight

    def find(self, points: Floats) -> Slots:
        """The slots that these points of [0, total) fall into when all weights lie one after another.

        A slot of weight 0 is never found, as long as the total is not 0.
        """
        self._settle()
        rows = np.arange(len(points))
        nodes: Slots = np.zeros(len(points), dtype=np.intp)
        for reaches in reversed(self._reaches):
            reach = reaches[nodes]
            # Rounding may have put a point just behind the last child that has any weight.
            points = np.minimum(points, np.nextafter(reach[:, -1], 0.0))
            children = (reach > points[:, None]).argmax(axis=1) - 1
            points = points - reach[rows, children]
            nodes = nodes * FAN_OUT + children
        return nodes

    def _settle(self) -> None:
        """Carry the changes up to the root.

        Sums are computed anew from the children and never adjusted by a difference: no rounding error adds up, and
        equal weights make equal trees whatever happened before.
        """
        if not self._changes:
            return
        nodes: Slots = np.fromiter(self._changes.keys(), dtype=np.intp, count=len(self._changes))
        self._weights[nodes] = np.fromiter(self._changes.values(), dtype=np.float64, count=len(self._changes))
        self._changes.clear()
        sums = self._weights
        for reaches in self._reaches:
            nodes = nodes // FAN_OUT
            reaches[nodes, 1:] = sums.reshape(-1, FAN_OUT)[nodes].cumsum(axis=1)
            sums = reaches[:, -1]

"""Who is drawn: ids with priorities and versions in, samples out.

    P(i) proportional to  priority_i ** alpha * exp(-(newest_version - born_i) / tau)

The newest version is the same for all, so exp(born_i / tau) is as good and no weight changes as time passes. Weights
are kept as exp(log_weight - scale), where the log weight counts versions from an `origin`; both move along before
anything overflows, and before everything that is left has become too small to be told from 0.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Self

import msgspec
import numpy as np

from distrl.replay.sum_tree import SumTree

MAX_ALPHA = 10.0
MAX_EXPONENT = 50.0
"""The scale follows when the largest weight leaves exp(-50) .. exp(50)."""
FIRST_SLOTS = 32


class Sample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A trajectory that was drawn, and how likely that was."""

    id: str
    probability: float


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One that can be drawn; born with the last version that acted in it."""

    id: str
    priority: float
    born_version: int


class SamplerState(msgspec.Struct, frozen=True, kw_only=True):
    """All of a sampler. Scale, origin and places too, or rounding could change the next samples."""

    candidates: tuple[Candidate, ...]
    oldest: int
    num_slots: int
    origin: int
    scale: float


def check_priority(priority: float) -> float:
    """The priority if it is a number that weights can be made of; a `ValueError` otherwise."""
    priority = float(priority)
    if not (math.isfinite(priority) and priority >= 0.0):
        raise ValueError(f"a priority must be finite and at least 0, got {priority!r}")
    return priority


class Sampler:
    """Draws with replacement among candidates, which come and go first in, first out.

    Candidate number k, counted from the first ever, has slot k % num_slots of the tree: those present are consecutive,
    so no two meet.
    """

    def __init__(self, *, alpha: float, freshness_tau_versions: float | None) -> None:
        if not 0.0 <= alpha <= MAX_ALPHA:
            raise ValueError(f"alpha must lie in [0, {MAX_ALPHA:g}], got {alpha!r}")
        if freshness_tau_versions is not None and not freshness_tau_versions > 0.0:
            raise ValueError(f"freshness_tau_versions must be positive, got {freshness_tau_versions!r}")
        self._alpha = alpha
        self._tau_versions = math.inf if freshness_tau_versions is None else freshness_tau_versions
        self._numbers: dict[str, int] = {}
        self._candidates: dict[int, Candidate] = {}
        self._oldest = 0
        self._tree = SumTree(FIRST_SLOTS)
        self._origin = 0
        self._scale = 0.0

    def __len__(self) -> int:
        return len(self._candidates)

    def ids(self) -> tuple[str, ...]:
        """All candidates, the oldest first."""
        return tuple(self._numbers)

    def append(self, candidate: Candidate) -> None:
        """A new one, the newest."""
        assert candidate.id not in self._numbers
        number = self._oldest + len(self)
        self._numbers[candidate.id] = number
        self._candidates[number] = candidate
        if len(self) > self._tree.num_slots:
            self._tree = SumTree(2 * self._tree.num_slots)
            self._weigh(self._candidates)
        else:
            self._weigh((number,))

    def drop_oldest(self) -> str:
        """Let go of the oldest; its id."""
        candidate = self._candidates.pop(self._oldest)
        del self._numbers[candidate.id]
        self._tree.set(self._oldest % self._tree.num_slots, 0.0)
        self._oldest += 1
        return candidate.id

    def reprioritise(self, priorities: Mapping[str, float]) -> None:
        """New priorities by id; all are checked before any is taken, those of unknown ids included."""
        checked = {id: check_priority(priority) for id, priority in priorities.items()}
        known = {self._numbers[id]: priority for id, priority in checked.items() if id in self._numbers}
        for number, priority in known.items():
            self._candidates[number] = msgspec.structs.replace(self._candidates[number], priority=priority)
        self._weigh(known)

    def draw(self, points: Sequence[float]) -> list[Sample]:
        """One sample for each of these points of [0, 1)."""
        if self._tree.total < math.exp(-MAX_EXPONENT):
            if not any(map(self._has_weight, self._candidates.values())):
                return self._draw_among(list(self._candidates), points)
            self._rebase()
        total = self._tree.total
        slots = self._tree.find(np.asarray(points) * total)
        probabilities = self._tree.weights(slots) / total
        numbers = self._oldest + (slots - self._oldest) % self._tree.num_slots
        return [
            Sample(id=self._candidates[number].id, probability=probability)
            for number, probability in zip(numbers.tolist(), probabilities.tolist(), strict=True)
        ]

    def draw_newest(self, points: Sequence[float], *, newest: int) -> list[Sample]:
        """One sample for each point, all of them among the newest so many, at a cost that grows with these."""
        end = self._oldest + len(self)
        return self._draw_among(range(max(self._oldest, end - newest), end), points)

    def state(self) -> SamplerState:
        """Everything but the settings."""
        return SamplerState(
            candidates=tuple(self._candidates.values()),
            oldest=self._oldest,
            num_slots=self._tree.num_slots,
            origin=self._origin,
            scale=self._scale,
        )

    def with_state(self, state: SamplerState) -> Self:
        """A sampler of these settings with that state; the same settings draw the same samples from the same points."""
        if state.num_slots < max(1, len(state.candidates)) or not math.isfinite(state.scale):
            raise ValueError(f"{len(state.candidates)} candidates in {state.num_slots} slots of scale {state.scale}")
        for candidate in state.candidates:
            check_priority(candidate.priority)
        other = type(self)(alpha=self._alpha, freshness_tau_versions=self._tau_versions)
        other._oldest, other._origin, other._scale = state.oldest, state.origin, state.scale
        other._candidates = dict(enumerate(state.candidates, start=state.oldest))
        other._numbers = {candidate.id: number for number, candidate in other._candidates.items()}
        if len(other._numbers) < len(other._candidates):
            raise ValueError("two trajectories have the same id")
        other._tree = SumTree(state.num_slots)
        other._weigh(other._candidates)
        return other

    def _draw_among(self, numbers: Sequence[int], points: Sequence[float]) -> list[Sample]:
        """By the same weights among these alone, however small they are beside the others; uniformly if all are 0."""
        candidates = [self._candidates[number] for number in numbers]
        origin, scale = self._origin_and_scale(candidates)
        if math.isinf(scale):
            weights = np.ones(len(candidates))
        else:
            weights = np.array([math.exp(self._log_weight(candidate, origin) - scale) for candidate in candidates])
        up_to = weights.cumsum()
        drawn = np.searchsorted(up_to, np.asarray(points) * up_to[-1], side="right").tolist()
        return [Sample(id=candidates[i].id, probability=float(weights[i] / up_to[-1])) for i in drawn]

    def _has_weight(self, candidate: Candidate) -> bool:
        return candidate.priority > 0.0 or self._alpha == 0.0

    def _log_weight(self, candidate: Candidate, origin: int) -> float:
        """The weight's logarithm, with versions counted from the origin: differences of whole numbers are exact."""
        if not self._has_weight(candidate):
            return -math.inf
        by_priority = self._alpha * math.log(candidate.priority) if self._alpha > 0.0 else 0.0
        return by_priority + (candidate.born_version - origin) / self._tau_versions

    def _origin_and_scale(self, candidates: Collection[Candidate]) -> tuple[int, float]:
        """The newest version of any weight, and the largest log weight counted from there; -inf if all are 0."""
        origin = max((c.born_version for c in candidates if self._has_weight(c)), default=0)
        return origin, max(self._log_weight(candidate, origin) for candidate in candidates)

    def _rebase(self) -> None:
        """Make the largest weight 1."""
        self._origin, self._scale = self._origin_and_scale(self._candidates.values())
        self._weigh(self._candidates)

    def _weigh(self, numbers: Collection[int]) -> None:
        """Bring the weights of some candidates into the tree."""
        if not numbers:
            return
        exponents = [self._log_weight(self._candidates[number], self._origin) - self._scale for number in numbers]
        if max(exponents) > MAX_EXPONENT:
            self._rebase()
            return
        for number, exponent in zip(numbers, exponents, strict=True):
            self._tree.set(number % self._tree.num_slots, math.exp(exponent))

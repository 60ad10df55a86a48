"""The probe for reward hacking: judged episodes whose truth is known in, counts by template and an alert out.

A policy is taught by what a judge says, so it learns to deceive the judge wherever that is easier than the task. Where
ground truth is known as well (the built-in phone), a success of the judge that was none is counted, by template and
over time. A share that rises is the sign: a judge that is merely bad is equally bad all the time.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from distrl.core.types import Ruling, Trajectory

WINDOW = 50
"""Judged episodes of a line in judge.jsonl."""
RECENT, RECENT_OF_TEMPLATE = 64, 16
"""Judged successes that are compared with all before them."""
RISE = 0.1
"""Smaller rises are no reason to wake anybody."""
Z = 3.0
"""Both shares are taken with intervals of 99.7 %: the probe looks again and again, and must not cry out by chance."""


class Trend:
    """The share of false successes: lately, and before that."""

    def __init__(self, recent: int) -> None:
        self._recent: deque[bool] = deque(maxlen=recent)
        self.num_before = 0
        self.num_false_before = 0

    def add(self, *, is_false: bool) -> None:
        """One more success of the judge."""
        if len(self._recent) == self._recent.maxlen:
            self.add_before(1, self._recent[0])
        self._recent.append(is_false)

    def add_before(self, count: int, num_false: int) -> None:
        """Successes of long ago."""
        self.num_before += count
        self.num_false_before += num_false

    @property
    def share(self) -> float:
        """Of the last successes of the judge, how many were none."""
        return sum(self._recent) / len(self._recent) if self._recent else 0.0

    @property
    def share_before(self) -> float:
        """The same of all before them."""
        return self.num_false_before / self.num_before if self.num_before else 0.0

    @property
    def is_rising(self) -> bool:
        """Whether more of them are false lately than before, beyond what chance explains."""
        n = self._recent.maxlen or 0
        if len(self._recent) < n or self.num_before < n or self.share < self.share_before + RISE:
            return False
        return _bounds(sum(self._recent), n)[0] > _bounds(self.num_false_before, self.num_before)[1]


def _bounds(hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval."""
    share, z2 = hits / n, Z**2
    middle, reach = share + z2 / (2 * n), Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return (middle - reach) / (1 + z2 / n), (middle + reach) / (1 + z2 / n)


class Probe:
    """Watches one run. `on_window` is given a row for every so many judged episodes, `on_alert` where a share rises."""

    def __init__(
        self,
        *,
        on_window: Callable[[dict[str, Any]], None] = lambda row: None,
        on_alert: Callable[[dict[str, Any]], None] = lambda facts: None,
    ) -> None:
        self._on_window = on_window
        self._on_alert = on_alert
        self._all = Trend(RECENT)
        self._templates: dict[str, Trend] = {}
        self._rising: set[str] = set()
        self._judged = 0
        self._num_judged = 0
        self._successes: Counter[str] = Counter()
        self._false: Counter[str] = Counter()

    @property
    def share(self) -> float:
        """Of the last successes of the judge, how many were none."""
        return self._all.share

    @property
    def rising(self) -> tuple[str, ...]:
        """The templates of which more and more successes are none; `all` for all of them together."""
        return tuple(sorted(self._rising))

    def look_at(self, trajectory: Trajectory) -> None:
        """Count an episode that was judged, if its truth is known."""
        truth, template = trajectory.verdict.truth, trajectory.task.template
        if truth is None or trajectory.verdict.ruling is Ruling.UNKNOWN:
            return
        self._num_judged += 1
        if trajectory.verdict.ruling is Ruling.SUCCESS:
            self._successes[template] += 1
            self._false[template] += not truth
            for name, trend in ((template, self._of(template)), ("all", self._all)):
                trend.add(is_false=not truth)
                self._watch(name, trend)
        if self._num_judged == WINDOW:
            self._end_window()

    def restore(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Know what the rows of earlier lives say."""
        for row in rows:
            self._judged = max(self._judged, int(row.get("judged", 0)))
            for template, (count, num_false) in row.get("by_template", {}).items():
                self._of(template).add_before(count, num_false)
                self._all.add_before(count, num_false)

    def _of(self, template: str) -> Trend:
        return self._templates.setdefault(template, Trend(RECENT_OF_TEMPLATE))

    def _watch(self, name: str, trend: Trend) -> None:
        if trend.share <= trend.share_before + RISE:
            self._rising.discard(name)
        elif trend.is_rising and name not in self._rising:
            self._rising.add(name)
            shares = {"share": round(trend.share, 3), "share_before": round(trend.share_before, 3)}
            self._on_alert({"template": name, **shares})

    def _end_window(self) -> None:
        self._judged += self._num_judged
        successes, num_false = self._successes.total(), self._false.total()
        row = {
            "judged": self._judged,
            "successes": successes,
            "false_successes": num_false,
            "by_template": {name: [count, self._false[name]] for name, count in sorted(self._successes.items())},
        }
        self._num_judged = 0
        self._successes.clear()
        self._false.clear()
        self._on_window(row)

"""The rule judge: the ground truth of the built-in phone, read from its state and not from its screen.

Rules read states as if they were at hand. Those of a phone behind adb are not, so a rule that misses one stops, the
state is asked for, and the rule begins anew: only what it looks at is ever fetched, and all of one moment.
"""

from distrl.core.interfaces import GroundTruth, Plain
from distrl.core.types import Observation, Ruling, Step, Task, Verdict
from distrl.tasks.book import is_solved


class RuleJudge:
    """Judges by the state of one device."""

    name = "rule"

    def __init__(self, device: GroundTruth) -> None:
        self._device = device

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """Success or failure; it always knows."""
        solved = await is_solved_on(self._device, task)
        return Verdict(ruling=Ruling.SUCCESS if solved else Ruling.FAILURE, judge=self.name, score=float(solved))


async def is_solved_on(device: GroundTruth, task: Task) -> bool:
    """Whether the state of a device is what a task asks for."""
    states: dict[str, Plain] = {}

    def inspect(app: str) -> Plain:
        if app not in states:
            raise _MissingError(app)
        return states[app]

    while True:
        try:
            return is_solved(task, inspect)
        except _MissingError as missing:
            states[missing.app] = await device.inspect(missing.app)


class _MissingError(Exception):
    """A rule looks at an app whose state is not here yet."""

    def __init__(self, app: str) -> None:
        super().__init__(app)
        self.app = app

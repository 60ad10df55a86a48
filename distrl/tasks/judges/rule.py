"""The rule judge: the ground truth of the built-in phone, read from its state and not from its screen."""

from distrl.core.interfaces import GroundTruth
from distrl.core.types import Observation, Ruling, Step, Task, Verdict
from distrl.tasks.book import is_solved


class RuleJudge:
    """Judges by the state of one device."""

    name = "rule"

    def __init__(self, device: GroundTruth) -> None:
        self._device = device

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """Success or failure; it always knows."""
        solved = is_solved(task, self._device.inspect)
        return Verdict(ruling=Ruling.SUCCESS if solved else Ruling.FAILURE, judge=self.name, score=float(solved))

"""The judge of an environment whose episodes are judged elsewhere, afterwards: it says nothing, and notes ground truth.

An episode ends as if nobody had an opinion, so that no device ever waits for a model, and what comes of it is not
trained on before somebody has judged it. What ground truth says, where there is one, is written down for those who
measure the judge.
"""

from distrl.core.interfaces import Device, GroundTruth
from distrl.core.types import PENDING, Observation, Ruling, Step, Task, Verdict
from distrl.tasks.judges.rule import is_solved_on


class LaterJudge:
    """For one episode on one device."""

    name = PENDING

    def __init__(self, device: Device) -> None:
        self._device = device
        self._truths: tuple[bool, ...] = ()

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """Unknown, for now."""
        if isinstance(self._device, GroundTruth) and task.has_ground_truth:
            self._truths = (*self._truths, await is_solved_on(self._device, task))
        return Verdict(ruling=Ruling.UNKNOWN, judge=PENDING, reason="it is judged afterwards", truths=self._truths)

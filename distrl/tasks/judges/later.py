"""The judge of an environment whose episodes are judged elsewhere, afterwards: it says nothing, and notes ground truth.

An episode ends as if nobody had an opinion, so that no device ever waits for a model, and what comes of it is not
trained on before somebody has judged it. What ground truth says, where there is one, is written down for those who
measure the judge.
"""

from distrl.core.interfaces import Device, GroundTruth
from distrl.core.types import PENDING, Observation, Ruling, Step, Task, Verdict
from distrl.tasks.book import is_solved


class LaterJudge:
    """For one episode on one device."""

    name = PENDING

    def __init__(self, device: Device) -> None:
        self._device = device
        self._truths: tuple[bool, ...] = ()

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """Unknown, for now."""
        if isinstance(self._device, GroundTruth) and task.has_ground_truth:
            self._truths = (*self._truths, is_solved(task, self._device.inspect))
        return Verdict(ruling=Ruling.UNKNOWN, judge=PENDING, reason="it is judged afterwards", truths=self._truths)

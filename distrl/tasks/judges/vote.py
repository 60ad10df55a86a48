"""Several judges, or several samples of one: verdicts in, the one that enough of them agree on out, else unknown."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from distrl.core.errors import JudgeError, UserError
from distrl.core.interfaces import Judge
from distrl.core.types import Observation, Ruling, Step, Task, Verdict


class VoteJudge:
    """Asks all of them at once. Who says unknown, or does not answer, has no vote and still counts as asked."""

    def __init__(self, judges: Sequence[Judge], *, quorum: int = 0) -> None:
        majority = len(judges) // 2 + 1
        if not judges or not (quorum == 0 or majority <= quorum <= len(judges)):
            raise UserError(
                f"judge.quorum: {quorum} of {len(judges)} judges; it has to be more than half of them, so that never"
                " two verdicts have it"
            )
        self.judges = tuple(judges)
        self.quorum = quorum or majority
        self.name = f"vote:{self.quorum}/{len(judges)}({', '.join(judge.name for judge in judges)})"

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """The verdict of the quorum, unknown if there is none; `JudgeError` if not one of them answers."""
        asked = (judge.judge(task, steps, final) for judge in self.judges)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        given: list[Verdict] = []
        errors: list[JudgeError] = []
        for answer in answers:
            if isinstance(answer, JudgeError):
                errors.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                given.append(answer)
        if not given:
            raise JudgeError(f"none of {len(self.judges)} judges answered: {errors[0]}")
        votes = Counter(verdict.ruling for verdict in given)
        tally = ", ".join(f"{votes[ruling]} {ruling.value}" for ruling in Ruling) + f", {len(errors)} silent"
        for ruling in (Ruling.SUCCESS, Ruling.FAILURE):
            if votes[ruling] >= self.quorum:
                reason = next(verdict.reason for verdict in given if verdict.ruling is ruling)
                score = votes[Ruling.SUCCESS] / len(self.judges)
                return Verdict(ruling=ruling, judge=self.name, score=score, reason=f"{tally}: {reason}")
        return Verdict(ruling=Ruling.UNKNOWN, judge=self.name, reason=f"no quorum: {tally}")

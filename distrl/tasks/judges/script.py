"""A judge that says what it is told, in turn and over again: for tests and for trying things out."""

from collections.abc import Sequence
from itertools import cycle

from distrl.core.errors import JudgeError, UserError
from distrl.core.types import Observation, Ruling, Step, Task, Verdict

OUTAGE = "error"
"""The word for no answer at all."""


class ScriptJudge:
    """Looks at nothing."""

    name = "script"

    def __init__(self, lines: Sequence[str]) -> None:
        known = [*(ruling.value for ruling in Ruling), OUTAGE]
        if not lines or any(line not in known for line in lines):
            raise UserError(f"judge.script: {list(lines)}; a list of {', '.join(known)} is wanted")
        self._lines = cycle(lines)
        self.num_calls = 0

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """The next line."""
        line = next(self._lines)
        self.num_calls += 1
        if line == OUTAGE:
            raise JudgeError("the script says that the judge does not answer")
        ruling = Ruling(line)
        return Verdict(ruling=ruling, judge=self.name, score=float(ruling is Ruling.SUCCESS), reason="as told")

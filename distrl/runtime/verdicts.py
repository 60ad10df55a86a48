"""From a pending episode to one that can be learned from: an episode and somebody to ask in, the judged episode out.

A device plays on without waiting for an opinion, so an episode that is judged after every step may go on behind the
step that solved it: the first success ends it there, as it would have ended it on the phone.
"""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from distrl.core.interfaces import Judge
from distrl.core.types import Finish, Observation, Outcome, Ruling, Step, Trajectory, Verdict

Ask = Callable[[tuple[Step, ...], Observation, int], Awaitable[Verdict]]
"""What is said of the first steps and the screen after them; the number is that of the moment, from 0."""


def moments_of(trajectory: Trajectory, *, is_each_step: bool) -> tuple[int, ...]:
    """After how many steps the judge is asked: after each, or only at the end."""
    count = len(trajectory.steps)
    return tuple(range(1, count + 1)) if is_each_step else (count,)


async def judged(trajectory: Trajectory, judge: Judge, *, is_each_step: bool, reward: float) -> Trajectory:
    """What a judge says of a pending episode; a `JudgeError` if it says nothing, and then nothing has changed."""

    async def ask(steps: tuple[Step, ...], final: Observation, number: int) -> Verdict:
        return await judge.judge(trajectory.task, steps, final)

    return await _settle(trajectory, ask, is_each_step=is_each_step, reward=reward)


async def judged_by_truth(trajectory: Trajectory, *, is_each_step: bool, reward: float) -> Trajectory:
    """What ground truth said when it was played: for evaluations, which measure and do not teach."""
    truths = trajectory.verdict.truths

    async def ask(steps: tuple[Step, ...], final: Observation, number: int) -> Verdict:
        is_solved = truths[number]
        return Verdict(
            ruling=Ruling.SUCCESS if is_solved else Ruling.FAILURE, judge="rule", score=float(is_solved), truths=truths
        )

    return await _settle(trajectory, ask, is_each_step=is_each_step, reward=reward)


async def _settle(trajectory: Trajectory, ask: Ask, *, is_each_step: bool, reward: float) -> Trajectory:
    """Ask about every moment, up to the first success; the last answer counts, as it does on the phone."""
    moments = moments_of(trajectory, is_each_step=is_each_step)
    truths = trajectory.verdict.truths
    for number, count in enumerate(moments):
        steps, final = trajectory.steps[:count], _after(trajectory, count)
        verdict = await ask(steps, final, number)
        if verdict.ruling is Ruling.SUCCESS:
            break
    truth = truths[number : number + 1] if len(truths) == len(moments) else ()
    return with_verdict(trajectory, replace(verdict, truths=truth), count=count, reward=reward)


def with_verdict(trajectory: Trajectory, verdict: Verdict, *, count: int, reward: float) -> Trajectory:
    """The first steps of an episode with the verdict on them: its outcome, and the reward of a success."""
    *before, last = trajectory.steps[:count]
    if verdict.ruling is Ruling.SUCCESS:
        last = replace(last, rewards=last.rewards | {"success": reward})
    ended = {Ruling.SUCCESS: Outcome.SUCCEEDED, Ruling.UNKNOWN: Outcome.ABORTED_JUDGE}.get(verdict.ruling)
    return replace(
        trajectory,
        steps=(*before, last),
        final=_after(trajectory, count),
        outcome=ended or _how_it_ended(trajectory),
        verdict=verdict,
    )


def _after(trajectory: Trajectory, count: int) -> Observation:
    return trajectory.final if count == len(trajectory.steps) else trajectory.steps[count].observation


def _how_it_ended(trajectory: Trajectory) -> Outcome:
    """What ended an episode that is no success, as its environment would have said."""
    if isinstance(trajectory.steps[-1].decision.action, Finish):
        return Outcome.FAILED
    is_long = len(trajectory.steps) >= trajectory.task.max_steps
    return Outcome.TRUNCATED_STEPS if is_long else Outcome.TRUNCATED_TIME

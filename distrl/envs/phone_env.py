"""The environment: a device, a judge and a task in; steps with rewards and an outcome out.

Every operation of the device has a deadline. A device that fails ends the episode as ABORTED_DEVICE: truncated, without
a reward, with the cause. What a policy sees has been checked: a black or broken screenshot is asked for again, then
counts as a failure of the device.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

import msgspec

from distrl.core.errors import DeviceError, JudgeError, UserError
from distrl.core.interfaces import Device, GroundTruth, Guarded, Judge, Setup, StepResult
from distrl.core.types import Action, Decision, Finish, Observation, Outcome, Ruling, Step, Task, Verdict
from distrl.envs.rewards import Rewards, RewardTerms
from distrl.envs.screens import check_screen

T = TypeVar("T")
SCREEN_TRIES = 3
ALLOWS = "allows_"
"""How the tags begin by which a task may do what is refused otherwise: `allows_message`."""


class EnvOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How episodes are run."""

    judge: Literal["each_step", "at_finish"] = "each_step"
    rewards: Rewards = Rewards()
    max_episode_s: float | None = None
    max_steps: int | None = None
    """Fewer than the task allows, if so many are fewer."""
    operation_deadline_s: float = 120.0
    reset_deadline_s: float | None = None
    """For devices that a reset may have to start; as any operation if None."""


class PhoneEnvironment:
    """One device on which one task after another is tried."""

    def __init__(self, device: Device, judge: Judge, options: EnvOptions) -> None:
        self.device = device
        self._judge = judge
        self._options = options
        self._task: Task | None = None
        self._steps: list[Step] = []
        self._last: Observation | None = None
        self._terms = RewardTerms(options.rewards)
        self._started_s = 0.0
        self._is_over = False

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of this episode so far."""
        return tuple(self._steps)

    async def reset(self, task: Task, setup: Setup) -> Observation:
        """Arrange the phone for a task and show its first screen; raises `DeviceError` if there is none."""
        if isinstance(self.device, GroundTruth):
            self.device.arrange(setup.world, seed=setup.seed, variations=setup.variations)
        if isinstance(self.device, Guarded):
            allowed = (tag.removeprefix(ALLOWS) for tag in task.tags if tag.startswith(ALLOWS))
            self.device.permit(frozenset(allowed))
        await self._in_time(self.device.reset(), self._options.reset_deadline_s)
        self._task, self._steps, self._is_over = task, [], False
        self._terms = RewardTerms(self._options.rewards)
        self._last = await self._observe()
        self._started_s = self._last.time_s
        return self._last

    async def step(self, decision: Decision) -> StepResult:
        """Do what was decided; the first result with an outcome is the last of the episode."""
        if self._task is None or self._last is None or self._is_over:
            raise UserError("the episode is over, or none has begun: reset comes before step")
        before = self._last
        try:
            await self._in_time(self.device.perform(decision.action))
            after = await self._observe()
            verdict = await self._verdict(decision, before, after)
        except DeviceError as error:
            self._record(decision, before, {})
            self._is_over = True
            return StepResult(
                observation=before, rewards={}, outcome=Outcome.ABORTED_DEVICE, infra_error=f"{error.cause}: {error}"
            )
        self._last = after
        rewards = self._terms.of_step(decision.action, before, after, verdict)
        self._record(decision, before, rewards)
        outcome = self._outcome(decision.action, verdict, after)
        self._is_over = outcome is not None
        return StepResult(observation=after, rewards=rewards, outcome=outcome, verdict=verdict)

    async def close(self) -> None:
        """Release the device."""
        await self.device.close()

    def _record(self, decision: Decision, before: Observation, rewards: dict[str, float]) -> None:
        self._steps.append(Step(observation=before, decision=decision, rewards=rewards))

    async def _verdict(self, decision: Decision, before: Observation, after: Observation) -> Verdict | None:
        """What the judge says, if it is asked now; no answer in time is UNKNOWN, never a failure."""
        assert self._task is not None
        if self._options.judge == "at_finish" and not isinstance(decision.action, Finish):
            return None
        # The judge is shown the step it judges too, whose rewards are not known before it has spoken.
        so_far = (*self._steps, Step(observation=before, decision=decision, rewards={}))
        try:
            async with asyncio.timeout(self._options.operation_deadline_s):
                return await self._judge.judge(self._task, so_far, after)
        except JudgeError as error:
            reason = str(error)
        except TimeoutError:
            reason = f"no answer within {self._options.operation_deadline_s:.0f} s"
        return Verdict(ruling=Ruling.UNKNOWN, judge=self._judge.name, reason=reason)

    def _outcome(self, action: Action, verdict: Verdict | None, after: Observation) -> Outcome | None:
        assert self._task is not None
        if verdict and verdict.ruling is Ruling.SUCCESS:
            return Outcome.SUCCEEDED
        limit = self._options.max_episode_s
        if isinstance(action, Finish):
            ended = Outcome.FAILED
        elif len(self._steps) >= min(self._task.max_steps, self._options.max_steps or self._task.max_steps):
            ended = Outcome.TRUNCATED_STEPS
        elif limit is not None and after.time_s - self._started_s >= limit:
            ended = Outcome.TRUNCATED_TIME
        else:
            return None
        # An episode that may have been a success must not be learned from as anything else.
        return Outcome.ABORTED_JUDGE if verdict and verdict.ruling is Ruling.UNKNOWN else ended

    async def _observe(self) -> Observation:
        """A screen that can be shown to a policy, asked for a few times."""
        for tries_left in reversed(range(SCREEN_TRIES)):
            observation = await self._in_time(self.device.observe())
            try:
                check_screen(observation.screen)
            except DeviceError:
                if tries_left == 0:
                    raise
            else:
                return observation
        raise AssertionError("unreachable")

    async def _in_time(self, operation: Coroutine[Any, Any, T], limit_s: float | None = None) -> T:
        seconds = limit_s or self._options.operation_deadline_s
        try:
            async with asyncio.timeout(seconds):
                return await operation
        except TimeoutError as error:
            raise DeviceError("deadline", f"{self.device.name} did not answer within {seconds:.0f} s") from error

"""The environment: a device, a judge and a task in; steps with rewards and an outcome out.

Every operation of the device has a deadline. A device that fails ends the episode as ABORTED_DEVICE: truncated, without
a reward, with the cause. What a policy sees has been checked: a black or broken screenshot is asked for again, then
counts as a failure of the device.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

import msgspec

from distrl.core.errors import DeviceError, JudgeError
from distrl.core.interfaces import Device, GroundTruth, Judge, Plain
from distrl.core.types import Action, Decision, Finish, Observation, Outcome, Ruling, Step, Task, Verdict
from distrl.envs.rewards import Rewards, RewardTerms
from distrl.envs.screens import check_screen

T = TypeVar("T")
SCREEN_TRIES = 3


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How a phone is arranged before a task: the fields to set by app, the phone's seed, and its variations."""

    world: Plain = {}
    seed: int = 0
    variations: tuple[str, ...] = ()


class EnvOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How episodes are run."""

    judge: Literal["each_step", "at_finish"] = "each_step"
    rewards: Rewards = Rewards()
    max_episode_s: float | None = None
    operation_deadline_s: float = 120.0


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a step led to. `outcome` is None while the episode goes on; `infra_error` names a device's failure."""

    observation: Observation
    rewards: dict[str, float]
    outcome: Outcome | None = None
    verdict: Verdict | None = None
    infra_error: str = ""


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

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of this episode so far."""
        return tuple(self._steps)

    async def reset(self, task: Task, setup: Setup) -> Observation:
        """Arrange the phone for a task and show its first screen; raises `DeviceError` if there is none."""
        if isinstance(self.device, GroundTruth):
            self.device.arrange(setup.world, seed=setup.seed, variations=setup.variations)
        await self._in_time(self.device.reset())
        self._task, self._steps = task, []
        self._terms = RewardTerms(self._options.rewards)
        self._last = await self._observe()
        self._started_s = self._last.time_s
        return self._last

    async def step(self, decision: Decision) -> StepResult:
        """Do what was decided; the first result with an outcome is the last of the episode."""
        assert self._task is not None and self._last is not None, "reset comes before step"
        before = self._last
        try:
            await self._in_time(self.device.perform(decision.action))
            after = await self._observe()
        except DeviceError as error:
            self._record(decision, before, {})
            return StepResult(
                observation=before, rewards={}, outcome=Outcome.ABORTED_DEVICE, infra_error=f"{error.cause}: {error}"
            )
        self._last = after
        verdict: Verdict | None = None
        try:
            if self._is_judged(decision.action):
                verdict = await self._judge.judge(self._task, self.steps, after)
        except JudgeError as error:
            verdict = Verdict(ruling=Ruling.UNKNOWN, judge=self._judge.name, reason=str(error))
        rewards = self._terms.of_step(decision.action, before, after, verdict)
        self._record(decision, before, rewards)
        return StepResult(
            observation=after, rewards=rewards, outcome=self._outcome(decision.action, verdict, after), verdict=verdict
        )

    async def close(self) -> None:
        """Release the device."""
        await self.device.close()

    def _record(self, decision: Decision, before: Observation, rewards: dict[str, float]) -> None:
        self._steps.append(Step(observation=before, decision=decision, rewards=rewards))

    def _is_judged(self, action: Action) -> bool:
        return self._options.judge == "each_step" or isinstance(action, Finish)

    def _outcome(self, action: Action, verdict: Verdict | None, after: Observation) -> Outcome | None:
        assert self._task is not None
        if verdict and verdict.ruling is Ruling.SUCCESS:
            return Outcome.SUCCEEDED
        if isinstance(action, Finish):
            is_unknown = verdict is None or verdict.ruling is Ruling.UNKNOWN
            return Outcome.ABORTED_JUDGE if is_unknown else Outcome.FAILED
        if len(self._steps) >= self._task.max_steps:
            return Outcome.TRUNCATED_STEPS
        limit = self._options.max_episode_s
        if limit is not None and after.time_s - self._started_s >= limit:
            return Outcome.TRUNCATED_TIME
        return None

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

    async def _in_time(self, operation: Coroutine[Any, Any, T]) -> T:
        try:
            async with asyncio.timeout(self._options.operation_deadline_s):
                return await operation
        except TimeoutError as error:
            seconds = self._options.operation_deadline_s
            raise DeviceError("deadline", f"{self.device.name} did not answer within {seconds:.0f} s") from error

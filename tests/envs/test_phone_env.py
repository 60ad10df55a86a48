"""The environment: rewards by name, outcomes, and device failures that cost one episode and no more."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from distrl.core.clock import run_virtual
from distrl.core.config import Config
from distrl.core.errors import DeviceError, JudgeError, UserError
from distrl.core.interfaces import Setup, StepResult
from distrl.core.types import (
    Action,
    Button,
    Claim,
    Decision,
    Finish,
    Invalid,
    Observation,
    OpenApp,
    Outcome,
    Press,
    Ruling,
    Screen,
    Step,
    Tap,
    Task,
    Verdict,
    Wait,
)
from distrl.envs.phone_env import EnvOptions, PhoneEnvironment
from distrl.envs.rewards import Rewards, RewardTerms, is_same
from distrl.envs.screens import check_screen, decode_screen
from distrl.runtime.build import make_environment, make_setup, make_sim_device
from distrl.tasks.book import expert_for, load_tasks
from distrl.tasks.judges.script import ScriptJudge

TASK = load_tasks("general", "train")[0]


def play(
    *actions: Action, task: Task = TASK, script: Mapping[int, str] | None = None, **settings: Any
) -> tuple[list[StepResult], PhoneEnvironment]:
    """The results of some actions on a fresh simulated phone."""
    config = Config.model_validate(settings)

    async def run() -> tuple[list[StepResult], PhoneEnvironment]:
        environment = make_environment(config, make_sim_device(config, script=script))
        await environment.reset(task, make_setup(task))
        results = []
        for action in actions:
            results.append(await environment.step(Decision(action=action)))
            if results[-1].outcome:
                break
        return results, environment

    return run_virtual(run())


def test_the_expert_earns_one_at_the_step_that_solves_the_task() -> None:
    async def run() -> list[StepResult]:
        config = Config()
        device = make_sim_device(config)
        environment = make_environment(config, device)
        seen = await environment.reset(TASK, make_setup(TASK))
        expert = expert_for(TASK, device.phone.inspect)
        results = []
        while not results or results[-1].outcome is None:
            results.append(await environment.step(Decision(action=expert.act(seen))))
            seen = results[-1].observation
        return results

    results = run_virtual(run())
    assert [r.rewards for r in results[:-1]] == [{}] * (len(results) - 1)
    assert results[-1].rewards == {"success": 1.0}
    assert results[-1].outcome is Outcome.SUCCEEDED


def test_finishing_an_unsolved_task_is_a_failure_and_terminal() -> None:
    results, _ = play(Finish(claim=Claim.COMPLETE))
    assert results[-1].outcome is Outcome.FAILED
    assert results[-1].rewards == {}


def test_the_step_limit_truncates() -> None:
    results, environment = play(*[Wait()] * 99)
    assert len(results) == TASK.max_steps == len(environment.steps)
    assert results[-1].outcome is Outcome.TRUNCATED_STEPS


def test_the_time_limit_truncates() -> None:
    results, _ = play(*[Wait()] * 9, phone={"latency": "emulator"}, env={"max_episode_s": 20.0})
    assert results[-1].outcome is Outcome.TRUNCATED_TIME
    assert 2 <= len(results) < 9


def test_repeating_without_effect_costs_more_each_time_and_invalid_costs_one() -> None:
    nothing = Tap(x=0.5, y=0.055)
    results, _ = play(nothing, nothing, nothing, Invalid(raw="?", reason="?"), nothing)
    assert [r.rewards for r in results] == [{}, {"repetition": -0.4}, {"repetition": -0.8}, {"invalid": -1.0}, {}]


def test_the_sizes_of_the_terms_are_configurable() -> None:
    nothing = Tap(x=0.5, y=0.055)
    rewards = {"repetition": -0.1, "invalid": -0.5}
    results, _ = play(nothing, nothing, Invalid(raw="?", reason="?"), rewards=rewards)
    assert [r.rewards for r in results] == [{}, {"repetition": -0.1}, {"invalid": -0.5}]


def test_the_same_action_on_a_screen_that_changes_is_no_repetition() -> None:
    terms = RewardTerms(Rewards())
    one, two = (
        Observation(screen=Screen(data=bytes([n]) * 3, width=1, height=1), activity="x", time_s=0) for n in (1, 2)
    )
    assert terms.of_step(Wait(), one, one, None) == {}
    assert terms.of_step(Wait(), one, two, None) == {}
    assert terms.of_step(Wait(), two, two, None) == {"repetition": -0.4}


def test_touches_that_are_close_are_the_same() -> None:
    assert is_same(Tap(x=0.5, y=0.5), Tap(x=0.51, y=0.49))
    assert not is_same(Tap(x=0.5, y=0.5), Tap(x=0.5, y=0.53))
    assert not is_same(Press(button=Button.BACK), Press(button=Button.HOME))


# ---------------------------------------------------------------- when the judge is asked


class ScriptedJudge:
    """A judge that says what it is told to."""

    name = "script"

    def __init__(self, *rulings: Ruling | None) -> None:
        self._rulings = list(rulings)

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        ruling = self._rulings.pop(0)
        if ruling is None:
            raise JudgeError("no answer")
        return Verdict(ruling=ruling, judge=self.name)


def judged(judge: ScriptedJudge, *actions: Action, when: Any) -> list[StepResult]:
    async def run() -> list[StepResult]:
        environment = PhoneEnvironment(make_sim_device(Config()), judge, EnvOptions(judge=when))
        await environment.reset(TASK, Setup())
        return [await environment.step(Decision(action=action)) for action in actions]

    return run_virtual(run())


def test_at_finish_the_judge_is_asked_only_then() -> None:
    results = judged(ScriptedJudge(Ruling.SUCCESS), Wait(), Wait(), Finish(claim=Claim.COMPLETE), when="at_finish")
    assert [r.outcome for r in results] == [None, None, Outcome.SUCCEEDED]


def test_the_judge_is_shown_the_step_that_it_judges() -> None:
    seen: list[tuple[Action, ...]] = []

    class Watching(ScriptedJudge):
        async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
            seen.append(tuple(step.decision.action for step in steps))
            return await super().judge(task, steps, final)

    home, end = Press(button=Button.HOME), Finish(claim=Claim.COMPLETE)
    judged(Watching(Ruling.FAILURE, Ruling.FAILURE), home, end, when="each_step")
    assert seen == [(home,), (home, end)]


def test_a_judge_outage_is_unknown_and_never_a_failure() -> None:
    results = judged(ScriptedJudge(None, None), Wait(), Finish(claim=Claim.COMPLETE), when="each_step")
    assert results[0].verdict is not None
    assert results[0].verdict.ruling is Ruling.UNKNOWN
    assert results[0].outcome is None
    assert results[1].outcome is Outcome.ABORTED_JUDGE
    assert not Outcome.ABORTED_JUDGE.is_trainable


def test_an_unknown_verdict_at_the_last_step_is_never_trained_on() -> None:
    task = msgspec.structs.replace(TASK, max_steps=2)
    judge = ScriptedJudge(Ruling.FAILURE, None)

    async def run() -> list[StepResult]:
        environment = PhoneEnvironment(make_sim_device(Config()), judge, EnvOptions())
        await environment.reset(task, Setup())
        return [await environment.step(Decision(action=Wait())) for _ in range(2)]

    assert [r.outcome for r in run_virtual(run())] == [None, Outcome.ABORTED_JUDGE]


class HangingJudge(ScriptedJudge):
    """A judge that never answers."""

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        await asyncio.sleep(1e6)
        raise AssertionError("unreachable")


def test_a_judge_that_hangs_is_waited_for_only_so_long() -> None:
    results = judged(HangingJudge(), Wait(), when="each_step")
    assert results[0].verdict is not None
    assert results[0].verdict.ruling is Ruling.UNKNOWN
    assert "120 s" in results[0].verdict.reason


def test_a_step_after_the_end_is_refused_and_pays_nothing() -> None:
    with pytest.raises(UserError, match="reset"):
        judged(ScriptedJudge(Ruling.SUCCESS), Wait(), Wait(), when="each_step")


# ---------------------------------------------------------------- device failures


@pytest.mark.parametrize(
    ("fault", "cause"),
    [("freeze", "deadline"), ("vanish", "vanish"), ("offline", "offline"), ("unauthorized", "unauthorized")],
)
def test_a_failing_device_truncates_one_episode_without_a_reward(fault: str, cause: str) -> None:
    results, environment = play(OpenApp(app="Clock"), Wait(), script={1: fault})
    assert results[-1].outcome is Outcome.ABORTED_DEVICE
    assert results[-1].infra_error.startswith(cause)
    assert results[-1].rewards == {}
    assert len(environment.steps) == 1


def test_a_hung_device_stalls_nobody_else() -> None:
    async def run() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        finished: dict[int, float] = {}

        async def one(number: int) -> None:
            config = Config.model_validate({"phone": {"latency": "emulator"}})
            environment = make_environment(
                config, make_sim_device(config, number, script={6: "freeze"} if number == 0 else {})
            )
            await environment.reset(TASK, make_setup(TASK))
            for _ in range(8):
                if (await environment.step(Decision(action=Wait()))).outcome:
                    break
            finished[number] = loop.time()

        await asyncio.gather(*(one(number) for number in range(4)))
        return finished[0], max(finished[n] for n in (1, 2, 3))

    hung, others = run_virtual(run())
    assert hung > 120 > others


@pytest.mark.parametrize("fault", ["black_screen", "truncated_screen", "corrupt_screen"])
def test_a_bad_screenshot_is_asked_for_again(fault: str) -> None:
    results, _ = play(Wait(), Wait(), script={2: fault})
    assert [r.outcome for r in results] == [None, None]
    assert all(len(r.observation.screen.data) == 270 * 600 * 3 for r in results)


@pytest.mark.parametrize(("fault", "cause"), [("black_screen", "black_screen"), ("corrupt_screen", "bad_screen")])
def test_screenshots_that_stay_bad_are_a_failure_of_the_device(fault: str, cause: str) -> None:
    results, _ = play(Wait(), script={2: fault, 3: fault, 4: fault})
    assert results[-1].outcome is Outcome.ABORTED_DEVICE
    assert results[-1].infra_error.startswith(cause)


@pytest.mark.parametrize(
    "screen",
    [
        Screen(data=b"", width=2, height=2),
        Screen(data=bytes(11), width=2, height=2),
        Screen(data=bytes(12), width=2, height=2),
        Screen(data=b"not a png", width=2, height=2, encoding="png"),
        Screen(data=b"\x89PNG\r\n\x1a\n" + bytes(50), width=2, height=2, encoding="png"),
        Screen(data=b"\xff\xd8\xff" + bytes(50), width=2, height=2, encoding="jpeg"),
        Screen(data=b"x" * 12, width=10**6, height=10**6),
    ],
)
def test_no_bad_bytes_get_past_the_check(screen: Screen) -> None:
    with pytest.raises(DeviceError):
        check_screen(screen)


def test_encoded_screens_are_decoded_and_their_size_is_checked() -> None:
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (3, 2), (10, 20, 30)).save(buffer, "PNG")
    good = Screen(data=buffer.getvalue(), width=3, height=2, encoding="png")
    assert decode_screen(good)[1, 2].tolist() == [10, 20, 30]
    with pytest.raises(DeviceError, match="3 x 2"):
        check_screen(Screen(data=buffer.getvalue(), width=2, height=3, encoding="png"))


def test_a_reset_that_has_to_start_its_device_has_a_deadline_of_its_own() -> None:
    from distrl.core.config import config_of
    from distrl.runtime.build_devices import reset_deadline_s

    tables = {"kind": "emulator", "emulator": {"avd": "x", "boot_s": 100.0}}
    assert reset_deadline_s(config_of({"devices": tables, "env": {"operation_deadline_s": 30.0}})) == 330.0
    assert reset_deadline_s(config_of({"env": {"operation_deadline_s": 30.0}})) == 30.0

    async def main(reset_deadline_s: float | None) -> str:
        options = EnvOptions(operation_deadline_s=5.0, reset_deadline_s=reset_deadline_s)
        environment = PhoneEnvironment(SlowStart(), ScriptJudge(("failure",)), options)
        try:
            await environment.reset(TASK, Setup())
        except DeviceError as error:
            return error.cause
        return ""

    assert run_virtual(main(None)) == "deadline"
    assert run_virtual(main(60.0)) == ""


class SlowStart:
    """A device that takes half a minute to start, and nothing after that."""

    name = "slow"

    async def reset(self) -> None:
        await asyncio.sleep(30.0)

    async def observe(self) -> Observation:
        return Observation(screen=Screen(data=bytes([1, 2, 3]), width=1, height=1), activity="", time_s=0.0)

    async def perform(self, action: object) -> None:
        pass

    async def close(self) -> None:
        pass

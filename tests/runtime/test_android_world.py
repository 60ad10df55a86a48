"""AndroidWorld's shapes around our phone: its tasks under our policy, and our policy in its harness."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from distrl.core.types import Outcome, Situation
from distrl.devices.sim.phone import Phone
from distrl.policies.codec.android_world import AndroidWorldCodec
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.android_world import AndroidWorldAgent, observe, play_suite, tasks_of
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange, see
from distrl.runtime.evaluation import Scripted
from distrl.tasks.book import expert_for, is_solved, load_tasks


class Env:
    """A phone of ours with the interface of AndroidWorld's environment."""

    def __init__(self) -> None:
        self.phone: Phone = make_phone(scale=0.1)
        self.said: list[Any] = []
        self.is_broken = False

    logical_screen_size = (1080, 2400)

    @property
    def foreground_activity_name(self) -> str:
        return self.phone.activity

    def reset(self, go_home: bool = False) -> None:
        if go_home:
            self.phone.home()

    def get_state(self, wait_to_stabilize: bool = False) -> Any:
        if self.is_broken:
            raise RuntimeError("adb is gone")
        width, height = self.phone.size
        pixels = np.frombuffer(self.phone.render(), np.uint8).reshape(height, width, 3)
        return SimpleNamespace(pixels=pixels, ui_elements=[_ui(e, width, height) for e in self.phone.candidates()])

    def execute_action(self, action: Any) -> None:
        self.said.append(action)
        if action.action_type == "status":
            return
        fields = {k: v for k, v in vars(action).items() if v is not None}
        if action.action_type == "input_text":
            fields = {"action_type": "input_text", "text": action.text}
        self.phone.perform(AndroidWorldCodec().decode(json.dumps(fields)))


def _ui(element: Any, width: int, height: int) -> Any:
    left, top, right, bottom = element.box
    box = SimpleNamespace(x_min=left * width, x_max=right * width, y_min=top * height, y_max=bottom * height)
    return SimpleNamespace(
        text=element.text,
        content_description=None,
        class_name="android.widget.EditText" if element.editable else "android.view.View",
        bbox_pixels=box,
        is_clickable=element.clickable,
        is_editable=element.editable,
        is_enabled=element.enabled,
        is_focused=element.focused,
        is_checkable=element.checked is not None,
        is_checked=element.checked,
        resource_name=f"com.x:id/{element.id}",
    )


class Eval:
    """One of our tasks with the interface of its `TaskEval`."""

    def __init__(self, number: int) -> None:
        self.task = load_tasks("general", "train")[number]
        self.name = f"General{number}"
        self.goal = self.task.instruction
        self.complexity = self.task.max_steps / 10
        self.calls: list[str] = []
        self.fails = ""

    def initialize_task(self, env: Env) -> None:
        self.calls.append("initialize")
        if self.fails == "initialize":
            raise RuntimeError("INSTALL_FAILED_INSUFFICIENT_STORAGE com.example.app")
        arrange(env.phone, self.task)

    def is_successful(self, env: Env) -> float:
        self.calls.append("is_successful")
        if self.fails == "is_successful":
            raise RuntimeError("no such file")
        return float(is_solved(self.task, env.phone.inspect))

    def tear_down(self, env: Env) -> None:
        self.calls.append("tear_down")


def expert(env: Env, evals: list[Eval]) -> Scripted:
    """The scripted expert, which looks into the phone."""
    by_goal = {evaluation.goal: evaluation.task for evaluation in evals}
    players: dict[str, Any] = {}

    def act(situation: Situation) -> Any:
        goal = situation.task.instruction
        if not situation.steps:
            players[goal] = expert_for(by_goal[goal], env.phone.inspect)
        return players[goal].act(see(env.phone))

    return Scripted(act)


def test_its_tasks_are_tasks_of_ours_with_ten_steps_for_a_point_of_complexity() -> None:
    made = list(tasks_of([SimpleNamespace(goal="Do it", complexity=1.4, name="A task")]).values())
    assert (made[0].instruction, made[0].max_steps) == ("Do it", 14)
    assert not made[0].has_ground_truth
    assert made[0].id == "android_world-A_task-0000"


def test_its_suite_is_played_judged_by_itself_and_torn_down() -> None:
    env, evals = Env(), [Eval(0), Eval(7)]
    played = asyncio.run(play_suite(expert(env, evals), evals, [env], snapshot=SimpleNamespace(version=0)))
    assert [t.outcome for t in played] == [Outcome.SUCCEEDED] * 2
    assert [t.verdict.judge for t in played] == ["android_world"] * 2
    for evaluation in evals:
        assert (evaluation.calls[0], evaluation.calls[-1]) == ("initialize", "tear_down")
        assert evaluation.calls.count("tear_down") == 1


def test_a_task_that_cannot_be_set_up_is_skipped_and_one_that_cannot_be_judged_is_no_failure() -> None:
    env, evals = Env(), [Eval(0), Eval(7), Eval(3)]
    evals[0].fails, evals[1].fails = "initialize", "is_successful"
    played = asyncio.run(play_suite(expert(env, evals), evals, [env], snapshot=SimpleNamespace(version=0)))
    assert [t.outcome for t in played] == [Outcome.ABORTED_JUDGE, Outcome.SUCCEEDED]
    assert evals[0].calls == ["initialize"]


def test_what_its_environment_shows_is_what_our_phone_shows() -> None:
    env = Env()
    seen = observe(env, time_s=0.0)
    assert seen.screen.data == env.phone.render()
    assert [e.text for e in seen.elements] == [e.text for e in env.phone.candidates()]
    assert all(a.center == pytest.approx(b.center) for a, b in zip(seen.elements, env.phone.candidates(), strict=True))


def test_our_policy_is_an_agent_of_its_harness() -> None:
    """Its loop: reset, then step(goal) until the agent is done or out of steps; then the task itself is asked."""
    env, evaluation = Env(), Eval(0)
    agent = AndroidWorldAgent(env, expert(env, [evaluation]))
    evaluation.initialize_task(env)
    agent.reset(go_home=True)
    for _ in range(int(10 * evaluation.complexity)):
        result = agent.step(evaluation.goal)
        if result.done or evaluation.is_successful(env):
            break
    assert evaluation.is_successful(env) == 1.0
    assert all(action.action_type in ("click", "swipe", "scroll", "input_text", "open_app") for action in env.said)


def test_the_network_acts_in_its_harness_too() -> None:
    env = Env()
    policy = TinyPolicy("text")
    agent = AndroidWorldAgent(env, policy, snapshot=policy.snapshot())
    agent.reset(go_home=True)
    for number in range(3):
        result = agent.step("Open the clock and set an alarm for 7:30")
        assert result.data["step"] == number + 1
        if result.done:
            break
    agent.reset()
    assert agent.step("Open the clock").data["step"] == 1

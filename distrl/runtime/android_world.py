"""AndroidWorld both ways: its tasks under our policies and training, and our policies as agents in its harness.

Its objects go in as they are (`TaskEval`s: `goal`, `complexity`, `initialize_task`, `is_successful`, `tear_down`; its
environment: `get_state`, `execute_action`, `reset`), by their shape and not by their class, since the package cannot be
depended upon. Out come tasks, devices and environments of ours, or an agent with `step(goal)`.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from distrl.core.clock import Clock, LoopClock
from distrl.core.errors import DeviceError, JudgeError, SetupError
from distrl.core.interfaces import Decider, Setup, StepResult
from distrl.core.types import (
    Action,
    Decision,
    Element,
    Finish,
    Invalid,
    Observation,
    Ruling,
    Screen,
    Situation,
    Step,
    Tap,
    Task,
    Trajectory,
    TypeText,
    Verdict,
)
from distrl.devices.pool import Pool
from distrl.envs.phone_env import EnvOptions, PhoneEnvironment
from distrl.policies.codec.android_world import EXACT_KEY, AndroidWorldCodec
from distrl.runtime.curriculum import FixedTasks
from distrl.runtime.worker import Snapshot, Worker, WorkerOptions

T = TypeVar("T")
STEPS_PER_COMPLEXITY = 10
MAX_ELEMENTS = 64
CALL_S = 300.0
SOLVED = 0.999
_CLASSES = (("EditText", "field"), ("Switch", "switch"), ("CheckBox", "checkbox"), ("RadioButton", "radio"))


# ---------------------------------------------------------------- its tasks as a suite


def tasks_of(evals: Sequence[Any], *, suite: str = "android_world", split: str = "test") -> dict[str, Task]:
    """A task of ours for each of its evaluations, by id and in their order; ten steps for each point of complexity."""
    made: dict[str, Task] = {}
    for number, evaluation in enumerate(evals):
        name = getattr(evaluation, "name", "") or type(evaluation).__name__
        task_id = f"{suite}-{name}-{number:04d}".replace(" ", "_").replace("/", "_")
        made[task_id] = Task(
            id=task_id,
            suite=suite,
            split=split,
            instruction=str(evaluation.goal),
            max_steps=max(1, int(STEPS_PER_COMPLEXITY * float(evaluation.complexity))),
            tags=(str(name),),
        )
    return made


class TaskEvalJudge:
    """Asks the evaluation itself; a score below one is a failure, and is kept."""

    name = "android_world"

    def __init__(self, evals: Mapping[str, Any], env: Any) -> None:
        self._evals = evals
        self._env = env

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """What `is_successful` says now; an exception of it is no verdict."""
        try:
            score = float(await asyncio.to_thread(self._evals[task.id].is_successful, self._env))
        except Exception as error:  # tasks of others may fail in any way
            raise JudgeError(f"is_successful of {task.id} failed: {type(error).__name__}: {error}") from error
        ruling = Ruling.SUCCESS if score >= SOLVED else Ruling.FAILURE
        return Verdict(ruling=ruling, judge=self.name, score=score)


class AndroidWorldEnvironment:
    """Its evaluations on its environment: initialised before an episode, torn down after it, whatever happened."""

    def __init__(
        self, device: "AndroidWorldDevice", evals: Mapping[str, Any], options: EnvOptions | None = None
    ) -> None:
        self._device = device
        self._evals = evals
        self._inner = PhoneEnvironment(device, TaskEvalJudge(evals, device.env), options or EnvOptions())
        self._running: Any = None

    async def reset(self, task: Task, setup: Setup) -> Observation:
        """Set its task up; one that cannot be is a `SetupError`, which costs the task and not the device."""
        await self._tear_down()
        evaluation = self._evals[task.id]
        try:
            await asyncio.to_thread(evaluation.initialize_task, self._device.env)
        except Exception as error:  # tasks of others may fail in any way
            raise SetupError("setup", f"{task.id} cannot be set up: {type(error).__name__}: {error}") from error
        self._running = evaluation
        return await self._inner.reset(task, setup)

    async def step(self, decision: Decision) -> StepResult:
        """One step; the last one tears its task down."""
        result = await self._inner.step(decision)
        if result.outcome is not None:
            await self._tear_down()
        return result

    async def close(self) -> None:
        """Tear down and release the device."""
        await self._tear_down()
        await self._inner.close()

    async def _tear_down(self) -> None:
        evaluation, self._running = self._running, None
        if evaluation is not None:
            try:
                await asyncio.to_thread(evaluation.tear_down, self._device.env)
            except Exception as error:  # as above
                raise DeviceError("tear_down", f"{type(evaluation).__name__}: {error}") from error


async def play_suite(
    policy: Decider,
    evals: Sequence[Any],
    envs: Sequence[Any],
    *,
    snapshot: Snapshot,
    make_action: Callable[[Mapping[str, Any]], Any] | None = None,
    is_greedy: bool = True,
    seed: int = 0,
) -> list[Trajectory]:
    """Let a policy try each evaluation once, on as many environments as there are; in the order of the tasks."""
    tasks = tasks_of(evals)
    by_id = dict(zip(tasks, evals, strict=True))
    clock = LoopClock()
    makers = {
        f"android_world-{number}": lambda n=number, e=env: AndroidWorldDevice(
            f"android_world-{n}", e, clock=clock, make_action=make_action
        )
        for number, env in enumerate(envs)
    }
    finished: dict[str, Trajectory] = {}

    async def keep(trajectory: Trajectory) -> None:
        finished[trajectory.task.id] = trajectory

    pool = Pool(makers, clock=clock)
    worker = Worker(
        pool,
        policy,
        weights=lambda assignment: snapshot,
        make_environment=lambda device: AndroidWorldEnvironment(device, by_id),  # type: ignore[arg-type]
        make_setup=lambda task: Setup(),
        send=keep,
        options=WorkerOptions(name="android_world", seed=seed, is_greedy=is_greedy),
    )
    try:
        await worker.run(FixedTasks(list(tasks.values())))
    finally:
        await pool.close()
    return [finished[task_id] for task_id in tasks if task_id in finished]


# ---------------------------------------------------------------- its environment as a device


class AndroidWorldDevice:
    """Its environment with the interface of our devices."""

    def __init__(
        self,
        name: str,
        env: Any,
        *,
        clock: Clock,
        make_action: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        self._name = name
        self.env = env
        self._clock = clock
        self._speaker = _Speaker(env, make_action)

    @property
    def name(self) -> str:
        """As it was called."""
        return self._name

    async def reset(self) -> None:
        """To the home screen; state is what its tasks set up."""
        await self._ask(lambda: self.env.reset(go_home=True))

    async def observe(self) -> Observation:
        """What the screen shows, once it is stable."""
        return await self._ask(lambda: observe(self.env, time_s=self._clock.now()))

    async def perform(self, action: Action) -> None:
        """Do it; `Finish` and `Invalid` touch nothing."""
        if not isinstance(action, Finish | Invalid):
            await self._ask(lambda: self._speaker.execute(action))

    async def close(self) -> None:
        """Nothing is held: the environment is its owner's."""

    async def _ask(self, call: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(CALL_S):
                return await asyncio.to_thread(call)
        except TimeoutError as error:
            raise DeviceError("deadline", f"{self._name}: AndroidWorld did not answer within {CALL_S:g} s") from error
        except Exception as error:  # its environment raises whatever adb and gRPC raise
            raise DeviceError("android_world", f"{self._name}: {type(error).__name__}: {error}") from error


def observe(env: Any, *, time_s: float) -> Observation:
    """The state of its environment as an observation of ours."""
    state = env.get_state(wait_to_stabilize=True)
    pixels = np.ascontiguousarray(state.pixels, dtype=np.uint8)[:, :, :3]
    height, width, _ = pixels.shape
    elements = tuple(e for e in (_element(u, width, height) for u in state.ui_elements or ()) if e is not None)
    return Observation(
        screen=Screen(data=pixels.tobytes(), width=width, height=height),
        activity=str(getattr(env, "foreground_activity_name", "") or ""),
        time_s=time_s,
        elements=elements[:MAX_ELEMENTS],
        ui_tree=elements,
    )


def _element(found: Any, width: int, height: int) -> Element | None:
    box = getattr(found, "bbox_pixels", None)
    if box is None:
        return None
    left, top = max(box.x_min / width, 0.0), max(box.y_min / height, 0.0)
    right, bottom = min(box.x_max / width, 1.0), min(box.y_max / height, 1.0)
    if left >= right or top >= bottom:
        return None
    is_clickable, is_editable = bool(getattr(found, "is_clickable", False)), bool(getattr(found, "is_editable", False))
    name = str(getattr(found, "class_name", "") or "")
    kind = next((kind for ending, kind in _CLASSES if name.endswith(ending)), "row" if is_clickable else "text")
    return Element(
        box=(left, top, right, bottom),
        text=str(getattr(found, "text", "") or getattr(found, "content_description", "") or ""),
        kind="field" if is_editable else kind,
        id=str(getattr(found, "resource_name", "") or "").rpartition("/")[2],
        enabled=bool(getattr(found, "is_enabled", True)),
        clickable=is_clickable,
        checked=bool(getattr(found, "is_checked", False)) if getattr(found, "is_checkable", False) else None,
        editable=is_editable,
        focused=bool(getattr(found, "is_focused", False)),
    )


class _Speaker:
    """Says our actions in its words. Typing is done at a place there, so the last tap is remembered."""

    def __init__(self, env: Any, make_action: Callable[[Mapping[str, Any]], Any] | None) -> None:
        self._env = env
        self._make_action = make_action or _json_action
        self._last_tap: dict[str, Any] = {}

    def execute(self, action: Action) -> dict[str, Any]:
        """Do it; the object that was said."""
        width, height = self._env.logical_screen_size
        codec = AndroidWorldCodec(width=int(width), height=int(height))
        fields: dict[str, Any] = {k: v for k, v in json.loads(codec.encode(action)).items() if k != EXACT_KEY}
        if isinstance(action, Tap):
            self._last_tap = {"x": fields["x"], "y": fields["y"]}
        elif isinstance(action, TypeText):
            fields |= self._last_tap
        self._env.execute_action(self._make_action(fields))
        return fields


def _json_action(fields: Mapping[str, Any]) -> Any:
    """Its own class if the package is there, else an object of the same shape."""
    try:
        from android_world.env import json_action
    except ModuleNotFoundError:
        names = ("action_type", "index", "x", "y", "text", "direction", "goal_status", "app_name")
        return SimpleNamespace(**{**dict.fromkeys(names), **fields})
    return json_action.JSONAction(**fields)


# ---------------------------------------------------------------- our policy as its agent


class StepData(NamedTuple):
    """What its harness wants to know of a step: whether the agent has ended, and what it did."""

    done: bool
    data: dict[str, Any]


class AndroidWorldAgent:
    """A policy of ours with the interface of its agents: `reset`, `step(goal)`, `name`."""

    def __init__(
        self,
        env: Any,
        policy: Decider,
        *,
        snapshot: Snapshot | None = None,
        name: str = "distrl",
        max_steps: int = 100,
        rng: Random | None = None,
        make_action: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        self.env = env
        self.name = name
        self._policy = policy
        self._snapshot = snapshot
        self._max_steps = max_steps
        self._rng = rng
        self._make_action = make_action
        self._steps: tuple[Step, ...] = ()
        self._speaker = _Speaker(env, make_action)

    def reset(self, go_home: bool = False) -> None:
        """Begin a new episode."""
        self.env.reset(go_home=go_home)
        self._steps = ()
        self._speaker = _Speaker(self.env, self._make_action)

    def set_max_steps(self, max_steps: int) -> None:
        """How long an episode may be, as its harness says it."""
        self._max_steps = max_steps

    def step(self, goal: str) -> StepData:
        """Look, decide, act."""
        task = Task(id="goal", suite="android_world", split="test", instruction=goal, max_steps=self._max_steps)
        seen = observe(self.env, time_s=float(len(self._steps)))
        situation = Situation(task=task, steps=self._steps, observation=seen)
        (decision,) = self._policy.decide([situation], None if self._rng is None else [self._rng], self._snapshot)
        said: dict[str, Any] = {}
        if not isinstance(decision.action, Invalid):
            said = self._speaker.execute(decision.action)
        self._steps = (*self._steps, Step(observation=seen, decision=decision, rewards={}))
        is_done = isinstance(decision.action, Finish)
        return StepData(is_done, {"action": said, "raw": decision.raw, "step": len(self._steps)})

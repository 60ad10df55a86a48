"""Gymnasium's view of the environment: dictionaries of arrays in and out, one task after another.

The event loop inside is virtual, so latencies and deadlines pass without waiting. An episode that ends because a device
failed is truncated, never terminated, and `info["infra_error"]` says why.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import gymnasium
import msgspec
import numpy as np
from gymnasium import spaces

from distrl.core.clock import VirtualLoop
from distrl.core.errors import DeviceError, UnknownNameError, UserError
from distrl.core.interfaces import Setup
from distrl.core.types import (
    Action,
    Button,
    Claim,
    Decision,
    Finish,
    LongPress,
    Observation,
    OpenApp,
    Press,
    Swipe,
    Tap,
    Task,
    TypeText,
    Wait,
)
from distrl.core.vetting import invalid, vetted
from distrl.envs.observations import (
    ELEMENT_SPACE,
    MAX_INSTRUCTION,
    TEXT_CHARACTERS,
    describe,
    elements_to_arrays,
    plain_text,
)
from distrl.envs.phone_env import PhoneEnvironment
from distrl.envs.screens import Pixels, decode_screen

T = TypeVar("T")
KINDS = ("tap", "long_press", "swipe", "type", "back", "home", "enter", "open_app", "wait", "complete", "impossible")
MAX_TYPED = 200
MAX_HISTORY = 1000
RESET_TRIES = 4


class GymOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the environment looks from gymnasium."""

    screen_size: tuple[int, int]
    keep_last_actions: int = 4
    render_mode: str | None = None


class PhoneGym(gymnasium.Env[dict[str, Any], dict[str, Any]]):
    """One simulated phone as a gymnasium environment."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 2}

    def __init__(
        self,
        environment: PhoneEnvironment,
        tasks: Sequence[Task],
        setup_of: Callable[[Task], Setup],
        options: GymOptions,
    ) -> None:
        self._environment = environment
        self._tasks = tuple(tasks)
        self._setup_of = setup_of
        self._options = options
        self.render_mode = options.render_mode
        self._loop: VirtualLoop | None = VirtualLoop()
        self._task = self._tasks[0]
        self._history: list[str] = []
        self._last: Observation | None = None
        width, height = options.screen_size
        self.observation_space = spaces.Dict(
            {
                "screen": spaces.Box(0, 255, (height, width, 3), np.uint8),
                "instruction": spaces.Text(max_length=MAX_INSTRUCTION, min_length=0, charset=TEXT_CHARACTERS),
                "last_actions": spaces.Text(max_length=MAX_HISTORY, min_length=0, charset=TEXT_CHARACTERS),
                "elements": ELEMENT_SPACE,
            }
        )
        self.action_space = spaces.Dict(
            {
                "kind": spaces.Discrete(len(KINDS)),
                "point": spaces.Box(0.0, 1.0, (2,), np.float32),
                "to": spaces.Box(0.0, 1.0, (2,), np.float32),
                "text": spaces.Text(max_length=MAX_TYPED, min_length=0, charset=TEXT_CHARACTERS),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the next episode, of a task drawn by the seed or named by `options={"task": id}`."""
        super().reset(seed=seed)
        if options is not None and not isinstance(options, dict):
            raise UserError(f'options are a dictionary such as {{"task": "general-train-0007"}}, got {options!r}')
        self._task = self._choose((options or {}).get("task"))
        self._history = []
        for tries_left in reversed(range(RESET_TRIES)):
            try:
                self._last = self._run(lambda: self._environment.reset(self._task, self._setup_of(self._task)))
                break
            except DeviceError:
                if tries_left == 0:
                    raise
        return self._observation(), {"task": self._task.id, "infra_error": ""}

    def step(self, action: dict[str, Any]) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Do an action; what is no action at all is an `Invalid` one, with its penalty."""
        decoded = to_action(action)
        self._history.append(describe(decoded))
        result = self._run(lambda: self._environment.step(Decision(action=decoded)))
        self._last = result.observation
        outcome = result.outcome
        info = {
            "task": self._task.id,
            "rewards": result.rewards,
            "outcome": outcome.value if outcome else "",
            "infra_error": result.infra_error,
        }
        terminated = outcome is not None and outcome.is_terminal
        truncated = outcome is not None and not outcome.is_terminal
        return self._observation(), float(sum(result.rewards.values())), terminated, truncated, info

    def render(self) -> Pixels | None:
        """The screen, when `render_mode="rgb_array"`."""
        if self.render_mode != "rgb_array" or self._last is None:
            return None
        return decode_screen(self._last.screen).copy()

    def close(self) -> None:
        """Release the device; may be called twice."""
        if self._loop is not None:
            self._run(self._environment.close)
            self._loop.close()
            self._loop = None

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._loop is None:
            raise UserError("this environment is closed")
        return self._loop.run_until_complete(work())

    def _choose(self, task_id: str | None) -> Task:
        if task_id is None:
            return self._tasks[int(self.np_random.integers(len(self._tasks)))]
        known = {task.id: task for task in self._tasks}
        if not isinstance(task_id, str) or task_id not in known:
            raise UnknownNameError("task", str(task_id), known)
        return known[task_id]

    def _observation(self) -> dict[str, Any]:
        assert self._last is not None
        keep = self._options.keep_last_actions
        history = "\n".join(self._history[-keep:] if keep else [])
        return {
            "screen": decode_screen(self._last.screen).copy(),
            "instruction": plain_text(self._task.instruction, MAX_INSTRUCTION),
            "last_actions": plain_text(history[-MAX_HISTORY:], MAX_HISTORY),
            "elements": elements_to_arrays(self._last.elements),
        }


def to_action(fields: Any) -> Action:
    """An `Action` from a sample of the action space, or as it is; total: whatever is no action is `Invalid`."""
    try:
        action = fields if isinstance(fields, Action) else _read(fields)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        return invalid(repr(fields), f"not an action: {error!r}")
    return vetted(action, raw=repr(fields))


def _read(fields: Any) -> Action:
    number = int(fields["kind"])
    if not 0 <= number < len(KINDS):
        raise ValueError(f"kind {number} of {len(KINDS)}")
    kind = KINDS[number]
    match kind:
        case "type":
            return TypeText(text=_text(fields["text"]))
        case "open_app":
            return OpenApp(app=_text(fields["text"]))
        case "wait":
            return Wait()
        case "complete" | "impossible":
            return Finish(claim=Claim(kind.upper()))
        case "back" | "home" | "enter":
            return Press(button=Button(kind.upper()))
    x, y = (float(v) for v in fields["point"])
    if kind == "swipe":
        to_x, to_y = (float(v) for v in fields["to"])
        return Swipe(x=x, y=y, to_x=to_x, to_y=to_y)
    return Tap(x=x, y=y) if kind == "tap" else LongPress(x=x, y=y)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text is {type(value).__name__}")
    return value

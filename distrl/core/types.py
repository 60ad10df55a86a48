"""The nouns: frozen values that flow from devices to the learner.

An `Observation` goes in, a `Decision` comes out, a `Step` holds both with its reward, and a `Trajectory` is the whole
episode. All are msgspec structs, so that the wire format, the journal and the value in memory are one definition
(docs/adr/0001). Nothing here imports torch or a device.
"""

import enum
import math
from typing import Literal

import msgspec

MAX_TEXT_CHARS = 4096
"""The longest text that one action may type."""


# ---------------------------------------------------------------- what is seen


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """An image of the screen: `raw` is width * height * 3 bytes of RGB, the others are encoded files."""

    data: bytes
    width: int
    height: int
    encoding: Literal["raw", "png", "jpeg", "webp"] = "raw"


ELEMENT_KINDS = (
    *("other", "text", "button", "icon", "row", "field", "switch", "checkbox", "radio", "tab", "chip", "card"),
    *("slider", "app", "key", "nav", "link", "day", "photo", "pin"),
)
"""Kinds of elements that have a number; the number 0 is everything else."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(ELEMENT_KINDS)}


class Element(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A thing on the screen that can be read or touched; `box` is (left, top, right, bottom) in [0, 1]."""

    box: tuple[float, float, float, float]
    text: str
    kind: str
    id: str = ""
    enabled: bool = True
    clickable: bool = True
    checked: bool | None = None
    editable: bool = False
    focused: bool = False

    @property
    def kind_number(self) -> int:
        """Its place in `ELEMENT_KINDS`."""
        return _KIND_NUMBERS.get(self.kind, 0)

    @property
    def center(self) -> tuple[float, float]:
        """The point to tap."""
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What a device shows at one moment. `elements` are the candidates (at most 64), `ui_tree` is everything."""

    screen: Screen
    activity: str
    time_s: float
    elements: tuple[Element, ...] = ()
    ui_tree: tuple[Element, ...] | None = None


# ---------------------------------------------------------------- what is done


class Button(enum.StrEnum):
    """A hardware or navigation button."""

    BACK = "BACK"
    HOME = "HOME"
    ENTER = "ENTER"


class Claim(enum.StrEnum):
    """What an agent says when it stops."""

    COMPLETE = "COMPLETE"
    IMPOSSIBLE = "IMPOSSIBLE"


def _require_unit(**coordinates: float) -> None:
    for name, value in coordinates.items():
        if not (math.isfinite(value) and 0.0 <= value <= 1.0):
            raise ValueError(f"{name} must lie in [0, 1], got {value!r}")


class Tap(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A short touch; coordinates are shares of width and height."""

    x: float
    y: float

    def __post_init__(self) -> None:
        _require_unit(x=self.x, y=self.y)


class LongPress(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A touch held until the device reacts to holding."""

    x: float
    y: float

    def __post_init__(self) -> None:
        _require_unit(x=self.x, y=self.y)


class Swipe(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A drag from (x, y) to (to_x, to_y)."""

    x: float
    y: float
    to_x: float
    to_y: float

    def __post_init__(self) -> None:
        _require_unit(x=self.x, y=self.y, to_x=self.to_x, to_y=self.to_y)


class TypeText(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Text typed into the focused field, verbatim."""

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > MAX_TEXT_CHARS:
            raise ValueError(f"text of {len(self.text)} characters; at most {MAX_TEXT_CHARS} can be typed at once")


class Press(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A button pressed."""

    button: Button


class OpenApp(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An app started by its name."""

    app: str


class Wait(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Nothing, for a moment."""


class Finish(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The agent stops and says why."""

    claim: Claim


class Invalid(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What could not be read as an action: a value, not an exception."""

    raw: str
    reason: str


Action = Tap | LongPress | Swipe | TypeText | Press | OpenApp | Wait | Finish | Invalid


# ---------------------------------------------------------------- what is wanted


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `params` are what its template was filled with; a task without a template has no ground truth."""

    id: str
    suite: str
    split: str
    instruction: str
    max_steps: int
    template: str = ""
    params: dict[str, str] = {}
    difficulty: int = 1
    tags: tuple[str, ...] = ()

    @property
    def has_ground_truth(self) -> bool:
        """Whether a rule can say if it was solved."""
        return bool(self.template)


class Ruling(enum.StrEnum):
    """What a judge can say."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


PENDING = "pending"
"""The name of the judge of an episode that is still to be judged."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's answer. UNKNOWN is never trained as failure."""

    ruling: Ruling
    judge: str
    score: float = 0.0
    reason: str = ""
    truths: tuple[bool, ...] = ()
    """What ground truth says, where there is one, at each moment that is judged: judges are measured by it, and nobody
    learns from it."""

    @property
    def truth(self) -> bool | None:
        """What ground truth says at the last of these moments; None if nothing."""
        return self.truths[-1] if self.truths else None

    @property
    def is_pending(self) -> bool:
        """Whether a judge is still to be asked."""
        return self.judge == PENDING and self.ruling is Ruling.UNKNOWN


# ---------------------------------------------------------------- what is recorded


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy chose, and how likely it was to choose it."""

    action: Action
    raw: str = ""
    tokens: tuple[int, ...] = ()
    token_log_probs: tuple[float, ...] = ()
    log_prob: float = 0.0
    policy_version: int = 0


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One action on a phone: what was seen, what was decided, and the reward terms by name."""

    observation: Observation
    decision: Decision
    rewards: dict[str, float]

    @property
    def reward(self) -> float:
        """The sum of the terms."""
        return sum(self.rewards.values())


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy decides upon: the task, what was done so far, and what the screen shows now."""

    task: Task
    steps: tuple[Step, ...]
    observation: Observation
    departures: float = 0.0
    """How often something else than the likeliest is wanted here, to find out what it leads to; for who can do so."""


class Outcome(enum.StrEnum):
    """How an episode ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TRUNCATED_STEPS = "truncated_steps"
    TRUNCATED_TIME = "truncated_time"
    ABORTED_DEVICE = "aborted_device"
    ABORTED_JUDGE = "aborted_judge"
    ABORTED_POLICY = "aborted_policy"

    @property
    def is_terminal(self) -> bool:
        """Whether the task itself ended, so that the value of the state after it is 0."""
        return self in (Outcome.SUCCEEDED, Outcome.FAILED)

    @property
    def is_trainable(self) -> bool:
        """Whether its rewards say something about the policy."""
        return self not in (Outcome.ABORTED_DEVICE, Outcome.ABORTED_JUDGE, Outcome.ABORTED_POLICY)


class Trajectory(msgspec.Struct, frozen=True, kw_only=True):
    """One episode: T steps and the screen after the last of them (T + 1 observations, none stored twice)."""

    id: str
    task: Task
    steps: tuple[Step, ...]
    final: Observation
    outcome: Outcome
    verdict: Verdict
    worker: str
    device: str
    group: str = ""
    """Attempts at the same task that were made together share it."""
    purpose: str = ""
    """Nothing for training; else the evaluation that it belongs to, which is never trained on."""
    features: bytes = b""
    """What a policy with frozen eyes saw in the T + 1 screens, so that nobody has to look again; only it reads this."""

    @property
    def policy_versions(self) -> tuple[int, ...]:
        """The versions that acted, one per step."""
        return tuple(step.decision.policy_version for step in self.steps)


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """A published set of weights: verified by `digest` before use."""

    version: int
    digest: str
    location: str

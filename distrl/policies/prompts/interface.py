"""What a prompt is: messages made of texts and screens, and a codec that reads the answer to them."""

import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec
from PIL import Image

from distrl.core.types import Action, Invalid, Observation, Screen, Situation, Step
from distrl.policies.codec import Codec

DIGITS = 3
"""Digits of a coordinate that a model is shown or taught: a thousandth of the screen is finer than any element."""
MAX_REASON_CHARS = 80

Role = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a chat: texts and screens in their order."""

    role: Role
    parts: tuple[str | Screen, ...]


def text_of(message: Message) -> str:
    """The texts of a message, without its screens."""
    return "".join(part for part in message.parts if isinstance(part, str))


def as_image(screen: Screen) -> Image.Image:
    """A screen as a picture in RGB; `ValueError` if its bytes are none."""
    if screen.encoding != "raw":
        try:
            return Image.open(io.BytesIO(screen.data)).convert("RGB")
        except OSError as error:
            raise ValueError(f"{len(screen.data)} bytes are no picture in {screen.encoding}") from error
    if screen.width < 1 or len(screen.data) != 3 * screen.width * screen.height:
        raise ValueError(f"{len(screen.data)} bytes are no screen of {screen.width} x {screen.height} pixels")
    return Image.frombytes("RGB", (screen.width, screen.height), screen.data)


@dataclass(frozen=True, kw_only=True)
class Prompt(ABC):
    """How a model is asked in one format: the last screens (0 of them for a model that reads) and the last actions."""

    name: ClassVar[str]
    system: ClassVar[str]
    """What it is told once: its job, and the format of its answers."""

    num_screens: int = 1
    num_actions: int = 16

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The chat that asks for the next action."""
        steps = situation.steps
        first = max(0, len(steps) - self.num_actions)
        done = [f"{number}. {self.tell(step)}" for number, step in enumerate(steps[first:], first + 1)]
        seen = [*(step.observation.screen for step in steps), situation.observation.screen]
        screens = seen[max(0, len(seen) - self.num_screens) :] if self.num_screens else []
        before, after = self.ask(situation, done)
        parts: list[str | Screen] = [before, *screens, *([after] if after else [])]
        return Message(role="system", parts=(self.system,)), Message(role="user", parts=tuple(parts))

    def read(self, answer: str, observation: Observation) -> Action:
        """What an answer means on this screen; `Invalid` if it means no action, never an exception."""
        return self.codec(observation).decode(answer)

    def write(self, action: Action, observation: Observation) -> str:
        """The answer for this action on this screen, with few digits: what a model is taught."""
        return self.codec(observation).encode(rounded(action))

    def tell(self, step: Step) -> str:
        """A step that was done, as the model is told of it later."""
        if isinstance(step.decision.action, Invalid):
            return f"nothing: {step.decision.action.reason[:MAX_REASON_CHARS]}"
        return self.write(step.decision.action, step.observation)

    @abstractmethod
    def codec(self, observation: Observation) -> Codec:
        """What reads and writes an answer that is given on this screen."""

    def ask(self, situation: Situation, done: Sequence[str]) -> tuple[str, str]:
        """The texts before and after the screens; `done` are the actions so far, one line each."""
        so_far = "\n".join(("Actions so far:", *done)) if done else "Actions so far: none"
        return f"Task: {situation.task.instruction}\n{so_far}\nScreen:\n", "\nWhat is the next action?"


def rounded(action: Action) -> Action:
    """The same action with coordinates of few digits."""
    fields = msgspec.structs.asdict(action)
    return msgspec.structs.replace(
        action, **{name: round(value, DIGITS) for name, value in fields.items() if isinstance(value, float)}
    )

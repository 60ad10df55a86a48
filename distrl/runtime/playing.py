"""A phone to look at: played by a person, or filmed while the expert works.

Touches go in, pictures go out; a task, if there is one, is set up at the start and checked after every touch.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image, ImageDraw

from distrl.core.errors import UserError
from distrl.core.types import Action, Finish, LongPress, Swipe, Tap, Task
from distrl.devices.sim.phone import Phone
from distrl.runtime.build import make_phone, make_setup
from distrl.runtime.checking import arrange, see
from distrl.tasks.book import expert_for, is_solved, world_of
from distrl.tasks.expert import Expert

FRAME_MS = 900
LAST_FRAME_MS = 2500


class Play:
    """One phone, perhaps with a task on it."""

    def __init__(self, phone: Phone, task: Task | None, *, seed: int, variations: tuple[str, ...]) -> None:
        self.phone = phone
        self.task = task
        self._seed = seed
        self._variations = variations
        self._expert: Expert | None = None
        self.steps = 0
        self.restart()

    def restart(self) -> None:
        """Back to the start."""
        self.steps = 0
        if self.task is None:
            self.phone.wipe(seed=self._seed, variation_names=self._variations)
            return
        self._expert = expert_for(self.task, self.phone.inspect)
        setup = make_setup(self.task, more_variations=self._variations)
        self.phone.wipe(seed=setup.seed, variation_names=setup.variations)
        self.phone.arrange(world_of(self.task))

    def perform(self, action: Action) -> None:
        """Do it."""
        self.phone.perform(action)
        self.steps += 1

    def hint(self) -> None:
        """Let the expert do the next step."""
        if self._expert is not None and not self.solved:
            self.perform(self._expert.act(see(self.phone)))

    @property
    def solved(self) -> bool:
        """Whether the task is done."""
        return self.task is not None and is_solved(self.task, self.phone.inspect)

    def status(self) -> dict[str, Any]:
        """What the page shows beside the phone."""
        return {
            "activity": self.phone.activity,
            "instruction": self.task.instruction if self.task else "",
            "task": self.task.id if self.task else "",
            "solved": self.solved,
            "steps": self.steps,
            "max_steps": self.task.max_steps if self.task else 0,
            "variations": list(self.phone.system.variations),
            "elements": [msgspec.to_builtins(element) for element in self.phone.elements()],
        }

    def png(self) -> bytes:
        """The screen."""
        buffer = io.BytesIO()
        image_of(self.phone).save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()


def image_of(phone: Phone) -> Image.Image:
    """The screen as an image."""
    return Image.frombytes("RGB", phone.size, phone.render())


class Film(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording shows."""

    steps: int
    solved: bool


def record(task: Task, path: Path, *, scale: float = 0.4, on_step: Callable[[], None] = lambda: None) -> Film:
    """Film the expert doing a task; every touch is marked on the frame before it."""
    if path.suffix.lower() not in (".webp", ".gif"):
        raise UserError(f"{path}: films are written as .webp or .gif")
    phone = make_phone(scale=scale)
    arrange(phone, task)
    expert = expert_for(task, phone.inspect)
    frames: list[Image.Image] = []
    solved = False
    while not solved and len(frames) < task.max_steps:
        action = expert.act(see(phone))
        frames.append(_mark(image_of(phone), action))
        phone.perform(action)
        on_step()
        solved = is_solved(task, phone.inspect)
        if isinstance(action, Finish):
            break
    steps = len(frames)
    frames.append(image_of(phone))
    path.parent.mkdir(parents=True, exist_ok=True)
    times = [FRAME_MS] * steps + [LAST_FRAME_MS]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=80, method=3)
    return Film(steps=steps, solved=solved)


def _mark(image: Image.Image, action: Action) -> Image.Image:
    """A copy of a frame with the touch drawn on it."""
    marked = image.copy()
    pen = ImageDraw.Draw(marked, "RGBA")
    width, height = marked.size
    radius = width * 0.055
    ring = (233, 30, 99, 255)
    match action:
        case Tap() | LongPress():
            x, y = action.x * width, action.y * height
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(233, 30, 99, 70), outline=ring, width=3)
        case Swipe():
            x, y, to_x, to_y = action.x * width, action.y * height, action.to_x * width, action.to_y * height
            pen.line((x, y, to_x, to_y), fill=ring, width=5)
            pen.ellipse((to_x - 9, to_y - 9, to_x + 9, to_y + 9), fill=ring)
        case _:
            pass
    return marked

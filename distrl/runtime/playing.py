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
from distrl.core.types import Action, Finish, LongPress, Swipe, Tap, Task, Wait
from distrl.devices.sim.nodes import Box, Text
from distrl.devices.sim.paint import Style, sprite
from distrl.devices.sim.phone import Phone
from distrl.envs.observations import describe
from distrl.runtime.checking import arrange, see
from distrl.tasks.book import expert_for, is_solved
from distrl.tasks.expert import Expert

FRAME_MS = 900
LAST_FRAME_MS = 2500
CAPTION_H = 320


class Play:
    """One phone, perhaps with a task on it."""

    def __init__(self, phone: Phone, task: Task | None, *, seed: int, variations: tuple[str, ...]) -> None:
        self.phone = phone
        self.task = task
        self._seed = seed
        self._variations = variations
        self._expert: Expert | None = None
        self.steps, self.is_solved = 0, False
        self.restart()

    def restart(self) -> None:
        """Back to the start."""
        self.steps, self.is_solved = 0, False
        if self.task is None:
            self.phone.wipe(seed=self._seed, variation_names=self._variations)
            return
        self._expert = expert_for(self.task, self.phone.inspect)
        arrange(self.phone, self.task, more_variations=self._variations)

    def perform(self, action: Action) -> None:
        """Do it."""
        self.phone.perform(action)
        if not self.is_solved:
            self.steps += 1
            self.is_solved = self.task is not None and is_solved(self.task, self.phone.inspect)

    def hint(self) -> Action:
        """Let the expert do the next step."""
        if self._expert is None or self.is_solved:
            return Wait()
        action = self._expert.act(see(self.phone))
        self.perform(action)
        return action

    def status(self) -> dict[str, Any]:
        """What the page shows beside the phone."""
        return {
            "activity": self.phone.activity,
            "instruction": self.task.instruction if self.task else "",
            "task": self.task.id if self.task else "",
            "solved": self.is_solved,
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


def record(play: Play, path: Path, *, on_step: Callable[[], None] = lambda: None) -> Film:
    """Film the expert doing the task of a play; every touch is marked on the frame before it."""
    if path.suffix.lower() not in (".webp", ".gif"):
        raise UserError(f"{path}: films are written as .webp or .gif")
    assert play.task is not None, "a film shows a task"
    frames: list[Image.Image] = []
    while not play.is_solved and len(frames) < play.task.max_steps:
        before = image_of(play.phone)
        action = play.hint()
        frames.append(_captioned(_mark(before, action), play, describe(action)))
        on_step()
        if isinstance(action, Finish):
            break
    frames.append(_captioned(image_of(play.phone), play, "solved" if play.is_solved else "not solved"))
    times = [FRAME_MS] * (len(frames) - 1) + [LAST_FRAME_MS]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written aside, so that an interrupted film leaves nothing behind that looks like one.
        aside = path.with_name(f".{path.name}.part{path.suffix}")
        frames[0].save(aside, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=80, method=3)
        aside.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error
    return Film(steps=play.steps, solved=play.is_solved)


def _captioned(image: Image.Image, play: Play, words: str) -> Image.Image:
    """A frame below the instruction and what is being done."""
    assert play.task is not None
    lines = (Text(play.task.instruction, 46, "#FFFFFF", "medium", lines=3), Text(words, 42, "#FFB3D1"))
    block = Box(lines, gap=12, pad=(40, 32, 40, 24), height=CAPTION_H, fill="#1D1B20")
    style = Style(scale=play.phone.scale, dark=False, font_scale=1.0)
    size = (image.width, style.px(CAPTION_H))
    out = Image.new("RGB", (image.width, image.height + size[1]))
    out.paste(Image.frombytes("RGB", size, sprite(block, 1080, "#1D1B20", style)[: size[0] * size[1] * 3]))
    out.paste(image, (0, size[1]))
    return out


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

"""Screens to look at: drawn by hand, or met by the expert on real phones; and situations on them."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random

import font_roboto
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from distrl.core.types import (
    Decision,
    Element,
    Observation,
    Outcome,
    Ruling,
    Screen,
    Situation,
    Step,
    Task,
    Trajectory,
    Verdict,
)
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime.demonstrations import demonstrate
from distrl.runtime.policies import SHIPPED, load_eyes
from distrl.tasks.book import load_tasks

Pixels = npt.NDArray[np.uint8]
WIDTH, HEIGHT = 270, 600


def task(instruction: str, *, max_steps: int = 10) -> Task:
    return Task(id="t", suite="s", split="train", instruction=instruction, max_steps=max_steps)


def element(
    text: str = "", box: tuple[float, float, float, float] = (0.1, 0.1, 0.9, 0.2), *, kind: str = "button"
) -> Element:
    return Element(box=box, text=text, kind=kind)


def draw_line(
    text: str,
    *,
    size: float = 12.0,
    weight: str = "Roboto",
    ink: tuple[int, int, int] = (20, 20, 20),
    paper: tuple[int, int, int] = (255, 255, 255),
    margin: int = 6,
) -> Pixels:
    """A crop with one line of text, smooth as on a phone: drawn four times as large, then averaged down."""
    font = ImageFont.truetype(str(font_roboto.font_files[weight]), round(size * 4))
    width = int(font.getlength(text)) // 4 + 2 * margin + 2
    height = round(size * 1.3) + 2 * margin
    large = Image.new("RGB", (width * 4, height * 4), paper)
    ImageDraw.Draw(large).text((margin * 4, (margin + size) * 4), text, fill=ink, font=font, anchor="ls")
    return np.asarray(large.reduce(4))


def observation(
    *elements: Element, pixels: Pixels | None = None, activity: str = "app/page", time_s: float = 0.0
) -> Observation:
    """A screen with these elements; grey unless pixels are given."""
    shown = np.full((HEIGHT, WIDTH, 3), 200, np.uint8) if pixels is None else pixels
    screen = Screen(data=shown.tobytes(), width=shown.shape[1], height=shown.shape[0])
    return Observation(screen=screen, activity=activity, time_s=time_s, elements=elements)


def situation(instruction: str, *elements: Element, steps: tuple[Step, ...] = ()) -> Situation:
    return Situation(task=task(instruction), steps=steps, observation=observation(*elements))


def page(*lines: str) -> Observation:
    """A white screen with a line of text every 50 pixels, and an element around each."""
    pixels = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    elements = []
    for number, line in enumerate(lines):
        drawn, top = draw_line(line), 20 + 50 * number
        pixels[top : top + drawn.shape[0], 10 : 10 + drawn.shape[1]] = drawn
        elements.append(element(line, (0.0, top / HEIGHT, 1.0, (top + 30) / HEIGHT), kind="row"))
    return observation(*elements, pixels=pixels)


@lru_cache(maxsize=1)
def demonstrations() -> tuple[Trajectory, ...]:
    """What a noisy expert met at thirty-two tasks of two suites."""
    tasks = (*load_tasks("general", "train")[:160:10], *load_tasks("web_shopping", "train")[:160:10])
    return tuple(demonstrate(tasks, noise=0.1, seed=3))


def real_situations(count: int, *, seed: int = 0) -> list[Situation]:
    """Moments of the demonstrations, crowded screens and empty ones mixed."""
    made = [
        Situation(task=shown.task, steps=shown.steps[:t], observation=step.observation)
        for shown in demonstrations()
        for t, step in enumerate(shown.steps)
    ]
    return Random(seed).sample(made, count)


@lru_cache(maxsize=2)
def make_policy(mode: Mode) -> TinyPolicy:
    """An untrained policy with the shipped eye; shared, so nobody may train it."""
    policy = TinyPolicy(mode, seed=1)
    if mode == "pixels":
        load_eyes(policy, SHIPPED)
    return policy


def act_along(policy: TinyPolicy, shown: Sequence[Trajectory], *, num_steps: int = 3) -> list[Trajectory]:
    """What the policy decides on the screens of demonstrations, all of them at once, as trajectories of its own."""
    rngs = [Random(number) for number in range(len(shown))]
    steps: list[tuple[Step, ...]] = [()] * len(shown)
    for t in range(num_steps):
        going = [i for i, s in enumerate(shown) if t < len(s.steps)]
        seen = [shown[i].steps[t].observation for i in going]
        situations = [
            Situation(task=shown[i].task, steps=steps[i], observation=o) for i, o in zip(going, seen, strict=True)
        ]
        decisions = policy.decide(situations, [rngs[i] for i in going])
        for i, o, decision in zip(going, seen, decisions, strict=True):
            steps[i] = (*steps[i], Step(observation=o, decision=decision, rewards={}))
    return [trajectory_of(s, made) for s, made in zip(shown, steps, strict=True)]


def trajectory_of(shown: Trajectory, steps: tuple[Step, ...]) -> Trajectory:
    """A trajectory with these steps on the screens of another one."""
    after = shown.steps[len(steps)].observation if len(steps) < len(shown.steps) else shown.final
    return Trajectory(
        id=f"own-{shown.id}",
        task=shown.task,
        steps=steps,
        final=after,
        outcome=Outcome.TRUNCATED_STEPS,
        verdict=Verdict(ruling=Ruling.FAILURE, judge="none"),
        worker="w",
        device="d",
    )


def step(seen: Observation, decision: Decision) -> Step:
    return Step(observation=seen, decision=decision, rewards={})


def all_tasks() -> Iterator[Task]:
    for suite in ("general", "web_shopping", "install", "system"):
        for split in ("train", "test"):
            yield from load_tasks(suite, split)

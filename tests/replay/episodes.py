"""Small trajectories to keep, and replays to keep them in."""

from collections.abc import Sequence
from random import Random

from distrl.core.types import (
    Decision,
    Element,
    Observation,
    Outcome,
    Ruling,
    Screen,
    Step,
    Tap,
    Task,
    Trajectory,
    Verdict,
)
from distrl.replay.prioritised import PrioritisedReplay

TASK = Task(id="t", suite="s", split="train", instruction="Do it.", max_steps=9, params={"a": "b"}, tags=("x",))
VERDICT = Verdict(ruling=Ruling.SUCCESS, judge="rule", score=1.0)


def screen(content: int, *, width: int = 4, height: int = 3) -> Screen:
    """A raw screen, equal for equal contents, its bytes a new object each time."""
    return Screen(data=content.to_bytes(8, "big") + bytes(width * height * 3 - 8), width=width, height=height)


def observation(shown: Screen) -> Observation:
    element = Element(box=(0.0, 0.25, 0.5, 1.0), text="Grüße", kind="button", checked=True)
    return Observation(screen=shown, activity="app/page", time_s=1.5, elements=(element,), ui_tree=(element,))


def episode(
    id: str = "a",
    *,
    versions: Sequence[int] = (0,),
    screens: Sequence[Screen] | None = None,
) -> Trajectory:
    """A trajectory with a step for each version; T + 1 screens, all the same unless given."""
    shown = screens or [screen(0)] * (len(versions) + 1)
    decisions = [Decision(action=Tap(x=0.5, y=0.5), raw="tap", log_prob=-0.5, policy_version=v) for v in versions]
    steps = tuple(
        Step(observation=observation(s), decision=d, rewards={"task": 0.5})
        for s, d in zip(shown, decisions, strict=False)
    )
    return Trajectory(
        id=id,
        task=TASK,
        steps=steps,
        final=observation(shown[-1]),
        outcome=Outcome.SUCCEEDED,
        verdict=VERDICT,
        worker="w0",
        device="sim-0",
    )


def make_replay(
    *, capacity_steps: int = 10_000, alpha: float = 1.0, tau_versions: float | None = None, seed: int = 0
) -> PrioritisedReplay:
    return PrioritisedReplay(
        capacity_steps=capacity_steps, alpha=alpha, freshness_tau_versions=tau_versions, rng=Random(seed)
    )

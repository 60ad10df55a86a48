"""Rewards by name: what a step earns, from the verdict and from the action itself."""

import msgspec

from distrl.core.types import Action, Invalid, LongPress, Observation, Ruling, Swipe, Tap, Verdict

NEAR = 0.02
"""Touches that are closer than this share of the screen are the same touch."""


class Rewards(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of the terms; `repetition` is multiplied by the number of repetitions so far."""

    success: float = 1.0
    repetition: float = -0.4
    invalid: float = -1.0


class RewardTerms:
    """The terms of one episode, step by step.

    A repetition is the same action again to no effect: scrolling on through a list is none (docs/adr/0002).
    """

    def __init__(self, sizes: Rewards) -> None:
        self._sizes = sizes
        self._last: Action | None = None
        self._repeats = 0

    def of_step(
        self, action: Action, before: Observation, after: Observation, verdict: Verdict | None
    ) -> dict[str, float]:
        """The terms of this step; those that are zero are left out."""
        terms = {}
        if verdict and verdict.ruling is Ruling.SUCCESS:
            terms["success"] = self._sizes.success
        if isinstance(action, Invalid):
            terms["invalid"] = self._sizes.invalid
        is_repeat = self._last is not None and is_same(action, self._last) and before.screen == after.screen
        self._repeats = self._repeats + 1 if is_repeat else 0
        self._last = action
        if self._repeats:
            terms["repetition"] = self._sizes.repetition * self._repeats
        return terms


def is_same(a: Action, b: Action) -> bool:
    """Whether two actions are the same to a person who watches."""
    if type(a) is type(b) and isinstance(a, Tap | LongPress | Swipe):
        return all(
            abs(x - y) < NEAR for x, y in zip(msgspec.structs.astuple(a), msgspec.structs.astuple(b), strict=True)
        )
    return a == b

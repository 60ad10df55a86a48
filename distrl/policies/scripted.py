"""Policies without a network: one that does nothing and one that does anything: what learning is measured against."""

from random import Random

from distrl.core.types import Action, Button, Observation, Press, Swipe, Tap, Task, TypeText, Wait


class IdlePolicy:
    """Waits."""

    def act(self, task: Task, observation: Observation) -> Action:
        """Nothing."""
        return Wait()


class RandomPolicy:
    """Touches elements at random, and now and then swipes, types words of the instruction, or presses a button."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def act(self, task: Task, observation: Observation) -> Action:
        """Any action that could make sense on any screen."""
        rng = self._rng
        draw = rng.random()
        touchable = [e for e in observation.elements if e.clickable and e.enabled]
        if draw < 0.6 and touchable:
            x, y = rng.choice(touchable).center
            return Tap(x=x, y=y)
        if draw < 0.7:
            return Tap(x=rng.random(), y=rng.random())
        if draw < 0.8:
            return Swipe(x=rng.random(), y=rng.random(), to_x=rng.random(), to_y=rng.random())
        if draw < 0.9:
            words = task.instruction.split()
            start = rng.randrange(len(words))
            return TypeText(text=" ".join(words[start : start + rng.randint(1, 3)]))
        return Press(button=rng.choice(list(Button)))

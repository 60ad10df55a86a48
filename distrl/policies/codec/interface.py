"""The interface of every codec: an `Action` in, text out, and back."""

from typing import Protocol

from distrl.core.types import Action


class Codec(Protocol):
    """One text format for actions. For each action that a device can perform, `decode(encode(action)) == action`."""

    @property
    def name(self) -> str:
        """The name in configurations."""
        ...

    def encode(self, action: Action) -> str:
        """The action as a model should write it."""
        ...

    def decode(self, text: str) -> Action:
        """What the text means; `Invalid` when it means no action or more than one. Never raises."""
        ...

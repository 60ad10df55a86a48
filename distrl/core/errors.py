"""The errors of distrl, one per boundary.

`ValueError` is for what a user wrote and `assert` for what we got wrong; the classes here are for what the world
did. Each is caught once, where something can be done about it, and becomes an outcome and a counter.
"""

import difflib
from collections.abc import Iterable

ABOUT_ONE = (400, 413, 414, 415, 422, 431)
"""What a server says of one question: too long, too large, a picture it does not like."""


class DistrlError(Exception):
    """Something outside of this program failed."""


class DeviceError(DistrlError):
    """A device did not do what it was asked; `cause` is the name of the counter that records it."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class SetupError(DeviceError):
    """A device works and cannot be arranged for this task: a package is missing, there is no room. The task's loss."""


class JudgeError(DistrlError):
    """A judge could not give a verdict."""


class ServerError(DistrlError):
    """A model behind HTTP did not answer, or with something else than what it was asked for."""


class RefusedError(ServerError):
    """The server will say the same again: a wrong key, no credit, a wrong address, a model that is not there."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_lasting(self) -> bool:
        """Whether the next call would be refused too; what is wrong with one question says nothing about another."""
        return self.status not in ABOUT_ONE and self.status < 500  # some say 500 of a picture, not of themselves


class UserError(ValueError):
    """A mistake in what a user wrote: printed without a traceback, exit status 2."""


class UnknownNameError(UserError):
    """A name that does not exist, with the nearest that do."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        hint = (
            f"did you mean {' or '.join(near)}?"
            if near
            else f"known: {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
        )
        super().__init__(f"unknown {what} {name!r}: {hint}")
        self.name = name
        self.near = near

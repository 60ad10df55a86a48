"""The driver of a run on Ray: a learner and workers in, progress out, until the learner has ended.

It tells of progress, calls the learner back to work when it died, welcomes machines that join, and drains when asked
to. A worker that fails or dies is given another process, a few times in a row; what it delivers in between makes good
for that. When nobody is left anywhere the run is drained and the reason told.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import ray
from ray.exceptions import (
    ActorDiedError,
    ActorUnavailableError,
    ActorUnschedulableError,
    RayActorError,
    RayError,
    RayTaskError,
)

from distrl.core.errors import DistrlError
from distrl.runtime.fleet import FencedError
from distrl.runtime.run_state import Progress

Handle = Any
"""An actor in another process; Ray makes its methods up as they are called."""
POLL_S = 0.5
LOOK_S = 2.0
DRAIN_S = 60.0
CALL_S = 60.0
MAX_FAILURES = 3
"""How often a worker may fail without having delivered anything, and is given a new process."""
MAX_DEATHS = 10
"""The same for one whose process is gone: others may be to blame for that, so they are forgiven more."""
_log = logging.getLogger(__name__)


class Place(NamedTuple):
    """Where a worker works: its processes come and go."""

    name: str
    start: Callable[[], Handle | None]
    """A process of its own; None if the machine has left."""
    is_here: bool


class Watch:
    """One run."""

    def __init__(
        self,
        learner: Handle,
        here: list[Place],
        look_for_machines: Callable[[], list[Place]],
        listener: Callable[[Progress], None],
        is_interrupted: Callable[[], bool],
    ) -> None:
        self._learner = learner
        self._here = here
        self._look_for_machines = look_for_machines
        self._listener = listener
        self._is_interrupted = is_interrupted
        self._working: dict[Any, tuple[Place, Handle]] = {}
        self._failures: Counter[tuple[str, int]] = Counter()
        """By worker and how many of the kind are forgiven: failures, or deaths, since it last delivered anything."""
        self._taken_from: Counter[str] = Counter()
        self._fatal: Exception | None = None
        """Why nobody works any more."""
        self._seen = 0
        self._looked_s = 0.0
        self._drain_until_s: float | None = None

    def until_the_end(self) -> None:
        """Returns when the learner has ended; what cannot even be started is an error."""
        learning = self._learner.run.remote()
        for place in self._here:
            self._start(place)
        while True:
            done, _ = ray.wait([learning, *self._working], num_returns=1, timeout=POLL_S)
            for reference in done:
                worker = self._working.pop(reference, None)
                if worker is not None:
                    self._look_at(reference, *worker)
                elif self._has_learned(reference):
                    self._tell()
                    if self._fatal is not None:
                        raise self._fatal
                    return
                else:
                    learning = self._learner.run.remote()
                    self._seen = 0
                    self._drain_until_s = None  # the learner that was asked to is gone; its successor has to be asked
                    self._failures.clear()  # while it was away nobody could deliver anything
            if time.monotonic() - self._looked_s > LOOK_S:
                self._looked_s = time.monotonic()
                for place in self._look_for_machines():
                    self._start(place)
            self._tell()
            self._drain_if_asked()

    def _start(self, place: Place) -> bool:
        """Have somebody work there; False if the machine has left."""
        process = place.start()
        if process is not None:
            self._call(place, process)
        return process is not None

    def _call(self, place: Place, process: Handle) -> None:
        self._working[process.run.remote(self._learner)] = (place, process)

    def _has_learned(self, reference: Any) -> bool:
        """Whether the learner ended by itself; False if its process died and has been started again."""
        try:
            ray.get(reference)
        except RayError as error:
            if _is_back(error):
                return False
            raise _reason(error) from error
        return True

    def _look_at(self, reference: Any, place: Place, process: Handle) -> None:
        """A worker has ended, died or failed: it is called again, given another process, or let go."""
        try:
            ray.get(reference)
        except (FencedError, ActorUnschedulableError):
            return  # another one has its name, or its machine has left
        except ActorUnavailableError:  # out of reach for now; if it is dead, the next call says so
            self._call(place, process)
        except RayError as error:
            if not getattr(error, "actor_init_failed", False):
                self._try_again(place, process, error)
            elif place.is_here:
                raise _reason(error) from error
            else:
                _log.warning("a worker cannot be started on another machine: %s", error)

    def _try_again(self, place: Place, process: Handle, error: RayError) -> None:
        """Out of memory, say, which has many names: a new process may help, but not without end."""
        name, reason = place.name, _reason(error)
        ray.kill(process)
        forgiven = MAX_FAILURES if isinstance(error, RayTaskError) else MAX_DEATHS
        if self._failures[name, forgiven] < forgiven:
            if self._start(place):  # else its machine has left, and there is nothing to forgive
                self._failures[name, forgiven] += 1
                _log.warning("%s failed and is started again: %s", name, reason)
        elif self._working:
            _log.warning("%s failed again and again; the run goes on without it: %s", name, reason)
        else:
            self._fatal = reason

    def _tell(self) -> None:
        try:
            progress, evaluations, taken = ray.get(self._learner.progress.remote(self._seen), timeout=CALL_S)
        except RayError:
            return
        for name, count in taken.items():
            if count > self._taken_from[name]:
                del self._failures[name, MAX_FAILURES], self._failures[name, MAX_DEATHS]
        self._taken_from = Counter(taken)  # the counts of a new learner begin anew
        self._seen += len(evaluations)
        for evaluated in evaluations:
            self._listener(evaluated)
        if progress is not None and progress.kind == "collecting":
            self._listener(progress)

    def _drain_if_asked(self) -> None:
        if self._drain_until_s is None and (self._fatal is not None or self._is_interrupted()):
            self._learner.drain.remote()
            self._drain_until_s = time.monotonic() + DRAIN_S
        if self._drain_until_s is not None and time.monotonic() > self._drain_until_s:
            raise self._fatal or TimeoutError(
                f"the learner did not stop within {DRAIN_S:.0f} s; what it acknowledged is safe"
            )


def _is_back(error: RayError) -> bool:
    """Whether a process died and Ray has started another one."""
    return isinstance(error, RayActorError) and not isinstance(error, ActorDiedError | ActorUnschedulableError)


def _reason(error: RayError) -> Exception:
    """What went wrong there, if it has words for people; Ray's own account of it, with everything, if not."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, DistrlError | OSError | MemoryError) else error

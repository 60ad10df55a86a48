"""The driver of a run on Ray: a learner and workers in, progress out, until the learner has ended.

It tells of progress, calls what died back to work, welcomes machines that join, and drains when asked to. A worker that
fails is given another process a few times; when none is left anywhere the run is drained and the reason told.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import ActorDiedError, ActorUnschedulableError, RayActorError, RayError, RayTaskError

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
"""How often a worker may fail and is given a new process."""
_log = logging.getLogger(__name__)


class Watch:
    """One run."""

    def __init__(
        self,
        learner: Handle,
        here: list[Handle],
        look_for_machines: Callable[[], list[Handle]],
        listener: Callable[[Progress], None],
        is_interrupted: Callable[[], bool],
    ) -> None:
        self._learner = learner
        self._here = here
        self._look_for_machines = look_for_machines
        self._listener = listener
        self._is_interrupted = is_interrupted
        self._working: dict[Any, Handle] = {}
        self._failures: Counter[Handle] = Counter()
        self._fatal: Exception | None = None
        """Why nobody works any more."""
        self._seen = 0
        self._looked_s = 0.0
        self._drain_until_s: float | None = None

    def until_the_end(self) -> None:
        """Returns when the learner has ended; what cannot even be started is an error."""
        learning = self._learner.run.remote()
        self._call(self._here)
        while True:
            done, _ = ray.wait([learning, *self._working], num_returns=1, timeout=POLL_S)
            for reference in done:
                worker = self._working.pop(reference, None)
                if worker is not None:
                    self._look_at(reference, worker)
                elif self._has_learned(reference):
                    self._tell()
                    if self._fatal is not None:
                        raise self._fatal
                    return
                else:
                    learning = self._learner.run.remote()
                    self._seen = 0
                    self._drain_until_s = None  # the learner that was asked to is gone; its successor has to be asked
            if time.monotonic() - self._looked_s > LOOK_S:
                self._looked_s = time.monotonic()
                self._call(self._look_for_machines())
            self._tell()
            self._drain_if_asked()

    def _call(self, workers: list[Handle]) -> None:
        self._working |= {worker.run.remote(self._learner): worker for worker in workers}

    def _has_learned(self, reference: Any) -> bool:
        """Whether the learner ended by itself; False if its process died and has been started again."""
        try:
            ray.get(reference)
        except RayError as error:
            if _is_back(error):
                return False
            raise _reason(error) from error
        return True

    def _look_at(self, reference: Any, worker: Handle) -> None:
        """A worker has ended, died or failed: it is called again, given another process, or let go."""
        try:
            ray.get(reference)
        except RayError as error:
            if _is_back(error):
                self._call([worker])
            elif isinstance(error, RayTaskError) and not isinstance(error, FencedError):
                self._try_again(worker, error)
            elif not _has_left(error):
                if worker in self._here:
                    raise _reason(error) from error
                _log.warning("a worker cannot be started on another machine: %s", error)

    def _try_again(self, worker: Handle, error: RayTaskError) -> None:
        """Out of memory, say, which has many names: a new process may help."""
        self._failures[worker] += 1
        reason = _reason(error)
        if self._failures[worker] <= MAX_FAILURES:
            _log.warning("a worker failed and is started again: %s", reason)
            ray.kill(worker, no_restart=False)
            self._call([worker])
        elif self._working:
            _log.warning("a worker failed again and again; the run goes on without it: %s", reason)
        else:
            self._fatal = reason

    def _tell(self) -> None:
        try:
            progress, evaluations = ray.get(self._learner.progress.remote(self._seen), timeout=CALL_S)
        except RayError:
            return
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


def _has_left(error: RayError) -> bool:
    """Whether a worker is gone because its machine is, or because another one has its name."""
    if isinstance(error, ActorDiedError):
        return not error.actor_init_failed
    return isinstance(error, ActorUnschedulableError | FencedError)


def _reason(error: RayError) -> Exception:
    """What went wrong there, if it has words for people; Ray's own account of it, with everything, if not."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, DistrlError | OSError | MemoryError) else error

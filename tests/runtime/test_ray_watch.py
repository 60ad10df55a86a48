"""The driver of a run, on a Ray that does what a script says: who is started again, how often, and who is not."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ray.exceptions import ActorDiedError, ActorUnavailableError, ActorUnschedulableError, RayTaskError

from distrl.core.errors import DistrlError
from distrl.runtime import ray_watch
from distrl.runtime.fleet import FencedError
from distrl.runtime.ray_watch import MAX_DEATHS, MAX_FAILURES, Place, Watch

TURNS = 200
"""More than any test here needs."""


class BrokenError(DistrlError):
    """What goes wrong in a worker."""


FAILED = RayTaskError("run", "traceback", BrokenError("no devices")).as_instanceof_cause()
FENCED = RayTaskError("run", "traceback", FencedError("another one")).as_instanceof_cause()
DIED, AWAY, LEFT = ActorDiedError(), ActorUnavailableError("away", b"0" * 16), ActorUnschedulableError("gone")
IS_BACK = ActorUnavailableError("restarting", b"0" * 16)
WORKS = None


class FakeMethod:
    """What an actor can be asked for."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.remote = answer


class Call:
    """One call, which ends as it is told to, or never if that is nothing."""

    def __init__(self, what: Any) -> None:
        self.what = what


class FakeRay:
    """Answers calls at once; `wait` is a turn of the driver, and after so many the learner has ended."""

    def __init__(self, turns: int = TURNS) -> None:
        self.turns_left = turns
        self.killed: list[Any] = []
        self.learner_ends: list[Any] = []
        self.taken: dict[str, int] = {}
        self.num_drained = 0
        self.run = FakeMethod(lambda: Call(self.learner_ends.pop(0) if self.learner_ends else WORKS))
        self.progress = FakeMethod(lambda seen: Call((None, [], dict(self.taken))))
        self.drain = FakeMethod(self._drain)

    def _drain(self) -> None:
        self.num_drained += 1
        self.turns_left = 0

    def wait(self, calls: list[Call], *, num_returns: int, timeout: float) -> tuple[list[Call], list[Call]]:
        self.turns_left -= 1
        learning, *working = calls
        ended = [call for call in [learning, *working] if call.what is not WORKS]
        return (ended[:1] or [learning] if self.turns_left < 0 else ended[:1]), []

    def get(self, call: Call, timeout: float | None = None) -> Any:
        if isinstance(call.what, Exception):
            raise call.what
        return call.what

    def kill(self, process: Any) -> None:
        self.killed.append(process)


class Fleet:
    """Workers whose lives end as their scripts say, one after the other; after that they work."""

    def __init__(self, ray: FakeRay, **scripts: Iterator[Any]) -> None:
        self.num_started = dict.fromkeys(scripts, 0)
        self.are_there = set(scripts)
        self.places = [Place(name, self._starting(name, script), is_here=True) for name, script in scripts.items()]

    def _starting(self, name: str, script: Iterator[Any]) -> Callable[[], Any]:
        def start() -> Any:
            if name not in self.are_there:
                return None
            self.num_started[name] += 1
            process = type("Process", (), {})()
            process.run = FakeMethod(lambda learner: Call(next(script, WORKS)))
            return process

        return start


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(ray_watch, "ray", fake)
    return fake


def watch(ray: FakeRay, fleet: Fleet) -> None:
    Watch(ray, fleet.places, list, lambda progress: None, lambda: False).until_the_end()


@pytest.mark.parametrize(("error", "bound"), [(FAILED, MAX_FAILURES), (DIED, MAX_DEATHS)])
def test_a_worker_that_never_delivers_is_started_so_often_and_the_run_goes_on_with_others(
    ray: FakeRay, error: Exception, bound: int
) -> None:
    fleet = Fleet(ray, bad=iter([error] * 100), good=iter([]))
    watch(ray, fleet)
    assert fleet.num_started == {"bad": 1 + bound, "good": 1}
    assert len(ray.killed) == 1 + bound
    assert ray.num_drained == 0


@pytest.mark.parametrize(("error", "reason"), [(FAILED, BrokenError), (DIED, ActorDiedError)])
def test_when_nobody_is_left_the_run_is_drained_and_the_reason_told(
    ray: FakeRay, error: Exception, reason: type[Exception]
) -> None:
    fleet = Fleet(ray, a=iter([error] * 100), b=iter([error] * 100))
    with pytest.raises(reason):
        watch(ray, fleet)
    assert ray.num_drained == 1
    assert ray.turns_left < 0, "the learner was left to end by itself"


def test_deaths_for_which_others_may_be_to_blame_do_not_count_as_failures(ray: FakeRay) -> None:
    fleet = Fleet(ray, w=iter([DIED] * MAX_DEATHS + [FAILED] * MAX_FAILURES))
    watch(ray, fleet)
    assert fleet.num_started == {"w": 1 + MAX_DEATHS + MAX_FAILURES}
    assert ray.num_drained == 0


@pytest.mark.parametrize("error", [FAILED, DIED])
def test_who_delivers_something_is_forgiven(ray: FakeRay, error: Exception) -> None:
    def lives() -> Iterator[Any]:
        for number in range(60):
            ray.taken["w"] = ray.taken.get("w", 0) + number % 2  # every other process delivers something
            yield error

    fleet = Fleet(ray, w=lives())
    watch(ray, fleet)
    assert fleet.num_started == {"w": 61}


def test_what_was_delivered_before_the_failures_forgives_nothing(ray: FakeRay) -> None:
    ray.taken = {"w": 1000, "v": 1}

    def lives() -> Iterator[Any]:
        while True:
            ray.taken["v"] += 1  # nor does what others deliver
            yield FAILED

    fleet = Fleet(ray, w=lives(), v=iter([]))
    watch(ray, fleet)
    # The first look at what was delivered comes after the first failure, and cannot know how old that is.
    assert fleet.num_started["w"] == 2 + MAX_FAILURES


def test_that_a_new_learner_counts_from_nothing_forgives_nothing(ray: FakeRay) -> None:
    def lives() -> Iterator[Any]:
        for number in itertools.count():
            ray.taken["w"] = 1000 if number < 2 else 0
            yield FAILED

    fleet = Fleet(ray, w=lives(), v=iter([]))
    watch(ray, fleet)
    assert fleet.num_started["w"] == 2 + MAX_FAILURES


def test_while_the_learner_was_away_nobody_could_deliver(ray: FakeRay) -> None:
    learning: list[Call] = []
    call = ray.run.remote
    ray.run = FakeMethod(lambda: learning.append(call()) or learning[-1])

    def lives() -> Iterator[Any]:
        for number in range(2 * MAX_DEATHS - 1):
            if number == MAX_DEATHS - 1:
                learning[-1].what = IS_BACK
            yield DIED

    fleet = Fleet(ray, w=lives())
    watch(ray, fleet)
    assert len(learning) == 2
    assert fleet.num_started["w"] == 2 * MAX_DEATHS
    assert ray.num_drained == 0


def test_a_learner_that_died_is_called_again(ray: FakeRay) -> None:
    ray.learner_ends = [IS_BACK] * 5
    watch(ray, Fleet(ray, w=iter([])))
    assert ray.learner_ends == []


def test_who_is_out_of_reach_is_called_again_and_not_started_again(ray: FakeRay) -> None:
    fleet = Fleet(ray, w=iter([AWAY] * 50))
    watch(ray, fleet)
    assert fleet.num_started == {"w": 1}
    assert ray.killed == []


@pytest.mark.parametrize("error", [FENCED, LEFT])
def test_who_was_replaced_or_has_no_machine_is_let_go(ray: FakeRay, error: Exception) -> None:
    fleet = Fleet(ray, w=iter([error]))
    watch(ray, fleet)
    assert fleet.num_started == {"w": 1}
    assert ray.num_drained == 0, "another machine may join"


def test_who_died_with_its_machine_is_let_go_and_nobody_is_blamed(ray: FakeRay) -> None:
    def lives() -> Iterator[Any]:
        fleet.are_there.clear()
        yield DIED

    fleet = Fleet(ray, w=lives())
    watch(ray, fleet)
    assert fleet.num_started == {"w": 1}
    assert ray.num_drained == 0


def test_who_cannot_even_be_made_here_is_an_error_at_once(ray: FakeRay) -> None:
    never_made = ActorDiedError(RayTaskError("__init__", "traceback", BrokenError("no devices")))
    with pytest.raises(ActorDiedError):
        watch(ray, Fleet(ray, w=iter([never_made])))

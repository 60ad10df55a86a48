"""A replay beside a dictionary that does the same, whatever is done to both."""

from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from distrl.core.types import Trajectory
from distrl.replay.prioritised import PrioritisedReplay

from .episodes import episode, screen

priorities = st.one_of(st.just(0.0), st.floats(min_value=1e-3, max_value=1e3))
ids = st.integers(0, 30).map(str)


class ReplayMachine(RuleBasedStateMachine):
    """The model: trajectories and priorities by id, in the order of their arrival."""

    @initialize(
        capacity=st.integers(3, 60), alpha=st.sampled_from([0.0, 0.5, 1.0]), tau=st.sampled_from([None, 0.1, 5.0])
    )
    def begin(self, capacity: int, alpha: float, tau: float | None) -> None:
        self.capacity, self.alpha, self.tau = capacity, alpha, tau
        self.replay = self.make()
        self.kept: dict[str, tuple[Trajectory, float]] = {}

    def make(self) -> PrioritisedReplay:
        return PrioritisedReplay(
            capacity_steps=self.capacity, alpha=self.alpha, freshness_tau_versions=self.tau, rng=Random(1)
        )

    def weights(self, newest: int | None = None) -> dict[str, float]:
        members = list(self.kept.items())[-newest:] if newest else list(self.kept.items())
        newest_version = max(trajectory.policy_versions[-1] for _, (trajectory, _) in members)
        weights = {}
        for id, (trajectory, priority) in members:
            age = newest_version - trajectory.policy_versions[-1]
            weights[id] = priority**self.alpha * (2.718281828459045 ** (-age / self.tau) if self.tau else 1.0)
        return weights if any(weights.values()) else dict.fromkeys(weights, 1.0)

    @rule(
        id=ids,
        versions=st.lists(st.integers(0, 20), min_size=1, max_size=5),
        contents=st.lists(st.integers(0, 6), min_size=6, max_size=6),
        priority=priorities,
    )
    def add(self, id: str, versions: list[int], contents: list[int], priority: float) -> None:
        trajectory = episode(id, versions=versions, screens=[screen(c) for c in contents[: len(versions) + 1]])
        if id not in self.kept and len(versions) > self.capacity:
            with pytest.raises(ValueError, match="steps"):
                self.replay.add(trajectory, priority)
            return
        gone = self.replay.add(trajectory, priority)
        expected = []
        if id not in self.kept:
            self.kept[id] = (trajectory, priority)
            while sum(len(t.steps) for t, _ in self.kept.values()) > self.capacity:
                oldest = next(iter(self.kept))
                del self.kept[oldest]
                expected.append(oldest)
        assert gone == tuple(expected)

    @rule(changes=st.dictionaries(ids, priorities, max_size=10))
    def reprioritise(self, changes: dict[str, float]) -> None:
        self.replay.reprioritise(changes)
        for id, priority in changes.items():
            if id in self.kept:
                self.kept[id] = (self.kept[id][0], priority)

    @rule(newest=st.one_of(st.none(), st.integers(1, 40)))
    def sample(self, newest: int | None) -> None:
        if not self.kept:
            with pytest.raises(ValueError, match="empty"):
                self.replay.sample(1, newest=newest)
            return
        weights = self.weights(newest)
        for drawn in self.replay.sample(20, newest=newest):
            assert drawn.probability == pytest.approx(weights[drawn.id] / sum(weights.values()), rel=1e-9)

    @rule(id=ids)
    def get(self, id: str) -> None:
        if id in self.kept:
            assert self.replay.get(id) == self.kept[id][0]
        else:
            with pytest.raises(KeyError):
                self.replay.get(id)

    @rule()
    def save_and_restore(self) -> None:
        other = self.make()
        other.restore(self.replay.state())
        if self.kept:
            assert other.sample(5) == self.replay.sample(5)
        self.replay = other

    @invariant()
    def the_same_is_kept(self) -> None:
        if not hasattr(self, "replay"):
            return
        assert self.replay.ids() == tuple(self.kept)
        assert len(self.replay) == len(self.kept)
        assert self.replay.num_steps == sum(len(t.steps) for t, _ in self.kept.values()) <= self.capacity
        shown = {o.screen for t, _ in self.kept.values() for o in (*(s.observation for s in t.steps), t.final)}
        assert self.replay.num_screens == len(shown)


TestReplayMachine = ReplayMachine.TestCase
TestReplayMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_the_oldest_go_first_and_the_newest_stays() -> None:
    replay = PrioritisedReplay(capacity_steps=5, alpha=1.0, freshness_tau_versions=None, rng=Random(0))
    assert replay.add(episode("a", versions=(0, 0))) == ()
    assert replay.add(episode("b", versions=(0, 0))) == ()
    assert replay.add(episode("c", versions=(0, 0, 0, 0))) == ("a", "b")
    assert replay.add(episode("d", versions=(0, 0, 0, 0, 0))) == ("c",)
    assert (replay.ids(), replay.num_steps) == (("d",), 5)


def test_the_same_trajectory_again_is_ignored() -> None:
    replay = PrioritisedReplay(capacity_steps=1, alpha=1.0, freshness_tau_versions=None, rng=Random(0))
    replay.add(episode("a"), 1.0)
    before = replay.state()

    assert replay.add(episode("a"), 5.0) == ()
    assert replay.state() == before


def test_a_trajectory_that_does_not_fit_or_has_no_steps_is_refused() -> None:
    replay = PrioritisedReplay(capacity_steps=2, alpha=1.0, freshness_tau_versions=None, rng=Random(0))
    replay.add(episode("a"))
    for versions in ((0, 0, 0), ()):
        with pytest.raises(ValueError, match="between 1 and 2"):
            replay.add(episode("b", versions=versions))
    assert replay.ids() == ("a",)


def test_a_trajectory_comes_back_equal_to_what_was_added() -> None:
    trajectory = episode("a", versions=(3, 4), screens=[screen(1), screen(2), screen(3)])
    replay = PrioritisedReplay(capacity_steps=9, alpha=1.0, freshness_tau_versions=None, rng=Random(0))
    replay.add(trajectory)

    assert replay.get("a") == trajectory
    assert replay.num_steps == 2

"""Who is drawn, and how often."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.replay.prioritised import PrioritisedReplay

from .episodes import episode, make_replay

POISON = [math.nan, math.inf, -math.inf, -1.0, -5e-324]


def filled(priorities: dict[str, float], **settings: float) -> PrioritisedReplay:
    replay = make_replay(**settings)  # type: ignore[arg-type]
    for id, priority in priorities.items():
        replay.add(episode(id), priority)
    return replay


def chi_square(drawn: Counter[str], expected: dict[str, float]) -> float:
    count = drawn.total()
    assert drawn.keys() <= expected.keys()
    return sum((drawn[id] - count * share) ** 2 / (count * share) for id, share in expected.items())


def probabilities(replay: PrioritisedReplay, *, newest: int | None = None) -> dict[str, float]:
    return {sample.id: sample.probability for sample in replay.sample(2000, newest=newest)}


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0])
def test_frequencies_are_proportional_to_the_priority_to_the_power_of_alpha(alpha: float) -> None:
    priorities = {f"{number}": 1.0 + number for number in range(40)}
    replay = filled(priorities, alpha=alpha)

    total = sum(priority**alpha for priority in priorities.values())
    expected = {id: priority**alpha / total for id, priority in priorities.items()}
    samples = replay.sample(100_000)

    # 39 degrees of freedom: 73 is exceeded once in a thousand times.
    assert chi_square(Counter(sample.id for sample in samples), expected) < 73.0
    assert all(sample.probability == pytest.approx(expected[sample.id]) for sample in samples)


def test_equal_priorities_sample_uniformly() -> None:
    replay = filled({f"{number}": 0.3 for number in range(40)}, alpha=0.7)

    assert chi_square(Counter(s.id for s in replay.sample(100_000)), {f"{n}": 1 / 40 for n in range(40)}) < 73.0


def test_draws_are_independent_of_their_place_in_the_batch() -> None:
    replay = filled({"a": 1.0, "b": 3.0})
    batches = [replay.sample(4) for _ in range(5000)]

    for place in range(4):
        assert Counter(batch[place].id for batch in batches)["b"] == pytest.approx(3750, abs=130)


def test_each_version_of_age_divides_the_probability_by_the_same_factor() -> None:
    replay = make_replay(tau_versions=2.0)
    for version in (10, 12, 14):
        replay.add(episode(f"v{version}", versions=(0, version)))

    # Ages 4, 2 and 0 with tau = 2: exp(-2), exp(-1) and 1 over their sum 1.5032.
    assert probabilities(replay) == pytest.approx({"v10": 0.09003, "v12": 0.24473, "v14": 0.66524}, abs=1e-5)


def test_a_trajectory_is_as_old_as_its_last_step() -> None:
    replay = make_replay(tau_versions=1.0)
    replay.add(episode("began early", versions=(0, 5)))
    replay.add(episode("began late", versions=(5, 5)))

    assert probabilities(replay) == pytest.approx({"began early": 0.5, "began late": 0.5})


def test_without_freshness_the_version_does_not_matter() -> None:
    replay = make_replay(tau_versions=None)
    replay.add(episode("old", versions=(0,)))
    replay.add(episode("new", versions=(10**9,)))

    assert probabilities(replay) == pytest.approx({"old": 0.5, "new": 0.5})


@pytest.mark.parametrize("start", [0, 10**6, 10**15, 2**63, 2**64 - 600])
def test_huge_versions_do_not_overflow(start: int) -> None:
    replay = make_replay(tau_versions=0.5, capacity_steps=100)
    for age in range(500, -1, -1):
        replay.add(episode(f"{age}", versions=(start + 500 - age,)))

    found = probabilities(replay)
    assert found["0"] == pytest.approx(1 - math.exp(-2), rel=1e-12)
    assert found["1"] == pytest.approx(found["0"] * math.exp(-2), rel=1e-12)


def test_a_run_of_a_million_versions_keeps_its_proportions() -> None:
    replay = make_replay(tau_versions=3.0, capacity_steps=2)
    for version in range(0, 1_000_001, 997):
        replay.add(episode(f"{version}", versions=(version,)))
        replay.add(episode(f"{version}+1", versions=(version + 1,)))
        assert probabilities_of_two(replay) == pytest.approx(1 / (1 + math.exp(-1 / 3)), rel=1e-12)


def probabilities_of_two(replay: PrioritisedReplay) -> float:
    """The probability of the newer of two, from one draw."""
    (drawn,) = replay.sample(1)
    return drawn.probability if drawn.id == replay.ids()[-1] else 1 - drawn.probability


def test_a_far_larger_weight_than_all_before_takes_effect() -> None:
    replay = make_replay(tau_versions=1.0)
    replay.add(episode("a", versions=(0,)))
    replay.add(episode("b", versions=(100,)))
    assert probabilities(replay) == {"b": 1.0}

    replay.reprioritise({"a": 1e200})
    assert probabilities(replay) == {"a": 1.0}


def test_what_outlives_a_far_larger_weight_is_drawn_as_before() -> None:
    replay = filled({"giant": 1e308, "three": 3e-308, "one": 1e-308})
    assert probabilities(replay) == {"giant": 1.0}

    replay.reprioritise({"giant": 0.0})
    assert probabilities(replay) == pytest.approx({"three": 0.75, "one": 0.25})


def test_priorities_at_both_ends_of_the_numbers_do_not_overflow() -> None:
    replay = filled({f"{number}": 1.7e308 for number in range(100)} | {"tiny": 5e-324}, alpha=2.0)

    assert sum(sorted(probabilities(replay).values())) == pytest.approx(1.0)


@pytest.mark.parametrize("newest", [None, 2, 3])
def test_if_all_priorities_are_zero_all_are_equally_likely(newest: int | None) -> None:
    replay = filled({"a": 0.0, "b": 0.0, "c": 0.0})

    ids = "abc"[-newest:] if newest else "abc"
    assert probabilities(replay, newest=newest) == pytest.approx({id: 1 / len(ids) for id in ids})


def test_priority_zero_is_not_drawn_while_another_is_positive() -> None:
    replay = filled({"a": 0.0, "b": 1e-9, "c": 0.0})

    assert probabilities(replay) == {"b": 1.0}


def test_priority_zero_counts_like_any_other_when_alpha_is_zero() -> None:
    assert probabilities(filled({"a": 0.0, "b": 5.0}, alpha=0.0)) == {"a": 0.5, "b": 0.5}


def test_only_the_newest_are_drawn_when_asked_for() -> None:
    replay = filled({"a": 1000.0, "b": 1.0, "c": 3.0})

    assert probabilities(replay, newest=2) == pytest.approx({"b": 0.25, "c": 0.75})
    assert probabilities(replay, newest=1) == {"c": 1.0}
    assert set(probabilities(replay, newest=99)) == {"a", "b", "c"}


def test_the_newest_are_drawn_by_the_same_weights_however_small_they_are() -> None:
    replay = filled({"giant": 1e300, "b": 1e-300, "c": 3e-300})

    assert probabilities(replay, newest=2) == pytest.approx({"b": 0.25, "c": 0.75})


@pytest.mark.parametrize("newest", [None, 3])
@pytest.mark.parametrize("point", [0.0, 1 - 2**-53])
def test_priority_zero_is_not_drawn_at_the_ends_of_the_generator_either(newest: int | None, point: float) -> None:
    class Fixed(Random):
        def random(self) -> float:
            return point

    replay = PrioritisedReplay(capacity_steps=9, alpha=1.0, freshness_tau_versions=None, rng=Fixed(0))
    for id, priority in {"a": 0.0, "b": 0.0, "c": 0.3, "d": 0.0}.items():
        replay.add(episode(id), priority)

    assert [sample.id for sample in replay.sample(2, newest=newest)] == ["c", "c"]


def test_the_newest_are_drawn_by_freshness_too() -> None:
    replay = make_replay(tau_versions=1.0)
    for version in (2**60, 1, 2):
        replay.add(episode(f"{version}", versions=(version,)))

    assert probabilities(replay, newest=2) == pytest.approx({"1": 0.26894, "2": 0.73106}, abs=1e-5)


def test_a_new_priority_takes_effect() -> None:
    replay = filled({"a": 1.0, "b": 1.0})
    replay.reprioritise({"a": 3.0, "gone": 7.0})

    assert probabilities(replay) == pytest.approx({"a": 0.75, "b": 0.25})


@pytest.mark.parametrize("poison", POISON)
def test_a_poisonous_priority_is_refused_and_nothing_changes(poison: float) -> None:
    replay = filled({"a": 1.0, "b": 3.0})
    before = replay.state()

    with pytest.raises(ValueError, match="priority"):
        replay.add(episode("c"), poison)
    with pytest.raises(ValueError, match="priority"):
        replay.add(episode("a"), poison)
    with pytest.raises(ValueError, match="priority"):
        replay.reprioritise({"a": 2.0, "b": poison})
    with pytest.raises(ValueError, match="priority"):
        replay.reprioritise({"a": 2.0, "gone": poison})
    assert replay.state() == before


def test_an_empty_replay_says_so() -> None:
    with pytest.raises(ValueError, match="empty"):
        make_replay().sample(1)


def test_what_cannot_be_counted_is_refused() -> None:
    replay = filled({"a": 1.0})

    assert replay.sample(0) == []
    with pytest.raises(ValueError, match="count"):
        replay.sample(-1)
    with pytest.raises(ValueError, match="newest"):
        replay.sample(1, newest=0)


@pytest.mark.parametrize(
    "settings",
    [
        {"capacity_steps": 0},
        {"alpha": -0.1},
        {"alpha": math.nan},
        {"alpha": math.inf},
        {"tau_versions": 0.0},
        {"tau_versions": -1.0},
        {"tau_versions": math.nan},
    ],
)
def test_settings_without_a_meaning_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings)).split("_")[0]):
        make_replay(**settings)  # type: ignore[arg-type]


@given(
    st.lists(
        st.tuples(
            st.one_of(st.just(0.0), st.floats(min_value=0.0, allow_infinity=False)),
            st.integers(0, 2**64 - 1),
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([0.0, 0.6, 1.0, 10.0]),
    st.sampled_from([None, 5e-324, 1e-3, 1.0, 1e300]),
    st.one_of(st.none(), st.integers(1, 12)),
)
def test_whatever_the_numbers_every_probability_is_one(
    members: list[tuple[float, int]], alpha: float, tau_versions: float | None, newest: int | None
) -> None:
    replay = make_replay(alpha=alpha, tau_versions=tau_versions)
    for number, (priority, version) in enumerate(members):
        replay.add(episode(f"{number}", versions=(version,)), priority)

    for sample in replay.sample(20, newest=newest):
        assert 0.0 < sample.probability <= 1.0

"""The planner against figures that can be worked out by hand, and against a real run of the same fleet."""

import math
from typing import Any

import pytest

from distrl.core.errors import UserError
from distrl.runtime.planner import Fleet, enough_minutes, episode_lengths, num_ticks, plan

EVEN_EPISODE_S = (3.0 + 2.2 + 8 * (2.2 + 2.2)) * math.exp(0.25**2 / 2)
"""An episode of eight steps on an even fleet: a reset, a look, and eight actions with a look each; log-normal means."""


def planned(**values: Any) -> Any:
    return plan(Fleet(**{"devices": 32, "latency": "even", "minutes": 20.0, **values}))


def test_devices_that_wait_for_nobody_set_the_pace() -> None:
    made = planned()
    assert made.trajectories_per_min == pytest.approx(60 * 32 / EVEN_EPISODE_S, rel=0.03)
    assert made.device_use == pytest.approx(1.0, abs=0.01)
    assert made.limit == "device"
    assert made.steps_per_s == pytest.approx(8 * made.trajectories_per_min / 60, rel=0.01)


def test_twice_the_devices_collect_twice_as_much_with_twice_the_lag() -> None:
    few, many = planned(), planned(devices=64)
    assert many.trajectories_per_min == pytest.approx(2 * few.trajectories_per_min, rel=0.03)
    assert many.lag_mean > 1.5 * few.lag_mean


def test_a_slow_learner_sets_the_pace() -> None:
    made = planned(devices=256, update_s=2.0)
    assert made.steps_per_s == pytest.approx(8 * 8 / 2.0, rel=0.03), "an update takes up to eight trajectories"
    assert made.updates_per_min == pytest.approx(30.0, rel=0.03)
    assert made.learner_use == pytest.approx(1.0, abs=0.03)
    assert made.limit == "learner"
    assert made.device_use < 0.95


def test_a_learner_that_is_not_much_too_slow_makes_fewer_updates_and_nobody_waits() -> None:
    made = planned(devices=256, update_s=1.0)
    assert made.trajectories_per_min == pytest.approx(60 * 256 / EVEN_EPISODE_S, rel=0.03)
    assert made.updates_per_min == pytest.approx(60.0, rel=0.03), "half of what the steps would have paid for"
    assert made.device_use > 0.97


@pytest.mark.parametrize("steps", [24.0, 6.0, 2.0])
def test_a_fast_learner_makes_every_update_that_the_steps_pay_for(steps: float) -> None:
    made = planned(devices=4, update_s=0.01, new_steps_per_update=steps, minutes=40.0)
    assert made.updates_per_min == pytest.approx(60 * made.steps_per_s / steps, rel=0.05)


def test_a_slow_policy_sets_the_pace_and_a_second_worker_doubles_it() -> None:
    slow = {"devices": 128, "batch_s": 0.1, "decision_s": 0.1, "max_batch": 16}
    made = planned(**slow)
    assert made.steps_per_s == pytest.approx(16 / 1.7, rel=0.03)
    assert made.limit == "inference"
    assert made.inference_share > 0.5
    assert planned(**slow, workers=2).steps_per_s == pytest.approx(2 * 16 / 1.7, rel=0.03)


def test_a_barrier_costs_what_the_slowest_device_takes() -> None:
    free = planned(steps=episode_lengths(8))
    tied = planned(steps=episode_lengths(8), max_policy_lag=0)
    assert tied.trajectories_per_min < 0.8 * free.trajectories_per_min
    assert tied.lag_max == 0
    shared = planned(steps=episode_lengths(8), max_policy_lag=0, workers=4)
    assert shared.trajectories_per_min == pytest.approx(tied.trajectories_per_min, rel=0.1)


def test_nobody_acts_with_weights_that_are_still_being_made() -> None:
    made = planned(devices=1, update_s=30.0, new_steps_per_update=8.0, publish_every_updates=1)
    # An episode takes longer than an update, so each is made with the version before the one that it leads to.
    assert made.lag_mean > 0.9


def test_the_same_seed_gives_the_same_plan() -> None:
    assert planned(latency="rough") == planned(latency="rough") != planned(latency="rough", seed=1)


def test_lengths_have_the_mean_they_were_asked_for() -> None:
    for mean in (1, 2, 5, 8):
        lengths = episode_lengths(mean)
        assert sum(lengths) / len(lengths) == mean
        assert min(lengths) >= 1


def test_the_largest_fleet_is_played_for_minutes_and_the_smallest_for_an_hour() -> None:
    assert enough_minutes(10_000) == 2.0
    assert enough_minutes(1) == 60.0


def test_it_tells_how_it_goes_on() -> None:
    fleet = Fleet(devices=2, latency="even", minutes=2.0)
    ticks: list[None] = []
    plan(fleet, tick=lambda: ticks.append(None))
    assert len(ticks) in (num_ticks(fleet) - 1, num_ticks(fleet))


def test_time_has_to_pass() -> None:
    with pytest.raises(UserError, match="decision"):
        planned(latency="instant")
    assert planned(latency="instant", devices=2, decision_s=0.5, minutes=2.0).limit == "inference"

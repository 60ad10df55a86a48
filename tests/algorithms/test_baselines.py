"""The baselines: what each raises and lowers, by hand, and which values it trains."""

import math
from typing import Any

import pytest

from distrl.algorithms import make_algorithm
from distrl.algorithms.weights import SCALE_EPSILON

from .trajectories import close, example, gradients, log, make_batch, make_evaluation


@pytest.mark.parametrize(
    ("name", "trained"),
    [
        ("a_ride", {"log_prob", "entropy", "value", "trajectory_value"}),
        ("digirl", {"log_prob", "value", "trajectory_value"}),
        ("filtered_bc", {"log_prob"}),
        ("grpo", {"log_prob", "entropy"}),
        ("ppo", {"log_prob", "entropy", "value"}),
        ("vtrace", {"log_prob", "entropy", "value"}),
    ],
)
def test_an_algorithm_trains_the_values_it_uses_and_only_those(name: str, trained: set[str]) -> None:
    batch, evaluation = example()
    batch = make_batch(
        [[0.0, 0.0, 1.0], [0.0], [-0.4, 0.0], [0.0, 1.0]],
        success=[1.0, 0.0, 0.0, 1.0],
        group_mean=[0.5] * 4,
        group_std=[0.5] * 4,
    )
    found = gradients(make_algorithm(name, {}).loss(batch, evaluation)[0], evaluation)
    assert {what for what, gradient in found.items() if gradient.abs().sum() > 0} == trained


def learned(name: str, options: dict[str, Any], batch: Any, evaluation: Any) -> Any:
    return gradients(make_algorithm(name, options).loss(batch, evaluation)[0], evaluation)


def test_filtered_bc_imitates_successes_and_nothing_else() -> None:
    batch, evaluation = example()
    found = learned("filtered_bc", {}, batch, evaluation)["log_prob"]
    # Five steps in the two successful trajectories, of weight 1 each
    assert close(found, [[-0.2, -0.2, -0.2], [0, 0, 0], [0, 0, 0], [-0.2, -0.2, 0]])


def test_filtered_bc_without_a_success_learns_nothing() -> None:
    batch, evaluation = make_batch([[0.0]]), make_evaluation([[0.5, 0.5]])
    assert close(learned("filtered_bc", {}, batch, evaluation)["log_prob"], [[0.0]])


def test_digirl_imitates_the_good_steps_of_the_good_trajectories_alike() -> None:
    # Doubly-robust advantages of the first are (.175, .4, 1), as in test_returns; the second failed.
    batch = make_batch([[0.0, 0.0, 1.0], [0.0]], success=[1.0, 0.0])
    evaluation = make_evaluation([[0.5, 0.4, 0.2, 0.9], [0.0, 0.9]])
    found = learned("digirl", {"advantage_threshold": 0.3}, batch, evaluation)
    assert close(found["log_prob"], [[0.0, -0.5, -0.5], [0, 0, 0]])
    found = learned("digirl", {}, batch, evaluation)
    assert close(found["log_prob"], [[-1 / 3] * 3, [0, 0, 0]])


def test_digirl_trains_its_values_towards_the_outcome() -> None:
    batch = make_batch([[0.0, 1.0]], success=[1.0])
    evaluation = make_evaluation([[0.5, 0.4, 0.9]], trajectory_values=[0.3])
    found = learned("digirl", {"value_weight": 1.0, "trajectory_value_weight": 1.0}, batch, evaluation)
    assert close(found["value"][0], [[-0.5 / 4, -0.6 / 4, 0.0]])
    assert close(found["trajectory_value"], [-0.7])


def test_digirl_drops_trajectories_that_did_worse_than_expected() -> None:
    # Both succeeded, but the first was sure to: outcome - V_traj = .1 and .8.
    batch = make_batch([[1.0], [1.0]], success=[1.0, 1.0])
    evaluation = make_evaluation([[0.5, 0.0], [0.5, 0.0]], trajectory_values=[0.9, 0.2])
    found = learned("digirl", {"filter_quantile": 0.5}, batch, evaluation)
    assert close(found["log_prob"], [[0.0], [-1.0]])


def test_vtrace_by_hand() -> None:
    # v = (.225, .45, 1), as in test_returns. A = (.5 * .45 - .5, .5 * 1 - .4, 1 - .2) = (-.275, .1, .8)
    # rho = (1, .5, 1)
    batch = make_batch([[0.0, 0.0, 1.0]], behaviour=log([[0.4, 0.6, 0.1]]))
    evaluation = make_evaluation([[0.5, 0.4, 0.2, 0.9]], log_probs=log([[0.8, 0.3, 0.4]]))
    plain = {"normalise_advantages": False, "negative_scale": 1.0, "negative_floor": 0.0, "value_weight": 1.0}
    found = learned("vtrace", {"gamma": 0.5, **plain}, batch, evaluation)
    assert close(found["log_prob"], [[0.275 / 3, -0.05 / 3, -0.8 / 3]])
    assert close(found["value"][0], [[0.275 / 6, -0.05 / 6, -0.8 / 6, 0.0]])
    halved = learned("vtrace", {"gamma": 0.5, **plain, "negative_scale": 0.5}, batch, evaluation)
    assert close(halved["log_prob"], [[0.275 / 6, -0.05 / 3, -0.8 / 3]])


def test_ppo_by_hand() -> None:
    # GAE with lambda .8 is (-.292, .02, .8), as in test_returns; ratios 1, 1.5 (clipped, as A > 0), .5 (not clipped).
    batch = make_batch([[0.0, 0.0, 1.0]], behaviour=log([[0.4, 0.4, 0.4]]))
    evaluation = make_evaluation([[0.5, 0.4, 0.2, 0.9]], log_probs=log([[0.4, 0.6, 0.2]]))
    options = {"gamma": 0.5, "lambda": 0.8, "normalise_advantages": False, "value_weight": 1.0}
    found = learned("ppo", options, batch, evaluation)
    assert close(found["log_prob"], [[0.292 / 3, 0.0, -0.5 * 0.8 / 3]])
    # The target is A + V, so V - target = -A
    assert close(found["value"][0], [[0.292 / 6, -0.02 / 6, -0.8 / 6, 0.0]])


def test_grpo_by_hand() -> None:
    # Half of the group succeeded: A = +-.5 / (.5 + epsilon) for every step, whatever the rewards say.
    batch = make_batch([[0.0, -0.4], [0.0]], success=[1.0, 0.0], group_mean=[0.5, 0.5], group_std=[0.5, 0.5])
    found = learned("grpo", {}, batch, make_evaluation([[0.5] * 3, [0.5] * 2]))
    advantage = 0.5 / (0.5 + SCALE_EPSILON)
    assert close(found["log_prob"], [[-advantage / 3] * 2, [advantage / 3, 0.0]])


def test_a_group_of_equals_teaches_nothing() -> None:
    batch = make_batch([[1.0], [1.0]], success=[1.0, 1.0], group_mean=[1.0, 1.0], group_std=[0.0, 0.0])
    assert close(learned("grpo", {}, batch, make_evaluation([[0.5] * 2] * 2))["log_prob"], [[0.0], [0.0]])


def test_on_policy_algorithms_ask_for_a_window_and_grpo_for_groups() -> None:
    assert make_algorithm("ppo", {"window_trajectories": 7}).sampling.window_trajectories == 7
    grpo = make_algorithm("grpo", {"group_size": 4, "window_trajectories": 12}).sampling
    assert (grpo.group_size, grpo.window_trajectories) == (4, 12)
    assert make_algorithm("grpo", {}).sampling.group_size == 8
    for name in ("digirl", "filtered_bc", "vtrace"):
        assert make_algorithm(name, {}).sampling.window_trajectories is None


@pytest.mark.parametrize("name", ["digirl", "filtered_bc", "grpo", "ppo", "vtrace"])
def test_baselines_are_indifferent_to_what_is_drawn(name: str) -> None:
    batch, evaluation = example()
    algorithm = make_algorithm(name, {})
    assert algorithm.priorities(batch, evaluation).tolist() == [1.0] * 4
    assert not algorithm.sampling.is_prioritised


def test_the_entropy_weight_of_the_baselines_counts() -> None:
    batch, evaluation = example()
    for name in ("grpo", "ppo", "vtrace"):
        found = learned(name, {"entropy_weight": 0.8}, batch, evaluation)["entropy"]
        # Eight steps; the weights of the trajectories are 1, .5, .8, 1.
        assert math.isclose(found.sum().item(), -0.8 * (3 + 0.5 + 1.6 + 2) / 8)

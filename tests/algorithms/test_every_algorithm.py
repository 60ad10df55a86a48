"""What holds for every algorithm: padding, extremes, metrics."""

import math
from dataclasses import fields
from typing import Any

import msgspec
import pytest
import torch

from distrl.algorithms import ALGORITHMS, Sampling, make_algorithm
from distrl.algorithms.batch import Evaluation

from .trajectories import close, example, gradients, log, make_batch, make_evaluation

PLAIN = {"normalise_advantages": False, "negative_scale": 1.0, "negative_floor": 0.0}
UNMIXED: dict[str, dict[str, Any]] = {
    "a_ride": {**PLAIN, "trajectory_filter": False, "trajectory_value_weight": 0.0},
    "digirl": {"filter_quantile": 0.0, "trajectory_value_weight": 0.0},
    "filtered_bc": {},
    "grpo": {},
    "ppo": {"normalise_advantages": False},
    "vtrace": PLAIN,
}
"""Options without what compares the trajectories of a batch, or counts them instead of their steps."""


@pytest.mark.parametrize("name", ALGORITHMS)
def test_two_trajectories_together_are_learned_from_as_each_alone(name: str) -> None:
    # Three steps and one: the joint gradient is 3/4 of the first alone and 1/4 of the second alone.
    algorithm = make_algorithm(name, UNMIXED[name])
    rewards, values = [[0.0, 0.0, 1.0], [1.0]], [[0.5, 0.4, 0.2, 0.9], [0.3, 0.9]]
    probabilities, behaviour = [[0.5, 0.5, 0.5], [0.4]], [[0.5, 0.55, 0.6], [0.4]]

    def found(rows: slice) -> dict[str, torch.Tensor]:
        batch = make_batch(
            rewards[rows],
            behaviour=log(behaviour[rows]),
            success=[1.0, 1.0][rows],
            group_mean=[0.5, 0.5][rows],
            group_std=[0.5, 0.5][rows],
        )
        evaluation = make_evaluation(values[rows], log_probs=log(probabilities[rows]))
        return gradients(algorithm.loss(batch, evaluation)[0], evaluation)

    together, first, second = found(slice(0, 2)), found(slice(0, 1)), found(slice(1, 2))
    assert close(together["log_prob"][0], first["log_prob"][0] * 3 / 4)
    assert close(together["log_prob"][1], [second["log_prob"][0, 0] / 4, 0.0, 0.0])
    assert close(together["value"][:, 0], first["value"][:, 0] * 3 / 4)
    assert close(together["value"][:, 1, :2], second["value"][:, 0] / 4)
    assert (together["value"][:, 1, 2:] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_extreme_numbers_give_finite_losses_gradients_and_priorities(name: str, dtype: torch.dtype) -> None:
    algorithm = make_algorithm(name, {})
    batch = make_batch(
        [[1.0, -1e3, 0.0], [0.0]],
        terminal=[False, True],
        success=[1.0, 0.0],
        behaviour=[[-1e4, 0.0, -1e4], [-50.0]],
        invalid=[[1, 1, 0], [1]],
        group_mean=[0.5, 0.5],
    )
    evaluation = make_evaluation(
        [[0.0, 1.0, 0.5, 1.0], [1.0, 0.0]],
        log_probs=[[0.0, -1e4, -1e4], [0.0]],
        entropies=[[0.0, 0.0, 1e3], [0.0]],
        trajectory_values=[1.0, 0.0],
    )
    # Infinite logits are no network's; ten thousand is as sure as it gets.
    spoken = {
        field.name: getattr(evaluation, field.name).detach().clamp(-1e4, 1e4).to(dtype).requires_grad_()
        for field in fields(Evaluation)
    }
    evaluation = Evaluation(**spoken)
    loss, metrics = algorithm.loss(batch, evaluation)
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients(loss, evaluation).values())
    assert all(value.isfinite() for value in metrics.values())
    priorities = algorithm.priorities(batch, evaluation)
    assert priorities.isfinite().all()
    assert (priorities > 0).all()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_metrics_are_single_numbers_without_gradient(name: str) -> None:
    batch, evaluation = example()
    algorithm = make_algorithm(name, {})
    loss, metrics = algorithm.loss(batch, evaluation)
    assert loss.requires_grad
    assert loss.shape == ()
    assert {"policy_loss", "entropy", "rho_mean", "rho_max", "rho_low_share", "rho_ess_share"} <= set(metrics)
    for metric, value in metrics.items():
        assert value.shape == (), metric
        assert not value.requires_grad, metric
        assert not math.isnan(value.item()), metric
    assert algorithm.priorities(batch, evaluation).shape == (4,)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_padding_gets_no_gradient(name: str) -> None:
    batch, evaluation = example()
    loss, _ = make_algorithm(name, {}).loss(batch, evaluation)
    found = gradients(loss, evaluation)
    for what in ("log_prob", "entropy"):
        assert (found[what][~batch.mask_bt] == 0).all()
    assert (found["value"][:, :, :-1][:, ~batch.mask_bt] == 0).all()


OTHER_VALUES: dict[str, float] = {
    "lambda": 0.3,
    "gamma": 0.7,
    "rho_max": 0.4,
    "rho_clip": 0.4,
    "c_clip": 0.4,
    "clip": 0.01,
    "filter_quantile": 0.75,
    "advantage_threshold": 0.6,
    "negative_floor": 0.95,
    "window_trajectories": 3,
    "group_size": 3,
}
"""Where half of the default is not different enough to matter in the example."""


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (name, field.encode_name)
        for name, algorithm_type in ALGORITHMS.items()
        for field in msgspec.structs.fields(algorithm_type.Options)
    ],
)
def test_every_option_changes_what_is_learned_or_what_is_drawn(name: str, option: str) -> None:
    (field,) = (f for f in msgspec.structs.fields(ALGORITHMS[name].Options) if f.encode_name == option)
    default = field.default
    other = not default if isinstance(default, bool) else OTHER_VALUES.get(option, default / 2 or 0.4)
    batch, evaluation = example()

    def outcome(options: dict[str, Any]) -> tuple[list[torch.Tensor], Sampling]:
        algorithm = make_algorithm(name, options)
        found = gradients(algorithm.loss(batch, evaluation)[0], evaluation)
        return [*found.values(), algorithm.priorities(batch, evaluation)], algorithm.sampling

    (usual, usual_sampling), (changed, sampling) = outcome({}), outcome({option: other})
    assert sampling != usual_sampling or not all(close(a, b, 1e-6) for a, b in zip(usual, changed, strict=True))

"""A-RIDE as a whole: its loss from its parts, every switch, the stabilisers, and where gradients go."""

import math
from typing import Any

import pytest
import torch

from distrl.algorithms import make_algorithm
from distrl.algorithms.a_ride import ARide
from distrl.algorithms.batch import Evaluation
from distrl.algorithms.interface import Sampling
from distrl.algorithms.weights import SCALE_EPSILON

from .trajectories import close, example, gradients, log, make_batch, make_evaluation

PLAIN = {"normalise_advantages": False, "negative_scale": 1.0, "negative_floor": 0.0, "trajectory_filter": False}
ALONE = {"entropy": False, "invalid_penalty": False, "value_weight": 0.0, "trajectory_value_weight": 0.0}


def a_ride(**options: Any) -> ARide:
    algorithm = make_algorithm("a_ride", options)
    assert isinstance(algorithm, ARide)
    return algorithm


# ---------------------------------------------------------------- the loss


def test_the_plain_form_is_the_papers_policy_gradient_by_hand() -> None:
    # The trajectory of test_returns: A = (-.29, .1, .8), ratios (2, .5, 4), so min(1, rho) = (1, .5, 1).
    # L = -(1 * -.29 log .8 + .5 * .1 log .3 + .8 log .4) / 3
    batch = make_batch([[0.0, 0.0, 1.0]], behaviour=log([[0.4, 0.6, 0.1]]), success=[1.0])
    evaluation = make_evaluation([[0.5, 0.4, 0.2, 0.9]], log_probs=log([[0.8, 0.3, 0.4]]))
    loss, metrics = a_ride(gamma=0.5, lambda_=0.8, **PLAIN, **ALONE).loss(batch, evaluation)
    by_hand = -(-0.29 * math.log(0.8) + 0.05 * math.log(0.3) + 0.8 * math.log(0.4)) / 3
    assert loss.item() == pytest.approx(by_hand)
    assert metrics["policy_loss"].item() == pytest.approx(by_hand)
    assert close(gradients(loss, evaluation)["log_prob"], [[0.29 / 3, -0.05 / 3, -0.8 / 3]])


def test_without_retrace_the_advantage_and_the_target_are_one_step() -> None:
    batch = make_batch([[0.0, 0.0, 1.0]], success=[1.0])
    evaluation = make_evaluation([[0.5, 0.4, 0.2, 0.9]])
    alone = {**PLAIN, **ALONE, "value_weight": 1.0}
    found = gradients(a_ride(gamma=0.5, retrace=False, **alone).loss(batch, evaluation)[0], evaluation)
    assert close(found["log_prob"], [[0.3 / 3, 0.3 / 3, -0.8 / 3]])
    # V - target = V - (r + gamma V') = .5 - .2, .4 - .1, .2 - 1, over 2 twins and 3 steps
    assert close(found["value"][0], [[0.3 / 6, 0.3 / 6, -0.8 / 6, 0.0]])


def test_the_loss_is_the_sum_of_its_parts() -> None:
    batch, evaluation = example()
    loss, metrics = a_ride(entropy_weight=0.3, invalid_weight=0.7, value_weight=0.2, trajectory_value_weight=0.4).loss(
        batch, evaluation
    )
    parts = (
        metrics["policy_loss"]
        - 0.3 * metrics["entropy"]
        + 0.7 * metrics["invalid_loss"]
        + 0.2 * metrics["value_loss"]
        + 0.4 * metrics["trajectory_value_loss"]
    )
    assert loss.item() == pytest.approx(parts.item())


def test_the_value_is_trained_towards_the_retrace_value_and_not_through_it() -> None:
    batch = make_batch([[0.0, 0.0, 1.0]], behaviour=log([[0.4, 0.6, 0.1]]), success=[1.0])
    evaluation = make_evaluation([[0.5, 0.4, 0.2, 0.9]], log_probs=log([[0.8, 0.3, 0.4]]))
    loss, _ = a_ride(gamma=0.5, lambda_=0.8, **PLAIN, **{**ALONE, "value_weight": 1.0}).loss(batch, evaluation)
    found = gradients(loss, evaluation)
    # V - V_ret = .5 - .204, .4 - .42, .2 - 1, over 2 twins and 3 steps; the last state is only bootstrapped from
    assert close(found["value"][1], [[0.296 / 6, -0.02 / 6, -0.8 / 6, 0.0]])


def test_a_target_below_0_is_learned_as_0() -> None:
    batch = make_batch([[-1.0]])
    evaluation = make_evaluation([[0.3, 0.9]])
    loss, _ = a_ride(**PLAIN, **{**ALONE, "value_weight": 1.0}).loss(batch, evaluation)
    assert close(gradients(loss, evaluation)["value"][0], [[0.3 / 2, 0.0]])


def test_no_gradient_reaches_the_policy_through_ratios_or_the_values_through_advantages() -> None:
    batch, evaluation = example()
    found = gradients(a_ride(**ALONE).loss(batch, evaluation)[0], evaluation)
    assert found["log_prob"].abs().sum() > 0
    for name in ("entropy", "value", "trajectory_value"):
        assert torch.equal(found[name], torch.zeros_like(found[name])), name


def test_the_entropy_term_raises_entropy() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0]], requires_grad=True)

    def entropy() -> torch.Tensor:
        return -(logits.softmax(-1) * logits.log_softmax(-1)).sum(-1, keepdim=True)

    evaluation = make_evaluation([[0.5, 0.5]])
    evaluation = Evaluation(
        log_prob_bt=evaluation.log_prob_bt,
        entropy_bt=entropy(),
        value_logit_kbs=evaluation.value_logit_kbs,
        trajectory_value_logit_b=evaluation.trajectory_value_logit_b,
    )
    loss, _ = a_ride(**{**ALONE, "entropy": True}, entropy_weight=1.0).loss(make_batch([[0.0]]), evaluation)
    (gradient,) = torch.autograd.grad(loss, logits)
    before = entropy().item()
    with torch.no_grad():
        logits -= gradient
    assert entropy().item() > before


def test_the_weight_of_a_trajectory_multiplies_everything_it_teaches() -> None:
    options = {**PLAIN, "entropy_weight": 0.1}
    batch, evaluation = example()
    found = gradients(a_ride(**options).loss(batch, evaluation)[0], evaluation)
    halved = make_batch(
        [[0.0, 0.0, 1.0], [0.0], [-0.4, 0.0], [0.0, 1.0]],
        terminal=[True, True, False, True],
        success=[1.0, 0.0, 0.0, 1.0],
        behaviour=log([[0.5, 0.5, 0.5], [0.4], [0.5, 0.3], [0.6, 0.6]]),
        invalid=[[0, 0, 0], [0], [1, 0], [0, 0]],
        weights=[1.0, 0.5, 0.4, 1.0],
    )
    changed = gradients(a_ride(**options).loss(halved, evaluation)[0], evaluation)
    for name, gradient in found.items():
        rows = gradient.mean(0) if name == "value" else gradient
        changed_rows = changed[name].mean(0) if name == "value" else changed[name]
        assert close(changed_rows[2], rows[2] / 2), name
        assert close(changed_rows[[0, 1, 3]], rows[[0, 1, 3]]), name


# ---------------------------------------------------------------- what keeps it stable


def test_advantages_are_standardised_over_all_trajectories_also_those_the_filter_drops() -> None:
    # One step each: A = r - V = .5, -.5, so standardised +-.5 / (.5 + epsilon). The second did worse and is dropped;
    # among the kept alone the first would be 0.
    batch = make_batch([[1.0], [0.0]], success=[1.0, 0.0])
    evaluation = make_evaluation([[0.5, 0.0], [0.5, 0.0]])
    loss, metrics = a_ride(filter_quantile=0.5, **ALONE).loss(batch, evaluation)
    assert close(gradients(loss, evaluation)["log_prob"], [[-0.5 / (0.5 + SCALE_EPSILON)], [0.0]])
    assert metrics["kept_share"].item() == 0.5


def test_negative_advantages_count_half_and_not_at_all_once_pi_has_fallen() -> None:
    # A = r - V = -.4 each; ratios 1 and .7
    batch = make_batch([[0.0], [0.0]], behaviour=log([[0.5], [0.5]]))
    evaluation = make_evaluation([[0.4, 0.0], [0.4, 0.0]], log_probs=log([[0.5], [0.35]]))
    stable = {**PLAIN, **ALONE, "negative_scale": 0.5, "negative_floor": 0.8}
    found = gradients(a_ride(**stable).loss(batch, evaluation)[0], evaluation)
    assert close(found["log_prob"], [[0.5 * 0.4 / 2], [0.0]])
    plain = gradients(a_ride(**PLAIN, **ALONE).loss(batch, evaluation)[0], evaluation)
    assert close(plain["log_prob"], [[0.4 / 2], [0.7 * 0.4 / 2]])


def test_rho_is_clipped_at_rho_max() -> None:
    batch = make_batch([[1.0]], behaviour=log([[0.1]]), success=[1.0])
    evaluation = make_evaluation([[0.5, 0.0]], log_probs=log([[0.4]]))
    for rho_max, rho in ((1.0, 1.0), (3.0, 3.0), (10.0, 4.0)):
        loss, metrics = a_ride(rho_max=rho_max, **PLAIN, **ALONE).loss(batch, evaluation)
        assert close(gradients(loss, evaluation)["log_prob"], [[-rho * 0.5]])
        assert metrics["rho_max"].item() == pytest.approx(4.0)


def test_the_filter_takes_trajectories_from_the_policy_and_not_from_the_values() -> None:
    batch, evaluation = example()
    options = {"entropy": False, "invalid_penalty": False, "normalise_advantages": False}
    found = gradients(a_ride(filter_quantile=0.25, **options).loss(batch, evaluation)[0], evaluation)
    # outcome - V_traj = .1, -.8, -.3, .9: the second is dropped
    assert found["log_prob"][1].abs().sum() == 0
    assert (found["log_prob"][[0, 2, 3]].abs().sum(dim=1) > 0).all()
    assert (found["value"].abs().sum(dim=(0, 2)) > 0).all()
    assert (found["trajectory_value"].abs() > 0).all()


def test_the_first_error_is_weighted_if_asked() -> None:
    # V_ret(s_0) = V + min(1, rho) (r - V) = .5 + .5 * .5 instead of 1
    batch = make_batch([[1.0]], behaviour=log([[0.8]]), success=[1.0])
    evaluation = make_evaluation([[0.5, 0.0]], log_probs=log([[0.4]]))
    value_only = {**PLAIN, **ALONE, "value_weight": 1.0}
    weighted = gradients(a_ride(weight_first=True, **value_only).loss(batch, evaluation)[0], evaluation)["value"]
    papers = gradients(a_ride(**value_only).loss(batch, evaluation)[0], evaluation)["value"]
    assert close(weighted[0], [[-0.25 / 2, 0.0]])
    assert close(papers[0], [[-0.5 / 2, 0.0]])


# ---------------------------------------------------------------- switches and sampling


@pytest.mark.parametrize(
    ("switch", "what"),
    [
        ("retrace", "log_prob"),
        ("retrace", "value"),
        ("entropy", "entropy"),
        ("invalid_penalty", "log_prob"),
        ("trajectory_filter", "log_prob"),
        ("normalise_advantages", "log_prob"),
    ],
)
def test_every_switch_of_the_loss_changes_what_is_learned(switch: str, what: str) -> None:
    batch, evaluation = example()
    on = gradients(a_ride().loss(batch, evaluation)[0], evaluation)[what]
    off = gradients(a_ride(**{switch: False}).loss(batch, evaluation)[0], evaluation)[what]
    assert not close(on, off, tolerance=1e-5)


@pytest.mark.parametrize("switch", ["dper", "freshness"])
def test_every_switch_of_the_sampling_changes_the_sampling_and_not_the_loss(switch: str) -> None:
    batch, evaluation = example()
    off = a_ride(**{switch: False})
    assert off.sampling != a_ride().sampling
    assert torch.equal(off.loss(batch, evaluation)[0], a_ride().loss(batch, evaluation)[0])


def test_sampling_follows_from_the_options() -> None:
    assert a_ride(alpha=0.3, freshness_tau_versions=7.0, correction_beta=0.4).sampling == Sampling(
        is_prioritised=True, alpha=0.3, freshness_tau_versions=7.0, correction_beta=0.4
    )
    assert a_ride(freshness=False).sampling.freshness_tau_versions is None
    assert a_ride(dper=False).sampling == Sampling()


def test_priorities_are_those_of_the_paper_with_rho_clipped() -> None:
    # |delta| = (.3, .3, .8), rho = (1, .5, 1) after the clip, H = 1: 50 * 1.4 / 3 + 2.5 / 3 + .01
    batch = make_batch([[0.0, 0.0, 1.0]], behaviour=log([[0.4, 0.6, 0.1]]))
    evaluation = make_evaluation([[0.5, 0.4, 0.2, 0.9]], log_probs=log([[0.8, 0.3, 0.4]]))
    found = a_ride(gamma=0.5).priorities(batch, evaluation)
    assert close(found, [70 / 3 + 2.5 / 3 + 0.01])
    assert not found.requires_grad
    only_rho = a_ride(w_td=0.0, w_entropy=0.0, w_rho=2.0).priorities(batch, evaluation)
    assert close(only_rho, [2 * 2.5 / 3])

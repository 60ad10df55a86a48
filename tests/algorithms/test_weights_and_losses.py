"""Ratios, advantages, filter, loss terms and priorities: by hand, against a slow version, and where gradients flow."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from distrl.algorithms.losses import (
    clipped_surrogate_loss,
    imitation_loss,
    invalid_action_loss,
    masked_mean,
    policy_gradient_loss,
    trajectory_means,
    trajectory_priorities,
    trajectory_value_loss,
    unlikelihood,
    value_loss,
)
from distrl.algorithms.metrics import advantage_metrics, ratio_metrics, value_metrics
from distrl.algorithms.weights import better_than_expected, importance_ratios, standardised, tamed

from . import slow
from .trajectories import NAN, close, make_batch, numbers, padded

MASK = torch.tensor([[True, True, True], [True, False, False]])


# ---------------------------------------------------------------- weights


def test_ratios_are_pi_over_mu_and_carry_no_gradient() -> None:
    target = numbers([0.5, 0.1, 0.9]).log().requires_grad_()
    ratios = importance_ratios(target, numbers([0.25, 0.5, 0.9]).log())
    assert close(ratios, [2.0, 0.2, 1.0])
    assert not ratios.requires_grad


def test_ratios_stay_finite_where_probabilities_do_not() -> None:
    ratios = importance_ratios(torch.tensor([-1e4, 0.0, -1e4]), torch.tensor([0.0, -1e4, -1e4]))
    assert ratios.tolist() == [0.0, pytest.approx(math.exp(20), rel=1e-5), 1.0]
    assert ratios.square().sum().isfinite()


def rows_of(element: st.SearchStrategy[float], lengths: list[int]) -> st.SearchStrategy[list[list[float]]]:
    return st.tuples(*(st.lists(element, min_size=n, max_size=n) for n in lengths)).map(list)


LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=4)
LOG_PROBS = st.floats(-60, 0)
"""So far apart that some ratios pass exp(20), and none leaves what a number of 64 bits can say."""


@given(st.data(), LENGTHS)
def test_ratios_are_those_of_the_slow_version(data: st.DataObject, lengths: list[int]) -> None:
    target, behaviour = (data.draw(rows_of(LOG_PROBS, lengths)) for _ in range(2))
    found = importance_ratios(padded(target, NAN), padded(behaviour, 0.0))
    expected = [slow.ratios(*row) for row in zip(target, behaviour, strict=True)]
    torch.testing.assert_close(found, padded(expected, NAN), rtol=1e-9, atol=0.0, equal_nan=True)


def test_standardised_advantages_have_mean_0_and_deviation_1_over_the_steps_that_exist() -> None:
    # 1, 2, 3, 6 have mean 3 and variance (4 + 1 + 0 + 9) / 4 = 3.5; a 1000 on padding would move both.
    found = standardised(padded([[1.0, 2.0, 3.0], [6.0, 1000.0, NAN]], NAN), MASK)
    scale = math.sqrt(3.5) + 1e-3
    assert close(found, [[-2 / scale, -1 / scale, 0.0], [3 / scale, 0.0, 0.0]])


def test_equal_advantages_standardise_to_0_and_not_to_noise() -> None:
    found = standardised(torch.full((2, 3), 0.1), MASK)
    assert found.abs().max() < 1e-3
    assert standardised(torch.tensor([[5.0]]), torch.tensor([[True]])).tolist() == [[0.0]]


def test_negative_advantages_are_scaled_and_stop_below_the_floor() -> None:
    advantage = numbers([2.0, -2.0, -2.0, 2.0])
    ratio = numbers([0.1, 0.9, 0.79, 9.0])
    assert tamed(advantage, ratio, negative_scale=0.5, negative_floor=0.8).tolist() == [2.0, -1.0, 0.0, 2.0]
    assert torch.equal(tamed(advantage, ratio, negative_scale=1.0, negative_floor=0.0), advantage)


def test_the_filter_drops_the_share_that_did_worst_against_expectation() -> None:
    # outcome - V_traj = .1, -.9, .8, -.2
    outcome, expected = numbers([1.0, 0.0, 1.0, 0.0]), numbers([0.9, 0.9, 0.2, 0.2])
    assert better_than_expected(outcome, expected, quantile=0.0).tolist() == [True, True, True, True]
    assert better_than_expected(outcome, expected, quantile=0.25).tolist() == [True, False, True, True]
    assert better_than_expected(outcome, expected, quantile=0.5).tolist() == [True, False, True, False]
    assert better_than_expected(outcome, expected, quantile=1.0).tolist() == [False, False, True, False]


def test_the_filter_keeps_ties_and_a_lone_trajectory() -> None:
    assert better_than_expected(numbers([0, 0, 0, 1]), numbers([0.5] * 4), quantile=0.5).all()
    assert better_than_expected(numbers([0]), numbers([1.0]), quantile=0.9).tolist() == [True]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40, unique=True), st.integers(0, 20))
def test_the_filter_keeps_exactly_the_rest_when_there_are_no_ties(expected: list[float], twentieths: int) -> None:
    kept = better_than_expected(torch.zeros(len(expected)).double(), numbers(expected), quantile=twentieths / 20)
    assert int(kept.sum()) == max(1, len(expected) - len(expected) * twentieths // 20)


@given(
    # Few different values, so that many are as good as others: ties are where a filter goes wrong.
    st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])), min_size=1),
    st.fractions(0, 1, max_denominator=100),
)
# As floating-point numbers, 0.29 * 100 is less than 29; the share is meant as it is written.
@example([(0.0, n / 100) for n in range(100)], Fraction(29, 100))
def test_the_filter_keeps_who_the_slow_version_keeps(seen: list[tuple[float, float]], quantile: Fraction) -> None:
    outcomes, values = [outcome for outcome, _ in seen], [value for _, value in seen]
    kept = better_than_expected(numbers(outcomes), numbers(values), quantile=float(quantile))
    assert kept.tolist() == slow.is_kept(outcomes, values, quantile)


# ---------------------------------------------------------------- means


def test_masked_means_count_steps_and_weigh_trajectories() -> None:
    x = padded([[1.0, 2.0, 3.0], [4.0]], NAN)
    assert masked_mean(x, MASK, numbers([1.0, 1.0])).item() == 2.5
    assert masked_mean(x, MASK, numbers([1.0, 0.5])).item() == 2.0
    assert masked_mean(x, torch.zeros_like(MASK), numbers([1.0, 1.0])).item() == 0.0
    assert trajectory_means(x, MASK).tolist() == [2.0, 4.0]


# ---------------------------------------------------------------- policy terms


def test_the_policy_gradient_is_minus_rho_times_advantage_over_the_number_of_steps() -> None:
    log_prob = padded([[-1.0, -2.0, -3.0], [-4.0]], NAN).requires_grad_()
    advantage = padded([[1.0, -1.0, 2.0], [0.5]], NAN).requires_grad_()
    rho = padded([[1.0, 0.5, 1.0], [0.2]], NAN).requires_grad_()
    loss = policy_gradient_loss(log_prob, advantage, rho, MASK, numbers([1.0, 3.0]))
    # -(1 * -1 - .5 * -2 + 2 * -3 + 3 * .1 * -4) / 4 = -(-1 + 1 - 6 - 1.2) / 4
    assert loss.item() == pytest.approx(1.8)
    loss.backward()
    assert close(log_prob.grad, [[-0.25, 0.125, -0.5], [-0.075, 0.0, 0.0]])
    assert advantage.grad is None
    assert rho.grad is None


def test_the_clipped_surrogate_stops_where_the_ratio_has_moved_far_enough() -> None:
    # Ratios 1.5, 1.5, .5, .5 and clip .2. A > 0 stops above 1.2, A < 0 below .8; the others keep their gradient A rho.
    log_prob = numbers([[math.log(1.5)] * 2 + [math.log(0.5)] * 2]).requires_grad_()
    advantage = numbers([[1.0, -1.0, 1.0, -1.0]])
    mask = torch.ones(1, 4, dtype=torch.bool)
    loss = clipped_surrogate_loss(log_prob, torch.zeros(1, 4), advantage, mask, numbers([1.0]), clip=0.2)
    assert loss.item() == pytest.approx(-(1.2 - 1.5 + 0.5 - 0.8) / 4)
    loss.backward()
    assert close(log_prob.grad, [[0.0, 1.5 / 4, -0.5 / 4, 0.0]])


def test_imitation_raises_the_kept_and_leaves_the_rest() -> None:
    log_prob = padded([[-1.0, -2.0, -3.0], [-4.0]], NAN).requires_grad_()
    kept = torch.tensor([[True, False, True], [False, False, False]])
    loss = imitation_loss(log_prob, kept, numbers([1.0, 1.0]))
    assert loss.item() == 2.0
    loss.backward()
    assert close(log_prob.grad, [[-0.5, 0.0, -0.5], [0.0, 0.0, 0.0]])


# ---------------------------------------------------------------- invalid actions


@pytest.mark.parametrize("probability", [1e-30, 0.001, 0.3, 0.5, 0.51, 0.9, 0.999])
def test_unlikelihood_is_minus_log_of_one_minus_pi_and_so_is_its_gradient(probability: float) -> None:
    log_prob = numbers([probability]).log().requires_grad_()
    loss = unlikelihood(log_prob)
    assert loss.item() == pytest.approx(-math.log1p(-probability), rel=1e-9)
    loss.sum().backward()
    assert log_prob.grad is not None
    assert log_prob.grad.item() == pytest.approx(probability / (1 - probability), rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("log_probability", [0.0, 1e-6, -1e-12, -1e-7, -1e4, -math.log(2)])
def test_unlikelihood_is_finite_everywhere_and_has_a_gradient_where_pi_rounds_to_1(
    log_probability: float, dtype: torch.dtype
) -> None:
    log_prob = torch.tensor([log_probability], dtype=dtype, requires_grad=True)
    loss = unlikelihood(log_prob)
    (gradient,) = torch.autograd.grad(loss.sum(), log_prob)
    assert loss.isfinite().all()
    assert gradient.isfinite().all()
    if log_probability > -1e-4:
        assert loss.item() == pytest.approx(-math.log(1e-4), rel=1e-3)
        assert gradient.item() == pytest.approx(1e4, rel=1e-2)


@pytest.mark.parametrize("logit", [-2.0, 3.0, 8.0])
def test_the_invalid_penalty_lowers_the_probability_of_the_invalid_action(logit: float) -> None:
    logits = torch.tensor([[logit, 0.0, 0.0]], requires_grad=True)
    before = logits.softmax(-1)[0, 0].item()
    batch = make_batch([[0.0]], invalid=[[1.0]])
    loss = invalid_action_loss(batch, logits.log_softmax(-1)[:, :1])
    (gradient,) = torch.autograd.grad(loss, logits)
    after = (logits - gradient).softmax(-1)[0, 0].item()
    assert after < before
    # d/dlogit of -log(1 - pi) is pi for a softmax: never more than 1, however sure the policy is.
    assert gradient[0, 0].item() == pytest.approx(before, rel=1e-2)


def test_the_invalid_penalty_is_a_mean_over_all_steps_and_touches_only_invalid_ones() -> None:
    batch = make_batch([[0.0, 0.0, 0.0], [0.0]], invalid=[[0.0, 1.0, 0.0], [0.0]])
    log_prob = padded([[math.log(0.5)] * 3, [0.0]], NAN).requires_grad_()
    loss = invalid_action_loss(batch, log_prob)
    assert loss.item() == pytest.approx(math.log(2) / 4)
    loss.backward()
    assert close(log_prob.grad, [[0.0, 0.25, 0.0], [0.0, 0.0, 0.0]])


# ---------------------------------------------------------------- values


def twins(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second]).requires_grad_()


def test_each_twin_is_trained_towards_the_clamped_target_and_the_last_state_is_not() -> None:
    logits = twins(padded([[0.0, 1.0, 2.0]], NAN), padded([[0.5, -1.0, 3.0]], NAN))
    target = numbers([[1.7, -0.4]]).requires_grad_()
    loss = value_loss(logits, target, torch.ones(1, 2, dtype=torch.bool), numbers([1.0]))
    loss.backward()
    # d/dlogit = (sigmoid - clamped target) / (2 twins * 2 steps), targets 1 and 0
    expected = (logits.detach().sigmoid() - numbers([1.0, 0.0, 0.0])) / 4
    expected[:, :, 2] = 0.0
    assert close(logits.grad, expected)
    assert target.grad is None


def test_a_soft_target_is_met_where_the_value_equals_it() -> None:
    logits = twins(numbers([[0.3, 0.0]]).logit(eps=1e-9), numbers([[0.3, 0.0]]).logit(eps=1e-9))
    loss = value_loss(logits, numbers([[0.3]]), torch.ones(1, 1, dtype=torch.bool), numbers([1.0]))
    loss.backward()
    assert loss.item() == pytest.approx(-(0.3 * math.log(0.3) + 0.7 * math.log(0.7)))
    assert close(logits.grad, torch.zeros(2, 1, 2))


def test_the_value_loss_ignores_padding_and_weighs_trajectories() -> None:
    logits = twins(padded([[0.0] * 4, [1.0, NAN]], NAN), padded([[0.0] * 4, [1.0, NAN]], NAN))
    target = padded([[0.5] * 3, [1.0]], NAN)
    loss = value_loss(logits, target, MASK, numbers([1.0, 2.0]))
    assert loss.item() == pytest.approx((3 * math.log(2) + 2 * math.log1p(math.exp(-1))) / 4)
    loss.backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_the_trajectory_value_learns_the_outcome() -> None:
    logit = numbers([0.0, 1.0]).requires_grad_()
    loss = trajectory_value_loss(logit, numbers([1.0, 0.0]), numbers([1.0, 0.5]))
    assert loss.item() == pytest.approx((math.log(2) + 0.5 * math.log1p(math.e)) / 2)
    loss.backward()
    assert close(logit.grad, [-0.25, 0.25 * torch.tensor(1.0).double().sigmoid()])


# ---------------------------------------------------------------- priorities and metrics


def test_priorities_by_hand() -> None:
    # First: 50 (.1 + .3 + .2) / 3 + (1 + .5 + 0) / 3 + .01 (1 + 2 + 3) / 3 = 10 + .5 + .02; second: 50 * .4 + .8 + .03
    found = trajectory_priorities(
        padded([[0.1, -0.3, 0.2], [-0.4]], NAN).requires_grad_(),
        padded([[1.0, 0.5, 0.0], [0.8]], NAN),
        padded([[1.0, 2.0, 3.0], [3.0]], NAN),
        MASK,
        w_td=50.0,
        w_rho=1.0,
        w_entropy=0.01,
    )
    assert close(found, [10.52, 20.83])
    assert not found.requires_grad


@given(st.data(), LENGTHS, st.tuples(st.floats(0, 60), st.floats(0, 2), st.floats(0, 1)))
def test_priorities_are_those_of_the_slow_version(
    data: st.DataObject, lengths: list[int], weights: tuple[float, float, float]
) -> None:
    w_td, w_rho, w_entropy = weights
    errors, ratios, entropies = (
        data.draw(rows_of(element, lengths)) for element in (st.floats(-2, 2), st.floats(0, 1), st.floats(0, 5))
    )
    found = trajectory_priorities(
        *(padded(rows, NAN) for rows in (errors, ratios, entropies)),
        padded([[1.0] * n for n in lengths], 0.0).bool(),
        w_td=w_td,
        w_rho=w_rho,
        w_entropy=w_entropy,
    )
    assert close(found, [slow.priority(*row, *weights) for row in zip(errors, ratios, entropies, strict=True)])


def test_a_priority_is_never_0() -> None:
    zeros = torch.zeros(2, 3)
    found = trajectory_priorities(zeros, zeros, zeros - 1e-3, MASK, w_td=50.0, w_rho=1.0, w_entropy=0.01)
    assert (found > 0).all()


def test_ratio_metrics_by_hand() -> None:
    # Ratios 1, .2, 2, .8: mean 1, ESS = 16 / (4 * (1 + .04 + 4 + .64))
    found = ratio_metrics(padded([[1.0, 0.2, 2.0], [0.8]], NAN), MASK)
    assert {name: pytest.approx(value.item()) for name, value in found.items()} == {
        "rho_mean": 1.0,
        "rho_max": 2.0,
        "rho_low_share": 0.25,
        "rho_ess_share": 16 / (4 * 5.68),
    }
    assert ratio_metrics(torch.zeros(2, 3), MASK)["rho_ess_share"].item() == 0.0


def test_value_and_advantage_metrics_by_hand() -> None:
    # target - V = .1, -.1, .1, -.1 has variance .01; the target 0, 0, 1, 1 has .25
    values = padded([[-0.1, 0.1, 0.9, NAN], [1.1, NAN]], NAN)
    found = value_metrics(values, padded([[0.0, 0.0, 1.0], [1.0]], NAN), padded([[1.0, -1.0, 3.0], [-3.0]], NAN), MASK)
    assert found["value_explained"].item() == pytest.approx(0.96)
    assert found["value_mean"].item() == pytest.approx(0.5)
    assert found["td_abs"].item() == 2.0
    assert advantage_metrics(padded([[1.0, 1.0, 3.0], [3.0]], NAN), MASK) == {
        "advantage_mean": 2.0,
        "advantage_std": 1.0,
    }


def test_a_constant_target_explains_nothing_and_divides_by_nothing() -> None:
    ones = torch.ones(2, 4)
    assert value_metrics(ones * 0.3, ones[:, 1:], ones[:, 1:], MASK)["value_explained"].item() == 0.0

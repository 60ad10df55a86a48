"""Returns, targets and advantages: numbers worked out by hand, identities, a slow version on random trajectories."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from distrl.algorithms.returns import (
    advantages,
    bootstrapped_values,
    discounted_returns,
    doubly_robust_advantages,
    gae_advantages,
    retrace_values,
    state_values,
    td_errors,
    vtrace_values,
)

from . import slow
from .trajectories import Rows, close, make_batch, numbers, padded, value_tensor

# One trajectory of three steps, gamma = 1/2. The network says V(s_3) = .9, but the episode terminated, so it is 0:
#   delta_2 = 1 + .5 * 0 - .2 = .8      delta_1 = 0 + .5 * .2 - .4 = -.3      delta_0 = 0 + .5 * .4 - .5 = -.3
REWARDS = [[0.0, 0.0, 1.0]]
VALUES = [[0.5, 0.4, 0.2, 0.9]]
RATIOS = [[2.0, 0.5, 4.0]]
LONGER = [[0.0, 0.0, 1.0, 0.0, 0.0]]


# ---------------------------------------------------------------- by hand


def test_the_value_of_a_state_is_the_smaller_twin() -> None:
    logits = torch.tensor([[[0.0, 2.0]], [[-1.0, 3.0]]])
    assert torch.equal(state_values(logits), torch.tensor([[-1.0, 2.0]]).sigmoid())


def test_td_errors_by_hand() -> None:
    assert close(td_errors(make_batch(REWARDS), value_tensor(VALUES), gamma=0.5), [[-0.3, -0.3, 0.8]])


def test_a_truncated_episode_bootstraps_its_last_value() -> None:
    batch = make_batch(REWARDS, terminal=[False])
    # delta_2 = 1 + .5 * .9 - .2 = 1.25; G_2 = 1 + .45, G_1 = .725, G_0 = .3625
    assert close(td_errors(batch, value_tensor(VALUES), gamma=0.5), [[-0.3, -0.3, 1.25]])
    assert close(discounted_returns(batch, value_tensor(VALUES), gamma=0.5), [[0.3625, 0.725, 1.45]])
    assert close(bootstrapped_values(batch, value_tensor(VALUES)), VALUES)


def test_a_terminal_episode_does_not_bootstrap() -> None:
    batch = make_batch(REWARDS)
    assert close(discounted_returns(batch, value_tensor(VALUES), gamma=0.5), [[0.25, 0.5, 1.0]])
    assert close(bootstrapped_values(batch, value_tensor(VALUES)), [[0.5, 0.4, 0.2, 0.0]])


def test_a_one_step_episode_has_one_of_everything() -> None:
    ended, cut = (make_batch([[0.5]], terminal=[is_terminal]) for is_terminal in (True, False))
    values, ratios = value_tensor([[0.2, 0.6]]), numbers([3.0])[:, None]
    assert close(retrace_values(ended, values, ratios, gamma=0.5, lambda_=0.9), [[0.5, 0.0]])
    assert close(retrace_values(cut, values, ratios, gamma=0.5, lambda_=0.9), [[0.8, 0.6]])
    assert close(gae_advantages(ended, values, gamma=0.5, lambda_=0.9), [[0.3]])


def test_retrace_by_hand() -> None:
    # lambda = .8: c_1 = .8 * .5 = .4, c_2 = .8 * min(1, 4) = .8. Going back, y_t = delta_t + .5 c_{t+1} y_{t+1}:
    #   y_2 = .8      y_1 = -.3 + .5 * .8 * .8 = .02      y_0 = -.3 + .5 * .4 * .02 = -.296
    found = retrace_values(make_batch(REWARDS), value_tensor(VALUES), padded(RATIOS, 0), gamma=0.5, lambda_=0.8)
    assert close(found, [[0.204, 0.42, 1.0, 0.0]])


def test_the_advantage_looks_at_the_retrace_value_of_the_next_state() -> None:
    batch, values = make_batch(REWARDS), value_tensor(VALUES)
    retrace = retrace_values(batch, values, padded(RATIOS, 0), gamma=0.5, lambda_=0.8)
    # A_0 = 0 + .5 * .42 - .5      A_1 = 0 + .5 * 1 - .4      A_2 = 1 + 0 - .2
    assert close(advantages(batch, values, retrace, gamma=0.5), [[-0.29, 0.1, 0.8]])


def test_weighting_the_first_error_too_changes_only_states_whose_action_became_unlikely() -> None:
    # min(1, rho) = (1, .5, 1), so only y_1 = .02 is halved.
    batch, values, ratios = make_batch(REWARDS), value_tensor(VALUES), padded(RATIOS, 0)
    found = retrace_values(batch, values, ratios, gamma=0.5, lambda_=0.8, weight_first=True)
    assert close(found, [[0.204, 0.41, 1.0, 0.0]])


def test_vtrace_by_hand() -> None:
    # Both clips 1, lambda 1: rho = c = (1, .5, 1). y_t = rho_t delta_t + .5 c_t y_{t+1}:
    #   y_2 = .8      y_1 = -.15 + .5 * .5 * .8 = .05      y_0 = -.3 + .5 * 1 * .05 = -.275
    batch, values, ratios = make_batch(REWARDS), value_tensor(VALUES), padded(RATIOS, 0)
    found = vtrace_values(batch, values, ratios, gamma=0.5, lambda_=1.0, rho_clip=1.0, c_clip=1.0)
    assert close(found, [[0.225, 0.45, 1.0, 0.0]])


def test_gae_by_hand() -> None:
    # lambda = .8: A_2 = .8, A_1 = -.3 + .4 * .8 = .02, A_0 = -.3 + .4 * .02 = -.292
    assert close(
        gae_advantages(make_batch(REWARDS), value_tensor(VALUES), gamma=0.5, lambda_=0.8), [[-0.292, 0.02, 0.8]]
    )


def test_doubly_robust_advantages_by_hand() -> None:
    # Undiscounted errors (-.1, -.2, .8), weights of the outcome 1 are (.25, .5, 1):
    #   .25 - .75 * .1 = .175      .5 - .5 * .2 = .4      1
    batch = make_batch(REWARDS, success=[1.0])
    assert close(doubly_robust_advantages(batch, value_tensor(VALUES), lambda_=0.5), [[0.175, 0.4, 1.0]])


# ---------------------------------------------------------------- what the choice of weighting the first error means


def test_unweighted_retrace_values_the_behaviour_policy_and_weighted_ones_lean_to_the_target_policy() -> None:
    # One state, two actions, reward 1 and 0. mu takes each with 1/2, pi the first with .9: rho = 1.8 and .2.
    # One trajectory of each kind is exactly mu, so the mean is the expectation. Paper: E = (1 + 0) / 2 = .5 = V^mu.
    # Weighted: V = V + E[min(1, rho) (r - V)] has the fixed point .5 * 1 / (.5 * 1 + .5 * .2) = 5/6; V^pi = .9.
    batch = make_batch([[1.0], [0.0]])
    ratios = torch.tensor([[1.8], [0.2]], dtype=torch.float64)

    def mean_target(value: float, *, weight_first: bool) -> float:
        values = value_tensor([[value, 0.0]] * 2)
        found = retrace_values(batch, values, ratios, gamma=1.0, lambda_=1.0, weight_first=weight_first)
        return float(found[:, 0].mean())

    assert mean_target(0.5, weight_first=False) == pytest.approx(0.5)
    assert mean_target(5 / 6, weight_first=False) == pytest.approx(0.5)
    assert mean_target(5 / 6, weight_first=True) == pytest.approx(5 / 6)
    assert mean_target(0.5, weight_first=True) > 0.6


# ---------------------------------------------------------------- identities and the slow version


@dataclass(frozen=True)
class Case:
    rewards: Rows
    values: Rows
    targets: Rows
    ratios: Rows
    terminal: list[bool]
    success: list[float]
    gamma: float
    lambda_: float

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        return value_tensor(self.values), padded(self.ratios, float("nan"))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    unit = st.floats(0, 1)
    ratio = st.one_of(st.floats(0, 3), st.sampled_from([0.0, 1.0, 1e-12, 4e8]))

    def rows(element: st.SearchStrategy[float], extra: int = 0) -> list[list[float]]:
        return [draw(st.lists(element, min_size=n + extra, max_size=n + extra)) for n in lengths]

    return Case(
        rewards=rows(st.floats(-1, 1)),
        values=rows(unit, extra=1),
        targets=rows(unit, extra=1),
        ratios=rows(ratio),
        terminal=[draw(st.booleans()) for _ in lengths],
        success=[float(draw(st.booleans())) for _ in lengths],
        gamma=draw(unit),
        lambda_=draw(unit),
    )


def same(found: Tensor, expected: list[list[float]]) -> None:
    """Equal on what exists, 0 on padding."""
    torch.testing.assert_close(found, padded([*expected, [0.0] * found.shape[1]], 0.0)[:-1], rtol=1e-8, atol=1e-8)


@settings(max_examples=150, deadline=None)
@given(case=cases(), weight_first=st.booleans(), clips=st.tuples(st.floats(0.1, 5), st.floats(0.1, 5)))
def test_every_recursion_is_the_sum_it_stands_for(case: Case, weight_first: bool, clips: tuple[float, float]) -> None:
    batch = make_batch(case.rewards, terminal=case.terminal, success=case.success)
    values, ratios = case.tensors
    gamma, lambda_ = case.gamma, case.lambda_
    rho_clip, c_clip = clips
    ended = [slow.with_end(v, t) for v, t in zip(case.values, case.terminal, strict=True)]
    rows = list(zip(case.rewards, ended, case.ratios, case.success, strict=True))
    ended_targets = [slow.with_end(v, t) for v, t in zip(case.targets, case.terminal, strict=True)]

    same(td_errors(batch, values, gamma=gamma), [slow.deltas(r, v, gamma) for r, v, _, _ in rows])
    same(discounted_returns(batch, values, gamma=gamma), [slow.returns(r, v, gamma) for r, v, _, _ in rows])
    same(
        advantages(batch, values, value_tensor(case.targets), gamma=gamma),
        [slow.advantages(r, v, y, gamma) for r, v, y in zip(case.rewards, ended, ended_targets, strict=True)],
    )
    same(
        gae_advantages(batch, values, gamma=gamma, lambda_=lambda_),
        [slow.gae(r, v, gamma, lambda_) for r, v, *_ in rows],
    )
    same(
        doubly_robust_advantages(batch, values, lambda_=lambda_),
        [slow.doubly_robust(r, v, outcome, lambda_) for r, v, _, outcome in rows],
    )
    same(
        retrace_values(batch, values, ratios, gamma=gamma, lambda_=lambda_, weight_first=weight_first),
        [slow.retrace(r, v, rho, gamma, lambda_, weight_first) for r, v, rho, _ in rows],
    )
    same(
        vtrace_values(batch, values, ratios, gamma=gamma, lambda_=lambda_, rho_clip=rho_clip, c_clip=c_clip),
        [slow.vtrace(r, v, rho, gamma, lambda_, rho_clip, c_clip) for r, v, rho, _ in rows],
    )


@settings(max_examples=50, deadline=None)
@given(case=cases())
def test_on_policy_with_lambda_1_all_targets_are_the_return(case: Case) -> None:
    batch = make_batch(case.rewards, terminal=case.terminal)
    values, _ = case.tensors
    ones = torch.ones_like(batch.reward_bt)
    expected = discounted_returns(batch, values, gamma=case.gamma)
    infinite = float("inf")
    retrace = retrace_values(batch, values, ones, gamma=case.gamma, lambda_=1.0)
    vtrace = vtrace_values(batch, values, ones, gamma=case.gamma, lambda_=1.0, rho_clip=infinite, c_clip=infinite)
    assert close(retrace[:, :-1] * batch.mask_bt, expected)
    assert close(vtrace[:, :-1] * batch.mask_bt, expected)
    value_bt = bootstrapped_values(batch, values)[:, :-1] * batch.mask_bt
    assert close(gae_advantages(batch, values, gamma=case.gamma, lambda_=1.0), expected - value_bt)
    assert close(advantages(batch, values, retrace, gamma=case.gamma), expected - value_bt)


@settings(max_examples=50, deadline=None)
@given(case=cases())
def test_with_lambda_0_the_retrace_target_is_one_step_whatever_the_ratios(case: Case) -> None:
    batch = make_batch(case.rewards, terminal=case.terminal)
    values, ratios = case.tensors
    target = retrace_values(batch, values, ratios, gamma=case.gamma, lambda_=0.0)[:, :-1]
    ended = bootstrapped_values(batch, values)
    assert close(target * batch.mask_bt, (batch.reward_bt + case.gamma * ended[:, 1:]) * batch.mask_bt)
    assert close(advantages(batch, values, values, gamma=case.gamma), td_errors(batch, values, gamma=case.gamma))


@settings(max_examples=50, deadline=None)
@given(case=cases())
def test_weighted_retrace_is_vtrace_with_both_clips_at_1(case: Case) -> None:
    batch = make_batch(case.rewards, terminal=case.terminal)
    values, ratios = case.tensors
    retrace = retrace_values(batch, values, ratios, gamma=case.gamma, lambda_=case.lambda_, weight_first=True)
    vtrace = vtrace_values(batch, values, ratios, gamma=case.gamma, lambda_=case.lambda_, rho_clip=1.0, c_clip=1.0)
    assert close(retrace, vtrace)


def test_padding_changes_nothing() -> None:
    both = make_batch([REWARDS[0], LONGER[0]], terminal=[False, True])
    values = value_tensor([VALUES[0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]])
    ratios = padded([RATIOS[0], [0.5, 1.5, 0.7, 0.1, 1.0]], float("nan"))
    together = retrace_values(both, values, ratios, gamma=0.9, lambda_=0.8)
    alone = retrace_values(
        make_batch(REWARDS, terminal=[False]), value_tensor(VALUES), padded(RATIOS, 0), gamma=0.9, lambda_=0.8
    )
    assert close(together[0], [*alone[0].tolist(), 0.0, 0.0])


def test_nothing_that_flows_out_has_a_gradient() -> None:
    batch = make_batch(REWARDS)
    values, ratios = value_tensor(VALUES).requires_grad_(), padded(RATIOS, 0).requires_grad_()
    clips = {"rho_clip": 1.0, "c_clip": 1.0}
    for found in (
        state_values(torch.zeros(2, 1, 4, requires_grad=True)),
        td_errors(batch, values, gamma=0.9),
        discounted_returns(batch, values, gamma=0.9),
        retrace_values(batch, values, ratios, gamma=0.9, lambda_=0.9, weight_first=True),
        vtrace_values(batch, values, ratios, gamma=0.9, lambda_=0.9, **clips),
        advantages(batch, values, values, gamma=0.9),
        gae_advantages(batch, values, gamma=0.9, lambda_=0.9),
        doubly_robust_advantages(batch, values, lambda_=0.9),
    ):
        assert not found.requires_grad

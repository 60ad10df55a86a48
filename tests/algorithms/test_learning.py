"""A tiny problem that every algorithm must learn: tables for networks, real behaviour policies, stale replayed data.

A chain of three states. Action 0 goes one state on, 1 does nothing, 2 is invalid, does nothing and costs .1. The end of
the chain is success and reward 1; after six steps the episode is cut off.
"""

from dataclasses import dataclass, fields, replace

import pytest
import torch
from torch import Tensor

from distrl.algorithms import ALGORITHMS, make_algorithm
from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.interface import Sampling

NUM_STATES, NUM_ACTIONS, MAX_STEPS, GOAL = 3, 3, 6, 3
GROUP, BATCH, KEPT, ROUNDS, LAG_ROUNDS = 8, 16, 160, 90, 2


class Tables(torch.nn.Module):
    """Logits by state: what a network would compute."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = torch.nn.Parameter(torch.zeros(NUM_STATES + 1, NUM_ACTIONS))
        self.values = torch.nn.Parameter(torch.zeros(2, NUM_STATES + 1))
        self.trajectory_value = torch.nn.Parameter(torch.zeros(()))

    def evaluate(self, episodes: "Episodes") -> Evaluation:
        log_prob = self.policy.log_softmax(-1)[episodes.state_bs[:, :-1]]
        return Evaluation(
            log_prob_bt=log_prob.gather(-1, episodes.action_bt[..., None])[..., 0],
            entropy_bt=-(log_prob.exp() * log_prob).sum(-1),
            value_logit_kbs=self.values[:, episodes.state_bs],
            trajectory_value_logit_b=self.trajectory_value.expand(len(episodes.state_bs)),
        )


@dataclass(frozen=True)
class Episodes:
    state_bs: Tensor
    action_bt: Tensor
    batch: Batch

    def __getitem__(self, rows: Tensor) -> "Episodes":
        chosen = {field.name: getattr(self.batch, field.name)[rows] for field in fields(Batch)}
        return Episodes(self.state_bs[rows], self.action_bt[rows], Batch(**chosen))

    def join(self, newer: "Episodes") -> "Episodes":
        joined = {
            field.name: torch.cat([getattr(self.batch, field.name), getattr(newer.batch, field.name)])
            for field in fields(Batch)
        }
        return Episodes(
            torch.cat([self.state_bs, newer.state_bs]), torch.cat([self.action_bt, newer.action_bt]), Batch(**joined)
        )


def roll_out(policy: Tensor, generator: torch.Generator) -> Episodes:
    """A group of episodes by the softmax of this table; steps after the end are padding."""
    log_probs = policy.detach().log_softmax(-1)
    state = torch.zeros(GROUP, dtype=torch.long)
    states, actions, behaviour, masks = [state], [], [], []
    for _ in range(MAX_STEPS):
        action = torch.multinomial(log_probs[state].exp(), 1, generator=generator)[:, 0]
        masks.append(state < GOAL)
        actions.append(action)
        behaviour.append(log_probs[state, action])
        state = torch.where((action == 0) & (state < GOAL), state + 1, state)
        states.append(state)
    mask, action_bt, state_bs = torch.stack(masks, 1), torch.stack(actions, 1), torch.stack(states, 1)
    arrives = (state_bs[:, 1:] == GOAL) & mask
    is_invalid = (action_bt == 2) & mask
    success = (state == GOAL).float()
    batch = Batch(
        mask_bt=mask,
        reward_bt=arrives.float() - 0.1 * is_invalid.float(),
        behaviour_log_prob_bt=torch.stack(behaviour, 1) * mask,
        is_invalid_bt=is_invalid,
        is_terminal_b=state == GOAL,
        is_success_b=success,
        group_mean_b=success.mean().expand(GROUP),
        group_std_b=success.std(correction=0).expand(GROUP),
        weight_b=torch.ones(GROUP),
    )
    return Episodes(state_bs, action_bt, batch)


def success_probability(policy: Tensor) -> float:
    """Exactly, by going through the distribution over states."""
    forward = policy.detach().softmax(-1)[:NUM_STATES, 0].tolist()
    at = [1.0, 0.0, 0.0, 0.0]
    for _ in range(MAX_STEPS):
        moved = [p * share for p, share in zip(at, forward, strict=False)]
        at = [at[s] - (moved[s] if s < GOAL else 0.0) + (moved[s - 1] if s > 0 else 0.0) for s in range(GOAL + 1)]
    return at[GOAL]


def draw(sampling: Sampling, priorities: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows of the replay, P ~ p^alpha exp(-age / tau), and weights that correct for it; a round is a version."""
    num_kept = len(priorities)
    age = (num_kept - 1 - torch.arange(num_kept)) // GROUP
    mass = priorities**sampling.alpha if sampling.is_prioritised else torch.ones(num_kept)
    if sampling.freshness_tau_versions is not None:
        mass = mass * torch.exp(-age / sampling.freshness_tau_versions)
    if sampling.window_trajectories is not None:
        mass = mass * (torch.arange(num_kept) >= num_kept - sampling.window_trajectories)
    probability = mass / mass.sum()
    rows = torch.multinomial(probability, BATCH, replacement=True, generator=generator)
    weight = (num_kept * probability[rows]) ** -sampling.correction_beta
    return rows, weight / weight.max()


def train(name: str, options: dict[str, object], seed: int) -> tuple[float, float]:
    """Success before and after; acting weights are some rounds old, as those of workers are."""
    generator = torch.Generator().manual_seed(seed)
    algorithm, tables = make_algorithm(name, options), Tables()
    optimiser = torch.optim.Adam(tables.parameters(), lr=0.05)
    before = success_probability(tables.policy)
    published = [tables.policy.detach().clone()]
    replay = roll_out(published[0], generator)
    for _ in range(ROUNDS):
        replay = replay.join(roll_out(published[max(0, len(published) - 1 - LAG_ROUNDS)], generator))
        replay = replay[torch.arange(len(replay.state_bs))[-KEPT:]]
        with torch.no_grad():
            priorities = algorithm.priorities(replay.batch, tables.evaluate(replay))
        for _ in range(2):
            rows, weight = draw(algorithm.sampling, priorities, generator)
            chosen = replay[rows]
            loss, _ = algorithm.loss(replace(chosen.batch, weight_b=weight), tables.evaluate(chosen))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        published.append(tables.policy.detach().clone())
    return before, success_probability(tables.policy)


@pytest.mark.learning
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_learns_the_chain(name: str) -> None:
    before, after = train(name, {}, seed=0)
    assert before == pytest.approx(0.32, abs=0.01)
    assert after > 0.9

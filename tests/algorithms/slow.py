"""The equations as they stand in the papers, for one trajectory, as double sums without recursion: slow and obvious."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Numbers = Sequence[float]


def with_end(values: Numbers, is_terminal: bool) -> list[float]:
    return [*values[:-1], 0.0 if is_terminal else values[-1]]


def deltas(rewards: Numbers, values: Numbers, gamma: float) -> list[float]:
    return [r + gamma * values[t + 1] - values[t] for t, r in enumerate(rewards)]


def returns(rewards: Numbers, values: Numbers, gamma: float) -> list[float]:
    n = len(rewards)
    return [sum(gamma ** (k - t) * rewards[k] for k in range(t, n)) + gamma ** (n - t) * values[n] for t in range(n)]


def retrace(
    rewards: Numbers, values: Numbers, ratios: Numbers, gamma: float, lambda_: float, weight_first: bool
) -> list[float]:
    delta = deltas(rewards, values, gamma)
    c = [lambda_ * min(1.0, ratio) for ratio in ratios]
    result = []
    for t in range(len(rewards)):
        total = sum(gamma ** (k - t) * np.prod(c[t + 1 : k + 1]) * delta[k] for k in range(t, len(rewards)))
        result.append(values[t] + (min(1.0, ratios[t]) if weight_first else 1.0) * total)
    return [*result, values[-1]]


def vtrace(
    rewards: Numbers,
    values: Numbers,
    ratios: Numbers,
    gamma: float,
    lambda_: float,
    rho_clip: float,
    c_clip: float,
) -> list[float]:
    delta = deltas(rewards, values, gamma)
    rho = [min(rho_clip, ratio) for ratio in ratios]
    c = [lambda_ * min(c_clip, ratio) for ratio in ratios]
    n = len(rewards)
    return [
        *(
            values[t] + sum(gamma ** (k - t) * np.prod(c[t:k]) * rho[k] * delta[k] for k in range(t, n))
            for t in range(n)
        ),
        values[-1],
    ]


def gae(rewards: Numbers, values: Numbers, gamma: float, lambda_: float) -> list[float]:
    delta = deltas(rewards, values, gamma)
    n = len(rewards)
    return [sum((gamma * lambda_) ** (k - t) * delta[k] for k in range(t, n)) for t in range(n)]


def doubly_robust(rewards: Numbers, values: Numbers, outcome: float, lambda_: float) -> list[float]:
    delta = deltas(rewards, values, 1.0)
    n = len(rewards)
    weights = [lambda_ ** (n - 1 - t) for t in range(n)]
    return [w * outcome + (1 - w) * d for w, d in zip(weights, delta, strict=True)]


def advantages(rewards: Numbers, values: Numbers, targets: Numbers, gamma: float) -> list[float]:
    return [r + gamma * targets[t + 1] - values[t] for t, r in enumerate(rewards)]


def ratios(target_log_probs: Numbers, behaviour_log_probs: Numbers) -> list[float]:
    pairs = zip(target_log_probs, behaviour_log_probs, strict=True)
    return [min(math.exp(pi) / math.exp(mu), math.exp(20)) for pi, mu in pairs]


def priority(
    errors: Numbers, ratios: Numbers, entropies: Numbers, w_td: float, w_rho: float, w_entropy: float
) -> float:
    p = w_td * np.mean(np.abs(errors)) + w_rho * np.mean(ratios) + w_entropy * np.mean(entropies)
    return max(float(p), 1e-6)


def is_kept(outcomes: Numbers, expected: Numbers, quantile: Fraction) -> list[bool]:
    """Who passes the filter: those with fewer better ones than there are places, of which there is at least one."""
    surprises = [outcome - value for outcome, value in zip(outcomes, expected, strict=True)]
    num_places = max(1, len(surprises) - math.floor(quantile * len(surprises)))
    return [sum(other > own for other in surprises) < num_places for own in surprises]

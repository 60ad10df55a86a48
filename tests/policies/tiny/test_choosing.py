"""Choosing: what is drawn is as likely as it is said to be, with departures and without."""

from collections import Counter
from random import Random

import numpy as np
import pytest
import torch

from distrl.core.types import Situation
from distrl.policies.tiny.actions import Verb, verb_of
from distrl.policies.tiny.choosing import choose
from distrl.policies.tiny.network import Output, log_probs_of

from .screens import element, make_policy, real_situations, situation
from .test_network import every_choice, output_of, sharp

DRAWS = 5_000


def said_of(verbs: list[float], taps: list[float], firsts: list[float], lasts: list[list[float]]) -> Output:
    """One state: tap, hold, type and the other verbs with these probabilities, likewise elements and words."""

    def log(numbers: object) -> torch.Tensor:
        return torch.tensor(numbers).clamp(min=1e-38).log()[None]

    rest = (1 - sum(verbs)) / (len(Verb) - len(verbs))
    return Output(
        verb=log([*verbs, *[rest] * (len(Verb) - len(verbs))]),
        tap=log(taps),
        hold=log(taps),
        first=log(firsts),
        last=log(lasts),
        value_logits=torch.zeros(2, 1),
        trajectory_value_logit=torch.zeros(1),
    )


def drawn(output: Output, departures: float, count: int = DRAWS) -> Counter[tuple[int, ...]]:
    rng = Random(0)
    return Counter(tuple(choose(output, [rng], [departures])[0][0].tolist()) for _ in range(count))


def test_without_departures_nothing_but_the_policy_decides() -> None:
    policy = sharp("text")
    seen = real_situations(6)
    output = output_of(policy, seen)
    with torch.inference_mode():
        choices, logs = choose(output, [Random(n) for n in range(6)], [0.0] * 6)
        wanted = torch.stack(log_probs_of(output, torch.from_numpy(choices)), dim=-1)
    assert np.array_equal(logs, wanted.numpy())


def test_a_departure_takes_another_action_in_proportion_to_what_is_left() -> None:
    # tap 0.9 x (0.8, 0.2), all else 0.1 in twelve parts: the likeliest has 0.72, the other tap 0.18 of what is left
    output = said_of([0.9], [0.8, 0.2], [1.0], [[1.0]])
    counts = drawn(output, 1.0)
    assert counts[Verb.TAP, 0, 0] == 0
    assert counts[Verb.TAP, 1, 0] / DRAWS == pytest.approx(0.18 / 0.28, abs=0.02)
    assert counts[Verb.BACK, 0, 0] / DRAWS == pytest.approx(0.1 / 12 / 0.28, abs=0.02)


def test_what_is_recorded_is_how_likely_an_action_was_with_departures() -> None:
    output = said_of([0.9], [0.8, 0.2], [1.0], [[1.0]])
    recorded = {}
    rng = Random(1)
    for _ in range(400):
        choices, logs = choose(output, [rng], [0.3])
        recorded[tuple(choices[0].tolist())] = float(np.exp(logs.sum()))
    assert recorded[Verb.TAP, 0, 0] == pytest.approx(0.7 * 0.72, abs=1e-5)
    assert recorded[Verb.TAP, 1, 0] == pytest.approx(0.18 * (0.7 + 0.3 / 0.28), abs=1e-5)


@pytest.mark.parametrize("departures", [0.05, 0.5, 1.0])
def test_the_recorded_probabilities_of_all_actions_add_up_to_one(departures: float) -> None:
    policy = sharp("text")
    state = situation("Tell Ana: come", element("Ana"), element("Ben"))
    with torch.inference_mode():
        output = output_of(policy, [state])
        seen: dict[tuple[int, ...], float] = {}
        rng = Random(2)
        for _ in range(6_000):
            choices, logs = choose(output, [rng], [departures])
            seen[tuple(choices[0].tolist())] = float(np.exp(logs.astype(np.float64).sum()))
    assert set(seen) <= set(every_choice(state))
    assert sum(seen.values()) == pytest.approx(1.0, abs=0.02)
    assert sum(seen.values()) < 1.0 + 1e-4


def test_a_departure_from_typing_changes_where_the_words_begin_or_end() -> None:
    output = said_of([0.0, 0.0, 0.999], [1.0], [0.5, 0.4, 0.1], [[0.6, 0.3, 0.1], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]])
    counts = drawn(output, 1.0)
    assert counts[Verb.TYPE, 0, 0] == 0
    left = 1 - 0.999 * 0.3
    for first, last, share in ((0, 1, 0.15), (0, 2, 0.05), (1, 1, 0.36), (2, 2, 0.1)):
        assert counts[Verb.TYPE, first, last] / DRAWS == pytest.approx(0.999 * share / left, abs=0.025)


def test_who_has_no_choice_does_not_depart() -> None:
    output = said_of([1.0], [1.0], [1.0], [[1.0]])
    choices, logs = choose(output, [Random(0)], [1.0])
    assert choices.tolist() == [[Verb.TAP, 0, 0]]
    assert float(logs.sum()) == pytest.approx(0.0, abs=1e-5)


def test_the_likeliest_is_the_likeliest_whatever_departures_are_asked_for() -> None:
    policy = sharp("text")
    seen = [
        Situation(task=s.task, steps=s.steps, observation=s.observation, departures=1.0) for s in real_situations(6)
    ]
    assert policy.decide(seen, None) == policy.decide(real_situations(6), None)


def test_a_policy_departs_where_it_is_asked_to() -> None:
    policy = make_policy("text")
    plain = real_situations(12)
    wild = [Situation(task=s.task, steps=s.steps, observation=s.observation, departures=1.0) for s in plain]
    best = [verb_of(d) for d in policy.decide(plain, None)]
    made = [verb_of(d) for d in policy.decide(wild, [Random(n) for n in range(12)])]
    assert all(one != other for one, other in zip(best, made, strict=True))

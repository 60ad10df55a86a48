"""Choosing an action: probabilities and random numbers in; what is chosen and how likely that was out.

Where a policy is sure of something wrong, drawing from it finds nothing else. So somebody who asks for a decision may
ask for departures: with probability d another action than the likeliest is drawn, in proportion to what is left of pi.

    mu(a) = (1 - d) pi(a) + d pi(a) [a is not the likeliest] / (1 - pi(the likeliest))

What is recorded is log mu, so that importance weights know of it.
"""

import math
from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt
import torch

from distrl.policies.tiny.actions import ELEMENT_VERBS, WORD_VERBS, Verb
from distrl.policies.tiny.network import Output, log_probs_of

Choices = npt.NDArray[np.int64]
Logs = npt.NDArray[np.float32]
SURE = 1e-6
"""What has to be left of the probability for anything else to be drawn from it."""


def choose(output: Output, rngs: Sequence[Random] | None, departures: Sequence[float]) -> tuple[Choices, Logs]:
    """(verb, first argument, second argument) of each row, and the log-probability of each token.

    Without random numbers it is the likeliest, and nothing departs from it. What a departure makes an action more or
    less likely is told with its first token.
    """
    if rngs is None:
        choices = _draw(output, None)
        return choices, _logs(output, choices)
    choices = _draw(output, np.array([[rng.random() for _ in range(3)] for rng in rngs]))
    rows = [row for row, share in enumerate(departures) if share > 0]
    if not rows:
        return choices, _logs(output, choices)
    likeliest = _draw(output, None)
    left = {row: sum(_leaving(output, row, likeliest[row])) for row in rows}
    shares = {row: departures[row] if left[row] > SURE else 0.0 for row in rows}
    for row in rows:
        if rngs[row].random() < shares[row]:
            choices[row] = _another(output, row, likeliest[row], rngs[row])
    logs = _logs(output, choices)
    for row, share in shares.items():
        is_best = bool((choices[row] == likeliest[row]).all())
        logs[row, 0] += math.log((1 - share) + (0.0 if is_best else share / left[row]))
    return choices, logs


def _logs(output: Output, choices: Choices) -> Logs:
    made: Logs = torch.stack(log_probs_of(output, torch.from_numpy(choices)), dim=-1).numpy()
    return made


def _draw(output: Output, draws: npt.NDArray[np.float64] | None) -> Choices:
    """For each row what three uniform draws fall on; the likeliest tokens without."""
    choices = np.zeros((len(output.verb), 3), np.int64)
    choices[:, 0] = _pick(output.verb.numpy(), None if draws is None else draws[:, 0])
    tables = zip((*ELEMENT_VERBS, *WORD_VERBS), (output.tap, output.hold, output.first), strict=True)
    for verb, table in tables:
        rows = np.flatnonzero(choices[:, 0] == verb)
        if len(rows):
            choices[rows, 1] = _pick(table.numpy()[rows], None if draws is None else draws[rows, 1])
    rows = np.flatnonzero(np.isin(choices[:, 0], WORD_VERBS))
    if len(rows):
        last = output.last.numpy()[rows, choices[rows, 1]]
        choices[rows, 2] = _pick(last, None if draws is None else draws[rows, 2])
    return choices


def _leaving(output: Output, row: int, likeliest: Choices) -> list[float]:
    """How likely an action of a row has the first tokens of its likeliest one, and another one next, for each token."""
    tables = _tables(output, row, likeliest)
    kept = [float(np.exp(table[token])) for table, token in zip(tables, likeliest, strict=False)]
    others = [float(np.exp(_without(table, token)).sum()) for table, token in zip(tables, likeliest, strict=False)]
    return [math.prod(kept[:place]) * other for place, other in enumerate(others)]


def _another(output: Output, row: int, likeliest: Choices, rng: Random) -> Choices:
    """Any action of a row but its likeliest: it leaves that one's tokens at one of them, and goes on as it likes."""
    made = likeliest.copy()
    leaving = _leaving(output, row, likeliest)
    place = rng.choices(range(len(leaving)), weights=leaving)[0]
    others = _without(_tables(output, row, likeliest)[place], likeliest[place])
    made[place] = _pick(others[None], np.array([rng.random()]))[0]
    made[place + 1 :] = 0
    for later in range(place + 1, len(_tables(output, row, made))):
        made[later] = _pick(_tables(output, row, made)[later][None], np.array([rng.random()]))[0]
    return made


def _without(table: Logs, token: int) -> Logs:
    others = table.copy()
    others[token] = -np.inf
    return others


def _tables(output: Output, row: int, choice: Choices) -> list[Logs]:
    """The log-probabilities of each token of an action, given those before it."""
    tables = [output.verb]
    match int(choice[0]):
        case Verb.TAP:
            tables.append(output.tap)
        case Verb.HOLD:
            tables.append(output.hold)
        case Verb.TYPE:
            tables += [output.first, output.last[:, int(choice[1])]]
    return [table[row].numpy() for table in tables]


def _pick(log_probs: npt.NDArray[np.float32], draws: npt.NDArray[np.float64] | None) -> npt.NDArray[np.int64]:
    """One column for each row: the likeliest, or the one that a uniform draw falls on."""
    if draws is None:
        return np.asarray(log_probs.argmax(axis=1), np.int64)
    draws = np.maximum(draws, np.finfo(np.float64).tiny)  # a draw of 0 would fall on the first, however unlikely
    cumulative = np.exp(log_probs.astype(np.float64)).cumsum(axis=1)
    return np.asarray((cumulative < draws[:, None] * cumulative[:, -1:]).sum(axis=1), np.int64)

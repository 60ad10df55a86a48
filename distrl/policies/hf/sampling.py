"""Answers: a network and rows of prompts in, tokens with their exact log-probabilities out.

The probability of a token is that of softmax(logits / temperature) over everything that may be said. There is no top-k,
no nucleus and no penalty, so the learner can compute the same number again from the tokens alone.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList

_BLOCKED = -1e9
"""A logit of what is never said: finite, so that zero times its logarithm is zero."""


def log_distribution(logits: Tensor, never_said: Tensor, temperature: float) -> Tensor:
    """Log-probabilities of all tokens, in 32 bits."""
    return torch.log_softmax(logits.float().index_fill(-1, never_said, _BLOCKED) / temperature, dim=-1)


class Sampler(LogitsProcessor):  # type: ignore[misc]
    """Chooses for `generate`: leaves nothing possible but the token that it drew, and remembers how likely that was."""

    def __init__(
        self, rngs: Sequence[Random] | None, *, never_said: Tensor, stop_ids: Sequence[int], temperature: float
    ) -> None:
        self._rngs = rngs
        self._never_said = never_said
        self._stop_ids = frozenset(stop_ids)
        self._temperature = temperature
        self.answers: list[list[int]] = []
        self.log_probs: list[list[float]] = []
        self._is_done: list[bool] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """One more token for every row that has not ended."""
        logs = log_distribution(scores, self._never_said, self._temperature)
        if not self.answers:
            self.answers = [[] for _ in range(len(logs))]
            self.log_probs = [[] for _ in range(len(logs))]
            self._is_done = [False] * len(logs)
        chosen = self._choose(logs)
        said = logs.gather(1, chosen[:, None])[:, 0].tolist()
        for row, token in enumerate(chosen.tolist()):
            if not self._is_done[row]:
                self.answers[row].append(token)
                self.log_probs[row].append(said[row])
                self._is_done[row] = token in self._stop_ids
        return torch.full_like(scores, -torch.inf).scatter(1, chosen[:, None], 0.0)

    def _choose(self, logs: Tensor) -> Tensor:
        """The likeliest token of each row, or the one that a uniform draw falls on."""
        if self._rngs is None:
            return logs.argmax(dim=1)
        # Who has ended draws no more: what a row says depends on its own random numbers only.
        draws = [0.5 if done else rng.random() for rng, done in zip(self._rngs, self._is_done, strict=True)]
        cumulative = logs.double().exp().cumsum(dim=1)
        points = torch.tensor(draws, dtype=torch.double, device=logs.device).clamp(min=1e-300) * cumulative[:, -1]
        return torch.searchsorted(cumulative, points[:, None])[:, 0].clamp(max=logs.shape[1] - 1)


def sample(network: Any, inputs: dict[str, Any], sampler: Sampler, *, max_new_tokens: int, known: Any = None) -> None:
    """Let the network answer; what it said is in the sampler. `known` are keys and values of the first tokens."""
    given = {name: value for name, value in inputs.items() if name != "position_ids"}
    if known is not None:
        # Tokens that are known are not looked at: it is enough that there are so many.
        first = given["input_ids"].new_zeros(len(given["input_ids"]), known.get_seq_length())
        given |= {"input_ids": torch.cat([first, given["input_ids"]], dim=1), "past_key_values": known}
    with torch.no_grad():
        network.generate(
            **given,
            logits_processor=LogitsProcessorList([sampler]),
            max_new_tokens=max_new_tokens,
            do_sample=False,
        )

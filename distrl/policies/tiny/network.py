"""The network: a batch of moments in; the probabilities of actions and three values out.

One sequence [summary, words of the instruction, last actions, elements] passes through two transformer layers whose
attention between words and elements is biased by their built-in similarity. From the summary come the verb, the twin
state values V and the trajectory value V_traj; elements and words are pointed at.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from distrl.policies.tiny.actions import Verb
from distrl.policies.tiny.encoder import WORD_DIM
from distrl.policies.tiny.features import HISTORY, MARK_DIM, MATCH_DIM, STATE_DIM, Batch
from distrl.policies.tiny.words import MAX_WORDS

BLOCKED = -1e9
SIMILARITY_SCALES = (1.0, 5.0)
"""By how much similarity raises the attention of each head: the first hardly goes by it, the second mostly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """Log-probabilities of every token there could be, and the values of the state."""

    verb: Tensor
    """[N, verbs]"""
    tap: Tensor
    """[N, E]"""
    hold: Tensor
    """[N, E]"""
    first: Tensor
    """[N, W]"""
    last: Tensor
    """[N, W, W]: the last word, given the first."""
    value_logits: Tensor
    """[2, N]"""
    trajectory_value_logit: Tensor
    """[N]"""


class Layer(nn.Module):
    """A transformer layer (normalised before) whose attention has a given bias."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm_after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """`bias` [N, heads, L, L] is added to the scores."""
        n, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.mix(mixed.transpose(1, 2).reshape(n, length, width))
        return x + self.feed(self.norm_after(x))  # type: ignore[no-any-return]


def attention_bias(batch: Batch, scales: Sequence[float]) -> Tensor:
    """[N, heads, L, L]: blocked where there is padding, raised between words and elements that are alike."""
    n, words, elements = batch.similarity.shape
    length = 1 + words + HISTORY + elements
    first = length - elements
    alike = torch.zeros(n, length, length)
    alike[:, 1 : 1 + words, first:] = batch.similarity
    alike[:, first:, 1 : 1 + words] = batch.similarity.transpose(1, 2)
    blocked = torch.zeros(n, length)
    blocked[:, 1 : 1 + words].masked_fill_(~batch.word_mask, BLOCKED)
    blocked[:, first:].masked_fill_(~batch.element_mask, BLOCKED)
    return alike.unsqueeze(1) * torch.tensor(scales).view(1, -1, 1, 1) + blocked[:, None, None, :]


class Network(nn.Module):
    """Policy, twin V and V_traj in one module."""

    def __init__(self, look_dim: int, *, width: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.word_text = nn.Linear(3 * WORD_DIM, width)
        self.word_place = nn.Embedding(MAX_WORDS, width)
        self.word_seen = nn.Sequential(nn.Linear(2 + MARK_DIM, width), nn.ReLU(), nn.Linear(width, width))
        self.element_text = nn.Linear(WORD_DIM, width)
        self.element_look = nn.Sequential(nn.Linear(look_dim, width), nn.ReLU(), nn.Linear(width, width))
        self.element_rest = nn.Sequential(nn.Linear(4 + MATCH_DIM, width), nn.ReLU(), nn.Linear(width, width))
        self.past_verb = nn.Embedding(len(Verb) + 1, width, padding_idx=0)
        self.past_age = nn.Embedding(HISTORY, width)
        self.past_stuck = nn.Parameter(torch.zeros(width))
        self.past_words = nn.Linear(width, width, bias=False)
        self.summary = nn.Linear(2 * width, width)
        self.state = nn.Sequential(nn.Linear(STATE_DIM, width), nn.ReLU(), nn.Linear(width, width))
        self.kinds = nn.Embedding(3, width)
        self.layers = nn.ModuleList(Layer(width, len(SIMILARITY_SCALES)) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.verb = nn.Linear(width, len(Verb))
        self.point = nn.Linear(width, 4 * width)
        self.element_keys = nn.Linear(width, 2 * width)
        self.word_keys = nn.Linear(width, 2 * width)
        self.last_query = nn.Linear(width, width)
        self.span_length = nn.Embedding(MAX_WORDS, 1)
        nn.init.zeros_(self.span_length.weight)
        self.span_break = nn.Parameter(torch.zeros(()))
        self.values = nn.ModuleList(_head(width) for _ in range(2))
        self.trajectory_value = _head(width)

    def forward(self, batch: Batch) -> Output:
        """Everything there is to know about these moments."""
        kinds = self.kinds.weight
        seen = batch.similarity
        in_sight = torch.stack((seen.amax(dim=2), seen.sum(dim=2).clamp(max=4.0) / 4), dim=-1)
        word_seen = torch.cat((in_sight, batch.marks), dim=-1)
        places = torch.arange(batch.word_meanings.shape[1])
        text = self.word_text(_with_neighbours(batch.word_meanings * batch.word_mask.unsqueeze(-1)))
        words = text + self.word_place(places) + self.word_seen(word_seen) + kinds[0]
        different = self.element_text(batch.texts) + self.element_look(batch.looks)
        rest = self.element_rest(torch.cat((batch.geometry, batch.match), dim=-1))
        # An embedding, not an index: its gradient is summed in one order, whatever the number of threads.
        elements = nn.functional.embedding(batch.element_places, different) + rest + kinds[1]
        past = self._past(batch, different, words) + kinds[2]
        summary = self._summary(batch, words, elements)
        x = torch.cat((summary, words, past, elements), dim=1)
        bias = attention_bias(batch, SIMILARITY_SCALES)
        for layer in self.layers:
            x = layer(x, bias)
        return self._heads(self.norm(x), batch)

    def _summary(self, batch: Batch, words: Tensor, elements: Tensor) -> Tensor:
        """The whole instruction and the whole screen, roughly, and what holds for the moment."""
        means = [
            (tokens * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
            for tokens, mask in ((words, batch.word_mask), (elements, batch.element_mask))
        ]
        summary: Tensor = self.summary(torch.cat(means, dim=-1)) + self.state(batch.state)
        return summary.unsqueeze(1)

    def _past(self, batch: Batch, different: Tensor, words: Tensor) -> Tensor:
        """The last actions: what was done, to what, with which words, and whether it changed anything."""
        verb, element, first, last = batch.past.unbind(dim=-1)
        ends = [
            words.gather(1, (place - 1).clamp(min=0).unsqueeze(-1).expand(-1, -1, words.shape[-1]))
            * (place > 0).unsqueeze(-1)
            for place in (first, last)
        ]
        touched = nn.functional.embedding(element, different) * (verb <= Verb.HOLD + 1).logical_and(verb > 0).unsqueeze(
            -1
        )
        age = self.past_age(torch.arange(HISTORY))
        stuck = batch.is_stuck.unsqueeze(-1) * self.past_stuck
        return self.past_verb(verb) + touched + self.past_words(ends[0] + ends[1]) + age + stuck  # type: ignore[no-any-return]

    def _heads(self, x: Tensor, batch: Batch) -> Output:
        num_words, num_elements = batch.word_mask.shape[1], batch.element_mask.shape[1]
        summary, words, elements = x[:, 0], x[:, 1 : 1 + num_words], x[:, x.shape[1] - num_elements :]
        scale = 1.0 / math.sqrt(x.shape[-1])
        tap_query, hold_query, first_query, last_query = self.point(summary).chunk(4, dim=-1)
        tap_keys, hold_keys = self.element_keys(elements).chunk(2, dim=-1)
        first_keys, last_keys = self.word_keys(words).chunk(2, dim=-1)
        verb = self.verb(summary)
        nothing = torch.zeros_like(verb)
        nothing[:, : Verb.HOLD + 1].masked_fill_(~batch.element_mask.any(dim=1, keepdim=True), BLOCKED)
        nothing[:, Verb.TYPE].masked_fill_(~batch.word_mask.any(dim=1), BLOCKED)
        no_element = torch.zeros_like(batch.element_mask, dtype=x.dtype).masked_fill_(~batch.element_mask, BLOCKED)
        no_word = torch.zeros_like(batch.word_mask, dtype=x.dtype).masked_fill_(~batch.word_mask, BLOCKED)
        before = torch.full((num_words, num_words), BLOCKED).tril(-1)
        from_first = (self.last_query(words) + last_query.unsqueeze(1)) @ last_keys.transpose(1, 2) * scale
        from_first = from_first + self._span(batch)
        return Output(
            verb=(verb + nothing).log_softmax(dim=-1),
            tap=(_point(tap_query, tap_keys, scale) + no_element).log_softmax(dim=-1),
            hold=(_point(hold_query, hold_keys, scale) + no_element).log_softmax(dim=-1),
            first=(_point(first_query, first_keys, scale) + no_word).log_softmax(dim=-1),
            last=(from_first + no_word.unsqueeze(1) + before).log_softmax(dim=-1),
            value_logits=torch.stack([head(summary).squeeze(-1) for head in self.values]),
            trajectory_value_logit=self.trajectory_value(summary).squeeze(-1),
        )

    def _span(self, batch: Batch) -> Tensor:
        """[N, W, W]: for each first and last word, what speaks for typing that many, across the ends of clauses."""
        clauses = batch.marks[:, :, -1].cumsum(dim=1) - batch.marks[:, :, -1]
        places = torch.arange(batch.marks.shape[1])
        lengths: Tensor = self.span_length((places[None] - places[:, None]).clamp(min=0)).squeeze(-1)
        return lengths + self.span_break * (clauses.unsqueeze(1) - clauses.unsqueeze(2))


def _with_neighbours(words: Tensor) -> Tensor:
    """[N, W, 3 D]: each word with the one before and the one after it: what to type stands between known words."""
    padded = nn.functional.pad(words, (0, 0, 1, 1))
    return torch.cat((padded[:, :-2], words, padded[:, 2:]), dim=-1)


def _head(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def _point(query: Tensor, keys: Tensor, scale: float) -> Tensor:
    return (keys @ query.unsqueeze(-1)).squeeze(-1) * scale


def log_probs_of(output: Output, choices: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log pi of the tokens of choices [N, 3] = (verb, first argument, second argument); 0 where there is no token."""
    verb, one, two = choices.unbind(dim=-1)
    rows = torch.arange(len(choices))
    verb_log_prob = output.verb[rows, verb]
    element = one.clamp(max=output.tap.shape[1] - 1)
    word, end = one.clamp(max=output.first.shape[1] - 1), two.clamp(max=output.first.shape[1] - 1)
    zero = torch.zeros(())
    first = torch.where(verb == Verb.TAP, output.tap[rows, element], zero)
    first = torch.where(verb == Verb.HOLD, output.hold[rows, element], first)
    is_typing = verb == Verb.TYPE
    first = torch.where(is_typing, output.first[rows, word], first)
    second = torch.where(is_typing, output.last[rows, word, end], zero)
    return verb_log_prob, first, second


def entropy_of(output: Output) -> Tensor:
    """H(pi(.|s)) over whole actions: the entropy of each token, weighted with the probability of coming to it."""
    verbs = output.verb.exp()
    typing = _entropy(output.first) + (output.first.exp() * _entropy(output.last)).sum(dim=-1)
    arguments = torch.stack((_entropy(output.tap), _entropy(output.hold), typing), dim=-1)
    return _entropy(output.verb) + (verbs[:, : Verb.TYPE + 1] * arguments).sum(dim=-1)


def _entropy(log_prob: Tensor) -> Tensor:
    return -(log_prob.exp() * log_prob).sum(dim=-1)

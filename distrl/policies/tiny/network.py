"""The network: a batch of moments in; the probabilities of actions and three values out.

The tokens of a moment [summary, last actions, words of the instruction, elements] pass through two transformer layers
whose attention between words and elements is biased by their built-in similarity. From the summary come the verb, the
twin state values V and the trajectory value V_traj; elements and words are pointed at. The tokens of all moments stand
in one row [T, width] (see batch.py); only attention lays them out moment by moment.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from distrl.policies.tiny.actions import Verb
from distrl.policies.tiny.batch import Batch, Group
from distrl.policies.tiny.encoder import WORD_DIM
from distrl.policies.tiny.features import HISTORY, MARK_DIM, MATCH_DIM, STATE_DIM
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

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.norm_after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, batch: Batch, biases: Sequence[Tensor]) -> Tensor:
        """`x` [T, width]; the bias of each group [N, heads, L, L] is added to its scores."""
        sizes = [group.is_empty.numel() for group in batch.groups]
        laid_out = torch.split(_rows(batch.slots, self.qkv(self.norm(x))), sizes)
        mixed = [self._attend(qkv, bias) for qkv, bias in zip(laid_out, biases, strict=True)]
        x = x + self.mix(_rows(batch.back, torch.cat(mixed)))
        return x + self.feed(self.norm_after(x))  # type: ignore[no-any-return]

    def _attend(self, qkv: Tensor, bias: Tensor) -> Tensor:
        """[N L, width]: what the tokens of these moments take from each other."""
        n, heads, length, _ = bias.shape
        q, k, v = qkv.view(n, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return mixed.transpose(1, 2).reshape(n * length, -1)


def attention_bias(group: Group, scales: Sequence[float]) -> Tensor:
    """[N, heads, L, L]: blocked where there is no token, raised between words and elements that are alike."""
    blocked = torch.zeros_like(group.is_empty, dtype=group.alike.dtype).masked_fill_(group.is_empty, BLOCKED)
    return group.alike.unsqueeze(1) * torch.tensor(scales).view(1, -1, 1, 1) + blocked[:, None, None, :]


def _rows(places: Tensor, table: Tensor) -> Tensor:
    """The rows at these places. An embedding, not an index: its gradient is summed in one order, on any machine."""
    return nn.functional.embedding(places, table)


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
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
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
        text = self.word_text(batch.request_words) + self.word_place(batch.request_places)
        words = _rows(batch.word_rows, text) + self.word_seen(batch.word_seen) + kinds[0]
        different = self.element_text(batch.texts) + self.element_look(batch.looks)
        elements = _rows(batch.element_rows, different) + self.element_rest(batch.element_seen) + kinds[1]
        past = self._past(batch, different, words) + kinds[2]
        means = torch.cat((batch.word_means @ words, batch.element_means @ elements), dim=-1)
        summary = self.summary(means) + self.state(batch.state)
        x = torch.cat((summary, past.flatten(0, 1), words, elements))
        biases = [attention_bias(group, SIMILARITY_SCALES) for group in batch.groups]
        for layer in self.layers:
            x = layer(x, batch, biases)
        return self._heads(self.norm(x), batch)

    def _past(self, batch: Batch, different: Tensor, words: Tensor) -> Tensor:
        """The last actions: what was done, to what, with which words, and whether it changed anything."""
        verb, element, first, last = batch.past.unbind(dim=-1)
        words = torch.cat((words, words.new_zeros(1, words.shape[-1])))
        is_touch = (verb <= Verb.HOLD + 1).logical_and(verb > 0)
        touched = _rows(element, different) * is_touch.unsqueeze(-1)
        typed = self.past_words(_rows(first, words) + _rows(last, words))
        stuck = batch.is_stuck.unsqueeze(-1) * self.past_stuck
        return self.past_verb(verb) + touched + typed + self.past_age.weight + stuck  # type: ignore[no-any-return]

    def _heads(self, x: Tensor, batch: Batch) -> Output:
        n, p = batch.state.shape[0], batch.word_owners.shape[0]
        summary, words, elements = x[:n], x[n * (1 + HISTORY) :][:p], x[n * (1 + HISTORY) + p :]
        point = self.point(summary)
        tap_hold, first, last = point.split((2 * x.shape[-1], x.shape[-1], x.shape[-1]), dim=-1)
        first_keys, last_keys = self.word_keys(words).chunk(2, dim=-1)
        touch = _pointed(tap_hold, self.element_keys(elements), batch.element_owners, batch.element_slots, pointers=2)
        verb = self.verb(summary)
        nothing = torch.zeros_like(verb)
        no_element, no_word = batch.element_slots == elements.shape[0], batch.word_slots == p
        nothing[:, : Verb.HOLD + 1].masked_fill_(no_element[:, :1], BLOCKED)
        nothing[:, Verb.TYPE].masked_fill_(no_word[:, 0], BLOCKED)
        from_first = self.last_query(words) + _rows(batch.word_owners, last)
        spans = _laid_out(from_first, batch.word_slots) @ _laid_out(last_keys, batch.word_slots).transpose(1, 2)
        before = torch.full((no_word.shape[1],) * 2, BLOCKED).tril(-1)
        no_end = torch.zeros_like(no_word, dtype=x.dtype).masked_fill_(no_word, BLOCKED).unsqueeze(1)
        scale = 1.0 / math.sqrt(x.shape[-1])
        return Output(
            verb=(verb + nothing).log_softmax(dim=-1),
            tap=touch[:, :, 0],
            hold=touch[:, :, 1],
            first=_pointed(first, first_keys, batch.word_owners, batch.word_slots, pointers=1)[:, :, 0],
            last=(spans * scale + self._span(batch) + no_end + before).log_softmax(dim=-1),
            value_logits=torch.stack([head(summary).squeeze(-1) for head in self.values]),
            trajectory_value_logit=self.trajectory_value(summary).squeeze(-1),
        )

    def _span(self, batch: Batch) -> Tensor:
        """[N, W, W]: for each first and last word, what speaks for typing that many, across the ends of clauses."""
        places = torch.arange(batch.clauses.shape[1])
        lengths: Tensor = self.span_length((places[None] - places[:, None]).clamp(min=0)).squeeze(-1)
        return lengths + self.span_break * (batch.clauses.unsqueeze(1) - batch.clauses.unsqueeze(2))


def _laid_out(row: Tensor, slots: Tensor, *, blank: float = 0.0) -> Tensor:
    """[N, most, ...]: a row of all tokens moment by moment, with a blank where there is none."""
    return _rows(slots, torch.cat((row, row.new_full((1, row.shape[-1]), blank))))


def _pointed(queries: Tensor, keys: Tensor, owners: Tensor, slots: Tensor, *, pointers: int) -> Tensor:
    """[N, most, pointers]: log-probabilities of being pointed at, for each of some pointers side by side."""
    width = keys.shape[-1] // pointers
    fits = (_rows(owners, queries) * keys).view(-1, pointers, width).sum(dim=-1) / math.sqrt(width)
    return _laid_out(fits, slots, blank=BLOCKED).log_softmax(dim=1)


def _head(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


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

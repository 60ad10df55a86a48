"""How prompts begin, computed once: token ids in, keys and values of the network out.

All prompts begin with the system message, and those of an episode with its task and what was done so far. What is used
again was computed with the same weights as the rest, so no number changes. For language models only: a picture may
stand anywhere, and families with pictures count positions in their own ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from distrl.policies.trainable import Snapshot

MIN_TOKENS = 8
"""A shorter beginning is not worth it."""
MAX_KEPT_TOKENS = 8192
"""Tokens of prompts whose keys and values are kept; the oldest go first."""

Layers = list[tuple[Tensor, Tensor]]
"""Keys and values by layer, [heads, tokens, width] each for one prompt, with rows before that for many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is known of the prompts of a batch: how many tokens each begins with, and their keys and values."""

    counts: tuple[int, ...]
    cache: Any
    """None if nothing is known. Shorter beginnings are filled up on the left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kept:
    snapshot: Snapshot
    ids: Tensor
    layers: Layers


class Beginnings:
    """Those of one network. `ids` are what all prompts begin with; none if nothing is to be used again."""

    def __init__(self, network: Any, ids: Tensor) -> None:
        self._network = network
        self.ids = ids
        self._kept: list[_Kept] = []

    def compute(self) -> Layers:
        """Keys and values of what all begin with, one row; with gradients, unless they are turned off."""
        ids = self.ids.to(self._network.device)[None]
        return _layers(self._network.get_decoder()(input_ids=ids, use_cache=True).past_key_values)

    def find(self, rows: Sequence[Tensor], snapshot: Snapshot | None) -> Known:
        """The longest beginning of each prompt that was computed with these weights, which never change."""
        if snapshot is None or not len(self.ids):
            return Known(counts=(0,) * len(rows), cache=None)
        if not any(kept.snapshot is snapshot for kept in self._kept):
            layers = [(keys[0], values[0]) for keys, values in self.compute()]
            self._kept.append(_Kept(snapshot=snapshot, ids=self.ids, layers=layers))
        own = [kept for kept in self._kept if kept.snapshot is snapshot]
        best = [max(((_count_common(kept.ids, row), i) for i, kept in enumerate(own))) for row in rows]
        counts = tuple(count for count, _ in best)
        cache = DynamicCache()
        for number in range(len(own[0].layers)):
            found = [(own[i].layers[number], count) for count, i in best]
            keys = _stacked([k[:, :count] for (k, _), count in found])
            cache.update(keys, _stacked([v[:, :count] for (_, v), count in found]), number)
        return Known(counts=counts, cache=cache)

    def keep(self, rows: Sequence[Tensor], known: Known, snapshot: Snapshot | None) -> None:
        """Remember what was computed of these prompts beside what was known; the cache has all of it."""
        if snapshot is None or known.cache is None:
            return
        width, new = max(known.counts), max(len(row) - count for row, count in zip(rows, known.counts, strict=True))
        layers = _layers(known.cache)
        for place, (row, count) in enumerate(zip(rows, known.counts, strict=True)):
            columns = [*range(width - count, width), *range(width + new - len(row) + count, width + new)]
            chosen = torch.tensor(columns, device=layers[0][0].device)
            cut = [(k[place].index_select(1, chosen), v[place].index_select(1, chosen)) for k, v in layers]
            self._kept.append(_Kept(snapshot=snapshot, ids=row, layers=cut))
        while sum(len(kept.ids) for kept in self._kept) > MAX_KEPT_TOKENS:
            del self._kept[0]


def cache_of(layers: Layers, num_rows: int) -> Any:
    """Keys and values of one row as the beginning of many."""
    cache = DynamicCache()
    for number, (keys, values) in enumerate(layers):
        cache.update(keys.expand(num_rows, -1, -1, -1), values.expand(num_rows, -1, -1, -1), number)
    return cache


def common_prefix(first: Tensor, second: Tensor) -> Tensor:
    """What two prompts begin with, but for its end, where tokens of the rest may grow into it."""
    count = _count_common(first, second) - 2
    return first[: count if count >= MIN_TOKENS else 0]


def _count_common(first: Tensor, second: Tensor) -> int:
    """How many tokens both begin with; not all of the second, since something has to be left to compute."""
    length = min(len(first), len(second) - 1)
    is_other = (first[:length] != second[:length]).nonzero()
    return int(is_other[0]) if len(is_other) else length


def _layers(cache: Any) -> Layers:
    return [(layer.keys, layer.values) for layer in cache.layers]


def _stacked(rows: Sequence[Tensor]) -> Tensor:
    """[rows, heads, tokens, width], filled up on the left."""
    width = max(row.shape[1] for row in rows)
    return torch.stack([nn.functional.pad(row, (0, 0, width - row.shape[1], 0)) for row in rows])


def is_plain(network: Any) -> bool:
    """Whether every layer remembers everything: windows that slide would have to be told where they are."""
    with torch.no_grad():
        ids = torch.zeros((1, 1), dtype=torch.long, device=network.device)
        cache = network.get_decoder()(input_ids=ids, use_cache=True).past_key_values
    return all(type(layer).__name__ == "DynamicLayer" for layer in getattr(cache, "layers", [None]))

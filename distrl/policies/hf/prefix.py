"""What all prompts begin with (the system message), computed once for many rows: token ids in, keys and values out.

For language models only: a picture may stand anywhere, and families with pictures count positions in their own ways.
What is reused was computed with the same weights as the rest, so no number changes.
"""

import copy
from typing import Any

import torch
from torch import Tensor

from distrl.policies.trainable import Snapshot

MIN_TOKENS = 8
"""A shorter one is not worth it."""


def common_prefix(first: Tensor, second: Tensor) -> Tensor:
    """What two prompts begin with, but for its end, where tokens of the rest may grow into it."""
    length = min(len(first), len(second))
    is_other = (first[:length] != second[:length]).nonzero()
    count = (int(is_other[0]) if len(is_other) else length) - 2
    return first[: count if count >= MIN_TOKENS else 0]


class Prefix:
    """One beginning and one network."""

    def __init__(self, network: Any, ids: Tensor) -> None:
        self._network = network
        self.ids = ids
        self._kept: tuple[Snapshot, Any] | None = None

    def for_learning(self, num_rows: int) -> Any:
        """Keys and values for so many rows, with gradients."""
        return _repeated(self._compute(), num_rows)

    def for_acting(self, num_rows: int, snapshot: Snapshot | None) -> Any:
        """The same without gradients; those of a snapshot are kept, since its weights never change."""
        if snapshot is None:
            return _repeated(self._compute(), num_rows)
        if self._kept is None or self._kept[0] is not snapshot:
            self._kept = snapshot, self._compute()
        return _repeated(copy.deepcopy(self._kept[1]), num_rows)

    def _compute(self) -> Any:
        ids = self.ids.to(self._network.device)[None]
        return self._network.get_decoder()(input_ids=ids, use_cache=True).past_key_values


def _repeated(cache: Any, num_rows: int) -> Any:
    cache.batch_repeat_interleave(num_rows)
    return cache


def is_plain(network: Any) -> bool:
    """Whether every layer remembers everything: windows that slide would have to be told where they are."""
    with torch.no_grad():
        ids = torch.zeros((1, 1), dtype=torch.long, device=network.device)
        cache = network.get_decoder()(input_ids=ids, use_cache=True).past_key_values
    return all(type(layer).__name__ == "DynamicLayer" for layer in getattr(cache, "layers", [None]))

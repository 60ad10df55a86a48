"""The layers under an adapter, which never change: rows in, what the first adapted layer is given out.

A trajectory is learned from several times. What the frozen layers make of it is computed once and remembered, so that
later only the adapted layers are left to compute.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

MAX_REMEMBERED_BYTES = 2**30
_CLOSE = 1e-4


class FrozenLayers:
    """The first layers of one network, in which nothing is trained."""

    def __init__(self, network: Any, num_layers: int) -> None:
        self._network = network
        self._decoder = network.get_decoder()
        layers = self._decoder.layers
        self._lower, self._upper = nn.ModuleList(layers[:num_layers]), nn.ModuleList(layers[num_layers:])
        self._known: OrderedDict[str, Tensor] = OrderedDict()
        self._num_bytes = 0

    def states(self, keys: Sequence[str], compute: Callable[[list[int]], list[Tensor]]) -> list[Tensor]:
        """What these rows are after the frozen layers; `compute` is asked for those that are not remembered."""
        missing = [i for i, key in enumerate(keys) if key not in self._known]
        new = dict(zip(missing, compute(missing), strict=True)) if missing else {}
        made = [new[i] if i in new else self._known[key] for i, key in enumerate(keys)]
        for key, state in zip(keys, made, strict=True):
            self._remember(key, state)
        return made

    def _remember(self, key: str, state: Tensor) -> None:
        if key not in self._known:
            self._known[key] = state
            self._num_bytes += state.nbytes
        self._known.move_to_end(key)
        while self._num_bytes > MAX_REMEMBERED_BYTES:
            self._num_bytes -= self._known.popitem(last=False)[1].nbytes

    def run(self, inputs: Mapping[str, Any]) -> Tensor:
        """The frozen layers alone, [rows, tokens, width]."""
        with torch.no_grad(), self._only(self._lower), _without(self._decoder, "norm"):
            return self._decoder(**inputs).last_hidden_state  # type: ignore[no-any-return]

    @contextmanager
    def skipped(self) -> Iterator[None]:
        """Within, the network begins after the frozen layers: it is to be given `inputs_embeds`."""
        with self._only(self._upper):
            yield

    @contextmanager
    def _only(self, layers: nn.ModuleList) -> Iterator[None]:
        whole = self._decoder.layers
        self._decoder.layers = layers
        try:
            yield
        finally:
            self._decoder.layers = whole

    def is_faithful(self) -> bool:
        """Whether both parts after each other say what the whole says: a family may do more than run its layers."""
        ids = torch.arange(1, 7, device=self._network.device)[None]
        mask = torch.ones_like(ids)
        with torch.no_grad():
            whole = self._decoder(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
            given = self.run({"input_ids": ids, "attention_mask": mask, "use_cache": False})
            with self.skipped():
                parts = self._decoder(inputs_embeds=given, attention_mask=mask, use_cache=False).last_hidden_state
        return bool(torch.allclose(whole, parts, atol=_CLOSE))


@contextmanager
def _without(module: Any, name: str) -> Iterator[None]:
    """A part of a module that does nothing for a while."""
    part = getattr(module, name)
    setattr(module, name, nn.Identity())
    try:
        yield
    finally:
        setattr(module, name, part)


def make_frozen_layers(network: Any, num_adapted: int | None) -> FrozenLayers | None:
    """The layers under the last `num_adapted`, if there are some and they can be run by themselves."""
    layers = getattr(network.get_decoder(), "layers", None)
    if num_adapted is None or not isinstance(layers, nn.ModuleList) or num_adapted >= len(layers):
        return None
    frozen = FrozenLayers(network, len(layers) - num_adapted)
    return frozen if hasattr(network.get_decoder(), "norm") and frozen.is_faithful() else None

"""The weights of a policy that is a model and its heads: what is trained, what acts, what is taken over from elsewhere.

Parameters that act travel to workers; the heads, which value states, stay with the learner. Weights that do not fit
are refused as a whole: a tensor that is missing would be a policy that nobody trained.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from distrl.core.errors import UserError
from distrl.policies.trainable import Snapshot

HEADS = "heads."
"""How the names of the heads' tensors begin."""


class LearnedWeights:
    """A policy's part that holds its weights. `version` is theirs, `_name` says whose they are."""

    version: int
    heads: nn.Module
    _acting: Mapping[str, nn.Parameter]
    _name: str

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return [*self._acting.values(), *self.heads.parameters()]

    def tensors(self) -> dict[str, Tensor]:
        """All that is trained, by name."""
        heads = {f"{HEADS}{name}": tensor for name, tensor in self.heads.state_dict().items()}
        return {name: parameter.detach() for name, parameter in self._acting.items()} | heads

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what was trained; the heads may be left out. Nothing changes if it does not fit."""
        own = self.tensors()
        has_heads = any(name.startswith(HEADS) for name in tensors)
        self._refuse_unfit(tensors, {n: t for n, t in own.items() if has_heads or not n.startswith(HEADS)})
        with torch.no_grad():
            for name, tensor in tensors.items():
                own[name].copy_(tensor)

    def snapshot(self) -> Snapshot:
        """A copy of the weights of now that act."""
        return Snapshot(version=self.version, parameters={n: p.detach().clone() for n, p in self._acting.items()})

    def snapshot_of(self, version: int, tensors: Mapping[str, Tensor]) -> Snapshot:
        """Weights that came from elsewhere as something to act with; `UserError` unless they are complete."""
        own = {name: parameter.detach() for name, parameter in self._acting.items()}
        self._refuse_unfit(tensors, own)
        return Snapshot(version=version, parameters={n: t.to(own[n].device, own[n].dtype) for n, t in tensors.items()})

    def _refuse_unfit(self, tensors: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
        missing, unknown = sorted(set(own) - set(tensors)), sorted(set(tensors) - set(own))
        other = sorted(n for n in set(tensors) & set(own) if tensors[n].shape != own[n].shape)
        wrong = (("missing:", missing), ("unknown:", unknown), ("of another shape:", other))
        if any(names for _, names in wrong):
            detail = "; ".join(
                f"{what} {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}" for what, names in wrong if names
            )
            raise UserError(f"these weights do not fit {self._name} ({detail})")
        if not all(bool(t.isfinite().all()) for t in tensors.values()):
            raise UserError("these weights contain numbers that are not finite")

    @contextmanager
    def _with(self, snapshot: Snapshot | None) -> Iterator[None]:
        """Act with the weights of a snapshot; nothing is copied."""
        if snapshot is None:
            yield
            return
        assert set(snapshot.parameters) == set(self._acting), "a snapshot is complete"
        own = {name: parameter.data for name, parameter in self._acting.items()}
        try:
            for name, parameter in self._acting.items():
                parameter.data = snapshot.parameters[name]
            yield
        finally:
            for name, parameter in self._acting.items():
                parameter.data = own[name]

"""Tensors as bytes: safetensors in and out, and a clear error for what is not."""

from collections.abc import Mapping

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from distrl.core.errors import UserError


def pack_tensors(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Named tensors as a safetensors file."""
    # Without any metadata, a file of no tensors cannot be read again.
    about = {"format": "pt", **(metadata or {})}
    data: bytes = save({name: t.detach().contiguous() for name, t in tensors.items()}, metadata=about)
    return data


def unpack_tensors(data: bytes) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    try:
        tensors: dict[str, Tensor] = load(data)
    except SafetensorError as error:
        raise UserError(f"not a safetensors file, or a damaged one: {error}") from error
    # Copies, since those of the file are aligned as it happens to be, and sums depend on that.
    return {name: tensor.clone() for name, tensor in tensors.items()}

"""Algorithms: the mathematics of learning, one short file each, and the way to make one by name.

In flow a `Batch` of trajectories and the network's `Evaluation` of it; out flow a loss and priorities. Only this folder
and those that hold networks import torch.
"""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from distrl.algorithms.a_ride import ARide
from distrl.algorithms.batch import Batch, Evaluation
from distrl.algorithms.digirl import DigiRL
from distrl.algorithms.filtered_bc import FilteredBC
from distrl.algorithms.grpo import GRPO
from distrl.algorithms.interface import Algorithm, Sampling
from distrl.algorithms.options import read_options
from distrl.algorithms.ppo import PPO
from distrl.algorithms.vtrace import VTrace
from distrl.core.errors import UnknownNameError, UserError

__all__ = ["ALGORITHMS", "Algorithm", "Batch", "Evaluation", "Sampling", "make_algorithm"]

ALGORITHMS: Mapping[str, type[Any]] = MappingProxyType(
    {
        "a_ride": ARide,
        "digirl": DigiRL,
        "filtered_bc": FilteredBC,
        "grpo": GRPO,
        "ppo": PPO,
        "vtrace": VTrace,
    }
)


def make_algorithm(name: str, options: Mapping[str, Any]) -> Algorithm:
    """The algorithm of this name, or of "package.module:ClassName", with these options; `UserError` if it cannot be."""
    algorithm_type = _imported(name) if ":" in name else ALGORITHMS.get(name)
    if algorithm_type is None:
        raise UnknownNameError("algorithm", name, ALGORITHMS)
    algorithm: Algorithm = algorithm_type(read_options(algorithm_type.Options, options, owner=name))
    if not isinstance(getattr(algorithm, "sampling", None), Sampling):
        raise UserError(f"algorithm {name!r} has no attribute `sampling` that is a distrl.algorithms.Sampling")
    return algorithm


def _imported(path: str) -> type[Any]:
    """A user's own class, checked for what an algorithm needs."""
    module_name, _, class_name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except Exception as error:  # a user's module may fail in any way while it is imported
        raise UserError(f"algorithm {path!r} cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(found, type):
        raise UserError(f"algorithm {path!r} is not a class")
    missing = [name for name in ("loss", "priorities") if not callable(getattr(found, name, None))]
    options_type = getattr(found, "Options", None)
    if not (isinstance(options_type, type) and issubclass(options_type, msgspec.Struct)):
        missing.append("Options (a msgspec.Struct)")
    if missing:
        raise UserError(f"algorithm {path!r} lacks {', '.join(missing)}")
    return found

"""distrl: asynchronous reinforcement learning for models that operate phones.

`distrl.train`, `distrl.evaluate` and `distrl.make_policy` import what they need when they are first asked for, so that
`import distrl` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distrl.runtime.api import Report, TrainResult, evaluate, make_policy, train

__version__ = "0.1.0"

__all__ = ["Report", "TrainResult", "__version__", "evaluate", "make_policy", "train"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("distrl.runtime.api"), name)
    raise AttributeError(f"module 'distrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

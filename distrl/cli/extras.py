"""What is not installed with distrl itself, and how to get it."""

import importlib.util

from distrl.core.errors import UserError

EXTRAS = {
    "train": ("torch", "safetensors", "tensorboardX", "matplotlib", "zstandard", "ray"),
    "judge": ("httpx",),
    "endpoint": ("httpx",),
    "onnx": ("onnx", "onnxruntime"),
}
"""The modules of each extra of pyproject.toml."""


def require_extra(name: str) -> None:
    """Do nothing if an extra is installed; otherwise a `UserError` that says what to type."""
    missing = [module for module in EXTRAS[name] if importlib.util.find_spec(module) is None]
    if missing:
        raise UserError(f'this needs {", ".join(missing)}; install with: pip install "distrl[{name}]"')

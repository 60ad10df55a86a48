"""The ui tree through uiautomator2, which is faster than Android's own tool: a serial in, XML out.

It is a package of its own (`pip install uiautomator2`) and puts a helper onto the device; `devices.ui_tree` chooses it.
"""

import asyncio
import importlib
from typing import Any

from distrl.core.errors import DeviceError, UserError


def _load() -> Any:
    try:
        return importlib.import_module("uiautomator2")
    except ModuleNotFoundError as error:
        raise UserError(
            "devices.ui_tree = 'uiautomator2' needs that package: pip install uiautomator2, or choose 'uiautomator'"
        ) from error


async def dump(serial: str, *, deadline_s: float) -> bytes:
    """The hierarchy; its library waits by itself, so that happens in a thread."""
    library = _load()
    try:
        async with asyncio.timeout(deadline_s):
            text = await asyncio.to_thread(lambda: library.connect(serial).dump_hierarchy())
    except TimeoutError as error:
        raise DeviceError("deadline", f"{serial}: no ui tree within {deadline_s:g} s") from error
    except Exception as error:  # a library with errors of its own for everything
        raise DeviceError("ui_tree", f"{serial}: uiautomator2 gave no hierarchy: {error}") from error
    return str(text).encode()

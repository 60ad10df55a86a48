"""The templates: every module of this folder that has `TEMPLATES` adds some."""

import importlib
import pkgutil
from functools import lru_cache

from distrl.tasks.template import Template


@lru_cache(maxsize=1)
def all_templates() -> dict[str, Template]:
    """Every template by name, in a fixed order."""
    found: dict[str, Template] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        for template in getattr(importlib.import_module(f"{__name__}.{module}"), "TEMPLATES", ()):
            assert template.name not in found, f"two templates are called {template.name}"
            found[template.name] = template
    return found

"""The apps of the phone: every module of this folder that has an `APP` is one.

Adding an app is adding a file here, or loading one from anywhere with `load_app`.
"""

import importlib
import importlib.util
import pkgutil
from functools import lru_cache
from pathlib import Path

from distrl.core.errors import UserError
from distrl.devices.sim.app import App
from distrl.devices.sim.fonts import icon_mask


@lru_cache(maxsize=1)
def builtin_apps() -> dict[str, App]:
    """The apps that come with the phone, by id, in the launcher's order."""
    found: list[tuple[int, App]] = []
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        if hasattr(loaded, "APP"):
            found.append((getattr(loaded, "ORDER", 100), loaded.APP))
    found.sort(key=lambda pair: (pair[0], pair[1].id))
    return {app.id: app for _, app in found}


def load_app(path: Path) -> App:
    """An app from a user's own file."""
    spec = importlib.util.spec_from_file_location(f"distrl_app_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UserError(f"{path}: not a Python file that can be loaded as an app")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UserError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from error
    app = getattr(module, "APP", None)
    if not isinstance(app, App):
        raise UserError(f"{path}: defines no APP = App(...) (see docs/how-to/new-app.md)")
    if "home" not in app.pages:
        raise UserError(f'{path}: the app has no page "home" to open with')
    icon_mask(app.icon, 1)
    return app

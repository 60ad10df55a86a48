"""The world is not clean: what a task may switch on to make it so.

Names of variations go in; prompts, banners, loading screens and changed looks come out, the same for the same seed.
"""

from random import Random

from distrl.core.errors import UnknownNameError
from distrl.core.seeds import derive_random
from distrl.devices.sim.handset import Handset
from distrl.devices.sim.nodes import Box, Icon, Text, View
from distrl.devices.sim.state import Page

VARIATIONS = {
    "permissions": "apps ask for permissions when they are opened for the first time",
    "cookies": "web sites show a cookie banner on the first visit",
    "ads": "a full-screen advertisement appears now and then",
    "rate": "apps ask to be rated",
    "slow_loading": "pages that need the network show a spinner first",
    "moving_rows": "a sponsored row appears a moment after a list has loaded",
    "new_layout": "apps have been updated and moved some of their widgets",
    "dark": "dark theme",
    "font": "larger type",
    "shuffled_icons": "the launcher's icons are in another order",
    "three_buttons": "back, home and recents instead of gestures",
    "low_battery": "the battery is nearly empty, and the phone says so",
    "crash": "an app crashes once when it is opened",
    "not_responding": "an app does not respond once when it is opened",
}
NETWORK_APPS = frozenset({"browser", "store", "maps", "mail", "photos", "music"})


def check_names(names: tuple[str, ...]) -> None:
    """Refuse variations that do not exist."""
    for name in names:
        if name not in VARIATIONS:
            raise UnknownNameError("variation", name, VARIATIONS)


def _rng(phone: Handset, *what: str) -> Random:
    return derive_random(phone.system.seed, "variation", *what)


def prepare(phone: Handset) -> None:
    """What shows from the start."""
    names, settings = phone.system.variations, phone.settings
    check_names(tuple(names))
    settings.wallpaper = _rng(phone, "wallpaper").randrange(4)
    if "dark" in names:
        settings.dark_theme = True
    if "font" in names:
        settings.font_percent = 115
    if "three_buttons" in names:
        settings.three_buttons = True
    if "low_battery" in names:
        settings.battery = _rng(phone, "battery").randint(5, 14)
        phone.system.due["low_battery"] = phone.system.time_s + _rng(phone, "low").randint(1, 4)


def on_open(phone: Handset, app_id: str, asks_for: str) -> None:
    """What an app shows when it is opened for the first time."""
    system = phone.system
    if app_id in system.visited or app_id == "launcher":
        return
    system.visited.append(app_id)
    names, rng = system.variations, _rng(phone, "open", app_id)
    if "rate" in names and rng.random() < 0.4:
        system.popups.append(Page("system", "rate", app_id))
    if "ads" in names and rng.random() < 0.4:
        system.popups.append(Page("system", "ad", str(rng.randrange(6))))
    if "permissions" in names and asks_for:
        system.popups.append(Page("system", "permission", f"{app_id}:{asks_for}"))
    for trouble in ("crash", "not_responding"):
        if trouble in names and trouble not in system.due and rng.random() < 0.5:
            system.due[trouble] = -1.0
            system.popups.append(Page("system", trouble, app_id))


def on_page(phone: Handset, page: Page) -> None:
    """What happens when a page is opened."""
    system = phone.system
    if "slow_loading" in system.variations and page.app in NETWORK_APPS:
        page.ready_s += _rng(phone, "slow", page.app, page.name, page.arg).choice([0, 2, 4])
    if "cookies" not in system.variations or page.app != "browser" or not page.name.startswith("shop_"):
        return
    site = "site:" + page.name.split("_")[1]
    if site not in system.visited:
        system.visited.append(site)
        system.popups.append(Page("system", "cookies", site))


def on_step(phone: Handset) -> None:
    """What happens by itself as time goes on."""
    system = phone.system
    when = system.due.get("low_battery", -1.0)
    if 0 <= when <= system.time_s:
        system.due["low_battery"] = -1.0
        system.popups.append(Page("system", "low_battery"))


def loading_view() -> View:
    """A page that is not there yet."""
    spinner = Box(
        (Icon("loading", 160, "primary"), Text("Loading…", 48, "text2", align="center")),
        gap=40,
        pad=(48, 860, 48, 40),
        align="center",
    )
    return View(body=(spinner,))

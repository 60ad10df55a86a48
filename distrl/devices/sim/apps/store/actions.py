"""What buttons of the store do."""

from distrl.devices.sim.app import Ui
from distrl.devices.sim.apps.store.state import StoreState


def install(ui: Ui, name: str) -> None:
    """Put an app on the phone; a paid one asks first."""
    state = ui.get(StoreState)
    if state.find(name).price and ui.page.name != "buy":
        ui.go("buy", name)
        return
    if ui.page.name == "buy":
        ui.back()
    if name not in state.installed:
        state.installed.append(name)
    ui.toast(f"{name} installed")
    ui.notify(f"{name} is installed", "Tap to open the store")


def uninstall(ui: Ui, name: str) -> None:
    """Take an app off the phone."""
    state = ui.get(StoreState)
    for names in (state.installed, state.updates):
        if name in names:
            names.remove(name)
    ui.back()
    ui.toast(f"{name} uninstalled")


def update(ui: Ui, name: str) -> None:
    """Bring an app up to date."""
    state = ui.get(StoreState)
    if name in state.updates:
        state.updates.remove(name)
        ui.toast(f"{name} updated")


def update_all(ui: Ui) -> None:
    """Bring all apps up to date."""
    ui.get(StoreState).updates.clear()
    ui.toast("All apps are up to date")


def toggle_wish(ui: Ui, name: str) -> None:
    """On the wish list, or off it."""
    wishes = ui.get(StoreState).wish_list
    if name in wishes:
        wishes.remove(name)
        ui.toast("Removed from wish list")
    else:
        wishes.append(name)
        ui.toast("Added to wish list")


def toggle_auto_update(ui: Ui) -> None:
    """Whether apps update by themselves."""
    state = ui.get(StoreState)
    state.auto_update = not state.auto_update


def start_review(ui: Ui, name: str, stars: int) -> None:
    """Open the review page with some stars already given."""
    ui.go("review", name)
    ui.phone.top().chosen["stars"] = stars


def post_review(ui: Ui, name: str) -> None:
    """Publish stars and words."""
    state = ui.get(StoreState)
    stars = ui.chosen("stars", 0)
    if not stars:
        ui.toast("Tap a star first")
        return
    state.my_ratings[name] = stars
    if ui.typed("review").strip():
        state.my_reviews[name] = ui.typed("review").strip()
    ui.back()
    ui.toast("Thanks for your review")


def find(ui: Ui) -> None:
    """Open the search page, ready to type."""
    ui.go("search")
    ui.focus("query")

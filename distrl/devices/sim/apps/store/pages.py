"""Where apps are found: the front page, search, categories, and what is on the phone."""

import distrl.devices.sim.apps.store.actions as actions
import distrl.devices.sim.apps.store.parts as parts
from distrl.devices.sim.app import Ui, choose, do, go
from distrl.devices.sim.apps.store.catalogue import CATEGORIES, StoreApp
from distrl.devices.sim.apps.store.state import StoreState
from distrl.devices.sim.nodes import Box, Icon, Text, View
from distrl.devices.sim.widgets import (
    EDGE,
    badge,
    bar,
    bottom_nav,
    button,
    chips,
    empty,
    icon_button,
    row,
    section,
    tabs,
    toggle,
)

HEADS = ("For you", "Top charts", "Categories")


def _nav(ui: Ui) -> Box:
    here = ui.page.name
    old = len(ui.get(StoreState).updates)
    mine = f"My apps ({old})" if old else "My apps"
    items = [
        ("shopping_outline", "Discover", here == "home", do(_switch, "home")),
        ("magnify", "Search", here == "search", do(actions.find)),
        ("apps", mine, here == "mine", do(_switch, "mine")),
    ]
    return bottom_nav(*(items[::-1] if ui.has("new_layout") else items))


def _switch(ui: Ui, name: str) -> None:
    if ui.page.name == "home":
        if name != "home":
            ui.go(name)
    elif name == "home":
        ui.back()
    else:
        ui.replace(name)


def _search_bar() -> Box:
    words = Box((Text("Search apps and games", 48, "text2"),), grow=1)
    field = Box(
        (Icon("magnify"), words, Icon("microphone", 66)),
        row=True,
        gap=28,
        pad=(40, 20, 40, 20),
        height=132,
        fill="field",
        radius=66,
        tap=do(actions.find),
        kind="field",
        label="Search apps and games",
        id="search",
    )
    return Box((field,), pad=(EDGE, 16, EDGE, 16))


def home(ui: Ui) -> View:
    """The front page."""
    state = ui.get(StoreState)
    shown = ui.chosen("tab", HEADS[0])
    heads = tuple((name, name == shown, choose("tab", name)) for name in HEADS)
    best = sorted(state.catalogue, key=lambda a: (-state.score(a.name), a.name))
    if shown == "Top charts":
        body: tuple[Box, ...] = tuple(parts.app_row(ui, a, rank=k) for k, a in enumerate(best[:20], start=1))
    elif shown == "Categories":
        body = tuple(
            row(
                name,
                _count(state, name),
                lead=badge(icon, color),
                trail=Icon("chevron_right"),
                tap=go("category", name),
            )
            for name, (icon, color) in CATEGORIES.items()
        )
    else:
        body = _for_you(ui, best)
    return View(bar=Box((_search_bar(), tabs(*heads))), body=(Box(height=12), *body), bottom=_nav(ui))


def _count(state: StoreState, name: str) -> str:
    return f"{sum(a.category == name for a in state.catalogue)} apps"


def _for_you(ui: Ui, best: list[StoreApp]) -> tuple[Box, ...]:
    games = [a for a in best if a.category == "Games"]
    new = [a for a in best if a.name not in ui.get(StoreState).installed and a.category != "Games"]
    return (
        parts.featured(best[4]),
        section("Suggested for you"),
        parts.shelf(ui, new[:3]),
        section("Games people like"),
        parts.shelf(ui, games[:3]),
        section("New this week"),
        parts.shelf(ui, new[6:9]),
        parts.shelf(ui, new[9:12]),
    )


def search(ui: Ui) -> View:
    """Apps by name, category or developer."""
    state = ui.get(StoreState)
    query = ui.typed("query").casefold().strip()
    found = [a for a in state.catalogue if query in f"{a.name} {a.category} {a.developer}".casefold()]
    found.sort(key=lambda a: (query not in a.name.casefold(), -state.score(a.name), a.name))
    field = Box((ui.field("query", "Search apps and games", icon="magnify", submit=do(Ui.blur)),), grow=1)
    top = Box(
        (icon_button("arrow_left", "Back", do(Ui.back, 1), id="up"), field), row=True, pad=(16, 16, EDGE, 16), gap=12
    )
    if not query:
        ideas = tuple(
            row(name, lead=Icon("trending_up"), tap=do(_look_for, name))
            for name in ("Puzzle", "Sleep", "Budget", "Recipes", "Bikes")
        )
        return View(bar=top, body=(section("Popular searches"), *ideas), bottom=_nav(ui))
    rows = tuple(parts.app_row(ui, a) for a in found)
    if rows and ui.has("moving_rows") and ui.age_s >= 2:
        rows = (parts.sponsored_row(next(a for a in state.catalogue if a not in found[:1])), *rows)
    return View(bar=top, body=rows or (empty("magnify_close", f"No apps for “{ui.typed('query')}”"),), bottom=_nav(ui))


def _look_for(ui: Ui, words: str) -> None:
    ui.fill("query", words)
    ui.blur()


def category(ui: Ui) -> View:
    """All apps of one kind, in the order asked for."""
    state = ui.get(StoreState)
    order = ui.chosen("order", "Popular")
    found = [a for a in state.catalogue if a.category == ui.arg]
    if order == "Top rated":
        found.sort(key=lambda a: (-state.score(a.name), a.name))
    elif order == "Small size":
        found.sort(key=lambda a: (a.size_mb, a.name))
    heads = chips(*((name, name == order, choose("order", name)) for name in ("Popular", "Top rated", "Small size")))
    find = icon_button("magnify", "Search", do(actions.find), id="search")
    return View(bar=bar(ui.arg, find), body=(heads, *(parts.app_row(ui, a) for a in found)))


def mine(ui: Ui) -> View:
    """What is on this phone, what is old, and what one would like to have."""
    state = ui.get(StoreState)
    names = ["Updates", "Installed", "Wish list"]
    if ui.has("new_layout"):
        names = ["Installed", "Updates", "Wish list"]
    shown = ui.chosen("tab", names[0])
    heads = tabs(*((name, name == shown, choose("tab", name)) for name in names))
    by_tab = {"Updates": state.updates, "Installed": state.installed, "Wish list": state.wish_list}
    apps = [state.find(name) for name in by_tab[shown]]
    marks = {"Updates": parts.update_pill, "Installed": parts.uninstall_mark}
    rows = tuple(parts.app_row(ui, a, button=marks[shown](a) if shown in marks else None) for a in apps)
    if shown == "Updates":
        auto = toggle(
            "Update automatically", state.auto_update, do(actions.toggle_auto_update), subtitle="Over Wi-Fi only"
        )
        rows = ((*_update_head(state), *rows) if rows else (_all_good(),)) + (auto,)
    body = rows or (empty("bookmark_outline", "Nothing here yet"),)
    find = icon_button("magnify", "Search", do(actions.find), id="search")
    return View(bar=Box((bar("My apps", find), heads)), body=body, bottom=_nav(ui))


def _update_head(state: StoreState) -> tuple[Box, ...]:
    count = len(state.updates)
    words = Text(f"{count} update{'s' if count > 1 else ''} available", 50, weight="medium")
    total = sum(state.find(n).size_mb for n in state.updates) // 3
    left = Box((words, Text(f"{total} MB to download", 44, "text2")), gap=4, grow=1)
    return (
        Box((left, button("Update all", do(actions.update_all), id="update_all")), row=True, pad=(EDGE, 28, EDGE, 20)),
    )


def _all_good() -> Box:
    return Box(
        (Icon("check_decagram", 200, "success"), Text("All apps are up to date", 50, "text2", align="center")),
        gap=32,
        pad=(EDGE, 200, EDGE, 160),
        align="center",
    )

"""Maps: a town to look around in, places to find, save and call, and ways to get there."""

from distrl.devices.sim.app import App, Ui, choose, do, go
from distrl.devices.sim.apps.maps_state import KINDS, MODES, MapsState, Place, Route, fresh
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Picture, Text, View
from distrl.devices.sim.widgets import EDGE, badge, bar, bottom_nav, button, empty, icon_button, row, section, tabs

WIDTH = 1080


def over(below: Picture, *above: Node) -> Box:
    """A picture with things on it: the second child starts where the first does."""
    return Box((below, Box(above, height=below.height)), gap=-below.height, height=below.height)


def _spot(x: int, y: int, node: Node) -> Box:
    """Something at a place on the map, from where the last one ended."""
    return Box((node,), pad=(x, y, 0, 0), row=True)


def _pin(place: Place) -> Box:
    icon, color = place.look
    disc = Box(
        (Icon(icon, 54, "#FFFFFF"),),
        width=96,
        height=96,
        radius=48,
        fill=color,
        border="#FFFFFF",
        align="center",
        justify="center",
    )
    return Box(
        (disc, Text(place.name, 42, "#202124", "medium")), row=True, gap=10, tap=go("place", place.name), kind="pin"
    )


def _nav(ui: Ui) -> Box:
    here = ui.page.name
    items = [
        ("map_marker_outline", "Explore", here == "home", do(_switch, "home")),
        ("bookmark_outline", "Saved", here == "saved", do(_switch, "saved")),
    ]
    return bottom_nav(*(items[::-1] if ui.has("new_layout") else items))


def _switch(ui: Ui, name: str) -> None:
    if name != ui.page.name:
        if name == "home":
            ui.back()
        else:
            ui.go(name)


def _chip(words: str, icon: str, color: str, tap: Do, *, id: str = "") -> Box:
    return Box(
        (Icon(icon, 54, color), Text(words, 44, "text", "medium")),
        row=True,
        gap=14,
        pad=(28, 16, 32, 16),
        height=100,
        radius=50,
        border="outline",
        tap=tap,
        kind="chip",
        id=id,
    )


def _search(ui: Ui) -> None:
    ui.go("search")
    ui.focus("query")


def home(ui: Ui) -> View:
    """The map around the phone."""
    state = ui.get(MapsState)
    field = Box(
        (Icon("map_marker", 72, "error"), Box((Text("Search here", 48, "text2"),), grow=1), Icon("microphone", 66)),
        row=True,
        gap=28,
        pad=(40, 20, 40, 20),
        height=132,
        fill="field",
        radius=66,
        tap=do(_search),
        kind="field",
        label="Search here",
        id="search",
    )
    chips = [_chip(name, icon, color, go("category", name)) for name, (icon, color) in list(KINDS.items())[:2]]
    chips.append(_chip("More", "dots_horizontal", "text2", go("categories"), id="categories"))
    top = Box((Box((field,), pad=(EDGE, 16, EDGE, 12)), Box(tuple(chips), row=True, gap=16, pad=(EDGE, 4, EDGE, 20))))
    near = sorted(state.places, key=lambda p: p.distance_m)[:4]
    me = Box(
        (Box(width=48, height=48, radius=24, fill="#1A73E8"),),
        width=84,
        height=84,
        radius=42,
        fill="#FFFFFF",
        align="center",
        justify="center",
    )
    marks = [
        _spot(x, y, _pin(p)) for (x, y), p in zip(((90, 160), (520, 170), (140, 190), (430, 160)), near, strict=True)
    ]
    town = over(
        Picture("map", "satellite" if state.satellite else "town", WIDTH, 1730, 0),
        *marks[:2],
        _spot(500, 130, me),
        *marks[2:],
    )
    return View(bar=top, body=(town,), bottom=_nav(ui))


def _place_row(ui: Ui, place: Place) -> Box:
    icon, color = place.look
    stars = Box(
        (
            Text(f"{place.rating:.1f}", 44, "text2"),
            Icon("star", 42, "star"),
            Text(f"({place.reviews})  {place.distance}", 44, "text2"),
        ),
        row=True,
        gap=8,
    )
    words = Box((Text(place.name, 50, weight="medium"), stars, Text(place.street, 44, "text2")), gap=2, grow=1)
    trail = (Icon("bookmark", 60, "primary"),) if place.name in ui.get(MapsState).saved else ()
    return Box(
        (badge(icon, color), words, *trail),
        row=True,
        gap=40,
        pad=(EDGE, 24, EDGE, 24),
        tap=go("place", place.name),
        kind="row",
        id=f"place:{place.name}",
    )


def _listed(ui: Ui, places: list[Place]) -> tuple[Box, ...]:
    rows = tuple(_place_row(ui, p) for p in places)
    if rows and ui.has("moving_rows") and ui.age_s >= 2:
        ad = row(
            "Nordwind Fuel",
            "Sponsored • Coffee and car wash",
            lead=badge("gas_station", "#5F6368"),
            tap=go("place", "Nordwind Fuel"),
            id="sponsored",
        )
        rows = (Box((ad,), fill="container"), *rows)
    return rows or (empty("map_search_outline", "No places found"),)


def search(ui: Ui) -> View:
    """Places by name, kind or street."""
    query = ui.typed("query").casefold().strip()
    places = ui.get(MapsState).places
    found = [p for p in places if query in f"{p.name} {p.kind} {p.street}".casefold()]
    found.sort(key=lambda p: (query not in p.name.casefold(), p.distance_m))
    field = Box((ui.field("query", "Search here", icon="magnify", submit=do(Ui.blur)),), grow=1)
    top = Box(
        (icon_button("arrow_left", "Back", do(Ui.back, 1), id="up"), field), row=True, pad=(16, 16, EDGE, 16), gap=12
    )
    if not query:
        near = sorted(places, key=lambda p: p.distance_m)[:5]
        return View(bar=top, body=(section("Nearby"), *(_place_row(ui, p) for p in near)))
    return View(bar=top, body=_listed(ui, found))


def categories(ui: Ui) -> View:
    """All kinds of places."""
    rows = tuple(
        row(name, lead=badge(icon, color), trail=Icon("chevron_right"), tap=go("category", name))
        for name, (icon, color) in KINDS.items()
    )
    return View(bar=bar("Categories"), body=rows)


def category(ui: Ui) -> View:
    """The places of one kind, nearest or best first."""
    order = ui.chosen("order", "Nearest")
    found = [p for p in ui.get(MapsState).places if p.kind == ui.arg]
    found.sort(key=lambda p: (p.distance_m, p.name) if order == "Nearest" else (-p.rating, p.name))
    heads = tabs(*((name, name == order, choose("order", name)) for name in ("Nearest", "Top rated")))
    return View(bar=Box((bar(ui.arg), heads)), body=_listed(ui, found))


def saved(ui: Ui) -> View:
    """The places one wants to find again."""
    state = ui.get(MapsState)
    rows = tuple(_place_row(ui, state.find(name)) for name in state.saved)
    return View(
        bar=bar("Saved places"), body=rows or (empty("bookmark_outline", "Nothing saved yet"),), bottom=_nav(ui)
    )


def _action(words: str, icon: str, tap: Do, *, id: str, strong: bool = False) -> Box:
    color = "on_primary" if strong else "on_tonal"
    return Box(
        (Icon(icon, 60, color), Text(words, 44, color, "medium", "center")),
        gap=4,
        pad=(8, 20, 8, 20),
        grow=1,
        radius=48,
        fill="primary" if strong else "tonal",
        align="center",
        tap=tap,
        id=id,
    )


def place(ui: Ui) -> View:
    """One place: where it is, when it is open, and what to do about it."""
    state = ui.get(MapsState)
    here = state.find(ui.arg)
    marker = Box((Icon("map_marker", 180, "#D93025"),), pad=(450, 200, 0, 0), row=True)
    town = over(Picture("map", here.street, WIDTH, 640, 0), marker)
    stars = tuple(
        Icon(
            "star" if here.rating >= k - 0.25 else "star_half_full" if here.rating >= k - 0.75 else "star_outline",
            48,
            "star",
        )
        for k in range(1, 6)
    )
    score = Box(
        (Text(f"{here.rating:.1f}", 46, "text2"), *stars, Text(f"({here.reviews})", 46, "text2")), row=True, gap=8
    )
    title = Box(
        (Text(here.name, 72, lines=2), score, Text(f"{here.kind} • {here.distance}", 46, "text2")),
        gap=10,
        pad=(EDGE, 32, EDGE, 8),
    )
    is_saved = here.name in state.saved
    mark = ("Saved", "bookmark") if is_saved else ("Save", "bookmark_outline")
    actions = Box(
        (
            _action("Directions", "directions", go("route", here.name), id="directions", strong=True),
            _action(*mark, do(_save, here.name), id="save"),
            _action("Call", "phone", do(_call, here.name), id="call"),
        ),
        row=True,
        gap=20,
        pad=(EDGE, 24, EDGE, 24),
    )
    facts = (
        row(here.street, lead=Icon("map_marker_outline", 72, "primary")),
        row("Open now", f"Closes at {here.closes}:00", lead=Icon("clock_outline", 72, "primary")),
        row(here.phone, lead=Icon("phone_outline", 72, "primary")),
    )
    return View(bar=bar(here.name), body=(town, title, actions, *facts))


def _save(ui: Ui, name: str) -> None:
    kept = ui.get(MapsState).saved
    if name in kept:
        kept.remove(name)
        ui.toast("Removed from saved places")
    else:
        kept.append(name)
        ui.toast("Saved")


def _call(ui: Ui, name: str) -> None:
    ui.get(MapsState).calls.append(name)
    ui.toast(f"Calling {name}…")


def _way() -> tuple[Node, ...]:
    """A blue line along three streets, from a dot to a pin."""
    line = "#1A73E8"
    pin = Box((Icon("map_marker", 132, "#D93025"),), pad=(728, 40, 0, 0), row=True, height=172)
    parts = ((800, 0, 24, 120), (400, 0, 424, 24), (400, 0, 24, 240), (220, 0, 204, 24))
    drawn = tuple(
        Box((Box(width=w, height=h, radius=12, fill=line),), pad=(x, y, 0, 0), row=True) for x, y, w, h in parts
    )
    start = Box((Box(width=60, height=60, radius=30, fill="#FFFFFF", border=line),), pad=(200, 0, 0, 0), row=True)
    return (pin, *drawn, start)


def _steps(there: Place, mode: str) -> tuple[Box, ...]:
    first, note, icon = ("Turn right onto Market Street", "300 m", "arrow_right_top")
    if mode == "Transit":
        first, note, icon = ("Bus 12 from Market Street", "Every 8 minutes", "bus")
    return (
        row("Your location", "Harbor Road 1", lead=Icon("circle_slice_8", 60, "primary")),
        row(first, note, lead=Icon(icon, 60)),
        row(f"Follow {there.street}", there.distance, lead=Icon("arrow_up", 60)),
        row(there.name, "Destination", lead=Icon("map_marker", 60, "error")),
    )


def route(ui: Ui) -> View:
    """The way to a place, by car, bus, bike or on foot."""
    state = ui.get(MapsState)
    there = state.find(ui.arg)
    mode = ui.chosen("mode", "Drive")
    names = list(MODES)[::-1] if ui.has("new_layout") else list(MODES)
    heads = tabs(*((name, name == mode, choose("mode", name)) for name in names))
    going = state.route is not None and (state.route.to, state.route.mode) == (there.name, mode)
    icon = MODES[mode][0]
    big = Box(
        (
            Icon(icon, 84, "primary"),
            Text(f"{there.minutes(mode)} min", 72, "primary", "medium"),
            Text(f"({there.distance})", 54, "text2"),
        ),
        row=True,
        gap=24,
        pad=(EDGE, 32, EDGE, 16),
    )
    start = button(
        "Stop" if going else "Start",
        do(_stop) if going else do(_start, mode),
        icon="close" if going else "navigation_variant",
        id="start",
        style="danger" if going else "filled",
    )
    foot = Box((Box((start,), grow=1),), row=True, pad=(EDGE, 20, EDGE, 20), fill="container")
    town = over(Picture("map", there.street, WIDTH, 700, 0), *_way())
    return View(bar=Box((bar(f"To {there.name}"), heads)), body=(town, big, *_steps(there, mode)), bottom=foot)


def _start(ui: Ui, mode: str) -> None:
    ui.get(MapsState).route = Route(ui.arg, mode)
    ui.toast(f"Navigating to {ui.arg}")


def _stop(ui: Ui) -> None:
    ui.get(MapsState).route = None
    ui.toast("Navigation stopped")


APP = App(
    id="maps",
    name="Maps",
    icon="map_marker",
    color="#1E8E5A",
    fresh=fresh,
    asks_for="location",
    pages={
        "home": home,
        "search": search,
        "categories": categories,
        "category": category,
        "saved": saved,
        "place": place,
        "route": route,
    },
)
ORDER = 35

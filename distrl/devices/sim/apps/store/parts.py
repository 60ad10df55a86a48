"""What pages of the store are made of: icons, rows and panels of apps."""

import distrl.devices.sim.apps.store.actions as actions
from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.apps.store.catalogue import StoreApp
from distrl.devices.sim.apps.store.state import StoreState
from distrl.devices.sim.nodes import Box, Icon, Node, Text
from distrl.devices.sim.widgets import EDGE, icon_button


def tile(app: StoreApp, side: int = 156) -> Box:
    """The icon of an app."""
    icon = Icon(app.icon, side * 5 // 9, "#FFFFFF")
    return Box((icon,), width=side, height=side, radius=side // 4, fill=app.color, align="center", justify="center")


def stars_line(ui: Ui, app: StoreApp) -> Box:
    """Rating and size in small type."""
    state = ui.get(StoreState)
    score: tuple[Node, ...] = (Text(f"{state.score(app.name):.1f}", 42, "text2"), Icon("star", 42, "star"))
    rest = Text(f"  {app.price or f'{app.size_mb} MB'}", 42, "text2")
    return Box((*score, rest), row=True, gap=8)


def update_pill(app: StoreApp) -> Box:
    """The small button at the end of a row."""
    return Box(
        (Text("Update", 44, "on_primary", "medium", "center"),),
        row=True,
        justify="center",
        pad=(40, 16, 40, 16),
        height=104,
        radius=52,
        fill="primary",
        tap=do(actions.update, app.name),
        label=f"Update {app.name}",
        id=f"update:{app.name}",
    )


def uninstall_mark(app: StoreApp) -> Box:
    """A quick way to the question whether an app may go."""
    return icon_button(
        "delete_outline", f"Uninstall {app.name}", go("uninstall", app.name), color="text2", id=f"uninstall:{app.name}"
    )


def app_row(ui: Ui, app: StoreApp, *, rank: int = 0, button: Box | None = None) -> Box:
    """An app in a list; without a button, those on the phone have a tick."""
    lead: tuple[Node, ...] = (Text(str(rank), 48, "text2", "medium"),) if rank else ()
    note = Text(f"{app.developer} • {app.category}", 42, "text2")
    words = Box((Text(app.name, 48, weight="medium"), note, stars_line(ui, app)), gap=2, grow=1)
    trail: tuple[Node, ...] = (button,) if button else ()
    if not button and app.name in ui.get(StoreState).installed:
        trail = (Icon("check_circle_outline", 60, "success"),)
    return Box(
        (*lead, tile(app), words, *trail),
        row=True,
        gap=36,
        pad=(EDGE, 24, EDGE, 24),
        tap=go("app", app.name),
        kind="row",
        id=f"row:{app.name}",
    )


def sponsored_row(app: StoreApp) -> Box:
    """What pushes a list down."""
    words = Box((Text(app.name, 48, weight="medium"), Text("Sponsored • Try it today", 42, "text2")), gap=4, grow=1)
    badge = Box((Text("Ad", 42, "success", "bold"),), border="success", radius=12, pad=(16, 4, 16, 4), row=True)
    return Box(
        (tile(app), words, badge),
        row=True,
        gap=36,
        pad=(EDGE, 28, EDGE, 28),
        fill="container",
        tap=go("app", app.name),
        kind="row",
        id="sponsored",
    )


def shelf(ui: Ui, apps: list[StoreApp]) -> Box:
    """Three apps side by side."""
    cells = tuple(
        Box(
            (
                tile(app, 252),
                Text(app.name, 44, lines=2),
                Box(
                    (Text(f"{ui.get(StoreState).score(app.name):.1f}", 42, "text2"), Icon("star", 38, "star")),
                    row=True,
                    gap=8,
                ),
            ),
            gap=14,
            grow=1,
            tap=go("app", app.name),
            kind="card",
            label=app.name,
        )
        for app in apps
    )
    return Box(cells, row=True, gap=40, pad=(EDGE, 12, EDGE, 20))


def featured(app: StoreApp) -> Box:
    """A large coloured panel."""
    words = Box(
        (
            Text("Editor's choice", 42, "#FFFFFF", "medium"),
            Text(app.name, 72, "#FFFFFF", "bold", lines=2),
            Text(f"{app.category} by {app.developer}", 44, "#FFFFFF"),
        ),
        gap=12,
        grow=1,
    )
    art = Icon(app.icon, 260, "#FFFFFF")
    panel = Box(
        (words, art),
        row=True,
        gap=24,
        pad=(56, 56, 48, 56),
        fill=app.color,
        radius=64,
        tap=go("app", app.name),
        kind="card",
    )
    return Box((panel,), pad=(EDGE, 20, EDGE, 12))

"""The launcher: two pages of icons, a dock, the app drawer with its search, and the search bar."""

from distrl.devices.sim.app import App, Tile, Ui, back, choose, do, go
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import EDGE, paragraph

PER_PAGE = 12
DOCK = 4
COLUMNS = 4


def _tile(tile: Tile, color: str) -> Box:
    icon = Box(
        (Icon(tile.icon, 96, "#FFFFFF"),),
        width=168,
        height=168,
        radius=56,
        fill=tile.color,
        align="center",
        justify="center",
    )
    return Box(
        (icon, Text(tile.name, 44, color, align="center", lines=2)),
        gap=12,
        grow=1,
        align="center",
        tap=tile.tap,
        kind="app",
        label=tile.name,
        id=f"app:{tile.name}",
    )


def grid(tiles: tuple[Tile, ...], color: str) -> tuple[Box, ...]:
    """Icons in rows of four."""
    lines = []
    for start in range(0, len(tiles), COLUMNS):
        cells: tuple[Node, ...] = tuple(_tile(tile, color) for tile in tiles[start : start + COLUMNS])
        cells += tuple(Box(grow=1) for _ in range(COLUMNS - len(cells)))
        lines.append(Box(cells, row=True, pad=(36, 28, 36, 28)))
    return tuple(lines)


def _dates(ui: Ui) -> Box:
    days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    day = int(ui.now_s // 86400)
    words = f"{days[day % 7]}, Nov {16 + day}"
    weather = Box((Icon("weather_partly_cloudy", 72, "#FFE082"), Text("11°C  Lisbon", 50, "#FFFFFF")), row=True, gap=24)
    return Box((Text(words, 72, "#FFFFFF"), weather), gap=16, pad=(84, 60, 84, 40), height=300)


def home(ui: Ui) -> View:
    """The home screens."""
    tiles = ui.phone.tiles()
    dock, rest = tiles[:DOCK], tiles[DOCK:]
    shown = ui.chosen("page", 0)
    mine = rest[shown * PER_PAGE : (shown + 1) * PER_PAGE]
    dots = tuple(Box(width=20, height=20, radius=10, fill="#FFFFFF" if k == shown else "#8FA3CC") for k in range(2))
    search = Box(
        (
            Icon("magnify", 72, "#4A5A80"),
            Box((Text("Search", 50, "#5B5762"),), grow=1),
            Icon("microphone", 66, "#4A5A80"),
        ),
        row=True,
        gap=28,
        pad=(40, 20, 40, 20),
        height=132,
        radius=66,
        fill="#FFFFFF",
        tap=do(_search),
        kind="field",
        label="Search",
        id="search",
    )
    bottom = Box(
        (
            Box(dots, row=True, gap=20, justify="center", pad=(0, 0, 0, 20)),
            *grid(dock, "#FFFFFF"),
            Box((search,), pad=(60, 12, 60, 24)),
        )
    )
    return View(
        body=(_dates(ui), *grid(mine, "#FFFFFF")),
        bottom=bottom,
        fill=f"wallpaper{ui.settings.wallpaper}",
        swipe_left=choose("page", 1),
        swipe_right=choose("page", 0),
        swipe_up=go("drawer"),
    )


def _search(ui: Ui) -> None:
    ui.go("drawer")
    ui.focus("query")


def drawer(ui: Ui) -> View:
    """All apps by name, and a search for them."""
    query = ui.typed("query").casefold()
    tiles = sorted(ui.phone.tiles(), key=lambda t: t.name.casefold())
    found = tuple(t for t in tiles if query in t.name.casefold())
    field = Box((ui.field("query", "Search apps", icon="magnify", submit=do(_open_first)),), pad=(EDGE, 16, EDGE, 16))
    body = grid(found, "text") if found else (paragraph(f"No apps match “{ui.typed('query')}”", color="text2"),)
    return View(body=body, bar=field, swipe_down=back())


def _open_first(ui: Ui) -> None:
    query = ui.typed("query").casefold()
    found = sorted((t for t in ui.phone.tiles() if query in t.name.casefold()), key=lambda t: t.name.casefold())
    if query and found:
        found[0].tap.fn(ui, *found[0].tap.args)


APP = App(
    id="launcher", name="Launcher", icon="home", color="#455A64", pages={"home": home, "drawer": drawer}, hidden=True
)

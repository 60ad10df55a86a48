"""What surrounds every web page: the address bar, and going from one address to another."""

from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.apps.browser.sites import destination, url_of
from distrl.devices.sim.apps.browser.state import BrowserState
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Text
from distrl.devices.sim.widgets import icon_button

MAX_HISTORY = 50


def visit(ui: Ui, page: str, arg: str = "") -> None:
    """Open a page and remember it in the history."""
    remember(ui, url_of(page, arg))
    ui.go(page, arg)


def remember(ui: Ui, url: str) -> None:
    """Put an address at the top of the history."""
    state = ui.get(BrowserState)
    if url:
        state.history = [url, *(u for u in state.history if u != url)][:MAX_HISTORY]


def to(page: str, arg: str = "") -> Do:
    """Touch to visit a page."""
    return do(visit, page, arg)


def navigate(ui: Ui, typed: str) -> None:
    """Go where this text leads: to a site, or to the results of a search."""
    if typed.strip():
        visit(ui, *destination(typed))


def submit_field(ui: Ui, name: str) -> None:
    """Go where the words in a field lead, and empty it."""
    typed = ui.typed(name)
    ui.fill(name, "")
    navigate(ui, typed)


def start_over(ui: Ui, name: str) -> None:
    """Put the cursor into a field whose old words go when new ones are typed."""
    if ui.phone.system.focus != name:
        ui.fill(name, "")
    ui.focus(name)


def web_field(ui: Ui, name: str, shown: str, hint: str, *, icon: str) -> Box:
    """A field for addresses and searches: it shows where one is, and what is typed replaces that."""
    typed, focused = ui.typed(name), ui.phone.system.focus == name
    if focused:
        words = Text(typed + "|" if typed else "|" + hint, 46, "text" if typed else "text2")
    else:
        words = Text(typed or shown or hint, 46, "text" if typed or shown else "text2")
    children: tuple[Node, ...] = (Icon(icon, 54), Box((words,), grow=1))
    if focused and typed:
        clear = Box((Icon("close_circle", 60),), tap=do(_clear, name), id=f"clear:{name}", label="Clear", kind="icon")
        children += (clear,)
    return Box(
        children,
        row=True,
        gap=20,
        pad=(32, 12, 24, 12),
        height=120,
        grow=1,
        fill="field",
        radius=60,
        border="primary" if focused else "",
        tap=do(start_over, name),
        submit=do(submit_field, name),
        id=name,
        kind="field",
        label=typed if focused else typed or shown or hint,
        editable=True,
        focused=focused,
    )


def _clear(ui: Ui, name: str) -> None:
    ui.fill(name, "")
    ui.focus(name)


def address_bar(ui: Ui, url: str) -> Box:
    """The bar of a web page: home, the address, the tabs and the menu."""
    field = web_field(ui, "url", url, "Search or type address", icon="lock_outline" if url else "magnify")
    if ui.phone.system.focus == "url":
        return Box((field,), row=True, pad=(32, 12, 32, 16), height=148, fill="web")
    home = icon_button("home_outline", "Home", go("home"), id="home", size=66)
    count = Box(
        (Text(str(1 + len(ui.get(BrowserState).tabs)), 42, "text", "medium", "center"),),
        width=66,
        height=66,
        radius=16,
        border="text",
        justify="center",
    )
    tabs = Box(
        (count,), width=100, height=114, align="center", justify="center", tap=go("tabs"), id="tabs", label="Tabs"
    )
    menu = icon_button("dots_vertical", "Menu", go("menu"), id="menu", size=66)
    items = (menu, field, tabs, home) if ui.has("new_layout") else (home, field, tabs, menu)
    return Box(items, row=True, gap=8, pad=(12, 12, 8, 16), height=148, fill="web")

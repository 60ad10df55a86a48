"""What the pages of Settings are made of: panels of rows, switches by field, levels that slide or are typed."""

import msgspec

from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Text, View
from distrl.devices.sim.widgets import bar, button, dialog, radio, row, slider, toggle

LEVELS = {
    "Brightness": ("brightness", "brightness_6"),
    "Media volume": ("media_volume", "music_note"),
    "Call volume": ("call_volume", "phone"),
    "Ring volume": ("ring_volume", "phone_ring"),
    "Alarm volume": ("alarm_volume", "alarm"),
}
"""What can be set from 0 to 100: its field and its icon."""


def page(title: str, *blocks: Box, actions: tuple[Box, ...] = ()) -> View:
    """A page of Settings."""
    return View(bar=bar(title, *actions, fill="container"), body=(*blocks, Box(height=48)), fill="container")


def panel(*rows: Box) -> Box:
    """Rows that belong together, on a sheet with round corners."""
    return Box((Box(rows, fill="surface", radius=64, pad=(0, 8, 0, 8)),), pad=(32, 10, 32, 10))


def heading(title: str) -> Box:
    """The name of the panel below."""
    return Box((Text(title, 44, "primary", "medium"),), pad=(72, 36, 48, 10))


def hint(text: str) -> Box:
    """Small words that explain a page."""
    body = Box((Icon("information_outline", 66), Box((Text(text, 44, "text2", lines=5),), grow=1)), row=True, gap=32)
    return Box((body,), pad=(72, 24, 72, 24))


def link(title: str, subtitle: str, page_name: str, *, icon: str = "", arg: str = "") -> Box:
    """A row that opens another page."""
    return row(title, subtitle, lead=lead(icon), tap=go(page_name, arg), id=f"open:{page_name}")


def question(title: str, subtitle: str, page_name: str, field: str, *, icon: str = "") -> Box:
    """A row that opens a dialog to change what it shows."""
    return row(title, subtitle, lead=lead(icon), tap=asking(page_name, field), id=f"open:{page_name}")


def lead(icon: str) -> Node | None:
    """The icon before a row."""
    return Icon(icon, 72, "text2") if icon else None


def switch(ui: Ui, title: str, field: str, subtitle: str = "", *, icon: str = "") -> Box:
    """A switch for a field of the settings; its id is the field's name."""
    on = bool(getattr(ui.settings, field))
    made = toggle(title, on, do(flip, field), subtitle=subtitle, lead=lead(icon))
    return msgspec.structs.replace(made, id=field)


def flip(ui: Ui, field: str) -> None:
    """The other way round. Without Bluetooth nothing stays connected."""
    settings = ui.settings
    setattr(settings, field, not getattr(settings, field))
    if field == "bluetooth" and not settings.bluetooth:
        settings.connected = ""


def option(title: str, on: bool, tap: Do, subtitle: str = "") -> Box:
    """One of several choices; its id is its title."""
    return msgspec.structs.replace(radio(title, on, tap, subtitle=subtitle), id=f"choose:{title}")


def level(ui: Ui, title: str) -> Box:
    """A slider with its percentage, which can be touched to type another."""
    field, icon = LEVELS[title]
    percent = int(getattr(ui.settings, field))
    value = Box(
        (Text(f"{percent}%", 46, "on_tonal", "medium", "center"),),
        width=168,
        height=96,
        radius=48,
        fill="tonal",
        justify="center",
        tap=asking("level", "percent", title),
        label=f"{title}: {percent}%",
        id=f"level:{title}",
    )
    track = slider(title, percent, Do(set_level, (title,)), icon=icon).children[1]
    head = Box((Box((Text(title, 50),), grow=1), value), row=True)
    return Box((head, track), gap=8, pad=(48, 16, 48, 24))


def set_level(ui: Ui, title: str, percent: int) -> None:
    """Where the slider was touched."""
    setattr(ui.settings, LEVELS[title][0], percent)


def asking(page_name: str, field: str, arg: str = "") -> Do:
    """Touch to open a dialog that asks for something, with the keyboard up."""
    return do(_ask_for, page_name, field, arg)


def _ask_for(ui: Ui, page_name: str, field: str, arg: str) -> None:
    ui.go(page_name, arg)
    ui.focus(field)


def ask(ui: Ui, title: str, field: str, label: str, save: Do, *, words: str = "Save") -> View:
    """A dialog with one field and a button that keeps it."""
    return dialog(
        title,
        "",
        button("Cancel", do(Ui.back, 1), style="text", id="cancel"),
        button(words, save, style="text", id="save"),
        content=(Box((ui.field(field, label, submit=save),), pad=(64, 16, 64, 16)),),
    )


def level_dialog(ui: Ui) -> View:
    """Asks for a percentage."""
    return ask(ui, ui.arg, "percent", "0 to 100", do(save_level))


def save_level(ui: Ui) -> None:
    """Keep the typed percentage."""
    words = ui.typed("percent").strip().rstrip("%").strip()
    if not words.isdecimal() or int(words) > 100:
        ui.toast("Enter a number from 0 to 100")
        return
    ui.back()
    set_level(ui, ui.arg, int(words))
    ui.toast(f"{ui.arg} set to {int(words)}%")

"""What the apps about people share: how to say when something happened, and some widgets."""

from datetime import date, timedelta

import msgspec

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.nodes import Box, Do, Icon, Text
from distrl.devices.sim.widgets import EDGE

FIRST_DAY = date(2026, 11, 16)
DAY_S = 86_400


def day_of(time_s: float) -> date:
    """The date of a moment."""
    return FIRST_DAY + timedelta(days=int(time_s // DAY_S))


def clock(time_s: float) -> str:
    """The time of day, as 9:41."""
    minutes = int(time_s % DAY_S) // 60
    return f"{minutes // 60}:{minutes % 60:02d}"


def day_name(now_s: float, time_s: float) -> str:
    """Today, Yesterday, a weekday of the last days, or a date."""
    back = (day_of(now_s) - day_of(time_s)).days
    if back <= 0:
        return "Today"
    if back == 1:
        return "Yesterday"
    day = day_of(time_s)
    return f"{day:%A}" if back < 7 else f"{day:%b} {day.day}"


def when(now_s: float, time_s: float) -> str:
    """The time of day for today, else the day in short."""
    name = day_name(now_s, time_s)
    if name == "Today":
        return clock(time_s)
    return name[:3] if name.endswith("day") and name != "Yesterday" else name


def query_field(ui: Ui, hint: str, *, icon: str = "magnify", submit: Do | None = None) -> Box:
    """The field `query`; unlike other fields it can be cleared at any time, because it hides what does not match."""
    field = ui.field("query", hint, icon=icon, submit=submit)
    if field.focused or not ui.typed("query"):
        return field
    cross = Box((Icon("close", 60),), tap=do(_clear_query), id="clear:query", label="Clear search")
    return msgspec.structs.replace(field, children=(*field.children, cross))


def _clear_query(ui: Ui) -> None:
    ui.fill("query", "")


def search_field(ui: Ui, hint: str, *actions: Box, lead: Box | None = None) -> Box:
    """The search bar at the top of a main page, with icons beside it."""
    field = msgspec.structs.replace(query_field(ui, hint), grow=1)
    children = (lead, field, *actions) if lead else (field, *actions)
    return Box(children, row=True, gap=12, pad=(16 if lead else 40, 20, 16 if actions else 40, 20), fill="bg")


def round_action(icon: str, words: str, tap: Do, *, id: str, enabled: bool = True) -> Box:
    """A round button with a word below it."""
    color = "on_tonal" if enabled else "outline"
    disc = Box(
        (Icon(icon, 76, color),),
        width=216,
        height=128,
        radius=64,
        fill="tonal" if enabled else "container",
        align="center",
        justify="center",
    )
    name = Text(words, 42, "text" if enabled else "outline", "medium", "center")
    return Box((disc, name), gap=12, grow=1, align="center", tap=tap, id=id, label=words, enabled=enabled)


def label_field(ui: Ui, label: str, name: str, icon: str) -> Box:
    """A text field below its label, with an icon beside it."""
    words = Text(label, 42, "text2", "medium")
    return Box(
        (Icon(icon, 72), Box((words, ui.field(name, f"Add {label.lower()}")), gap=8, grow=1)),
        row=True,
        gap=36,
        pad=(EDGE, 14, EDGE, 14),
    )

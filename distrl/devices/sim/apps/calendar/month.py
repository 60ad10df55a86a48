"""The grid of a month: for the main page, and for picking a date."""

import calendar
import datetime
from collections.abc import Callable

from distrl.devices.sim.app import Ui, choose
from distrl.devices.sim.apps.calendar.state import CalendarState, today
from distrl.devices.sim.nodes import Box, Do, Node, Text
from distrl.devices.sim.widgets import icon_button

WEEKDAYS = ("M", "T", "W", "T", "F", "S", "S")


def shown_month(ui: Ui, start: datetime.date) -> datetime.date:
    """The first day of the month on this page, which was opened at `start`."""
    months = start.year * 12 + start.month - 1 + ui.chosen("month", 0)
    return datetime.date(months // 12, months % 12 + 1, 1)


def month_head(ui: Ui, first: datetime.date) -> Box:
    """The name of the month between two arrows."""
    at = ui.chosen("month", 0)
    return Box(
        (
            icon_button("chevron_left", "Previous month", choose("month", at - 1), id="previous"),
            Box((Text(f"{first:%B} {first.year}", 54, weight="medium", align="center"),), grow=1),
            icon_button("chevron_right", "Next month", choose("month", at + 1), id="next"),
        ),
        row=True,
        pad=(32, 0, 32, 8),
    )


def _cell(ui: Ui, day: datetime.date, month: int, chosen: str, tap: Do) -> Box:
    """A day of the grid with up to three dots for its events."""
    is_chosen, is_today = str(day) == chosen, day == today(ui)
    color = "on_primary" if is_chosen else "primary" if is_today else "text" if day.month == month else "outline"
    number = Text(str(day.day), 48, color, "medium" if is_chosen or is_today else "regular", "center")
    disc = Box(
        (number,),
        width=100,
        height=100,
        radius=50,
        fill="primary" if is_chosen else "",
        border="primary" if is_today and not is_chosen else "",
        justify="center",
    )
    events = ui.get(CalendarState).on(str(day))[:3]
    dots: tuple[Node, ...] = tuple(Box(width=16, height=16, radius=8, fill=e.color) for e in events) or (
        Box(height=16),
    )
    return Box(
        (disc, Box(dots, row=True, gap=6)),
        gap=6,
        grow=1,
        align="center",
        tap=tap,
        kind="day",
        id=f"day:{day}",
        label=f"{day.day} {day:%B}",
        checked=is_chosen,
    )


def month_grid(ui: Ui, first: datetime.date, chosen: str, touch: Callable[[str], Do]) -> tuple[Box, ...]:
    """Weekdays, then a block for each week."""
    names = tuple(Box((Text(name, 42, "text2", "medium", "center"),), grow=1) for name in WEEKDAYS)
    weeks = calendar.Calendar().monthdatescalendar(first.year, first.month)
    lines = tuple(
        Box(tuple(_cell(ui, day, first.month, chosen, touch(str(day))) for day in week), row=True, pad=(32, 6, 32, 6))
        for week in weeks
    )
    return (Box(names, row=True, pad=(32, 4, 32, 4)), *lines)

"""What one looks at: the month, the schedule, one event."""

import datetime

from distrl.devices.sim.app import Ui, choose, do, go
from distrl.devices.sim.apps.calendar.month import month_grid, month_head, shown_month
from distrl.devices.sim.apps.calendar.state import CalendarState, Event, in_words, minutes, today
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Text, View
from distrl.devices.sim.widgets import EDGE, bar, button, chips, dialog, divider, empty, fab, icon_button, row


def _event_row(event: Event) -> Box:
    words: tuple[Node, ...] = (Text(event.title, 50, weight="medium", lines=2),)
    if event.place:
        words += (Text(event.place, 44, "text2"),)
    time = Box((Text(event.time, 46, "text2"),), width=150)
    stripe = Box(width=12, height=100, radius=6, fill=event.color)
    panel = Box(
        (time, stripe, Box(words, gap=4, grow=1)),
        row=True,
        gap=24,
        pad=(32, 24, 32, 24),
        fill="container",
        radius=36,
        tap=go("event", event.title),
        kind="row",
        id=f"event:{event.title}",
    )
    return Box((panel,), pad=(32, 8, 32, 8))


def home(ui: Ui) -> View:
    """The month with the chosen day's agenda, or everything that comes."""
    shown = ui.chosen("view", "Month")
    names = ("Schedule", "Month") if ui.has("new_layout") else ("Month", "Schedule")
    heads = chips(*((name, name == shown, choose("view", name)) for name in names))
    day = ui.chosen("day", str(today(ui)))
    body = _month(ui, day) if shown == "Month" else _schedule(ui)
    now = icon_button("calendar_today", "Today", do(_show_today), id="today")
    add = go("new", day)
    if ui.has("new_layout"):
        plus = icon_button("plus", "Add event", add, id="add")
        return View(bar=Box((bar("Calendar", now, plus, up=False), heads)), body=body)
    return View(
        bar=Box((bar("Calendar", now, up=False), heads)), body=body, fab=fab("plus", "Add event", add, id="add")
    )


def _pick_day(date: str) -> Do:
    return choose("day", date)


def _month(ui: Ui, day: str) -> tuple[Box, ...]:
    first = shown_month(ui, today(ui))
    events = ui.get(CalendarState).on(day)
    none = Box(
        (Icon("calendar_check", 72, "outline"), Text("No events", 48, "text2")),
        row=True,
        gap=28,
        pad=(EDGE, 24, EDGE, 24),
    )
    title = Box((Text(in_words(day), 50, "primary", "medium"),), pad=(EDGE, 12, EDGE, 12))
    agenda = tuple(_event_row(e) for e in events) or (none,)
    return (month_head(ui, first), *month_grid(ui, first, day, _pick_day), divider(), title, *agenda)


def _schedule(ui: Ui) -> tuple[Box, ...]:
    state = ui.get(CalendarState)
    blocks: list[Box] = []
    for date in sorted({e.date for e in state.events if e.date >= str(today(ui))}):
        blocks.append(Box((Text(in_words(date), 46, "primary", "medium"),), pad=(EDGE, 28, EDGE, 8)))
        blocks += [_event_row(e) for e in state.on(date)]
    return tuple(blocks) or (empty("calendar_blank", "Nothing planned"),)


def _show_today(ui: Ui) -> None:
    ui.choose("month", 0)
    ui.choose("day", str(today(ui)))


def event(ui: Ui) -> View:
    """One event."""
    found = ui.get(CalendarState).find(ui.arg)
    if found is None:
        return View(bar=bar("Event"), body=(empty("calendar_remove", "This event was deleted"),))
    mark = Box(width=60, height=60, radius=20, fill=found.color)
    title = Box((mark, Box((Text(found.title, 72, lines=3),), grow=1)), row=True, gap=36, pad=(EDGE, 40, EDGE, 32))
    end = minutes(found.time) + 60
    until = datetime.time(end // 60 % 24, end % 60)
    rows = [
        row(
            in_words(found.date, year=True),
            f"{found.time} to {until.hour}:{until.minute:02d}",
            lead=Icon("clock_outline"),
        )
    ]
    if found.place:
        rows.append(
            row(
                found.place,
                "Show on the map",
                lead=Icon("map_marker_outline"),
                tap=do(Ui.toast, "No map for this place"),
            )
        )
    note = f"{found.reminder_min} minutes before" if found.reminder_min else "No reminder"
    rows += [row(note, lead=Icon("bell_outline")), row("Personal", "Only on this phone", lead=Icon("calendar_account"))]
    change = icon_button("pencil", "Edit", go("edit", found.title), id="edit")
    remove = icon_button("delete_outline", "Delete", go("delete", found.title), id="delete")
    actions = (remove, change) if ui.has("new_layout") else (change, remove)
    return View(bar=bar("", *actions), body=(title, *rows))


def delete(ui: Ui) -> View:
    """Asks before an event is gone."""
    return dialog(
        "Delete event?",
        f"“{ui.arg}” will be removed from your calendar.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Delete", do(_delete_now), style="text", id="confirm"),
        icon="delete_outline",
    )


def _delete_now(ui: Ui) -> None:
    state = ui.get(CalendarState)
    state.events = [e for e in state.events if e.title != ui.arg]
    ui.back(2)
    ui.toast("Event deleted")

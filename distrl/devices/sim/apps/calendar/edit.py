"""Adding and changing events, and picking their date."""

import datetime

from distrl.devices.sim.app import Ui, choose, do, go
from distrl.devices.sim.apps.calendar.month import month_grid, month_head, shown_month
from distrl.devices.sim.apps.calendar.state import CalendarState, Event, in_words, minutes, today
from distrl.devices.sim.nodes import Box, Do, Icon, View
from distrl.devices.sim.widgets import EDGE, bar, button, chips, dialog, row, section

REMINDERS = {0: "None", 10: "10 min", 30: "30 min", 60: "1 hour"}


def _date(ui: Ui) -> str:
    event = ui.get(CalendarState).find(ui.arg)
    return ui.chosen("date", event.date if event else _day(ui))


def _day(ui: Ui) -> str:
    """The date in the argument; today for what is none."""
    try:
        return str(datetime.date.fromisoformat(ui.arg))
    except ValueError:
        return str(today(ui))


def new(ui: Ui) -> View:
    """A new event on the day in the argument."""
    return _form(ui, "New event", 10)


def change(ui: Ui) -> View:
    """An event as it is, to be changed."""
    event = ui.get(CalendarState).find(ui.arg)
    if event and "title" not in ui.page.fields:
        ui.fill("title", event.title)
        ui.fill("time", event.time)
        ui.fill("place", event.place)
    return _form(ui, "Edit event", event.reminder_min if event else 10)


def _line(icon: str, field: Box) -> Box:
    return Box((Icon(icon), Box((field,), grow=1)), row=True, gap=36, pad=(EDGE, 16, EDGE, 16))


def _form(ui: Ui, title: str, reminder_min: int) -> View:
    date = _date(ui)
    kept = ui.chosen("reminder", reminder_min)
    when = row(
        in_words(date, year=True),
        "Date",
        lead=Icon("calendar"),
        trail=Icon("chevron_down"),
        tap=go("pick", date),
        id="date",
    )
    body = (
        _line("format_title", ui.field("title", "Add title")),
        when,
        _line("clock_outline", ui.field("time", "Time, for example 14:30")),
        _line("map_marker_outline", ui.field("place", "Add place")),
        section("Reminder"),
        chips(*((words, kept == count, choose("reminder", count)) for count, words in REMINDERS.items())),
    )
    return View(bar=bar(title, button("Save", do(save), id="save")), body=body)


def save(ui: Ui) -> None:
    """Keep the event, if it has a title and a time that exists."""
    state = ui.get(CalendarState)
    title, time = ui.typed("title").strip(), ui.typed("time").strip()
    if not title:
        ui.toast("Add a title first")
        return
    if minutes(time) < 0:
        ui.toast("Enter a time like 14:30")
        return
    old = state.find(ui.arg) if ui.page.name == "edit" else None
    event = old or Event(title, "", "")
    event.title, event.date, event.time, event.place = title, _date(ui), time, ui.typed("place").strip()
    event.reminder_min = ui.chosen("reminder", event.reminder_min)
    if old is None:
        state.events.append(event)
    ui.back(2 if old else 1)
    ui.toast("Event saved")


def pick(ui: Ui) -> View:
    """A month to pick the date from."""
    first = shown_month(ui, datetime.date.fromisoformat(_day(ui)))
    chosen = ui.chosen("day", _day(ui))
    grid = Box((month_head(ui, first), *month_grid(ui, first, chosen, _mark)))
    return dialog(
        in_words(chosen),
        "",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("OK", do(_take, chosen), style="text", id="ok"),
        content=(grid,),
    )


def _mark(date: str) -> Do:
    return choose("day", date)


def _take(ui: Ui, date: str) -> None:
    ui.back()
    ui.phone.top().chosen["date"] = date

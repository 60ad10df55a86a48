"""Calendar: a month with dots, the agenda of a day, a schedule of all that comes, and events one can add and change."""

from distrl.devices.sim.app import App
from distrl.devices.sim.apps.calendar import edit, pages
from distrl.devices.sim.apps.calendar.state import fresh

APP = App(
    id="calendar",
    name="Calendar",
    icon="calendar_month",
    color="#3367D6",
    fresh=fresh,
    asks_for="calendar",
    pages={
        "home": pages.home,
        "event": pages.event,
        "delete": pages.delete,
        "new": edit.new,
        "edit": edit.change,
        "pick": edit.pick,
    },
)
ORDER = 32

"""Clock: alarms, world clocks, a timer and a stopwatch."""

from distrl.devices.sim.app import App, Ui, choose, do
from distrl.devices.sim.apps.clock import alarms, timing, world
from distrl.devices.sim.apps.clock.state import ClockState, fresh
from distrl.devices.sim.nodes import View
from distrl.devices.sim.widgets import bar, bottom_nav, fab, icon_button, tabs

TABS = {"Alarm": "alarm", "Clock": "clock_outline", "Timer": "timer_sand", "Stopwatch": "timer_outline"}


def home(ui: Ui) -> View:
    """The four places of the app. An update has moved the tabs to the top, and the button that adds into the bar."""
    tab = ui.chosen("tab", "Alarm")
    body = {
        "Alarm": alarms.alarm_list,
        "Clock": world.clocks,
        "Timer": timing.timer,
        "Stopwatch": timing.stopwatch,
    }[tab](ui)
    adds = {"Alarm": ("Add alarm", do(alarms.add)), "Clock": ("Add city", do(world.add))}.get(tab)
    if ui.has("new_layout"):
        more = (icon_button("plus", adds[0], adds[1], id="fab"),) if adds else ()
        top = tabs(*((name, name == tab, choose("tab", name)) for name in reversed(TABS)))
        return View(bar=bar("Clock", *more, up=False), body=(top, *body))
    return View(
        bar=bar(tab, up=False),
        body=body,
        bottom=bottom_nav(*((icon, name, name == tab, choose("tab", name)) for name, icon in TABS.items())),
        fab=fab("plus", adds[0], adds[1]) if adds else None,
    )


APP = App(
    id="clock",
    name="Clock",
    icon="clock",
    color="#3949AB",
    fresh=fresh,
    pages={"home": home, "edit": alarms.edit, "delete": alarms.delete, "cities": world.cities},
)
ORDER = 32

__all__ = ["APP", "ORDER", "ClockState"]

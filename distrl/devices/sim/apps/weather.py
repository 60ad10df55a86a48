"""Weather: the user's cities, the forecast of each, and the units it is shown in."""

from random import Random

import msgspec

from distrl.devices.sim.app import App, Ui, back, do, go
from distrl.devices.sim.apps.browser.forecast import CITIES, day_of, degrees, find_cities, now_in, the_city
from distrl.devices.sim.apps.browser.skies import PALE, WHITE, days, details, hero, hours
from distrl.devices.sim.nodes import Box, Icon, Text, View
from distrl.devices.sim.widgets import EDGE, bar, button, dialog, empty, fab, icon_button, radio, row, section, toggle

_UNITS = {"C": "Celsius", "F": "Fahrenheit"}


class WeatherState(msgspec.Struct):
    """The saved cities in their order; `units` is C or F."""

    cities: list[str] = []
    units: str = "C"
    alerts: bool = True
    daily_summary: bool = False


def fresh(rng: Random) -> WeatherState:
    """The home city and two more."""
    others = rng.sample(["London", "Paris", "Madrid", "Berlin", "Porto", "Rome", "Dublin"], 2)
    return WeatherState(cities=["Lisbon", *others])


def home(ui: Ui) -> View:
    """The saved cities."""
    state = ui.get(WeatherState)
    cards = tuple(_card(ui, city) for city in state.cities if city in CITIES)
    settings = icon_button("cog_outline", "Settings", go("settings"), id="settings")
    add = icon_button("plus", "Add city", go("add"), id="add")
    body = cards or (empty("weather_cloudy_alert", "Add a city to see its weather"),)
    if ui.has("new_layout"):
        return View(bar=bar("Weather", add, settings, up=False), body=body)
    return View(bar=bar("Weather", settings, up=False), body=body, fab=fab("plus", "Add city", go("add"), id="add"))


def _card(ui: Ui, city: str) -> Box:
    today, units = day_of(city, int(ui.now_s // 86400)), ui.get(WeatherState).units
    words = Box(
        (
            Text(city, 64, WHITE, "medium"),
            Text(CITIES[city][0], 44, PALE),
            Text(f"{today.words} · H {degrees(today.high, units)} L {degrees(today.low, units)}", 44, WHITE),
        ),
        gap=8,
        grow=1,
    )
    temp = Text(degrees(now_in(city, ui.now_s), units), 120, WHITE, "light")
    panel = Box(
        (words, Icon(today.icon, 120, WHITE), temp),
        row=True,
        gap=32,
        pad=(48, 40, 48, 40),
        fill=today.color,
        radius=48,
        tap=go("city", city),
        hold=go("remove", city),
        kind="card",
        id=f"city:{city}",
        label=city,
    )
    return Box((panel,), pad=(32, 12, 32, 12))


def city(ui: Ui) -> View:
    """The forecast of one city, saved or not."""
    name, state = the_city(ui.arg), ui.get(WeatherState)
    if not name:
        return View(bar=bar("Weather"), body=(empty("map_marker_question_outline", f"No place called {ui.arg}"),))
    saved = name in state.cities
    action = (
        icon_button("delete_outline", "Remove city", go("remove", name), id="remove")
        if saved
        else icon_button("plus", "Add city", do(add_city, name), id="add")
    )
    forecast = (
        hero(name, ui.now_s, state.units),
        hours(name, ui.now_s, state.units),
        days(name, ui.now_s, state.units),
    )
    return View(bar=bar(name, action), body=(*forecast, details(name, ui.now_s)))


def add(ui: Ui) -> View:
    """Look for a city; touching one saves it."""
    typed = ui.typed("query").strip()
    found = find_cities(typed) if typed else ["Amsterdam", "Athens", "Cairo", "Oslo", "Tokyo", "Toronto", "Sydney"]
    saved = ui.get(WeatherState).cities
    rows = tuple(
        row(
            name,
            CITIES[name][0],
            lead=Icon("map_marker_outline"),
            trail=Icon("check", 66, "primary") if name in saved else Icon("plus", 66),
            tap=do(add_city, name),
            id=f"add:{name}",
        )
        for name in found[:20]
    )
    field = ui.field("query", "Search for a city", icon="magnify", submit=do(_add_first))
    top = Box((field,), pad=(EDGE, 12, EDGE, 20))
    heading = section("Results" if typed else "Popular cities")
    return View(bar=bar("Add city"), body=(top, heading, *(rows or (row("No city found"),))))


def add_city(ui: Ui, name: str) -> None:
    """Save a city at the end of the list."""
    cities = ui.get(WeatherState).cities
    if name in cities:
        ui.toast(f"{name} is already in your list")
        return
    cities.append(name)
    ui.back()
    ui.toast(f"{name} added")


def _add_first(ui: Ui) -> None:
    found = find_cities(ui.typed("query")) if ui.typed("query").strip() else []
    if found:
        add_city(ui, found[0])


def remove(ui: Ui) -> View:
    """Asks before a city is taken off the list."""
    return dialog(
        f"Remove {ui.arg}?",
        "You can add it again at any time.",
        button("Cancel", do(Ui.back, 1), style="text", id="cancel"),
        button("Remove", do(_remove_now), style="text", id="confirm"),
        icon="map_marker_remove_outline",
    )


def _remove_now(ui: Ui) -> None:
    state = ui.get(WeatherState)
    state.cities = [c for c in state.cities if c != ui.arg]
    ui.back(len(ui.phone.stack()) - 1)
    ui.toast(f"{ui.arg} removed")


def settings(ui: Ui) -> View:
    """Units and messages."""
    state = ui.get(WeatherState)
    body = (
        section("General"),
        row("Temperature units", _UNITS[state.units], lead=Icon("thermometer"), tap=go("units"), id="units"),
        section("Notifications"),
        toggle("Severe weather alerts", state.alerts, do(_flip, "alerts"), subtitle="Storms, floods and heat"),
        toggle("Daily summary", state.daily_summary, do(_flip, "daily_summary"), subtitle="Every morning at 7:00"),
    )
    return View(bar=bar("Weather settings"), body=body)


def units(ui: Ui) -> View:
    """Celsius or Fahrenheit."""
    now = ui.get(WeatherState).units
    choices = tuple(radio(name, now == letter, do(_set_units, letter)) for letter, name in _UNITS.items())
    return dialog("Temperature units", "", button("Cancel", back(), style="text", id="cancel"), content=choices)


def _set_units(ui: Ui, letter: str) -> None:
    ui.get(WeatherState).units = letter
    ui.back()
    ui.toast(f"Temperatures are in {_UNITS[letter]}")


def _flip(ui: Ui, name: str) -> None:
    state = ui.get(WeatherState)
    setattr(state, name, not getattr(state, name))


APP = App(
    id="weather",
    name="Weather",
    icon="weather_partly_cloudy",
    color="#4A90D9",
    fresh=fresh,
    pages={"home": home, "city": city, "add": add, "remove": remove, "settings": settings, "units": units},
    asks_for="location",
)
ORDER = 45

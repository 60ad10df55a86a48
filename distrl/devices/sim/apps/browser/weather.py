"""The weather site: find a city, see its forecast."""

from distrl.devices.sim.app import Ui, choose, do
from distrl.devices.sim.apps.browser.chrome import address_bar, to, visit
from distrl.devices.sim.apps.browser.forecast import CITIES, day_of, degrees, find_cities, now_in, the_city
from distrl.devices.sim.apps.browser.sites import WEATHER
from distrl.devices.sim.apps.browser.skies import days, details, hero, hours
from distrl.devices.sim.nodes import Box, Icon, Text, View
from distrl.devices.sim.widgets import EDGE, chips, empty, icon_button, section

POPULAR = ("London", "Delhi", "Paris", "Tokyo", "Sydney", "Cairo", "Toronto", "Lima", "Nairobi", "Oslo")
MASTHEAD = "#2F7DC4"


def _masthead() -> Box:
    name = Text("Skyline Weather", 60, "#FFFFFF", "bold")
    return Box(
        (Icon("weather_partly_cloudy", 84, "#FFE082"), Box((name,), grow=1)),
        row=True,
        gap=24,
        pad=(EDGE, 28, EDGE, 28),
        fill=MASTHEAD,
        tap=to("weather_home"),
        id="masthead",
        label="Skyline Weather",
    )


def _city_row(ui: Ui, city: str) -> Box:
    today = day_of(city, int(ui.now_s // 86400))
    words = Box(
        (Text(city, 52, "text", "medium"), Text(f"{CITIES[city][0]} · {today.words}", 44, "text2")), gap=4, grow=1
    )
    temp = Text(degrees(now_in(city, ui.now_s), "C"), 64, "text")
    return Box(
        (Icon(today.icon, 92, MASTHEAD), words, temp),
        row=True,
        gap=36,
        pad=(EDGE, 20, EDGE, 20),
        height=156,
        tap=to("weather_city", city),
        kind="row",
        label=city,
    )


def _search_field(ui: Ui) -> Box:
    field = ui.field("city", "Search for a city", icon="magnify", submit=do(_open_first))
    return Box((field,), pad=(EDGE, 28, EDGE, 12))


def weather_home(ui: Ui) -> View:
    """Search, and the weather of well-known places."""
    typed = ui.typed("city").strip()
    found = find_cities(typed)[:12] if typed else list(POPULAR)
    heading = section(f"Places matching “{typed}”" if typed else "Around the world")
    rows = tuple(_city_row(ui, city) for city in found)
    body = (heading, *rows) if rows else (empty("map_search_outline", "No such place"),)
    return View(bar=address_bar(ui, WEATHER), body=(_masthead(), _search_field(ui), *body), fill="web")


def _open_first(ui: Ui) -> None:
    found = find_cities(ui.typed("city")) if ui.typed("city").strip() else []
    if found:
        ui.fill("city", "")
        visit(ui, "weather_city", found[0])
    else:
        ui.toast("No such place")


def weather_city(ui: Ui) -> View:
    """The forecast of one city."""
    city, units = the_city(ui.arg), ui.chosen("units", "C")
    bar = address_bar(ui, f"{WEATHER}/{ui.arg}")
    if not city:
        return View(
            bar=bar, body=(_masthead(), empty("map_marker_question_outline", f"No place called {ui.arg}")), fill="web"
        )
    search = icon_button("magnify", "Search for a city", to("weather_home"), id="search")
    switch = Box((Box((chips(*((f"°{u}", units == u, choose("units", u)) for u in "CF")),), grow=1), search), row=True)
    forecast = (hero(city, ui.now_s, units), hours(city, ui.now_s, units), days(city, ui.now_s, units))
    parts = (switch, *forecast) if not ui.has("new_layout") else (*forecast, switch)
    return View(bar=bar, body=(_masthead(), *parts, details(city, ui.now_s)), fill="web")


PAGES = {"weather_home": weather_home, "weather_city": weather_city}

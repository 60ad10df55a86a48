"""Widgets of a forecast, for the weather site and the weather app alike."""

from distrl.devices.sim.apps.browser.forecast import CITIES, day_of, degrees, now_in, temperature
from distrl.devices.sim.nodes import Box, Icon, Node, Text
from distrl.devices.sim.widgets import EDGE

WHITE, PALE = "#FFFFFF", "#E3EDF7"


def hero(city: str, now_s: float, units: str) -> Box:
    """The weather now, large."""
    today = day_of(city, int(now_s // 86400))
    left = Box(
        (
            Text(degrees(now_in(city, now_s), units) + units, 184, WHITE, "light"),
            Text(today.words, 60, WHITE, "medium"),
            Text(f"H {degrees(today.high, units)}   L {degrees(today.low, units)}", 48, PALE),
        ),
        gap=8,
        grow=1,
    )
    place = Box((Icon("map_marker", 54, WHITE), Text(f"{city}, {CITIES[city][0]}", 50, WHITE)), row=True, gap=12)
    sky = Box((left, Icon(today.icon, 320, WHITE)), row=True, gap=24)
    panel = Box((place, sky), gap=20, pad=(56, 48, 48, 56), fill=today.color, radius=56)
    return Box((panel,), pad=(32, 16, 32, 12))


def hours(city: str, now_s: float, units: str) -> Box:
    """The next hours in a line."""
    day, hour = int(now_s // 86400), int(now_s % 86400 // 3600)
    icon = day_of(city, day).icon
    cells: list[Node] = []
    for k in range(6):
        at = hour + 2 * k
        night = at % 24 < 7 or at % 24 > 18
        shown = "weather_night" if night and icon == "weather_sunny" else icon
        words = "Now" if k == 0 else f"{at % 24:02d}:00"
        temp = degrees(temperature(city, day, at), units)
        faces = (
            Text(words, 42, "text2", align="center"),
            Icon(shown, 84, "primary"),
            Text(temp, 50, "text", "medium", "center"),
        )
        cells.append(Box(faces, gap=16, grow=1, align="center"))
    return _panel("Hourly forecast", Box(tuple(cells), row=True))


def days(city: str, now_s: float, units: str) -> Box:
    """The next five days."""
    first = int(now_s // 86400)
    lines: list[Node] = []
    for k in range(5):
        d = day_of(city, first + k)
        rain = Text(f"{d.rain_percent}%", 44, "link", "medium")
        temps = Text(f"{degrees(d.high, units)} / {degrees(d.low, units)}", 48, "text", "medium", "right")
        cells = (
            Box((Text("Today" if k == 0 else d.name, 48),), grow=1),
            Icon("water_outline", 48, "link"),
            Box((rain,), width=120),
            Icon(d.icon, 84, "primary"),
            Box((temps,), width=250),
        )
        lines.append(Box(cells, row=True, gap=16, height=112))
    return _panel("5-day forecast", *lines)


def details(city: str, now_s: float) -> Box:
    """Wind, humidity and rain."""
    today = day_of(city, int(now_s // 86400))
    facts = (
        ("weather_windy", "Wind", f"{today.wind_kmh} km/h"),
        ("water_percent", "Humidity", f"{today.humidity_percent}%"),
        ("umbrella_outline", "Rain", f"{today.rain_percent}%"),
    )
    cells = tuple(
        Box(
            (Icon(icon, 72, "primary"), Text(name, 42, "text2"), Text(value, 52, "text", "medium")),
            gap=8,
            pad=(36, 32, 20, 32),
            grow=1,
            fill="container",
            radius=40,
        )
        for icon, name, value in facts
    )
    return Box(cells, row=True, gap=24, pad=(32, 12, 32, 32))


def _panel(title: str, *children: Node) -> Box:
    panel = Box(
        (Text(title, 46, "text2", "medium"), *children), gap=24, pad=(EDGE, 36, EDGE, 32), fill="container", radius=40
    )
    return Box((panel,), pad=(32, 12, 32, 12))

"""The time here and elsewhere."""

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.clock.state import DAY_S, DAYS, ClockState
from distrl.devices.sim.nodes import Box, Text, View
from distrl.devices.sim.widgets import EDGE, bar, card, icon_button, paragraph, row, section, wide

OFFSETS_H = {
    -10: "Honolulu",
    -8: "Seattle Vancouver",
    -7: "Denver Calgary",
    -6: "Chicago Austin Winnipeg",
    -5: "Bogota Boston Havana Lima Quito Toronto Montreal",
    -4: "Caracas Halifax",
    -3: "Montevideo Recife",
    0: "Lisbon Dublin Accra Dakar Reykjavik Porto",
    1: "Oslo Vienna Warsaw Prague Madrid Rome Berlin Paris Zagreb Budapest Brussels Geneva Milan Lagos Bergen",
    2: "Athens Bucharest Cairo Helsinki Riga Sofia Tallinn Vilnius",
    3: "Nairobi Istanbul Riyadh",
    4: "Dubai Tbilisi",
    5: "Karachi Tashkent",
    6: "Dhaka Almaty",
    7: "Hanoi Jakarta Bangkok",
    8: "Singapore Manila Perth",
    9: "Seoul Tokyo Osaka",
    10: "Brisbane Hobart",
    13: "Auckland Wellington",
}
"""Hours ahead of Lisbon in November."""
CITIES = {city: hours for hours, names in OFFSETS_H.items() for city in names.split()}


def _time(seconds: float) -> str:
    minutes = int(seconds // 60) % 1440
    return f"{minutes // 60}:{minutes % 60:02d}"


def _ahead(city: str) -> str:
    hours = CITIES.get(city, 0)
    return "Same time as here" if not hours else f"{abs(hours)} h {'ahead' if hours > 0 else 'behind'}"


def clocks(ui: Ui) -> tuple[Box, ...]:
    """The time here, then in the chosen cities."""
    day = int(ui.now_s // DAY_S)
    here = Box(
        (
            Text(_time(ui.now_s), 240, "primary", "light", "center"),
            Text(f"{DAYS[day % 7]}, {16 + day} November", 50, "text2", align="center"),
        ),
        gap=8,
        pad=(EDGE, 60, EDGE, 60),
    )
    return (here, *(_clock(ui, city) for city in ui.get(ClockState).cities))


def _clock(ui: Ui, city: str) -> Box:
    time = _time(ui.now_s + CITIES.get(city, 0) * 3600)
    words = Box((Text(city, 54, weight="medium"), Text(_ahead(city), 44, "text2")), gap=4, grow=1)
    remove = icon_button("close", f"Remove {city}", do(_remove, city), color="text2", id=f"remove:{city}", size=60)
    return card(Box((words, Text(time, 96), remove), row=True, gap=20))


def _remove(ui: Ui, city: str) -> None:
    state = ui.get(ClockState)
    state.cities = [c for c in state.cities if c != city]
    ui.toast(f"{city} removed")


def add(ui: Ui) -> None:
    """The search for a city, with the keyboard up."""
    ui.go("cities")
    ui.focus("query")


def cities(ui: Ui) -> View:
    """Cities by name."""
    query = ui.typed("query").strip().casefold()
    found = sorted((c for c in CITIES if query in c.casefold()), key=lambda c: (not c.casefold().startswith(query), c))
    rows = tuple(
        row(
            city,
            _ahead(city),
            trail=Text(_time(ui.now_s + CITIES[city] * 3600), 54),
            tap=do(_choose, city),
            id=f"city:{city}",
        )
        for city in found
    )
    field = wide(ui.field("query", "Search for a city", icon="magnify"))
    return View(
        bar=bar("Add city"), body=(field, section("Cities"), *(rows or (paragraph("No such city", color="text2"),)))
    )


def _choose(ui: Ui, city: str) -> None:
    chosen = ui.get(ClockState).cities
    if city not in chosen:
        chosen.append(city)
    ui.back()
    ui.toast(f"{city} added")

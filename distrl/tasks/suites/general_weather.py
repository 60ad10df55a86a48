"""General tasks about the weather, in the app and on the web: forecasts, saved cities and units."""

from collections.abc import Callable
from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Stage, choose, enter, field, on, plan, stage, tap
from distrl.tasks.suites.web_words import CITIES, has_bookmarks, some_bookmarks
from distrl.tasks.suites.web_words import KEEPS as BOOKMARKS
from distrl.tasks.template import Draw, Inspect, Keep, Params, Template, front, same

UNITS = ("Celsius", "Fahrenheit")
KEEPS = (Keep("weather", "cities"),)


def _old_units(p: Params) -> str:
    """The units a task starts with: not those it asks for."""
    return "F" if p.get("units") == "Celsius" else "C"


def _saved_cities(count: int, *, with_it: bool) -> Callable[[Params, Random], Plain]:
    """Some saved cities; the one in question among them or not."""

    def world(p: Params, rng: Random) -> Plain:
        cities = rng.sample([c for c in CITIES.words if c not in (p["city"], p.get("other"))], count)
        if with_it:
            cities.insert(rng.randrange(count), p["city"])
        return {"weather": {"cities": cities, "units": _old_units(p), "alerts": True, "daily_summary": False}}

    return world


def _has_city(p: Params, inspect: Inspect) -> bool:
    return p["city"] in inspect("weather")["cities"]


def _has_units(p: Params, inspect: Inspect) -> bool:
    return bool(inspect("weather")["units"] == p["units"][0])


def _is_left(p: Params, inspect: Inspect, *, cities: int, units: str = "") -> bool:
    """Whether so many cities are saved and nothing else was set."""
    state = inspect("weather")
    settings = (state["units"], state["alerts"], state["daily_summary"])
    return len(state["cities"]) == cities and settings == (units or _old_units(p), True, False)


def _shows_forecast(p: Params, inspect: Inspect) -> bool:
    return _shows_city("weather", "city")(p, inspect) and _has_city(p, inspect) and _is_left(p, inspect, cities=12)


def _added(p: Params, inspect: Inspect) -> bool:
    """The city is saved; the units are those asked for, if any."""
    return _has_city(p, inspect) and _is_left(p, inspect, cities=4, units=p.get("units", "")[:1])


def _removed(p: Params, inspect: Inspect) -> bool:
    return not _has_city(p, inspect) and _is_left(p, inspect, cities=4)


def _shows_city(app_id: str, page_name: str) -> Callable[[Params, Inspect], bool]:
    def check(p: Params, inspect: Inspect) -> bool:
        app, page, city = front(inspect)
        return (app, page) == (app_id, page_name) and same(city, p["city"])

    return check


def _add_city(p: Params) -> Stage:
    return stage(
        "Weather",
        on("weather/add", field("query", p["city"]), tap(id=f"add:{p['city']}")),
        on("weather/home", tap(id="add")),
        done=lambda inspect: _has_city(p, inspect),
    )


def _set_units(p: Params) -> Stage:
    return stage(
        "Weather",
        on("weather/units", choose(p["units"])),
        on("weather/settings", tap(id="units")),
        on("weather/home", tap(id="settings")),
        done=lambda inspect: _has_units(p, inspect),
    )


def _remove_city(p: Params) -> Stage:
    return stage(
        "Weather",
        on(f"weather/remove/{p['city']}", tap(id="confirm")),
        on(f"weather/city/{p['city']}", tap(id="remove")),
        on("weather/home", tap(id=f"city:{p['city']}")),
        done=lambda inspect: not _has_city(p, inspect),
    )


def _other(p: Params) -> Params:
    return {"city": p["other"]}


def _draw_two_cities(d: Draw) -> Params:
    first, second = d.pick_two(CITIES)
    return {"city": first, "other": second}


def _swapped(p: Params, inspect: Inspect) -> bool:
    return _has_city(_other(p), inspect) and not _has_city(p, inspect) and _is_left(p, inspect, cities=4)


def _draw_city_and_units(d: Draw) -> Params:
    return {"city": d.pick(CITIES), "units": d.choice(UNITS)}


TEMPLATES = (
    Template(
        name="weather_on_the_web",
        suite="general",
        difficulty=2,
        phrasings=(
            "What is the weather in {city}? Look it up on skyline.weather",
            "Show the forecast for {city} on skyline.weather",
            "Go to the site skyline.weather and find the weather in {city}",
        ),
        draw=lambda d: {"city": d.pick(CITIES)},
        world=some_bookmarks,
        keeps=BOOKMARKS,
        check=lambda p, inspect: _shows_city("browser", "weather_city")(p, inspect) and has_bookmarks(inspect),
        plan=lambda p: plan(
            "Browser",
            on(f"browser/weather_city/{p['city']}"),
            on("browser/weather_home", enter("city", p["city"])),
            on("browser/home", tap(id="site:skyline.weather")),
        ),
    ),
    Template(
        name="weather_forecast",
        suite="general",
        difficulty=1,
        phrasings=(
            "Show me the forecast for {city} in the Weather app",
            "What will the weather be like in {city}? Open it in Weather",
            "Open the details for {city} in the Weather app",
            "Check the weather in {city} with the Weather app",
        ),
        draw=lambda d: {"city": d.pick(CITIES)},
        world=_saved_cities(11, with_it=True),
        keeps=KEEPS,
        check=_shows_forecast,
        plan=lambda p: plan(
            "Weather", on(f"weather/city/{p['city']}"), on("weather/home", tap(id=f"city:{p['city']}"))
        ),
    ),
    Template(
        name="weather_add_city",
        suite="general",
        difficulty=2,
        phrasings=(
            "Add {city} to my cities in the Weather app",
            "Save {city} in Weather",
            "I am going to {city} soon, add it to the Weather app",
        ),
        draw=lambda d: {"city": d.pick(CITIES)},
        world=_saved_cities(3, with_it=False),
        keeps=KEEPS,
        check=_added,
        plan=lambda p: (_add_city(p),),
    ),
    Template(
        name="weather_remove_city",
        suite="general",
        difficulty=1,
        phrasings=(
            "Remove {city} from the Weather app",
            "Delete {city} from my saved cities in Weather",
            "I am back from {city}, take it off the list in the Weather app",
        ),
        draw=lambda d: {"city": d.pick(CITIES)},
        world=_saved_cities(4, with_it=True),
        keeps=KEEPS,
        check=_removed,
        plan=lambda p: (_remove_city(p),),
    ),
    Template(
        name="weather_units",
        suite="general",
        difficulty=1,
        phrasings=(
            "Show temperatures in {units} in the Weather app",
            "Switch the Weather app to {units}",
            "Change the units in Weather to {units}",
            "I prefer {units}, set the Weather app to it",
            "Set the temperature unit of the Weather app to {units}",
            "Make Weather use {units}",
        ),
        draw=_draw_city_and_units,
        world=_saved_cities(3, with_it=True),
        keeps=KEEPS,
        check=_added,
        plan=lambda p: (_set_units(p),),
    ),
    Template(
        name="weather_add_city_and_units",
        suite="general",
        difficulty=3,
        unseen=True,
        phrasings=(
            "Add {city} to the Weather app and show temperatures in {units}",
            "In Weather, save {city} and switch to {units}",
            "Set the Weather app to {units} and add the city {city}",
        ),
        draw=_draw_city_and_units,
        world=_saved_cities(3, with_it=False),
        keeps=KEEPS,
        check=_added,
        plan=lambda p: (_add_city(p), _set_units(p)),
    ),
    Template(
        name="weather_swap_cities",
        suite="general",
        difficulty=3,
        phrasings=(
            "Replace {city} with {other} in the Weather app",
            "Remove {city} from Weather and add {other} instead",
            "In the Weather app, add {other} and delete {city}",
        ),
        draw=_draw_two_cities,
        world=_saved_cities(3, with_it=True),
        keeps=KEEPS,
        check=_swapped,
        plan=lambda p: (_remove_city(p), _add_city(_other(p))),
    ),
)

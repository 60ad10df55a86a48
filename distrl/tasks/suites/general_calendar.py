"""General tasks about the calendar: add events, move them, say where they are, delete them."""

from random import Random
from typing import Any

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Act, Plan, choose, field, on, plan, stage, tap
from distrl.tasks.template import Draw, Inspect, Keep, Params, Template, pool, same
from distrl.tasks.words import FIRST_NAMES

TITLES = pool(
    *"Dentist|Choir rehearsal|Board game night|Piano lesson|Job interview|Vet visit|House viewing|Book club|Swimming|"
    "Tax adviser|Pottery class|Parents' evening|Car inspection|Chess tournament|Blood test|Salsa class|Film night|"
    "Garden party|Eye test|Team lunch|Hiking trip|Bank appointment|Volleyball|Sewing course|Farewell drinks".split("|")
)
SHARED = pool("Lunch", "Tennis", "Coffee", "Dinner", "Video call", "Chess", "Walk", "Brunch", "Climbing", "Shopping")
PLACES = pool(
    *"Mill Street 12|Harbor Hall|Room 7|Cafe Aurora|East Park|Station Square|The old library|Castle Lane 3|Studio Nest|"
    "City Clinic|Elm Avenue 40|Town Hall|River Walk 9|Hill School|Corner Salon".split("|")
)
DAYS = pool(*(f"{day} November" for day in range(17, 31)))


OTHERS = 4
"""How many appointments every task starts with that it does not speak of."""
KEEPS = (Keep("calendar", "events", "title"),)
_USUAL: dict[str, Any] = {"place": "", "reminder_min": 10}
"""What an event has that nobody asked for."""


def _iso(day: str) -> str:
    return f"2026-11-{int(day.split()[0]):02d}"


def _time(value: str) -> int:
    hours, _, rest = value.strip().partition(":")
    return int(hours) * 60 + int(rest) if hours.isdecimal() and rest.isdecimal() else -1


def _busy(p: Params, rng: Random) -> Plain:
    """Four appointments that the task does not speak of."""
    titles = rng.sample([t for t in TITLES.words if t != p["title"]], OTHERS)
    dates = rng.sample(range(16, 31), OTHERS)
    events = [
        {"title": t, "date": f"2026-11-{d}", "time": f"{rng.randint(8, 19)}:30", **_USUAL}
        for t, d in zip(titles, dates, strict=True)
    ]
    return {"calendar": {"events": events}}


def _with_event(p: Params, rng: Random) -> Plain:
    """The appointment in question among four others."""
    mine = {"title": p["title"], "date": p["was_date"], "time": p["was_time"], **_USUAL}
    events = [*_busy(p, rng)["calendar"]["events"], mine]
    rng.shuffle(events)
    return {"calendar": {"events": events}}


def _is_alike(typed: str, asked: str) -> bool:
    """Equal to a person, who may have ended it with a full stop."""
    return same(typed.rstrip(" .!"), asked)


def _is_so(p: Params, inspect: Inspect) -> bool:
    """There is one event of this title; what the task names of day, time and place is so, the rest is as it was."""
    events = inspect("calendar")["events"]
    mine = [e for e in events if _is_alike(e["title"], p["title"])]
    if len(mine) != 1 or len(events) != OTHERS + 1:
        return False
    (event,) = mine
    date = _iso(p["day"]) if "day" in p else p["was_date"]
    return (
        event["date"] == date
        and _time(event["time"]) == _time(p["time"] if "time" in p else p["was_time"])
        and _is_alike(event["place"], p.get("place", _USUAL["place"]))
        and event["reminder_min"] == _USUAL["reminder_min"]
    )


def _deleted(p: Params, inspect: Inspect) -> bool:
    events = inspect("calendar")["events"]
    return len(events) == OTHERS and not any(_is_alike(e["title"], p["title"]) for e in events)


def _add(p: Params) -> Plan:
    date = _iso(p["day"])
    acts: tuple[Act, ...] = (field("title", p["title"]), field("time", p["time"]))
    if "place" in p:
        acts += (field("place", p["place"]),)
    return plan(
        "Calendar",
        on(f"calendar/new/{date}", *acts, tap(id="save")),
        on("calendar/home", choose("Month"), choose(id=f"day:{date}"), tap(id="add")),
    )


def _edit(p: Params) -> Plan:
    title = p["title"]
    acts: tuple[Act, ...] = tuple(field(name, p[name]) for name in ("time", "place") if name in p)
    return plan(
        "Calendar",
        on(f"calendar/edit/{title}", *acts, tap(id="save")),
        on(f"calendar/event/{title}", tap(id="edit")),
        on("calendar/home", choose("Schedule"), tap(id=f"event:{title}")),
    )


def _reschedule(p: Params) -> Plan:
    """First pick the date, which the form then holds; then save."""
    title, date = p["title"], _iso(p["day"])

    def picked(inspect: Inspect) -> bool:
        pages = inspect("phone")["stacks"].get("calendar", ())
        return any(page["name"] == "edit" and page["chosen"].get("date") == date for page in pages)

    pick = stage(
        "Calendar",
        on("calendar/pick", choose(id=f"day:{date}"), tap(id="ok")),
        on(f"calendar/edit/{title}", tap(id="date")),
        on(f"calendar/event/{title}", tap(id="edit")),
        on("calendar/home", choose("Schedule"), tap(id=f"event:{title}")),
        done=picked,
    )
    return (pick, stage("Calendar", on(f"calendar/edit/{title}", tap(id="save"))))


def _delete(p: Params) -> Plan:
    title = p["title"]
    return plan(
        "Calendar",
        on(f"calendar/delete/{title}", tap(id="confirm")),
        on(f"calendar/event/{title}", tap(id="delete")),
        on("calendar/home", choose("Schedule"), tap(id=f"event:{title}")),
    )


def _title(d: Draw) -> str:
    """Something one has a name for, or something one does with somebody."""
    return d.pick(TITLES) if d.rng.random() < 0.3 else f"{d.pick(SHARED)} with {d.pick(FIRST_NAMES)}"


def _draw_event(d: Draw) -> Params:
    return {"title": _title(d), "day": d.pick(DAYS), "time": d.time(low=7, high=21)}


def _draw_change(d: Draw, **asked: str) -> Params:
    """A change of an event, which was never at the day or time that is asked for."""
    day = d.rng.choice([k for k in range(17, 31) if f"{k} November" != asked.get("day")])
    return {"title": _title(d), **asked, "was_date": f"2026-11-{day}", "was_time": f"{d.rng.randint(8, 19)}:07"}


TEMPLATES = (
    Template(
        name="add_event",
        suite="general",
        difficulty=3,
        phrasings=(
            "Add {title} to my calendar on {day} at {time}",
            "Create a calendar event called {title} for {day} at {time}",
            "Put {title} into the calendar: {day}, {time}",
            "I have {title} on {day} at {time}, please note it in the Calendar",
        ),
        draw=_draw_event,
        world=_busy,
        keeps=KEEPS,
        check=_is_so,
        plan=_add,
    ),
    Template(
        name="delete_event",
        suite="general",
        difficulty=2,
        phrasings=(
            "Delete {title} from my calendar",
            "{title} was cancelled, remove it from the Calendar",
            "Take the event {title} out of my calendar",
        ),
        draw=_draw_change,
        world=_with_event,
        keeps=KEEPS,
        check=_deleted,
        plan=_delete,
    ),
    Template(
        name="move_event_time",
        suite="general",
        difficulty=3,
        phrasings=(
            "Move {title} in my calendar to {time}",
            "{title} starts at {time} now, change it in the Calendar",
            "Change the time of the event {title} to {time}",
        ),
        draw=lambda d: _draw_change(d, time=d.time(low=7, high=21)),
        world=_with_event,
        keeps=KEEPS,
        check=_is_so,
        plan=_edit,
    ),
    Template(
        name="set_event_place",
        suite="general",
        difficulty=2,
        phrasings=(
            "Set the place of the calendar event {title} to {place}",
            "{title} will be at {place}, add that to the event in my calendar",
            "In the Calendar, write {place} as the place of {title}",
        ),
        draw=lambda d: _draw_change(d, place=d.pick(PLACES)),
        world=_with_event,
        keeps=KEEPS,
        check=_is_so,
        plan=_edit,
    ),
    Template(
        name="move_event_day",
        suite="general",
        difficulty=3,
        unseen=True,
        phrasings=(
            "Move the calendar event {title} to {day}",
            "{title} is on {day} now, change the date in my calendar",
            "Reschedule {title} to {day}, same time",
        ),
        draw=lambda d: _draw_change(d, day=d.pick(DAYS)),
        world=_with_event,
        keeps=KEEPS,
        check=_is_so,
        plan=_reschedule,
    ),
)

"""General tasks about the calendar: add events, move them, say where they are, delete them."""

from random import Random
from typing import Any

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Act, Plan, choose, field, on, plan, stage, tap
from distrl.tasks.template import Draw, Inspect, Params, Template, pool, same
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


def _iso(day: str) -> str:
    return f"2026-11-{int(day.split()[0]):02d}"


def _time(value: str) -> int:
    hours, _, rest = value.strip().partition(":")
    return int(hours) * 60 + int(rest) if hours.isdecimal() and rest.isdecimal() else -1


def _busy(p: Params, rng: Random) -> Plain:
    """Four appointments that the task does not speak of."""
    titles = rng.sample([t for t in TITLES.words if t != p["title"]], 4)
    dates = rng.sample(range(16, 31), 4)
    events = [
        {"title": t, "date": f"2026-11-{d}", "time": f"{rng.randint(8, 19)}:30"}
        for t, d in zip(titles, dates, strict=True)
    ]
    return {"calendar": {"events": events}}


def _with_event(p: Params, rng: Random) -> Plain:
    """The appointment in question among four others; never at the day or time that is asked for."""
    day = rng.choice([d for d in range(17, 31) if f"{d} November" != p.get("day")])
    mine = {"title": p["title"], "date": f"2026-11-{day}", "time": f"{rng.randint(8, 19)}:07"}
    events = [*_busy(p, rng)["calendar"]["events"], mine]
    rng.shuffle(events)
    return {"calendar": {"events": events}}


def _event(p: Params, inspect: Inspect) -> dict[str, Any] | None:
    """The event of this title, if there is exactly one and no other was lost or added."""
    events = inspect("calendar")["events"]
    mine = [e for e in events if same(e["title"], p["title"])]
    return mine[0] if len(mine) == 1 and len(events) == 5 else None


def _added(p: Params, inspect: Inspect) -> bool:
    event = _event(p, inspect)
    if event is None or event["date"] != _iso(p["day"]) or _time(event["time"]) != _time(p["time"]):
        return False
    return same(event["place"], p.get("place", event["place"]))


def _changed(p: Params, inspect: Inspect) -> bool:
    """Whatever of time, day and place the task names is so."""
    event = _event(p, inspect)
    if event is None:
        return False
    return (
        ("time" not in p or _time(event["time"]) == _time(p["time"]))
        and ("day" not in p or event["date"] == _iso(p["day"]))
        and ("place" not in p or same(event["place"], p["place"]))
    )


def _deleted(p: Params, inspect: Inspect) -> bool:
    events = inspect("calendar")["events"]
    return len(events) == 4 and not any(same(e["title"], p["title"]) for e in events)


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
        check=_added,
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
        draw=lambda d: {"title": _title(d)},
        world=_with_event,
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
        draw=lambda d: {"title": _title(d), "time": d.time(low=7, high=21)},
        world=_with_event,
        check=_changed,
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
        draw=lambda d: {"title": _title(d), "place": d.pick(PLACES)},
        world=_with_event,
        check=_changed,
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
        draw=lambda d: {"title": _title(d), "day": d.pick(DAYS)},
        world=_with_event,
        check=_changed,
        plan=_reschedule,
    ),
)

"""General tasks about time: alarms, timers and world clocks."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, choose, field, on, plan, stage, tap, toggle
from distrl.tasks.template import Draw, Inspect, Keep, Params, Template, pool, same
from distrl.tasks.words import CITIES

LABELS = pool(
    *"Gym|Take pills|Feed the cat|Call mum|Bread out of oven|School run|Yoga|Water plants|Bus to work|Laundry|"
    "Piano lesson|Walk the dog|Team meeting|Swim class|Airport taxi|Night shift|Market day|Choir|Dentist|"
    "Long run".split("|")
)
DAYS = {
    "Monday": "Mon",
    "Tuesday": "Tue",
    "Wednesday": "Wed",
    "Thursday": "Thu",
    "Friday": "Fri",
    "Saturday": "Sat",
    "Sunday": "Sun",
}

OTHER_ALARMS = 3
OTHER_CITIES = 2
"""How many alarms and world clocks every task starts with beside the one in question."""
KEEPS = (Keep("clock", "alarms", "time"), Keep("clock", "cities"))

# ---------------------------------------------------------------- alarms


def _half_day_time(d: Draw) -> str:
    """A time as 6:45 pm."""
    return d.time(low=1, high=12) + d.choice((" am", " pm"))


def _canonical(time: str) -> str:
    """H:MM of 24 hours."""
    clock, _, half = time.partition(" ")
    hour, _, minute = clock.partition(":")
    return f"{int(hour) % 12 + (12 if half == 'pm' else 0)}:{minute}" if half else f"{int(hour)}:{minute}"


def _alarms(inspect: Inspect) -> list[Plain]:
    found: list[Plain] = inspect("clock")["alarms"]
    return found


def _others(p: Params, rng: Random, *, is_on: bool) -> Plain:
    """Alarms at other times, and clocks of other cities."""
    avoid = {_canonical(p[name]) for name in ("time", "new") if name in p}
    times = [f"{h}:{m}" for h in range(5, 23) for m in ("00", "10", "20", "35", "50") if f"{h}:{m}" not in avoid]
    short = list(DAYS.values())
    alarms = [
        {"time": t, "label": rng.choice(LABELS.words), "days": rng.choice(([], short[:5], short[5:])), "on": is_on}
        for t in rng.sample(times, OTHER_ALARMS)
    ]
    return {"alarms": alarms, "cities": rng.sample([c for c in CITIES.words if c != p.get("city")], OTHER_CITIES)}


def _without_alarm(p: Params, rng: Random) -> Plain:
    return {"clock": _others(p, rng, is_on=rng.random() < 0.5)}


def _with_alarm(p: Params, rng: Random) -> Plain:
    """The alarm in question among others that are on, or off, like it."""
    is_on = p.get("state", "off") == "off"
    world = _others(p, rng, is_on=is_on)
    world["alarms"].append({"time": p["time"], "label": "", "days": [], "on": is_on})
    rng.shuffle(world["alarms"])
    return {"clock": world}


def _has_sizes(inspect: Inspect, *, alarms: int = 0, cities: int = 0) -> bool:
    """Whether there are so many alarms and world clocks beside the others."""
    state = inspect("clock")
    return len(state["alarms"]) == OTHER_ALARMS + alarms and len(state["cities"]) == OTHER_CITIES + cities


def _is_alarm(alarm: Plain, time: str, *, is_on: bool = True, label: str = "", days: tuple[str, ...] = ()) -> bool:
    """Whether an alarm is just so, with no label or day that it should not have."""
    return (
        alarm["on"] is is_on
        and alarm["time"] == time
        and same(alarm["label"].rstrip(" .!"), label)
        and tuple(alarm["days"]) == days
    )


def _new_alarm(p: Params, inspect: Inspect) -> bool:
    """There is one more alarm: at this time, on, with the label and on the day that were asked for, else with none."""
    days = (DAYS[p["day"]],) if "day" in p else ()
    return _has_sizes(inspect, alarms=1) and any(
        _is_alarm(a, _canonical(p["time"]), label=p.get("label", ""), days=days) for a in _alarms(inspect)
    )


def _new_alarm_plan(p: Params) -> Plan:
    acts = [field("time", p["time"])]
    if "label" in p:
        acts.append(field("label", p["label"]))
    if "day" in p:
        acts += [toggle(id=f"day:{short}", on=name == p["day"]) for name, short in DAYS.items()]
    return plan("Clock", on("clock/edit", *acts, tap(id="save")), on("clock/home", choose("Alarm"), tap(id="fab")))


def _switched(p: Params, inspect: Inspect) -> bool:
    """This alarm has been switched and is otherwise as it was."""
    return _has_sizes(inspect, alarms=1) and any(
        _is_alarm(a, p["time"], is_on=p["state"] == "on") for a in _alarms(inspect)
    )


def _deleted(p: Params, inspect: Inspect) -> bool:
    return _has_sizes(inspect) and all(a["time"] != p["time"] for a in _alarms(inspect))


def _draw_move(d: Draw) -> Params:
    old, new = d.time(), d.time()
    while new == old:
        new = d.time()
    return {"time": old, "new": new}


def _moved(p: Params, inspect: Inspect) -> bool:
    """This alarm rings at the new time and is otherwise as it was."""
    alarms = _alarms(inspect)
    is_gone = all(a["time"] != p["time"] for a in alarms)
    return is_gone and _has_sizes(inspect, alarms=1) and any(_is_alarm(a, p["new"]) for a in alarms)


# ---------------------------------------------------------------- timer and world clock


def _timer_runs(p: Params, inspect: Inspect) -> bool:
    state = inspect("clock")
    wanted = int(p["minutes"]) * 60 + int(p.get("seconds", "0"))
    return bool(state["timer_s"] == wanted and state["timer_ends_s"] > 0)


def _timer_plan(p: Params) -> Plan:
    acts = [choose("Timer"), field("minutes", p["minutes"])]
    if "seconds" in p:
        acts.append(field("seconds", p["seconds"]))
    running = stage(
        "Clock",
        on("clock/home", choose("Timer"), tap(id="reset")),
        done=lambda i: i("clock")["timer_s"] == 0 or _timer_runs(p, i),
    )
    return running, stage("Clock", on("clock/home", *acts, tap(id="start")))


def _timer_set(p: Params, inspect: Inspect) -> bool:
    return _timer_runs(p, inspect) and _has_sizes(inspect)


def _no_timer(p: Params, rng: Random) -> Plain:
    return {"clock": {"timer_s": 0, "timer_ends_s": 0.0, "timer_left_s": 0.0, **_others(p, rng, is_on=False)}}


def _cities(p: Params, rng: Random) -> Plain:
    """Two other cities, and this one if it is to go."""
    world = _others(p, rng, is_on=False)
    if p["is"] == "there":
        world["cities"].insert(rng.randrange(OTHER_CITIES + 1), p["city"])
    return {"clock": world}


def _city_added(p: Params, inspect: Inspect) -> bool:
    return p["city"] in inspect("clock")["cities"] and _has_sizes(inspect, cities=1)


def _city_removed(p: Params, inspect: Inspect) -> bool:
    return p["city"] not in inspect("clock")["cities"] and _has_sizes(inspect)


_ALARM_TEMPLATES = (
    Template(
        name="set_alarm",
        suite="general",
        difficulty=1,
        phrasings=(
            "Set an alarm for {time}",
            "Wake me up at {time}",
            "I need an alarm at {time}",
            "Please make the phone ring at {time} with a new alarm",
        ),
        draw=lambda d: {"time": d.time()},
        world=_without_alarm,
        keeps=KEEPS,
        check=_new_alarm,
        plan=_new_alarm_plan,
    ),
    Template(
        name="set_labelled_alarm",
        suite="general",
        difficulty=2,
        phrasings=(
            "Set an alarm for {time} with the label {label}",
            "Create an alarm called {label} at {time}",
            "Add an alarm at {time} and label it {label}",
        ),
        draw=lambda d: {"time": _half_day_time(d), "label": d.pick(LABELS)},
        world=_without_alarm,
        keeps=KEEPS,
        check=_new_alarm,
        plan=_new_alarm_plan,
    ),
    Template(
        name="set_weekly_alarm",
        suite="general",
        difficulty=2,
        phrasings=(
            "Set an alarm for {time} every {day}",
            "Wake me at {time} each {day}",
            "Every {day} I need an alarm at {time}",
        ),
        draw=lambda d: {"time": d.time(), "day": d.choice(tuple(DAYS))},
        world=_without_alarm,
        keeps=KEEPS,
        check=_new_alarm,
        plan=_new_alarm_plan,
    ),
    Template(
        name="switch_alarm",
        suite="general",
        difficulty=1,
        phrasings=(
            "Turn {state} the alarm at {time}",
            "Switch my {time} alarm {state}",
            "The {time} alarm should be {state}",
        ),
        draw=lambda d: {"time": d.time(), "state": d.choice(("on", "off"))},
        world=_with_alarm,
        keeps=KEEPS,
        check=_switched,
        plan=lambda p: plan(
            "Clock", on("clock/home", choose("Alarm"), toggle(id=f"switch:{p['time']}", on=p["state"] == "on"))
        ),
    ),
    Template(
        name="delete_alarm",
        suite="general",
        difficulty=1,
        phrasings=(
            "Delete the alarm at {time}",
            "Remove my {time} alarm",
            "I no longer need the {time} alarm, delete it",
        ),
        draw=lambda d: {"time": d.time()},
        world=_with_alarm,
        keeps=KEEPS,
        check=_deleted,
        plan=lambda p: plan(
            "Clock",
            on(f"clock/delete/{p['time']}", tap(id="confirm")),
            on(f"clock/edit/{p['time']}", tap(id="delete")),
            on("clock/home", choose("Alarm"), tap(id=f"alarm:{p['time']}")),
        ),
    ),
    Template(
        name="move_alarm",
        suite="general",
        difficulty=2,
        unseen=True,
        phrasings=(
            "Move my {time} alarm to {new}",
            "Change the alarm at {time} so that it rings at {new}",
            "Set the {time} alarm to {new} instead",
        ),
        draw=_draw_move,
        world=_with_alarm,
        keeps=KEEPS,
        check=_moved,
        plan=lambda p: plan(
            "Clock",
            on(f"clock/edit/{p['time']}", field("time", p["new"]), tap(id="save")),
            on("clock/home", choose("Alarm"), tap(id=f"alarm:{p['time']}")),
        ),
    ),
)
_TIME_TEMPLATES = (
    Template(
        name="start_timer",
        suite="general",
        difficulty=2,
        phrasings=(
            "Start a timer for {minutes} minutes",
            "Set a {minutes} minute timer",
            "Count down {minutes} minutes",
            "Tell me when {minutes} minutes are over",
        ),
        draw=lambda d: {"minutes": d.number(2, 99)},
        world=_no_timer,
        keeps=KEEPS,
        check=_timer_set,
        plan=_timer_plan,
    ),
    Template(
        name="start_exact_timer",
        suite="general",
        difficulty=2,
        phrasings=(
            "Start a timer for {minutes} minutes and {seconds} seconds",
            "Set the timer to {minutes} minutes {seconds} seconds and start it",
            "Count down from {minutes} minutes and {seconds} seconds",
        ),
        draw=lambda d: {"minutes": d.number(2, 45), "seconds": d.number(5, 55, 5)},
        world=_no_timer,
        keeps=KEEPS,
        check=_timer_set,
        plan=_timer_plan,
    ),
    Template(
        name="add_world_clock",
        suite="general",
        difficulty=2,
        phrasings=(
            "Add {city} to the world clock",
            "Show the time of {city} in the Clock app",
            "Put a clock for {city} in my world clocks",
        ),
        draw=lambda d: {"city": d.pick(CITIES), "is": "missing"},
        world=_cities,
        keeps=KEEPS,
        check=_city_added,
        plan=lambda p: plan(
            "Clock",
            on("clock/cities", field("query", p["city"]), tap(id=f"city:{p['city']}")),
            on("clock/home", choose("Clock"), tap(id="fab")),
        ),
    ),
    Template(
        name="remove_world_clock",
        suite="general",
        difficulty=1,
        phrasings=(
            "Remove {city} from the world clock",
            "Delete the clock of {city}",
            "I no longer need the time in {city}, remove it from Clock",
        ),
        draw=lambda d: {"city": d.pick(CITIES), "is": "there"},
        world=_cities,
        keeps=KEEPS,
        check=_city_removed,
        plan=lambda p: plan("Clock", on("clock/home", choose("Clock"), tap(id=f"remove:{p['city']}"))),
    ),
)
TEMPLATES = _ALARM_TEMPLATES + _TIME_TEMPLATES

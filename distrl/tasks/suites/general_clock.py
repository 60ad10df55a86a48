"""General tasks about time: alarms, timers and world clocks."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, choose, field, on, plan, stage, tap, toggle
from distrl.tasks.template import Draw, Inspect, Params, Template, pool, same
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


def _some_alarms(rng: Random, avoid: str, *, is_on: bool, count: int = 3) -> list[Plain]:
    """Alarms at other times."""
    times = [f"{h}:{m}" for h in range(5, 23) for m in ("00", "10", "20", "35", "50") if f"{h}:{m}" != avoid]
    return [{"time": t, "label": rng.choice(LABELS.words), "on": is_on} for t in rng.sample(times, count)]


def _without_alarm(p: Params, rng: Random) -> Plain:
    return {"clock": {"alarms": _some_alarms(rng, _canonical(p["time"]), is_on=rng.random() < 0.5, count=2)}}


def _with_alarm(p: Params, rng: Random) -> Plain:
    """The alarm in question among others that are on, or off, like it."""
    is_on = p.get("state", "off") == "off"
    others = _some_alarms(rng, p["time"], is_on=is_on)
    if "new" in p:
        others = [a for a in others if a["time"] != p["new"]]
    alarms = [*others, {"time": p["time"], "label": "", "on": is_on}]
    rng.shuffle(alarms)
    return {"clock": {"alarms": alarms}}


def _new_alarm(p: Params, inspect: Inspect) -> bool:
    """There is an alarm at this time that is on, with this label and on this day if they were asked for."""
    return any(
        a["on"]
        and a["time"] == _canonical(p["time"])
        and ("label" not in p or same(a["label"], p["label"]))
        and ("day" not in p or a["days"] == [DAYS[p["day"]]])
        for a in _alarms(inspect)
    )


def _new_alarm_plan(p: Params) -> Plan:
    acts = [field("time", p["time"])]
    if "label" in p:
        acts.append(field("label", p["label"]))
    if "day" in p:
        acts += [toggle(id=f"day:{short}", on=name == p["day"]) for name, short in DAYS.items()]
    return plan("Clock", on("clock/edit", *acts, tap(id="save")), on("clock/home", choose("Alarm"), tap(id="fab")))


def _switched(p: Params, inspect: Inspect) -> bool:
    """Only this alarm has been switched."""
    wanted = p["state"] == "on"
    return all(a["on"] is (wanted if a["time"] == p["time"] else not wanted) for a in _alarms(inspect)) and any(
        a["time"] == p["time"] for a in _alarms(inspect)
    )


def _draw_move(d: Draw) -> Params:
    old, new = d.time(), d.time()
    while new == old:
        new = d.time()
    return {"time": old, "new": new}


def _moved(p: Params, inspect: Inspect) -> bool:
    times = [a["time"] for a in _alarms(inspect)]
    return p["time"] not in times and p["new"] in times


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


def _no_timer(p: Params, rng: Random) -> Plain:
    return {"clock": {"timer_s": 0, "timer_ends_s": 0.0, "timer_left_s": 0.0}}


def _cities(p: Params, rng: Random) -> Plain:
    """Two other cities, and this one if it is to go."""
    chosen = rng.sample([c for c in CITIES.words if c != p["city"]], 2)
    if p["is"] == "there":
        chosen.insert(rng.randrange(3), p["city"])
    return {"clock": {"cities": chosen}}


def _remove_check(p: Params, inspect: Inspect) -> bool:
    cities = inspect("clock")["cities"]
    return p["city"] not in cities and len(cities) == 2


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
            "On every {day} I need an alarm at {time}",
        ),
        draw=lambda d: {"time": d.time(), "day": d.choice(tuple(DAYS))},
        world=_without_alarm,
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
        check=lambda p, inspect: len(_alarms(inspect)) == 3 and all(a["time"] != p["time"] for a in _alarms(inspect)),
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
        check=_timer_runs,
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
        check=_timer_runs,
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
        check=lambda p, inspect: p["city"] in inspect("clock")["cities"],
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
        check=_remove_check,
        plan=lambda p: plan("Clock", on("clock/home", choose("Clock"), tap(id=f"remove:{p['city']}"))),
    ),
)
TEMPLATES = _ALARM_TEMPLATES + _TIME_TEMPLATES

"""System tasks about switches and levels: turn things on and off, set volumes, brightness, font size, timeout.

`ways` are shared with the other system tasks: the rules that lead from the first page of Settings to one of its pages.
"""

from random import Random

import msgspec

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Act, Plan, Rule, Stage, choose, field, on, plan, stage, tap, toggle
from distrl.tasks.template import Draw, Inspect, Keep, Params, Template, pool


class Switch(msgspec.Struct, frozen=True):
    """A switch of Settings: the page it is on, and the field it changes."""

    page: str
    field: str


SWITCHES = {
    "Dark theme": Switch("display", "dark_theme"),
    "Airplane mode": Switch("network", "airplane"),
    "Bluetooth": Switch("connected", "bluetooth"),
    "Battery Saver": Switch("battery", "battery_saver"),
    "Night Light": Switch("display", "night_light"),
    "Mobile data": Switch("network", "mobile_data"),
    "Do Not Disturb": Switch("sound", "do_not_disturb"),
    "Wi-Fi": Switch("internet", "wifi"),
    "Auto-rotate screen": Switch("display", "auto_rotate"),
    "Data Saver": Switch("network", "data_saver"),
    "Adaptive brightness": Switch("display", "adaptive_brightness"),
    "NFC": Switch("connected", "nfc"),
    "Vibrate for calls": Switch("sound", "vibrate"),
    "Battery percentage": Switch("battery", "battery_percentage"),
    "Roaming": Switch("network", "roaming"),
    "Touch sounds": Switch("sound", "touch_sounds"),
    "Fingerprint unlock": Switch("security", "fingerprint"),
    "Precise location": Switch("location", "precise_location"),
    "Wi-Fi hotspot": Switch("hotspot", "hotspot"),
    "Find my device": Switch("security", "find_device"),
    "Notification dots": Switch("notifications", "notification_dots"),
    "Camera access": Switch("security", "camera_access"),
    "Adaptive battery": Switch("battery", "adaptive_battery"),
    "Automatic date & time": Switch("system", "automatic_time"),
    "Bubbles": Switch("notifications", "bubbles"),
    "Microphone access": Switch("security", "microphone_access"),
    "Wi-Fi scanning": Switch("location", "wifi_scanning"),
    "Automatic system updates": Switch("system", "automatic_updates"),
}
SWITCH_NAMES = pool(*SWITCHES)
DISPLAY_SWITCHES = ("Dark theme", "Night Light", "Auto-rotate screen", "Adaptive brightness")
LEVELS = {
    "media volume": ("sound", "Media volume", "media_volume"),
    "call volume": ("sound", "Call volume", "call_volume"),
    "alarm volume": ("sound", "Alarm volume", "alarm_volume"),
    "brightness": ("display", "Brightness", "brightness"),
    "ring volume": ("sound", "Ring volume", "ring_volume"),
}
LEVEL_TOLERANCE = 3
TIMEOUTS_S = {
    "15 seconds": 15,
    "30 seconds": 30,
    "1 minute": 60,
    "2 minutes": 120,
    "5 minutes": 300,
    "10 minutes": 600,
    "30 minutes": 1800,
}
FONTS = {"Small": 90, "Default": 100, "Large": 110, "Largest": 120}
PARENTS = {
    "internet": "network",
    "hotspot": "network",
    "font": "display",
    "timeout": "display",
    "ringtone": "sound",
    "screen_lock": "security",
    "language": "system",
    "pair": "connected",
}


def ways(page: str, *acts: Act) -> tuple[Rule, ...]:
    """What to do on a page of Settings, and how to get there from the first."""
    rules = [on(f"settings/{page}", *acts)]
    while page in PARENTS:
        rules.append(on(f"settings/{PARENTS[page]}", tap(id=f"open:{page}")))
        page = PARENTS[page]
    return (*rules, on("settings/home", tap(id=f"open:{page}")))


def settings_of(inspect: Inspect) -> Plain:
    """The state of the phone's switches."""
    return inspect("settings")


USUAL_ON = (
    *("mobile_data", "wifi", "adaptive_brightness", "nfc", "vibrate", "touch_sounds", "precise_location"),
    *("find_device", "notification_dots", "camera_access", "adaptive_battery", "automatic_time", "microphone_access"),
    "automatic_updates",
)
"""Switches that are on when a task starts and does not say otherwise."""
VARIED = ("dark_theme",)
"""Switches that belong to the look of a phone: a task leaves them as they are unless it speaks of them."""
USUAL_LEVELS = {"media_volume": 50, "call_volume": 60, "alarm_volume": 80, "brightness": 60, "ring_volume": 70}


class OtherSettings(Keep, frozen=True):
    """All switches and levels that the task does not speak of stay as they were."""

    def holds(self, params: Params, world: Plain, inspect: Inspect) -> bool:
        """Whether they did."""
        asked = set(params.values())
        fields = [s.field for title, s in SWITCHES.items() if title not in asked]
        fields += [level[2] for name, level in LEVELS.items() if name not in asked]
        before, after = world[self.app], inspect(self.app)
        return all(after[name] == before[name] for name in fields if name in before)


OTHERS = (OtherSettings("settings", ""),)


def with_others(**fields: object) -> Plain:
    """Settings as they usually are, but for some."""
    usual = {s.field: s.field in USUAL_ON for s in SWITCHES.values() if s.field not in VARIED}
    return {"settings": {**usual, **USUAL_LEVELS, **fields}}


# ---------------------------------------------------------------- switches


def _is_set(title: str, state: str, inspect: Inspect) -> bool:
    return bool(settings_of(inspect)[SWITCHES[title].field]) is (state == "on")


def _unset(*pairs: tuple[str, str]) -> Plain:
    """Every switch the other way round."""
    return {SWITCHES[title].field: state != "on" for title, state in pairs}


def _switch_rules(title: str, state: str) -> tuple[Rule, ...]:
    switch = SWITCHES[title]
    return ways(switch.page, toggle(id=switch.field, on=state == "on"))


def _switch_stage(title: str, state: str) -> Stage:
    return stage("Settings", *_switch_rules(title, state), done=lambda inspect: _is_set(title, state, inspect))


def _draw_two(d: Draw) -> Params:
    first, second = d.pick_two(SWITCH_NAMES)
    return {
        "switch": first,
        "state": d.choice(("on", "off")),
        "other": second,
        "other_state": d.choice(("on", "off")),
    }


# ---------------------------------------------------------------- levels


def _draw_level(d: Draw) -> Params:
    return {"level": d.choice(tuple(LEVELS)), "percent": d.number(5, 95, 5) + "%"}


def far_from(percent: str, rng: Random) -> int:
    """A level that nobody would take for this one."""
    wanted = int(percent.rstrip("%"))
    return rng.choice([v for v in range(10, 100, 10) if abs(v - wanted) > 15])


def is_near(value: int, percent: str) -> bool:
    """Whether a level is what was asked for, as exactly as a finger can."""
    return abs(value - int(percent.rstrip("%"))) <= LEVEL_TOLERANCE


def level_rules(level: str, percent: str) -> tuple[Rule, ...]:
    """How to type a level."""
    page, title, _ = LEVELS[level]
    ask = on(f"settings/level/{title}", field("percent", percent), tap(id="save"))
    return (ask, *ways(page, tap(id=f"level:{title}")))


def _draw_two_levels(d: Draw) -> Params:
    first, second = d.rng.sample([name for name in LEVELS if name != "brightness"], 2)
    percent, other = d.rng.sample(range(10, 100, 5), 2)
    return {"level": first, "percent": f"{percent}%", "other": second, "other_percent": f"{other}%"}


def _two_levels(p: Params) -> tuple[tuple[str, str], tuple[str, str]]:
    return (p["level"], p["percent"]), (p["other"], p["other_percent"])


def _has_level(level: str, percent: str, inspect: Inspect) -> bool:
    return is_near(settings_of(inspect)[LEVELS[level][2]], percent)


def _level_stage(level: str, percent: str) -> Stage:
    rules = level_rules(level, percent)
    return stage("Settings", *rules, done=lambda inspect: _has_level(level, percent, inspect))


# ---------------------------------------------------------------- screen


def _timeout_plan(p: Params) -> Plan:
    seconds = TIMEOUTS_S[p["timeout"]]
    choose_it = ways("timeout", tap(id=f"choose:{p['timeout']}"))
    is_done = stage("Settings", *choose_it, done=lambda inspect: settings_of(inspect)["screen_timeout_s"] == seconds)
    return (is_done, _switch_stage(p["switch"], p["state"])) if "switch" in p else (is_done,)


def _timeout_world(p: Params, rng: Random) -> Plain:
    others = [s for s in TIMEOUTS_S.values() if s != TIMEOUTS_S[p["timeout"]]]
    more = _unset((p["switch"], p["state"])) if "switch" in p else {}
    return with_others(screen_timeout_s=rng.choice(others), **more)


def _font_plan(p: Params) -> Plan:
    percent = FONTS[p["size"]]
    choose_it = ways("font", choose(id=f"choose:{p['size']}"))
    is_done = stage("Settings", *choose_it, done=lambda inspect: settings_of(inspect)["font_percent"] == percent)
    return is_done, _switch_stage(p["switch"], p["state"])


def _font_world(p: Params, rng: Random) -> Plain:
    others = [v for v in FONTS.values() if v != FONTS[p["size"]]]
    return with_others(font_percent=rng.choice(others), **_unset((p["switch"], p["state"])))


TEMPLATES = (
    Template(
        name="toggle_setting",
        suite="system",
        difficulty=1,
        phrasings=(
            "Turn {state} {switch}",
            "Please switch {state} {switch} in the settings",
            "I want {switch} to be {state}",
            "Open Settings and turn {state} {switch}",
            "Make sure that {switch} is turned {state}",
        ),
        draw=lambda d: {"switch": d.pick(SWITCH_NAMES), "state": d.choice(("on", "off"))},
        world=lambda p, rng: with_others(**_unset((p["switch"], p["state"]))),
        keeps=OTHERS,
        check=lambda p, inspect: _is_set(p["switch"], p["state"], inspect),
        plan=lambda p: plan("Settings", *_switch_rules(p["switch"], p["state"])),
    ),
    Template(
        name="toggle_two_settings",
        suite="system",
        difficulty=3,
        phrasings=(
            "Turn {state} {switch} and turn {other_state} {other}",
            "In the settings, switch {state} {switch} and switch {other_state} {other}",
            "I want {switch} to be {state} and {other} to be {other_state}",
            "First turn {state} {switch} and then turn {other_state} {other}",
        ),
        draw=_draw_two,
        world=lambda p, rng: with_others(**_unset((p["switch"], p["state"]), (p["other"], p["other_state"]))),
        keeps=OTHERS,
        check=lambda p, inspect: (
            _is_set(p["switch"], p["state"], inspect) and _is_set(p["other"], p["other_state"], inspect)
        ),
        plan=lambda p: (_switch_stage(p["switch"], p["state"]), _switch_stage(p["other"], p["other_state"])),
    ),
    Template(
        name="set_level",
        suite="system",
        difficulty=2,
        phrasings=(
            "Set the {level} to {percent}",
            "Change the {level} of this phone to {percent}",
            "Put the {level} at {percent} please",
            "I would like the {level} to be {percent}",
        ),
        draw=_draw_level,
        world=lambda p, rng: with_others(**{LEVELS[p["level"]][2]: far_from(p["percent"], rng)}),
        keeps=OTHERS,
        check=lambda p, inspect: _has_level(p["level"], p["percent"], inspect),
        plan=lambda p: plan("Settings", *level_rules(p["level"], p["percent"])),
    ),
    Template(
        name="set_two_levels",
        suite="system",
        difficulty=3,
        phrasings=(
            "Set the {level} to {percent} and the {other} to {other_percent}",
            "Change the {level} to {percent} and put the {other} at {other_percent}",
            "I would like {percent} for the {level} and {other_percent} for the {other}",
        ),
        draw=_draw_two_levels,
        world=lambda p, rng: with_others(
            **{LEVELS[level][2]: far_from(percent, rng) for level, percent in _two_levels(p)}
        ),
        keeps=OTHERS,
        check=lambda p, inspect: all(_has_level(level, percent, inspect) for level, percent in _two_levels(p)),
        plan=lambda p: tuple(_level_stage(level, percent) for level, percent in _two_levels(p)),
    ),
    Template(
        name="screen_timeout",
        suite="system",
        difficulty=1,
        phrasings=(
            "Set the screen timeout to {timeout}",
            "Make the screen turn off after {timeout}",
            "The screen should stay on for {timeout}",
        ),
        draw=lambda d: {"timeout": d.choice(tuple(TIMEOUTS_S))},
        world=_timeout_world,
        keeps=OTHERS,
        check=lambda p, inspect: settings_of(inspect)["screen_timeout_s"] == TIMEOUTS_S[p["timeout"]],
        plan=_timeout_plan,
    ),
    Template(
        name="timeout_and_switch",
        suite="system",
        difficulty=2,
        phrasings=(
            "Set the screen timeout to {timeout} and turn {state} {switch}",
            "Let the screen sleep after {timeout} and switch {state} {switch}",
            "In Display, turn {state} {switch} and set the timeout to {timeout}",
        ),
        draw=lambda d: {
            "timeout": d.choice(tuple(TIMEOUTS_S)),
            "switch": d.choice(DISPLAY_SWITCHES),
            "state": d.choice(("on", "off")),
        },
        world=_timeout_world,
        keeps=OTHERS,
        check=lambda p, inspect: (
            settings_of(inspect)["screen_timeout_s"] == TIMEOUTS_S[p["timeout"]]
            and _is_set(p["switch"], p["state"], inspect)
        ),
        plan=_timeout_plan,
    ),
    Template(
        name="font_and_switch",
        suite="system",
        difficulty=2,
        phrasings=(
            "Change the font size to {size} and turn {state} {switch}",
            "Make the text size {size} and switch {state} {switch}",
            "Set {switch} to {state} and the font size to {size}",
        ),
        draw=lambda d: {
            "size": d.choice(tuple(FONTS)),
            "switch": d.choice(DISPLAY_SWITCHES),
            "state": d.choice(("on", "off")),
        },
        world=_font_world,
        keeps=OTHERS,
        check=lambda p, inspect: (
            settings_of(inspect)["font_percent"] == FONTS[p["size"]] and _is_set(p["switch"], p["state"], inspect)
        ),
        plan=_font_plan,
    ),
)

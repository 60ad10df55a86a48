"""What the clock remembers, and how times are read and written."""

import re
from random import Random

import msgspec

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_S = 86_400


class Alarm(msgspec.Struct):
    """An alarm: `time` is H:MM of 24 hours; without days it rings once."""

    time: str
    label: str = ""
    days: list[str] = []
    on: bool = True


class ClockState(msgspec.Struct):
    """Alarms, world clocks, the timer and the stopwatch. Moments are in seconds of the phone's clock.

    The timer runs while `timer_ends_s` is set and is paused while only `timer_left_s` is; the stopwatch runs while
    `watch_started_s` is set and has `watch_s` from before.
    """

    alarms: list[Alarm] = []
    cities: list[str] = []
    timer_s: int = 0
    timer_ends_s: float = 0.0
    timer_left_s: float = 0.0
    watch_started_s: float = 0.0
    watch_s: float = 0.0
    laps: list[float] = []


def fresh(rng: Random) -> ClockState:
    """Two alarms and two cities."""
    early = Alarm(f"{rng.randint(6, 7)}:{rng.choice(['00', '15', '45'])}", "Work", list(DAYS[:5]))
    late = Alarm(f"{rng.randint(8, 10)}:30", "Weekend", list(DAYS[5:]), on=False)
    return ClockState(alarms=[early, late], cities=rng.sample(["Tokyo", "Denver", "Nairobi", "Vienna"], 2))


def parse_time(text: str) -> str:
    """A time that somebody typed as H:MM: `7:30`, `07.30`, `730`, `7:30 pm`, `7 pm`. Empty if it is none."""
    match = re.fullmatch(r"(\d{1,2})(?:[:.h]?(\d{2}))?\s*(am|pm|a\.m\.|p\.m\.)?", text.strip().casefold())
    if not match:
        return ""
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3] or ""
    if half and not 1 <= hour <= 12:
        return ""
    if half:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    return f"{hour}:{minute:02d}" if hour < 24 and minute < 60 else ""


def minutes_of(time: str) -> int:
    """Minutes since midnight."""
    hour, _, minute = time.partition(":")
    return int(hour) * 60 + int(minute)


def duration(seconds: float) -> str:
    """Seconds as M:SS or H:MM:SS."""
    whole = int(seconds)
    minutes = f"{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{whole // 3600}:{minutes}" if whole >= 3600 else minutes

"""The state of the calendar, and how it says dates."""

import datetime
from random import Random

import msgspec

from distrl.devices.sim.app import Ui

FIRST_DAY = datetime.date(2026, 11, 16)
COLORS = ("#3367D6", "#0B8043", "#D81B60", "#F4511E", "#8E24AA")


class Event(msgspec.Struct):
    """An appointment; its title is its name. `date` is like 2026-11-18, `time` like 14:30."""

    title: str
    date: str
    time: str
    place: str = ""
    reminder_min: int = 10

    @property
    def color(self) -> str:
        """The same colour for the same title."""
        return COLORS[sum(map(ord, self.title)) % len(COLORS)]


class CalendarState(msgspec.Struct):
    """All events, in no order."""

    events: list[Event] = []

    def on(self, date: str) -> list[Event]:
        """The events of a day, the earliest first."""
        found = [e for e in self.events if e.date == date]
        return sorted(found, key=lambda e: (minutes(e.time), e.title)) if len(found) > 1 else found

    def find(self, title: str) -> Event | None:
        """The event of this title."""
        return next((e for e in self.events if e.title == title), None)


_USUAL = {
    "Team meeting": ("9:30", "Room 4"),
    "Dentist": ("11:00", "Mill Street 12"),
    "Lunch with Ana": ("12:30", "Cafe Aurora"),
    "Yoga class": ("18:00", "Studio Nest"),
    "Parents' evening": ("19:00", "Hill School"),
    "Haircut": ("16:15", "Corner Salon"),
    "Project review": ("14:00", "Room 2"),
    "Football training": ("17:30", "East Park"),
    "Dinner at Ines's": ("20:00", "Harbor Road 7"),
    "Car service": ("8:15", "Nordwind Garage"),
}


def fresh(rng: Random) -> CalendarState:
    """Six appointments of the next two weeks."""
    titles = rng.sample(sorted(_USUAL), 6)
    days = sorted(rng.sample(range(13), 6))
    return CalendarState(
        events=[Event(t, str(FIRST_DAY + datetime.timedelta(d)), *_USUAL[t]) for t, d in zip(titles, days, strict=True)]
    )


def today(ui: Ui) -> datetime.date:
    """The day it is on this phone."""
    return FIRST_DAY + datetime.timedelta(int(ui.now_s // 86400))


def minutes(time: str) -> int:
    """Minutes since midnight of a time like 9:05; -1 if it is none."""
    hours, colon, rest = time.strip().partition(":")
    if (
        not colon
        or not hours.isdecimal()
        or not rest.isdecimal()
        or int(hours) > 23
        or int(rest) > 59
        or len(rest) != 2
    ):
        return -1
    return int(hours) * 60 + int(rest)


def in_words(date: str, *, year: bool = False) -> str:
    """Like Wed, 18 November."""
    day = datetime.date.fromisoformat(date)
    return f"{day:%a}, {day.day} {day:%B}" + (f" {day.year}" if year else "")

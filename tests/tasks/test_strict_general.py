"""General tasks are solved by what was asked for and by nothing else; people's small liberties do not count."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from distrl.core.seeds import derive_random
from distrl.core.types import Task
from distrl.devices.sim.phone import Phone
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange, play
from distrl.tasks.book import expert_for, is_solved
from distrl.tasks.suites import (
    all_templates,
    general_calculator,
    general_calendar,
    general_clock,
    general_notes,
    general_weather,
    general_web,
)
from distrl.tasks.suites.general_clock import DAYS
from distrl.tasks.suites.web_words import COUNTRIES, TOPICS, is_about, is_conversion
from distrl.tasks.template import Draw, Template

Harm = Callable[[Any], object]
"""Spoils a list of the state."""


@lru_cache(maxsize=1)
def the_phone() -> Phone:
    return make_phone()


def task_of(name: str, **params: str) -> Task:
    """A task of a template, drawn, with some parameters of our own."""
    template = all_templates()[name]
    drawn = template.draw(Draw(derive_random(0, name), is_test=False)) | params
    words = template.phrasings[0].format(**drawn)
    return Task(
        id=f"general-test-{name}",
        suite="general",
        split="test",
        instruction=words,
        max_steps=template.max_steps,
        template=name,
        params=drawn,
        difficulty=template.difficulty,
    )


def solved(name: str, **params: str) -> tuple[Phone, Task]:
    """A phone on which the expert has just solved a task."""
    phone, task = the_phone(), task_of(name, **params)
    arrange(phone, task)
    assert play(phone, task, expert_for(task, phone.inspect).act)
    assert is_solved(task, phone.inspect)
    return phone, task


def spoil(phone: Phone, app: str, field: str, harm: Harm) -> None:
    """Change a list of an app in place."""
    value = phone.inspect(app)[field]
    harm(value)
    phone.arrange({app: {field: value}})


def entry(entries: list[dict[str, Any]], key: str, value: str) -> dict[str, Any]:
    return next(e for e in entries if e[key] == value)


LISTS = {
    "clock": {"alarms": ("time", "label"), "cities": ("", "")},
    "calendar": {"events": ("title", "place")},
    "notes": {"notes": ("title", "body")},
    "weather": {"cities": ("", "")},
    "calculator": {"history": ("expression", "result")},
    "browser": {"bookmarks": ("url", "title"), "history": ("", "")},
}
MODULES = (general_calculator, general_calendar, general_clock, general_notes, general_weather, general_web)
TEMPLATES = [template for module in MODULES for template in module.TEMPLATES]
KEEPING = [(t.name, keep.app, keep.field) for t in TEMPLATES for keep in t.keeps if keep.field in LISTS[keep.app]]


@pytest.mark.parametrize(("name", "app", "field"), KEEPING)
def test_losing_or_changing_an_entry_that_nobody_spoke_of_fails(name: str, app: str, field: str) -> None:
    key, part = LISTS[app][field]
    phone, task = solved(name)
    asked = {value.casefold() for value in task.params.values()}
    good = phone.inspect(app)[field]
    world = all_templates()[name].world(task.params, derive_random(0, "world", task.id))[app][field]
    names = [e[key] if key else e for e in world]
    others = [n for n in names if n.casefold() not in asked]
    assert others
    for other in others:
        phone.arrange({app: {field: [e for e in good if (e[key] if key else e) != other]}})
        assert not is_solved(task, phone.inspect)
        if key:
            phone.arrange({app: {field: [e | {part: "Spoilt"} if e[key] == other else e for e in good]}})
            assert not is_solved(task, phone.inspect)
    phone.arrange({app: {field: good}})
    assert is_solved(task, phone.inspect)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.name)
def test_every_template_keeps_the_lists_it_starts_with(template: Template) -> None:
    world = template.world(task_of(template.name).params, derive_random(0, template.name))
    lists = {
        (app, field) for app, fields in world.items() for field, value in fields.items() if isinstance(value, list)
    }
    assert lists
    assert lists == {(keep.app, keep.field) for keep in template.keeps}


# ---------------------------------------------------------------- clock


@pytest.mark.parametrize("name", ["set_alarm", "set_labelled_alarm", "set_weekly_alarm"])
@pytest.mark.parametrize(
    "harm",
    [
        lambda alarms: alarms[-1].update(days=list(DAYS.values())),
        lambda alarms: alarms[-1].update(label="Something else"),
        lambda alarms: alarms[-1].update(on=False),
        lambda alarms: alarms.pop(0),
        lambda alarms: alarms.append({"time": "3:33"}),
    ],
    ids=["every day", "label", "off", "overwritten", "one more"],
)
def test_a_new_alarm_is_just_what_was_asked_for(name: str, harm: Harm) -> None:
    phone, task = solved(name)
    spoil(phone, "clock", "alarms", harm)
    assert not is_solved(task, phone.inspect)


@pytest.mark.parametrize(("name", "param"), [("switch_alarm", "time"), ("move_alarm", "new")])
@pytest.mark.parametrize("change", [{"days": ["Mon"]}, {"label": "Gym"}])
def test_a_changed_alarm_keeps_its_label_and_days(name: str, param: str, change: dict[str, Any]) -> None:
    phone, task = solved(name)
    spoil(phone, "clock", "alarms", lambda alarms: entry(alarms, "time", task.params[param]).update(change))
    assert not is_solved(task, phone.inspect)


@pytest.mark.parametrize("name", ["add_world_clock", "remove_world_clock", "start_timer", "set_alarm"])
def test_a_world_clock_more_than_asked_for_fails(name: str) -> None:
    phone, task = solved(name)
    spoil(phone, "clock", "cities", lambda cities: cities.append("Honolulu"))
    assert not is_solved(task, phone.inspect)


def test_weekly_alarms_are_asked_for_in_good_english() -> None:
    assert not [p for p in all_templates()["set_weekly_alarm"].phrasings if "On every" in p]


# ---------------------------------------------------------------- calendar


@pytest.mark.parametrize("name", ["add_event", "move_event_time", "set_event_place", "move_event_day"])
@pytest.mark.parametrize(
    "change", [{"time": "3:33"}, {"date": "2026-12-24"}, {"place": "Nowhere"}, {"reminder_min": 60}], ids=str
)
def test_an_event_has_no_other_time_day_place_or_reminder(name: str, change: dict[str, Any]) -> None:
    phone, task = solved(name)
    spoil(phone, "calendar", "events", lambda events: entry(events, "title", task.params["title"]).update(change))
    assert not is_solved(task, phone.inspect)


def test_an_event_may_be_written_a_little_differently() -> None:
    phone, task = solved("add_event", time="9:05")
    event = {"title": f" {task.params['title'].upper()}.", "time": "09:05"}
    spoil(phone, "calendar", "events", lambda events: entry(events, "title", task.params["title"]).update(event))
    assert is_solved(task, phone.inspect)


# ---------------------------------------------------------------- calculator


@pytest.mark.parametrize(
    ("name", "params", "sums", "expected"),
    [
        ("calculate_chain", {"a": "74", "b": "12", "c": "4"}, [("82+0", "82")], False),
        ("calculate_chain", {"a": "74", "b": "12", "c": "4"}, [("78+4", "82")], False),
        ("calculate_chain", {"a": "74", "b": "12", "c": "4"}, [("86-4", "82")], False),
        ("calculate_chain", {"a": "74", "b": "12", "c": "4"}, [("86-4", "82"), ("74+12", "86")], True),
        ("calculate_chain", {"a": "74", "b": "12", "c": "4"}, [("(12+74)-4", "82")], True),
        ("calculate", {"a": "60", "b": "20", "operator": "minus"}, [("20+20", "40")], False),
        ("calculate", {"a": "60", "b": "20", "operator": "minus"}, [("20-60", "-40")], False),
        ("calculate", {"a": "60", "b": "20", "operator": "times"}, [("20*60", "1200")], True),
        ("split_bill", {"a": "90", "b": "3"}, [("30*1", "30")], False),
        ("split_bill", {"a": "90", "b": "3"}, [("90/3", "30")], True),
        ("calculate_percent", {"a": "15", "b": "240"}, [("36*1", "36")], False),
        ("calculate_percent", {"a": "15", "b": "240"}, [("240*0.15", "36")], True),
        ("calculate_percent", {"a": "15", "b": "240"}, [("15/100*240", "36")], True),
        ("calculate_percent", {"a": "15", "b": "240"}, [("3600/100", "36"), ("15*240", "3600")], True),
    ],
)
def test_a_sum_is_of_the_numbers_asked_for(
    name: str, params: dict[str, str], sums: list[tuple[str, str]], expected: bool
) -> None:
    phone, task = the_phone(), task_of(name, **params)
    arrange(phone, task)
    new = [{"expression": e, "result": r} for e, r in sums]
    phone.arrange({"calculator": {"history": new + phone.inspect("calculator")["history"]}})
    assert is_solved(task, phone.inspect) is expected


# ---------------------------------------------------------------- notes and weather


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pin_note", {"body": "Spoilt"}),
        ("rewrite_note", {"pinned": True}),
        ("create_note", {"pinned": True}),
        ("create_note", {"body": "Spoilt"}),
    ],
)
def test_a_note_is_just_what_was_asked_for(name: str, change: dict[str, Any]) -> None:
    phone, task = solved(name)
    spoil(phone, "notes", "notes", lambda notes: entry(notes, "title", task.params["title"]).update(change))
    assert not is_solved(task, phone.inspect)


@pytest.mark.parametrize("name", ["create_note", "delete_note", "pin_note", "rewrite_note"])
def test_a_note_more_than_asked_for_fails(name: str) -> None:
    phone, task = solved(name)
    spoil(phone, "notes", "notes", lambda notes: notes.append({"title": "Extra", "body": ""}))
    assert not is_solved(task, phone.inspect)


@pytest.mark.parametrize("name", [name for name, app, _ in KEEPING if app == "weather"])
def test_the_weather_app_is_otherwise_left_alone(name: str) -> None:
    phone, task = solved(name)
    good = phone.inspect("weather")
    other = "C" if good["units"] == "F" else "F"
    for change in ({"units": other}, {"alerts": False}, {"cities": [*good["cities"], "Amsterdam"]}):
        phone.arrange({"weather": change})
        assert not is_solved(task, phone.inspect)
        phone.arrange({"weather": good})
    assert is_solved(task, phone.inspect)


# ---------------------------------------------------------------- web


def searched(query: str, name: str, **params: str) -> bool:
    """Whether a search solves a task."""
    phone, task = the_phone(), task_of(name, **params)
    arrange(phone, task)
    page = {"app": "browser", "name": "search", "arg": query}
    phone.arrange({"phone": {"foreground": "browser", "stacks": {"browser": [page]}}})
    return is_solved(task, phone.inspect)


@pytest.mark.parametrize(
    ("name", "subject", "query", "expected"),
    [
        ("search_capital", "Austria", "capital " + " ".join(COUNTRIES.words), False),
        ("search_capital", "Austria", "capital of Austria and Peru", False),
        ("search_capital", "Austria", "population of the capital of Austria", False),
        ("search_capital", "Austria", "Austria", False),
        ("search_capital", "Austria", "capital of Austria.", True),
        ("search_capital", "Austria", "Austria's CAPITAL?", True),
        ("search_capital", "New Zealand", "what is the capital of new zealand", True),
        ("search_author", "Jane Eyre", 'who wrote "Jane Eyre"?', True),
        ("search_author", "Moby-Dick", "author of moby dick", True),
        ("search_author", "Jane Eyre", "who wrote Jane Eyre Hamlet", False),
        ("search_conversion", "5 miles km", "5 miles in km", True),
        ("search_conversion", "5 miles km", "How many kilometers are 5mi?", True),
        ("search_conversion", "5 miles km", "5 km in miles", False),
        ("search_conversion", "5 miles km", "5 6 7 miles km", False),
    ],
)
def test_a_search_asks_for_one_thing(name: str, subject: str, query: str, expected: bool) -> None:
    assert searched(query, name, subject=subject) is expected


def test_a_search_for_a_topic_names_no_other_one() -> None:
    assert searched("lentil soup!", "search_topic", topic="lentil soup")
    assert not searched("lentil soup beekeeping", "search_topic", topic="lentil soup")
    assert not is_about("lentil soup one two three four five six seven", "lentil soup", TOPICS)
    assert not is_conversion("", "5", "miles", "km")


@pytest.mark.parametrize("name", [name for name, _, field in KEEPING if field == "bookmarks"])
def test_a_bookmark_more_than_asked_for_fails(name: str) -> None:
    phone, task = solved(name)
    spoil(phone, "browser", "bookmarks", lambda marks: marks.append({"url": "daybreak.news", "title": "Daybreak"}))
    assert not is_solved(task, phone.inspect)

"""The plan language of the scripted expert: on which page, what to do.

A plan does not say "first this, then that" but "on this page, see that this holds, then touch that", so the expert goes
on from wherever it finds itself. A plan of several stages says how to know that a stage is done.

    plan("Clock",
         on("clock/edit", field("time", "7:30"), tap("Save")),
         on("clock/home", choose("Alarm"), tap(id="fab")))

Rules are tried in order; the first whose page matches the activity counts. Within it, the first thing that is not yet
so is done. "contacts/detail" matches that page with any argument; "contacts/detail/Ana" only with this one.
"""

from collections.abc import Callable

import msgspec

from distrl.core.interfaces import Plain

Inspect = Callable[[str], Plain]


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to see to on a page. `how` is the verb; `text` and `id` find the element."""

    how: str
    text: str = ""
    id: str = ""
    value: str = ""
    on: bool = True
    percent: int = 0


class Rule(msgspec.Struct, frozen=True):
    """What to do on pages that match."""

    where: str
    acts: tuple[Act, ...]


class Stage(msgspec.Struct, frozen=True):
    """Rules within one app; `done` says from the phone's state that the next stage may begin."""

    app: str
    rules: tuple[Rule, ...]
    done: Callable[[Inspect], bool] | None = None


Plan = tuple[Stage, ...]


def plan(app: str, *rules: Rule) -> Plan:
    """A plan within one app, named as the launcher names it."""
    return (Stage(app, rules),)


def stage(app: str, *rules: Rule, done: Callable[[Inspect], bool] | None = None) -> Stage:
    """A part of a plan that has several; give all but the last a `done`."""
    return Stage(app, rules, done)


def on(where: str, *acts: Act) -> Rule:
    """What to do on a page: "app/page" or "app/page/arg"."""
    return Rule(where, acts)


def tap(text: str = "", *, id: str = "") -> Act:
    """Touch the element with this id or text; scroll to it if need be."""
    return Act(how="tap", text=text, id=id)


def hold(text: str = "", *, id: str = "") -> Act:
    """Press it long."""
    return Act(how="hold", text=text, id=id)


def field(id: str, value: str) -> Act:
    """See that this field holds exactly this text."""
    return Act(how="field", id=id, value=value)


def enter(id: str, value: str) -> Act:
    """See that this field holds this text, then press enter in it."""
    return Act(how="enter", id=id, value=value)


def toggle(text: str = "", *, on: bool, id: str = "") -> Act:
    """See that this switch or checkbox is on, or off."""
    return Act(how="toggle", text=text, id=id, on=on)


def choose(text: str = "", *, id: str = "") -> Act:
    """See that this tab, chip or radio button is chosen."""
    return Act(how="toggle", text=text, id=id, on=True)


def slide(title: str, percent: int) -> Act:
    """See that this slider stands within two points of this value."""
    return Act(how="slide", id=f"slider:{title}", percent=percent)


def if_seen(text: str = "", *, id: str = "") -> Act:
    """Touch it if it is on the screen; do not look for it."""
    return Act(how="if_seen", text=text, id=id)


def type_keys(value: str) -> Act:
    """Type, where no field is needed for it."""
    return Act(how="type", value=value)


def press_back() -> Act:
    """Leave this page."""
    return Act(how="back")


def swipe(direction: str) -> Act:
    """Swipe the finger up, down, left or right."""
    return Act(how="swipe", value=direction)


def wait() -> Act:
    """Let a moment pass."""
    return Act(how="wait")

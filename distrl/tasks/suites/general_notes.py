"""General tasks about notes: create, change, find, pin and delete."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, field, on, plan, tap
from distrl.tasks.template import Draw, Inspect, Params, Template, pool, same
from distrl.tasks.words import THINGS

TITLES = pool(
    *"Groceries|Garden plan|Trip to the coast|Reading list|Party ideas|Workout|Recipes|House repairs|Birthday gifts|"
    "Language class|Bike service|Movie night|Fishing gear|Choir songs|Budget|Camping list|Museum visit|Cleaning day|"
    "School play|Weekend plan|Tax papers|Dream car|New flat|Study plan|Pet food".split("|")
)


def _create(p: Params) -> Plan:
    return plan(
        "Notes",
        on("notes/edit", field("title", p["title"]), field("body", p["body"]), tap(id="save")),
        on("notes/home", tap(id="fab")),
    )


def _has_note(p: Params, inspect: Inspect) -> bool:
    return any(same(n["title"], p["title"]) and same(n["body"], p["body"]) for n in inspect("notes")["notes"])


def _draw_note(d: Draw) -> Params:
    first, second = d.pick_two(THINGS)
    return {"title": d.pick(TITLES), "body": f"{first} and {second}"}


def _with_note(p: Params, rng: Random) -> Plain:
    """The note in question among two others."""
    others = rng.sample([t for t in TITLES.words if t != p["title"]], 2)
    notes = [{"title": t, "body": "Ask Rui about it"} for t in (p["title"], *others)]
    rng.shuffle(notes)
    return {"notes": {"notes": notes}}


def _note(p: Params, inspect: Inspect) -> Plain | None:
    return next((n for n in inspect("notes")["notes"] if same(n["title"], p["title"])), None)


def _pinned(p: Params, inspect: Inspect) -> bool:
    note = _note(p, inspect)
    return note is not None and bool(note["pinned"])


def _rewritten(p: Params, inspect: Inspect) -> bool:
    note = _note(p, inspect)
    return note is not None and same(note["body"], p["body"])


TEMPLATES = (
    Template(
        name="create_note",
        suite="general",
        difficulty=2,
        phrasings=(
            "Create a note called {title} that says {body}",
            "Make a new note titled {title} with the text {body}",
            "In Notes, write {body} in a new note named {title}",
        ),
        draw=_draw_note,
        check=_has_note,
        plan=_create,
    ),
    Template(
        name="delete_note",
        suite="general",
        difficulty=2,
        phrasings=(
            "Delete the note {title}",
            "Remove my note called {title}",
            "I no longer need the note {title}, delete it",
        ),
        draw=lambda d: {"title": d.pick(TITLES)},
        world=_with_note,
        check=lambda p, inspect: _note(p, inspect) is None and len(inspect("notes")["notes"]) == 2,
        plan=lambda p: plan(
            "Notes",
            on(f"notes/delete/{p['title']}", tap("Delete")),
            on(f"notes/edit/{p['title']}", tap(id="delete")),
            on("notes/home", tap(p["title"])),
        ),
    ),
    Template(
        name="pin_note",
        suite="general",
        difficulty=1,
        phrasings=("Pin the note {title}", "Keep my note {title} at the top", "Pin {title} in Notes"),
        draw=lambda d: {"title": d.pick(TITLES)},
        world=_with_note,
        check=_pinned,
        plan=lambda p: plan("Notes", on(f"notes/edit/{p['title']}", tap(id="pin")), on("notes/home", tap(p["title"]))),
    ),
    Template(
        name="rewrite_note",
        suite="general",
        difficulty=3,
        unseen=True,
        phrasings=("Change the note {title} so that it says {body}", "Replace the text of my note {title} with {body}"),
        draw=_draw_note,
        world=_with_note,
        check=_rewritten,
        plan=lambda p: plan(
            "Notes",
            on(f"notes/edit/{p['title']}", field("body", p["body"]), tap(id="save")),
            on("notes/home", tap(p["title"])),
        ),
    ),
)

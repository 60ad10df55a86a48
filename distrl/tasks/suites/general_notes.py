"""General tasks about notes: create, change, find, pin and delete."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, field, on, plan, tap
from distrl.tasks.template import Draw, Inspect, Keep, Params, Template, pool, same
from distrl.tasks.words import THINGS

TITLES = pool(
    *"Groceries|Garden plan|Trip to the coast|Reading list|Party ideas|Workout|Recipes|House repairs|Birthday gifts|"
    "Language class|Bike service|Movie night|Fishing gear|Choir songs|Budget|Camping list|Museum visit|Cleaning day|"
    "School play|Weekend plan|Tax papers|Dream car|New flat|Study plan|Pet food".split("|")
)
BODY = "Ask Rui about it"
OTHERS = 2
"""How many notes every task starts with that it does not speak of."""
KEEPS = (Keep("notes", "notes", "title"),)


def _create(p: Params) -> Plan:
    return plan(
        "Notes",
        on("notes/edit", field("title", p["title"]), field("body", p["body"]), tap(id="save")),
        on("notes/home", tap(id="fab")),
    )


def _draw_note(d: Draw) -> Params:
    first, second = d.pick_two(THINGS)
    return {"title": d.pick(TITLES), "body": f"{first} and {second}"}


def _other_notes(p: Params, rng: Random) -> Plain:
    titles = rng.sample([t for t in TITLES.words if t != p["title"]], OTHERS)
    return {"notes": {"notes": [{"title": t, "body": BODY, "pinned": False} for t in titles]}}


def _with_note(p: Params, rng: Random) -> Plain:
    """The note in question among two others."""
    world = _other_notes(p, rng)
    world["notes"]["notes"].insert(rng.randrange(OTHERS + 1), {"title": p["title"], "body": BODY, "pinned": False})
    return world


def _is_alike(typed: str, asked: str) -> bool:
    """Equal to a person, who may have ended it with a full stop."""
    return same(typed.rstrip(" .!"), asked)


def _is_so(p: Params, inspect: Inspect, *, body: str, pinned: bool = False) -> bool:
    """There is one note of this title beside the others, and it is just so."""
    notes = inspect("notes")["notes"]
    mine = [n for n in notes if _is_alike(n["title"], p["title"])]
    if len(mine) != 1 or len(notes) != OTHERS + 1:
        return False
    return _is_alike(mine[0]["body"], body) and mine[0]["pinned"] is pinned


def _is_written(p: Params, inspect: Inspect) -> bool:
    return _is_so(p, inspect, body=p["body"])


def _is_deleted(p: Params, inspect: Inspect) -> bool:
    notes = inspect("notes")["notes"]
    return len(notes) == OTHERS and not any(_is_alike(n["title"], p["title"]) for n in notes)


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
        world=_other_notes,
        keeps=KEEPS,
        check=_is_written,
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
        keeps=KEEPS,
        check=_is_deleted,
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
        keeps=KEEPS,
        check=lambda p, inspect: _is_so(p, inspect, body=BODY, pinned=True),
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
        keeps=KEEPS,
        check=_is_written,
        plan=lambda p: plan(
            "Notes",
            on(f"notes/edit/{p['title']}", field("body", p["body"]), tap(id="save")),
            on("notes/home", tap(p["title"])),
        ),
    ),
)

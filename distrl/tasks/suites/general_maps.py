"""General tasks about maps: save places, call them, and find the way."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, Rule, choose, field, on, plan, tap
from distrl.tasks.suites.media_words import PLACES, SPOTS, WAYS
from distrl.tasks.suites.strict import Only
from distrl.tasks.template import Draw, Inspect, Params, Template

_STREETS = ("Mill Street", "Harbor Road", "Elm Avenue", "Station Square", "Castle Lane", "River Walk")


def _town(p: Params, rng: Random) -> Plain:
    """Five places of each kind; the one in question is the best of its kind and not saved."""
    shown = {kind: rng.sample([n for n in names if n != p["place"]], 5) for kind, names in SPOTS.items()}
    mine = next(kind for kind, names in SPOTS.items() if p["place"] in names)
    shown[mine][rng.randrange(5)] = p["place"]
    places = [
        {
            "name": name,
            "kind": kind,
            "street": f"{rng.choice(_STREETS)} {rng.randint(1, 80)}",
            "rating": (49 if name == p["place"] else rng.randint(31, 47)) / 10,
            "reviews": rng.randint(15, 2000),
            "closes": rng.choice((18, 20, 22)),
            "phone": f"555-{rng.randrange(10000):04d}",
            "distance_m": rng.randrange(300, 9000, 100),
        }
        for kind, names in shown.items()
        for name in names
    ]
    saved = rng.sample([x["name"] for x in places if x["name"] != p["place"]], 2)
    return {"maps": {"places": places, "saved": saved, "calls": [], "route": None}}


def _town_with_saved(p: Params, rng: Random) -> Plain:
    world = _town(p, rng)
    world["maps"]["saved"].insert(rng.randrange(3), p["place"])
    return world


def _search(place: str) -> tuple[Rule, ...]:
    return (on("maps/search", field("query", place), tap(id=f"place:{place}")), on("maps/home", tap(id="search")))


def _on_place(p: Params, touch: str) -> Plan:
    return plan("Maps", on(f"maps/place/{p['place']}", tap(id=touch)), *_search(p["place"]))


def _go(p: Params) -> Plan:
    place = p["place"]
    return plan(
        "Maps",
        on(f"maps/route/{place}", choose(WAYS[p["way"]]), tap(id="start")),
        on(f"maps/place/{place}", tap(id="directions")),
        *_search(place),
    )


def _saved(p: Params, inspect: Inspect) -> bool:
    return bool(inspect("maps")["saved"].count(p["place"]) == 1)


def _best(d: Draw) -> Params:
    kind = d.choice(sorted(SPOTS))
    return {"kind": kind, "place": d.choice(SPOTS[kind])}


SAVED = Only("maps", "saved")
ALL_SAVED = Only("maps", "saved", whole=True)
CALLS = Only("maps", "calls", whole=True)

TEMPLATES = (
    Template(
        name="save_place",
        suite="general",
        difficulty=2,
        phrasings=(
            "Save {place} in Maps",
            "Add {place} to my saved places",
            "Find {place} on the map and save it for later",
        ),
        draw=lambda d: {"place": d.pick(PLACES)},
        world=_town,
        keeps=(SAVED, CALLS),
        check=_saved,
        plan=lambda p: _on_place(p, "save"),
    ),
    Template(
        name="navigate_to_place",
        suite="general",
        difficulty=2,
        phrasings=(
            "Navigate to {place} {way}",
            "Start directions to {place} {way} in Maps",
            "I want to go to {place} {way}, start the route",
        ),
        draw=lambda d: {"place": d.pick(PLACES), "way": d.choice(sorted(WAYS))},
        world=_town,
        keeps=(ALL_SAVED, CALLS),
        check=lambda p, inspect: inspect("maps")["route"] == {"to": p["place"], "mode": WAYS[p["way"]]},
        plan=_go,
    ),
    Template(
        name="call_place",
        suite="general",
        difficulty=2,
        phrasings=(
            "Call {place} from Maps",
            "Find {place} in Maps and call them",
            "Look up {place} on the map and ring them",
        ),
        draw=lambda d: {"place": d.pick(PLACES)},
        world=_town,
        keeps=(ALL_SAVED,),
        check=lambda p, inspect: set(inspect("maps")["calls"]) == {p["place"]},
        plan=lambda p: _on_place(p, "call"),
    ),
    Template(
        name="forget_place",
        suite="general",
        difficulty=1,
        phrasings=(
            "Remove {place} from my saved places in Maps",
            "Take {place} off the saved places",
            "I do not need {place} among my saved places any more",
        ),
        draw=lambda d: {"place": d.pick(PLACES)},
        world=_town_with_saved,
        keeps=(SAVED, CALLS),
        check=lambda p, inspect: p["place"] not in inspect("maps")["saved"],
        plan=lambda p: plan(
            "Maps",
            on(f"maps/place/{p['place']}", tap(id="save")),
            on("maps/saved", tap(id=f"place:{p['place']}")),
            on("maps/home", tap("Saved")),
        ),
    ),
    Template(
        name="save_best_place",
        suite="general",
        difficulty=2,
        unseen=True,
        phrasings=(
            "Save the top rated place under {kind} in Maps",
            "Look at {kind} on the map and save the one with the best rating",
            "Which of the {kind} in Maps is rated best? Save it",
        ),
        draw=_best,
        world=_town,
        keeps=(SAVED, CALLS),
        check=_saved,
        plan=lambda p: plan(
            "Maps",
            on(f"maps/place/{p['place']}", tap(id="save")),
            on(f"maps/category/{p['kind']}", choose("Top rated"), tap(id=f"place:{p['place']}")),
            on("maps/categories", tap(p["kind"])),
            on("maps/home", tap(id="categories")),
        ),
    ),
)

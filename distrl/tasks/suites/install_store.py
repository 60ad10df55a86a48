"""The suite `install`: apps are found, installed, opened, updated, rated, wished for and removed in the Store."""

from random import Random
from typing import Any

from distrl.core.interfaces import Plain
from distrl.tasks.plan import choose, on, plan, tap
from distrl.tasks.suites import store_ways
from distrl.tasks.suites.store_ways import is_installed
from distrl.tasks.suites.store_words import APPS, FREE, PAID, REVIEWS, SMALLEST
from distrl.tasks.suites.strict import Only, alike
from distrl.tasks.template import Draw, Inspect, Params, Template

SUITE = "install"


def _store(inspect: Inspect) -> dict[str, Any]:
    return dict(inspect("store"))


# ---- worlds


def _others(p: Params, rng: Random, count: int) -> list[str]:
    """Apps that the task does not speak of."""
    return rng.sample([a for a in APPS.words if a not in p.values() and a not in p.get("names", "")], count)


def _absent(p: Params, rng: Random) -> Plain:
    """A phone with four apps, and none that are asked for."""
    installed = _others(p, rng, 4)
    return {"store": {"installed": installed, "updates": installed[:1], "wish_list": [], "my_ratings": {}}}


def _present(p: Params, rng: Random) -> Plain:
    """A phone with the app in question and four others."""
    installed = [p["app"], *_others(p, rng, 4)]
    rng.shuffle(installed)
    state = {"installed": installed, "updates": [], "wish_list": [], "my_ratings": {}, "my_reviews": {}}
    return {"store": state}


def _outdated(p: Params, rng: Random) -> Plain:
    """The app in question is old, and so are two others."""
    others = _others(p, rng, 4)
    updates = [p["app"], *others[:2]]
    rng.shuffle(updates)
    return {"store": {"installed": [p["app"], *others], "updates": updates, "wish_list": []}}


def _all_outdated(p: Params, rng: Random) -> Plain:
    names = p["names"].split(",")
    installed = [*names, *_others(p, rng, 2)]
    return {"store": {"installed": installed, "updates": names, "auto_update": False, "wish_list": []}}


def _wished(p: Params, rng: Random) -> Plain:
    others = _others(p, rng, 4)
    wishes = [p["app"], *others[:2]]
    rng.shuffle(wishes)
    return {"store": {"installed": others[2:], "updates": [], "wish_list": wishes}}


def _ranked(p: Params, rng: Random) -> Plain:
    """The app in question is the best of its category."""
    scores = {name: rng.randint(30, 46) / 10 for name in (*APPS.words, *PAID.words)}
    scores[p["app"]] = rng.randint(47, 49) / 10
    elsewhere = [name for kind, names in FREE.items() if kind != p["category"] for name in names]
    return {"store": {"scores": scores, "installed": rng.sample(elsewhere, 4), "updates": [], "wish_list": []}}


def _none_of_category(p: Params, rng: Random) -> Plain:
    elsewhere = [name for kind, names in FREE.items() if kind != p["category"] for name in names]
    return {"store": {"installed": rng.sample(elsewhere, 4), "updates": [], "wish_list": []}}


# ---- ground truth


def _opened(p: Params, inspect: Inspect) -> bool:
    return is_installed(p, inspect) and p["app"] in _store(inspect)["opened"]


def _updated(p: Params, inspect: Inspect) -> bool:
    state = _store(inspect)
    return p["app"] not in state["updates"] and p["app"] in state["installed"]


def _swapped(p: Params, inspect: Inspect) -> bool:
    names = _store(inspect)["installed"]
    return p["app"] not in names and p["other"] in names


def _rated(p: Params, inspect: Inspect) -> bool:
    return bool(_store(inspect)["my_ratings"] == {p["app"]: int(p["stars"])})


def _reviewed(p: Params, inspect: Inspect) -> bool:
    reviews = _store(inspect)["my_reviews"]
    return _rated(p, inspect) and set(reviews) == {p["app"]} and alike(reviews[p["app"]], p["review"])


# ---- draws


def _one(d: Draw) -> Params:
    return {"app": d.pick(APPS)}


def _two(d: Draw) -> Params:
    first, second = d.pick_two(APPS)
    return {"app": first, "other": second}


def _outdated_set(d: Draw) -> Params:
    names = d.rng.sample(APPS.words, d.rng.randint(3, 6))
    return {"count": str(len(names)), "names": ",".join(sorted(names))}


def _best(d: Draw) -> Params:
    category = d.choice(sorted(FREE))
    return {"category": category, "app": d.choice(FREE[category])}


def _smallest(d: Draw) -> Params:
    category = d.choice(sorted(SMALLEST))
    return {"category": category, "app": SMALLEST[category]}


# ---- what stays as it was

APPS_BUT_THIS = Only("store", "installed")
ALL_APPS = Only("store", "installed", whole=True)
WISHES = Only("store", "wish_list", whole=True)
UPDATES = Only("store", "updates", whole=True)
RATINGS = Only("store", "my_ratings", whole=True)

TEMPLATES = (
    Template(
        name="install_app",
        suite=SUITE,
        difficulty=2,
        phrasings=(
            "Install {app}",
            "Get the app {app} from the Store",
            "Download {app} onto my phone",
            "I want to have {app}, please install it",
        ),
        draw=_one,
        world=_absent,
        keeps=(APPS_BUT_THIS, WISHES, UPDATES, RATINGS),
        check=is_installed,
        plan=store_ways.install,
    ),
    Template(
        name="install_and_open_app",
        suite=SUITE,
        difficulty=2,
        phrasings=(
            "Install {app} and open it",
            "Get {app} from the Store, then start it",
            "Download {app} and launch it",
        ),
        draw=_one,
        world=_absent,
        keeps=(APPS_BUT_THIS, WISHES, UPDATES, RATINGS),
        check=_opened,
        plan=store_ways.install_and_open,
    ),
    Template(
        name="install_two_apps",
        suite=SUITE,
        difficulty=3,
        phrasings=(
            "Install {app} and {other}",
            "Get both {app} and {other} from the Store",
            "I need two apps: {app} and {other}",
        ),
        draw=_two,
        world=_absent,
        keeps=(APPS_BUT_THIS, WISHES, UPDATES, RATINGS),
        check=lambda p, inspect: is_installed(p, inspect) and p["other"] in _store(inspect)["installed"],
        plan=store_ways.install_two,
    ),
    Template(
        name="uninstall_app",
        suite=SUITE,
        difficulty=2,
        phrasings=(
            "Uninstall {app}",
            "Remove the app {app} from my phone",
            "I never use {app}, get rid of it",
            "Delete {app}, but keep my other apps",
        ),
        draw=_one,
        world=_present,
        keeps=(APPS_BUT_THIS, WISHES, UPDATES, RATINGS),
        check=lambda p, inspect: not is_installed(p, inspect),
        plan=store_ways.uninstall,
    ),
    Template(
        name="update_app",
        suite=SUITE,
        difficulty=1,
        phrasings=(
            "Update {app} and nothing else",
            "Install the update of {app}, leave the other apps alone",
            "Bring only {app} up to date",
        ),
        draw=_one,
        world=_outdated,
        keeps=(ALL_APPS, WISHES, Only("store", "updates")),
        check=_updated,
        plan=lambda p: plan(
            "Store",
            on("store/mine", choose("Updates"), tap(id=f"update:{p['app']}")),
            on("store/home", tap("My apps")),
        ),
    ),
    Template(
        name="update_all_apps",
        suite=SUITE,
        difficulty=1,
        phrasings=(
            "Update all {count} apps that need it",
            "Install all {count} app updates",
            "There are {count} updates waiting in the Store, install them all",
            "Bring my apps up to date, all {count} of them",
            "{count} apps are out of date, update them",
        ),
        draw=_outdated_set,
        world=_all_outdated,
        keeps=(ALL_APPS, WISHES),
        check=lambda p, inspect: not _store(inspect)["updates"] and not _store(inspect)["auto_update"],
        plan=lambda p: plan(
            "Store", on("store/mine", choose("Updates"), tap(id="update_all")), on("store/home", tap("My apps"))
        ),
    ),
    Template(
        name="wish_for_app",
        suite=SUITE,
        difficulty=2,
        phrasings=(
            "Add {app} to my wish list in the Store",
            "Put {app} on the Store's wish list",
            "Do not install {app} yet, just add it to the wish list",
        ),
        draw=_one,
        world=_absent,
        keeps=(ALL_APPS, UPDATES, RATINGS),
        check=lambda p, inspect: _store(inspect)["wish_list"] == [p["app"]],
        plan=store_ways.wish,
    ),
    Template(
        name="drop_wish",
        suite=SUITE,
        difficulty=2,
        phrasings=(
            "Remove {app} from my wish list in the Store",
            "Take {app} off the wish list",
            "I no longer want {app}, drop it from the Store's wish list",
        ),
        draw=_one,
        world=_wished,
        keeps=(ALL_APPS, UPDATES, Only("store", "wish_list")),
        check=lambda p, inspect: p["app"] not in _store(inspect)["wish_list"],
        plan=store_ways.drop_wish,
    ),
    Template(
        name="rate_app",
        suite=SUITE,
        difficulty=2,
        phrasings=(
            "Rate {app} with {stars} stars in the Store",
            "Give the app {app} {stars} stars",
            "Leave a rating of {stars} stars for {app}",
        ),
        draw=lambda d: {"app": d.pick(APPS), "stars": d.number(2, 5)},
        world=_present,
        keeps=(ALL_APPS, WISHES, UPDATES),
        check=lambda p, inspect: _rated(p, inspect) and not any(_store(inspect)["my_reviews"].values()),
        plan=store_ways.rate,
    ),
    Template(
        name="install_best_of_category",
        suite=SUITE,
        difficulty=2,
        phrasings=(
            "Install the highest rated app of the category {category}",
            "Find the {category} app with the best rating in the Store and install it",
            "Get me the top rated {category} app",
            "Which {category} app has the most stars? Install that one",
            "Look under {category} in the Store and install the best rated one",
        ),
        draw=_best,
        world=_ranked,
        keeps=(APPS_BUT_THIS, WISHES, UPDATES),
        check=is_installed,
        plan=lambda p: store_ways.install_by_category(p, "Top rated"),
    ),
    Template(
        name="swap_apps",
        suite=SUITE,
        difficulty=3,
        phrasings=(
            "Uninstall {app} and install {other} instead",
            "Replace {app} with {other}",
            "Get rid of {app} and get {other} from the Store",
        ),
        draw=_two,
        world=_present,
        keeps=(APPS_BUT_THIS, WISHES, UPDATES, RATINGS),
        check=_swapped,
        plan=store_ways.swap,
    ),
    Template(
        name="review_app",
        suite=SUITE,
        difficulty=3,
        unseen=True,
        phrasings=(
            "Give {app} {stars} stars in the Store and write the review {review}",
            "Review {app} in the Store: {stars} stars and the text {review}",
            "Rate {app} with {stars} stars and say {review}",
        ),
        draw=lambda d: {"app": d.pick(APPS), "stars": d.number(2, 5), "review": d.pick(REVIEWS)},
        world=_present,
        keeps=(ALL_APPS, WISHES, UPDATES),
        check=_reviewed,
        plan=store_ways.rate,
    ),
    Template(
        name="install_smallest_of_category",
        suite=SUITE,
        difficulty=2,
        unseen=True,
        phrasings=(
            "Install the smallest {category} app",
            "Storage is low: install the {category} app that takes the least space",
            "Find the {category} app with the smallest size in the Store and install it",
        ),
        draw=_smallest,
        world=_none_of_category,
        keeps=(APPS_BUT_THIS, WISHES, UPDATES),
        check=is_installed,
        plan=lambda p: store_ways.install_by_category(p, "Small size"),
    ),
    Template(
        name="buy_app",
        suite=SUITE,
        difficulty=2,
        unseen=True,
        phrasings=("Buy the app {app}", "Purchase {app} in the Store", "Pay for {app} and install it"),
        draw=lambda d: {"app": d.pick(PAID)},
        world=_absent,
        keeps=(APPS_BUT_THIS, WISHES, UPDATES, RATINGS),
        check=is_installed,
        plan=store_ways.install,
    ),
)

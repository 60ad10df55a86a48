"""How the expert gets things done in the Store."""

from distrl.tasks.plan import Act, Plan, Rule, choose, field, on, plan, stage, tap
from distrl.tasks.template import Inspect, Params


def is_installed(p: Params, inspect: Inspect) -> bool:
    """Whether the app in question is on the phone."""
    return p["app"] in inspect("store")["installed"]


def _search_for(app: str) -> tuple[Rule, ...]:
    """From anywhere in the store to the page of an app."""
    return (
        on("store/search", field("query", app), tap(id=f"row:{app}")),
        on("store/home", tap(id="search")),
        on("store/app", tap(id="search")),
        on("store/mine", tap(id="search")),
    )


def _from_my_apps(app: str, tab: str) -> tuple[Rule, ...]:
    """To the page of an app that is on the phone or on the wish list."""
    return (on("store/mine", choose(tab), tap(id=f"row:{app}")), on("store/home", tap("My apps")))


def install(p: Params) -> Plan:
    """Search, open the page, install; a paid app asks first."""
    app = p["app"]
    return plan(
        "Store", on(f"store/buy/{app}", tap(id="confirm")), on(f"store/app/{app}", tap(id="install")), *_search_for(app)
    )


def install_and_open(p: Params) -> Plan:
    """Install, then open."""
    app = p["app"]
    get = stage("Store", *install(p)[0].rules, done=lambda inspect: is_installed(p, inspect))
    return (get, stage("Store", on(f"store/app/{app}", tap(id="open")), *_search_for(app)))


def install_two(p: Params) -> Plan:
    """One after the other."""
    first = stage("Store", *install(p)[0].rules, done=lambda inspect: is_installed(p, inspect))
    return (first, *install({"app": p["other"]}))


def uninstall(p: Params) -> Plan:
    """From the list of installed apps."""
    app = p["app"]
    return plan(
        "Store",
        on(f"store/uninstall/{app}", tap(id="confirm")),
        on(f"store/app/{app}", tap(id="uninstall")),
        on("store/mine", choose("Installed"), tap(id=f"uninstall:{app}")),
        on("store/home", tap("My apps")),
    )


def swap(p: Params) -> Plan:
    """One goes, another comes."""
    gone = stage("Store", *uninstall(p)[0].rules, done=lambda inspect: not is_installed(p, inspect))
    return (gone, *install({"app": p["other"]}))


def wish(p: Params) -> Plan:
    """Put it on the wish list."""
    return plan("Store", on(f"store/app/{p['app']}", tap(id="wish")), *_search_for(p["app"]))


def drop_wish(p: Params) -> Plan:
    """Take it off the wish list."""
    return plan("Store", on(f"store/app/{p['app']}", tap(id="wish")), *_from_my_apps(p["app"], "Wish list"))


def rate(p: Params) -> Plan:
    """Stars, and words if the task has some."""
    app, star = p["app"], f"star:{p['stars']}"
    acts: tuple[Act, ...] = (tap(id="post"),)
    if "review" in p:
        acts = (field("review", p["review"]), *acts)
    return plan(
        "Store",
        on(f"store/review/{app}", *acts),
        on(f"store/app/{app}", tap(id=star)),
        *_from_my_apps(app, "Installed"),
    )


def install_by_category(p: Params, order: str) -> Plan:
    """Open a category in this order and install the app that is right."""
    app = p["app"]
    return plan(
        "Store",
        on(f"store/app/{app}", tap(id="install")),
        on(f"store/category/{p['category']}", choose(order), tap(id=f"row:{app}")),
        on("store/home", choose("Categories"), tap(p["category"])),
    )

"""How the expert gets around the shops of the web: the way to a shop, to its results, to a product and into the cart.

Shops differ: some sort by a tab and some by a dialog, some sell from the list and some on the page of a product.
"""

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from distrl.tasks.plan import Act, Inspect, Plan, Rule, Stage, choose, enter, on, stage, tap, toggle
from distrl.tasks.template import same


class Ways(msgspec.Struct, frozen=True):
    """What sets a shop apart: where it sorts and filters, how a quantity is chosen, whether its list sells."""

    site: str
    sorts_by_tab: bool = False
    filters_by_chip: bool = False
    sells_from_list: bool = False
    quantity: str = "stepper"


SHOPS = {
    "kestrel": Ways("kestrel.shop", filters_by_chip=True, sells_from_list=True, quantity="dialog"),
    "bitbarn": Ways("bitbarn.shop"),
    "homely": Ways("homely.store", sorts_by_tab=True, sells_from_list=True),
    "velomart": Ways("velomart.shop", sorts_by_tab=True, filters_by_chip=True, quantity="chips"),
    "paperleaf": Ways("paperleaf.store"),
}
NAMES = tuple(shop.capitalize() for shop in SHOPS)
SITES = tuple(ways.site for ways in SHOPS.values())


def shop_of(name: str) -> str:
    """The id of a shop from its name or its address."""
    return name.partition(".")[0].casefold()


def page(shop: str, name: str) -> str:
    """The activity of a page of a shop."""
    return f"browser/shop_{shop}_{name}"


# ---- what the phone's state says


def pages(inspect: Inspect) -> list[dict[str, Any]]:
    """The pages of the browser, the topmost last."""
    found: list[dict[str, Any]] = inspect("phone")["stacks"].get("browser", [])
    return found


def wished(inspect: Inspect, shop: str, item: str) -> dict[str, Any]:
    """Order and filters chosen on the last results for an item."""
    for entry in reversed(pages(inspect)):
        if entry["name"] == f"shop_{shop}_results" and same(entry["arg"], item):
            return dict(entry["chosen"])
    return {}


def quantity_chosen(inspect: Inspect, shop: str, title: str) -> int:
    """The quantity on the page of a product; 0 when that page is not open."""
    for entry in reversed(pages(inspect)):
        if entry["name"] == f"shop_{shop}_product" and entry["arg"] == title:
            return int(entry["chosen"].get("quantity", 1))
    return 0


def cart(inspect: Inspect, shop: str) -> dict[str, int]:
    """How many of each title are in the cart."""
    counts: dict[str, int] = {}
    for entry in inspect("browser")["carts"].get(shop, []):
        counts[entry["title"]] = counts.get(entry["title"], 0) + entry["quantity"]
    return counts


def shop_holds(inspect: Inspect, shop: str, items: dict[str, int], wishes: Collection[str] = ()) -> bool:
    """Whether this is all that is in any cart and on any wish list, and nothing was ordered."""
    state = inspect("browser")
    elsewhere = [*state["carts"].items(), *state["wishlists"].items()]
    return (
        cart(inspect, shop) == items
        and sorted(state["wishlists"].get(shop, [])) == sorted(wishes)
        and not any(entries for name, entries in elsewhere if name != shop)
        and not state["orders"]
    )


# ---- rules


def to_shop(name: str) -> Rule:
    """From the browser's start to a shop: by its address if that is what it is called by, or by its shortcut."""
    ways = SHOPS[shop_of(name)]
    return on("browser/home", enter("url", ways.site) if "." in name else tap(id=f"site:{ways.site}"))


def to_results(name: str, query: str) -> tuple[Rule, ...]:
    """To the results of a query."""
    shop = shop_of(name)
    return (
        on(page(shop, "home"), enter("query", query)),
        on(page(shop, "results"), enter("query", query)),
        to_shop(name),
    )


def with_results(name: str, query: str, *acts: Act) -> tuple[Rule, ...]:
    """What to do on the results of a query, and the way there."""
    shop = shop_of(name)
    listed = (choose(id="tab:all"),) if shop == "paperleaf" else ()
    return (on(f"{page(shop, 'results')}/{query}", *listed, *acts), *to_results(name, query))


def putting(name: str, query: str, title: str) -> tuple[Rule, ...]:
    """Into the cart, from the list where the shop allows it."""
    shop = shop_of(name)
    sells = SHOPS[shop].sells_from_list
    return (
        on(page(shop, "filters"), tap(id="apply")),
        on(f"{page(shop, 'product')}/{title}", tap(id="add")),
        *with_results(name, query, tap(id=f"add:{title}" if sells else f"open:{title}")),
    )


def opening(name: str, query: str, title: str, *acts: Act) -> tuple[Rule, ...]:
    """To the page of a product, and what to do there."""
    shop = shop_of(name)
    there = f"{page(shop, 'product')}/{title}"
    return (on(there, *acts), *with_results(name, query, tap(id=f"open:{title}")))


# ---- stages


def sorting(name: str, query: str, sort: str) -> Stage:
    """See that the results are in this order."""
    shop = shop_of(name)
    by_tab = SHOPS[shop].sorts_by_tab
    return stage(
        "Browser",
        on(page(shop, "sort"), tap(id=f"sort:{sort}")),
        *with_results(name, query, tap(id=f"sort:{sort}" if by_tab else "sort")),
        done=lambda inspect: wished(inspect, shop, query).get("sort") == sort,
    )


def filtering(name: str, query: str, what: str) -> Stage:
    """See that this filter is on."""
    shop = shop_of(name)
    by_chip = SHOPS[shop].filters_by_chip
    return stage(
        "Browser",
        on(page(shop, "filters"), toggle(id=what, on=True), tap(id="apply")),
        *with_results(name, query, toggle(id=what, on=True) if by_chip else tap(id="filters")),
        done=lambda inspect: bool(wished(inspect, shop, query).get(what)),
    )


def counting(name: str, query: str, title: str, number: int) -> Plan:
    """See that this many are chosen on the page of a product."""
    shop = shop_of(name)
    how = SHOPS[shop].quantity

    def chosen(claim: Callable[[int], bool]) -> Callable[[Inspect], bool]:
        return lambda inspect: claim(quantity_chosen(inspect, shop, title))

    if how == "stepper":
        more = opening(name, query, title, tap(id="more"))
        less = opening(name, query, title, tap(id="less"))
        return (
            stage("Browser", *more, done=chosen(lambda n: n >= number)),
            stage("Browser", *less, done=chosen(lambda n: n == number)),
        )
    act = tap(id="quantity" if how == "dialog" else f"quantity:{number}")
    rules = (on(page(shop, "quantity"), tap(id=f"quantity:{number}")), *opening(name, query, title, act))
    return (stage("Browser", *rules, done=chosen(lambda n: n == number)),)

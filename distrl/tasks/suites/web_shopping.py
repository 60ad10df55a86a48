"""Shopping on the web: search, compare, open, put into the cart, keep for later."""

from collections.abc import Callable
from random import Random

from distrl.core.interfaces import Plain
from distrl.core.seeds import derive_random
from distrl.tasks.goods import BRANDS, ITEMS, Shelf, draw_stock, shelf
from distrl.tasks.plan import Plan, plan, stage, tap
from distrl.tasks.shop_ways import (
    NAMES,
    SITES,
    counting,
    filtering,
    opening,
    putting,
    shop_holds,
    shop_of,
    sorting,
    wished,
    with_results,
)
from distrl.tasks.template import Draw, Inspect, Params, Template, front, same

MAX_STEPS = 20
Wanted = Callable[[Shelf], str]


def by_site(d: Draw) -> Params:
    """A shop called by its address, and what to look for."""
    return {"shop": d.choice(SITES), "item": d.pick(ITEMS), "stock": draw_stock(d)}


def by_name(d: Draw) -> Params:
    """A shop called by its name, and what to look for."""
    return {"shop": d.choice(NAMES), "item": d.pick(ITEMS), "stock": draw_stock(d)}


def had(p: Params) -> dict[str, int]:
    """What is in the cart already: nothing, or one thing of another kind."""
    rng = derive_random(0, "had", p["stock"], p["item"])
    return {rng.choice(shelf(p).others): 1} if rng.random() < 0.5 else {}


def stocked(p: Params, rng: Random) -> Plain:
    """The shops sell the task's catalogue."""
    items = [{"title": title, "quantity": number} for title, number in had(p).items()]
    carts = {shop_of(p["shop"]): items}
    return {"browser": {"products": list(shelf(p).products), "carts": carts, "wishlists": {}, "orders": []}}


def searched(p: Params, inspect: Inspect) -> bool:
    """Whether the results of the item are in front, and nothing was bought."""
    app, name, arg = front(inspect)
    is_there = app == "browser" and name == f"shop_{shop_of(p['shop'])}_results" and same(arg, p["item"])
    return is_there and shop_holds(inspect, shop_of(p["shop"]), had(p))


def is_added(wanted: Wanted, number: int = 1) -> Callable[[Params, Inspect], bool]:
    """Whether the wanted product, and nothing else, has come into the cart."""

    def check(p: Params, inspect: Inspect) -> bool:
        return shop_holds(inspect, shop_of(p["shop"]), had(p) | {wanted(shelf(p)): number})

    return check


def is_open(wanted: Wanted) -> Callable[[Params, Inspect], bool]:
    """Whether the page of the wanted product is in front, and nothing was bought."""

    def check(p: Params, inspect: Inspect) -> bool:
        shop = shop_of(p["shop"])
        is_there = front(inspect) == ("browser", f"shop_{shop}_product", wanted(shelf(p)))
        return is_there and shop_holds(inspect, shop, had(p))

    return check


def first_to_cart(p: Params) -> Plan:
    """Search and add."""
    return plan("Browser", *putting(p["shop"], p["item"], shelf(p).first))


def sorted_to_cart(sort: str, wanted: Wanted) -> Callable[[Params], Plan]:
    """Search, sort, add the first."""
    return lambda p: (
        sorting(p["shop"], p["item"], sort),
        stage("Browser", *putting(p["shop"], p["item"], wanted(shelf(p)))),
    )


def filtered_to_cart(what: str, wanted: Wanted) -> Callable[[Params], Plan]:
    """Search, filter, add the first."""
    return lambda p: (
        filtering(p["shop"], p["item"], what),
        stage("Browser", *putting(p["shop"], p["item"], wanted(shelf(p)))),
    )


def some_to_cart(p: Params) -> Plan:
    """Search, open, choose how many, add."""
    title, number = shelf(p).first, int(p["number"])
    rules = opening(p["shop"], p["item"], title, tap(id="add"))
    return (*counting(p["shop"], p["item"], title, number), stage("Browser", *rules))


def sort_only(p: Params) -> Plan:
    """Search and sort."""
    return (
        sorting(p["shop"], p["item"], "price_low"),
        stage("Browser", *with_results(p["shop"], p["item"])),
    )


def is_sorted(p: Params, inspect: Inspect) -> bool:
    """Whether the results are in front and the cheapest is first."""
    return searched(p, inspect) and wished(inspect, shop_of(p["shop"]), p["item"]).get("sort") == "price_low"


def is_wished(p: Params, inspect: Inspect) -> bool:
    """Whether the first result, alone, is on the wish list."""
    return shop_holds(inspect, shop_of(p["shop"]), had(p), [shelf(p).first])


def opened_cheapest(p: Params) -> Plan:
    """Search, sort, open."""
    return (
        sorting(p["shop"], p["item"], "price_low"),
        stage("Browser", *opening(p["shop"], p["item"], shelf(p).cheapest)),
    )


TEMPLATES = (
    Template(
        name="shop_search",
        suite="web_shopping",
        difficulty=2,
        max_steps=MAX_STEPS,
        phrasings=(
            "Go to {shop} and search for {item}",
            "Search for {item} on {shop}",
            "Look up {item} at {shop} in the browser",
            "See what {shop} has when you search for {item}",
        ),
        draw=by_site,
        world=stocked,
        check=searched,
        plan=lambda p: plan("Browser", *with_results(p["shop"], p["item"])),
    ),
    Template(
        name="shop_search_by_name",
        suite="web_shopping",
        difficulty=2,
        max_steps=MAX_STEPS,
        phrasings=(
            "Open the {shop} shop in the browser and look for {item}",
            "Find {item} at {shop} online",
            "In the {shop} web shop search for {item}",
        ),
        draw=by_name,
        world=stocked,
        check=searched,
        plan=lambda p: plan("Browser", *with_results(p["shop"], p["item"])),
    ),
    Template(
        name="open_first_result",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "Go to {shop} and search for {item} then open the first result",
            "Search {shop} for {item} and show me the first product",
            "On {shop} look for {item} and open the first one in the list",
        ),
        draw=by_site,
        world=stocked,
        check=is_open(lambda s: s.first),
        plan=lambda p: plan("Browser", *opening(p["shop"], p["item"], shelf(p).first)),
    ),
    Template(
        name="add_first_result",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "Go to {shop} and search for {item} then add the first result to the cart",
            "On {shop} find {item} and put the first one into my cart",
            "Add the first result for {item} on {shop} to the shopping cart",
        ),
        draw=by_site,
        world=stocked,
        check=is_added(lambda s: s.first),
        plan=first_to_cart,
    ),
    Template(
        name="add_first_result_by_name",
        suite="web_shopping",
        difficulty=2,
        max_steps=MAX_STEPS,
        phrasings=(
            "At {shop} search for {item} and add the first result to the cart",
            "Put the first result for {item} at {shop} into my cart",
            "I want the first result for {item} from {shop} in my shopping cart",
        ),
        draw=by_name,
        world=stocked,
        check=is_added(lambda s: s.first),
        plan=first_to_cart,
    ),
    Template(
        name="add_cheapest",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "Add the cheapest {item} at {shop} to the cart",
            "At {shop} search for {item} and put the one with the lowest price into the cart",
            "Put the least expensive {item} of the {shop} shop into my cart",
        ),
        draw=by_name,
        world=stocked,
        check=is_added(lambda s: s.cheapest),
        plan=sorted_to_cart("price_low", lambda s: s.cheapest),
    ),
    Template(
        name="add_best_rated",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "Add the best rated {item} at {shop} to the cart",
            "At {shop} search for {item} and put the one with the highest rating into the cart",
            "Put the {item} with the most stars at {shop} into my cart",
        ),
        draw=by_name,
        world=stocked,
        check=is_added(lambda s: s.best),
        plan=sorted_to_cart("rating", lambda s: s.best),
    ),
    Template(
        name="add_free_delivery",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "At {shop} search for {item} and add the first one with free delivery to the cart",
            "Add the first result for {item} that {shop} delivers for free to my cart",
            "Find {item} at {shop} with free delivery only and put the first result into the cart",
        ),
        draw=lambda d: by_name(d) | {"lead": "plain"},
        world=stocked,
        check=is_added(lambda s: s.first_free),
        plan=filtered_to_cart("free_delivery", lambda s: s.first_free),
    ),
    Template(
        name="add_four_stars",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "At {shop} search for {item} and add the first one with 4 stars and up to the cart",
            "Add the first result for {item} with at least 4 stars at {shop} to my cart",
            "Filter {item} at {shop} by 4 stars and up and put the first result into the cart",
        ),
        draw=lambda d: by_name(d) | {"lead": "plain"},
        world=stocked,
        check=is_added(lambda s: s.first_good),
        plan=filtered_to_cart("four_stars", lambda s: s.first_good),
    ),
    Template(
        name="add_several",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "At {shop} search for {item} and add {number} of the first result to the cart",
            "Put {number} pieces of the first result for {item} at {shop} into my cart",
            "I need {number} of the first product that {shop} shows for {item}, add them to the cart",
        ),
        draw=lambda d: by_name(d) | {"number": d.number(2, 3)},
        world=stocked,
        check=lambda p, inspect: is_added(lambda s: s.first, int(p["number"]))(p, inspect),
        plan=some_to_cart,
    ),
    Template(
        name="wish_first_result",
        suite="web_shopping",
        difficulty=2,
        max_steps=MAX_STEPS,
        phrasings=(
            "Search for {item} at {shop} and put the first result on the wish list",
            "Save the first result for {item} at {shop} to my wish list",
            "At {shop} find {item} and add the first one to my wish list",
        ),
        draw=by_name,
        world=stocked,
        check=is_wished,
        plan=lambda p: plan("Browser", *opening(p["shop"], p["item"], shelf(p).first, tap(id="wish"))),
    ),
    Template(
        name="sort_results",
        suite="web_shopping",
        difficulty=2,
        max_steps=MAX_STEPS,
        phrasings=(
            "Search for {item} at {shop} and sort the results by price from low to high",
            "Search {shop} for {item} and show the cheapest first",
            "At {shop} list {item} by price with the lowest first",
        ),
        draw=by_name,
        world=stocked,
        check=is_sorted,
        plan=sort_only,
    ),
    Template(
        name="open_cheapest",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "Go to {shop} and search for {item} then sort by price and open the cheapest",
            "On {shop} look for {item} and open the page of the cheapest one",
            "Show me the cheapest {item} that {shop} sells",
        ),
        draw=by_site,
        world=stocked,
        check=is_open(lambda s: s.cheapest),
        plan=opened_cheapest,
    ),
    Template(
        name="add_brand",
        suite="web_shopping",
        difficulty=3,
        max_steps=MAX_STEPS,
        phrasings=(
            "Go to {shop} and add the {brand} {item} to the cart",
            "On {shop} search for {brand} {item} and put that product into my cart",
            "I would like the {brand} {item} from {shop} in my shopping cart",
        ),
        draw=lambda d: by_site(d) | {"brand": d.pick(BRANDS)},
        world=stocked,
        check=lambda p, inspect: is_added(lambda s: s.of_brand(p["brand"]))(p, inspect),
        plan=lambda p: plan("Browser", *putting(p["shop"], f"{p['brand']} {p['item']}", shelf(p).of_brand(p["brand"]))),
    ),
    Template(
        name="add_dearest",
        suite="web_shopping",
        difficulty=3,
        unseen=True,
        max_steps=MAX_STEPS,
        phrasings=(
            "Add the most expensive {item} at {shop} to the cart",
            "At {shop} search for {item} and put the one with the highest price into the cart",
            "Put the priciest {item} of the {shop} shop into my cart",
        ),
        draw=by_name,
        world=stocked,
        check=is_added(lambda s: s.dearest),
        plan=sorted_to_cart("price_high", lambda s: s.dearest),
    ),
)

"""Shopping on the web, after the choice: carts, wish lists, orders, sizes and colours, two things at once."""

from random import Random
from typing import Any

from distrl.core.interfaces import Plain
from distrl.core.seeds import derive_random
from distrl.tasks.goods import BRANDS, ITEMS, SIZED, SIZED_ITEMS, Shelf, draw_stock, shelf
from distrl.tasks.plan import Plan, choose, on, plan, stage, tap
from distrl.tasks.shop_ways import NAMES, cart, opening, page, putting, shop_holds, shop_of, to_results, to_shop
from distrl.tasks.template import Draw, Inspect, Params, Template

MAX_STEPS = 20


def branded(d: Draw) -> Params:
    """A shop called by its name and one certain product."""
    return {"shop": d.choice(NAMES), "brand": d.pick(BRANDS), "item": d.pick(ITEMS), "stock": draw_stock(d)}


def target(p: Params) -> str:
    """The title of the product that the task names."""
    return shelf(p).of_brand(p["brand"])


def filled(p: Params) -> dict[str, int]:
    """The cart before the task: the product in question among two or three others."""
    rng = derive_random(0, "filled", p["stock"], p["item"])
    titles = [target(p), *rng.sample(shelf(p).others, rng.randint(1, 2))]
    rng.shuffle(titles)
    return {title: 1 if title == target(p) else rng.randint(1, 3) for title in titles}


def _world(p: Params, items: dict[str, int], wishes: list[str]) -> Plain:
    shop = shop_of(p["shop"])
    lines = [{"title": title, "quantity": number} for title, number in items.items()]
    browser = {"products": list(shelf(p).products), "carts": {shop: lines}, "wishlists": {shop: wishes}, "orders": []}
    return {"browser": browser}


def with_cart(p: Params, rng: Random) -> Plain:
    """Something in the cart."""
    return _world(p, filled(p), [])


def with_wishes(p: Params, rng: Random) -> Plain:
    """Something on the wish list."""
    return _world(p, {}, list(filled(p)))


def in_cart(p: Params, *names: str) -> Plan:
    """To the cart of a shop, and touch these there."""
    shop = shop_of(p["shop"])
    acts = tuple(tap(id=name) for name in names)
    return plan("Browser", on(page(shop, "cart"), *acts), on(page(shop, "home"), tap(id="cart")), to_shop(p["shop"]))


def emptied(p: Params) -> Plan:
    """To the cart, empty it, confirm."""
    shop = shop_of(p["shop"])
    (first,) = in_cart(p, "empty")
    return (stage("Browser", on(page(shop, "empty"), tap(id="confirm")), *first.rules),)


def ordered(p: Params) -> Plan:
    """To the cart, on to the checkout, order."""
    shop = shop_of(p["shop"])
    (first,) = in_cart(p, "checkout")
    return (stage("Browser", on(page(shop, "checkout"), tap(id="place_order")), *first.rules),)


def changed(p: Params) -> Plan:
    """To the cart; one more until there are enough, one less while there are too many."""
    shop, title, number = shop_of(p["shop"]), target(p), int(p["number"])
    (more,) = in_cart(p, f"more:{title}")
    return (
        stage("Browser", *more.rules, done=lambda inspect: cart(inspect, shop).get(title, 0) >= number),
        *in_cart(p, f"less:{title}"),
    )


def is_removed(p: Params, inspect: Inspect) -> bool:
    """Whether the product has left the cart, and nothing else has."""
    return shop_holds(inspect, shop_of(p["shop"]), {t: n for t, n in filled(p).items() if t != target(p)})


def is_ordered(p: Params, inspect: Inspect) -> bool:
    """Whether what was in the cart, and nothing else, has been ordered."""
    state = inspect("browser")
    if len(state["orders"]) != 1 or any(state["carts"].values()) or any(state["wishlists"].values()):
        return False
    bought = sorted((item["title"], item["quantity"]) for item in state["orders"][0]["items"])
    return bool(state["orders"][0]["shop"] == shop_of(p["shop"])) and bought == sorted(filled(p).items())


def is_unwished(p: Params, inspect: Inspect) -> bool:
    """Whether the product has left the wish list, and nothing else happened."""
    return shop_holds(inspect, shop_of(p["shop"]), {}, [t for t in filled(p) if t != target(p)])


def is_taken(p: Params, inspect: Inspect) -> bool:
    """Whether the product is in the cart; it may stay on the wish list or leave it, the others stay."""
    others = [t for t in filled(p) if t != target(p)]
    shop, items = shop_of(p["shop"]), {target(p): 1}
    return any(shop_holds(inspect, shop, items, wishes) for wishes in (others, [*others, target(p)]))


def in_wishes(p: Params, name: str) -> Plan:
    """To the wish list of a shop, and touch this there; on the page of the product, add it."""
    shop = shop_of(p["shop"])
    return plan(
        "Browser",
        on(f"{page(shop, 'product')}/{target(p)}", tap(id="add")),
        on(page(shop, "wishlist"), tap(id=name)),
        on(page(shop, "home"), tap(id="wishlist")),
        to_shop(p["shop"]),
    )


# ---- a size or a colour


def draw_option(d: Draw) -> Params:
    """Something that comes in sizes or colours."""
    item = d.pick(SIZED_ITEMS)
    kind, values = SIZED[item]
    option = d.choice(values)
    words = f"size {option}" if kind == "Size" else option.lower()
    return {"shop": d.choice(NAMES), "item": item, "option": option, "words": words, "stock": draw_stock(d)}


def with_option(p: Params) -> Plan:
    """Search, open the first, choose, add."""
    acts = (choose(id=f"option:{p['option']}"), tap(id="add"))
    return plan("Browser", *opening(p["shop"], p["item"], shelf(p).first, *acts))


def has_option(p: Params, inspect: Inspect) -> bool:
    """Whether one of the first result, as wanted, is all there is in the cart."""
    items: list[dict[str, Any]] = inspect("browser")["carts"].get(shop_of(p["shop"]), [])
    is_right = [(i["title"], i["quantity"], i["option"]) for i in items] == [(shelf(p).first, 1, p["option"])]
    return is_right and shop_holds(inspect, shop_of(p["shop"]), {shelf(p).first: 1})


# ---- two things


def draw_two(d: Draw) -> Params:
    """A shop and two kinds of things."""
    item, second = d.pick_two(ITEMS)
    return {"shop": d.choice(NAMES), "item": item, "second": second, "stock": draw_stock(d)}


def shelf_of_second(p: Params) -> Shelf:
    """The catalogue of the second thing."""
    return shelf({"item": p["second"], "stock": p["stock"]})


def with_both(p: Params, rng: Random) -> Plain:
    """The shops sell both kinds; the cart is empty."""
    found = shelf_of_second(p).found
    first = [product for product in shelf(p).products if product["category"] != p["second"]]
    return {"browser": {"products": [*first, *found], "carts": {}, "wishlists": {}, "orders": []}}


def both(p: Params) -> Plan:
    """One after the other."""
    shop, title, other = shop_of(p["shop"]), shelf(p).first, shelf_of_second(p).first
    onward = tuple(rule for rule in to_results(p["shop"], p["second"]) if "home" in rule.where)
    from_product = on(f"{page(shop, 'product')}/{title}", onward[0].acts[0])
    return (
        stage("Browser", *putting(p["shop"], p["item"], title), done=lambda inspect: title in cart(inspect, shop)),
        stage("Browser", from_product, *putting(p["shop"], p["second"], other)),
    )


def has_both(p: Params, inspect: Inspect) -> bool:
    """Whether one of each is in the cart, and nothing else."""
    return shop_holds(inspect, shop_of(p["shop"]), {shelf(p).first: 1, shelf_of_second(p).first: 1})


TEMPLATES = (
    Template(
        name="remove_from_cart",
        suite="web_shopping",
        difficulty=1,
        max_steps=MAX_STEPS,
        phrasings=(
            "Remove the {brand} {item} from my cart at {shop}",
            "Take the {brand} {item} out of my {shop} cart",
            "I changed my mind, delete the {brand} {item} from my cart at {shop}",
        ),
        draw=branded,
        world=with_cart,
        check=is_removed,
        plan=lambda p: in_cart(p, f"remove:{target(p)}"),
    ),
    Template(
        name="change_quantity",
        suite="web_shopping",
        difficulty=2,
        max_steps=MAX_STEPS,
        phrasings=(
            "Change the quantity of the {brand} {item} in my {shop} cart to {number}",
            "In my cart at {shop} make it {number} of the {brand} {item}",
            "I want {number} of the {brand} {item} in my {shop} cart",
        ),
        draw=lambda d: branded(d) | {"number": d.number(2, 4)},
        world=with_cart,
        check=lambda p, inspect: shop_holds(inspect, shop_of(p["shop"]), filled(p) | {target(p): int(p["number"])}),
        plan=changed,
    ),
    Template(
        name="empty_cart",
        suite="web_shopping",
        difficulty=2,
        max_steps=MAX_STEPS,
        phrasings=(
            "Empty my cart at {shop}, I do not want the {brand} {item} or anything else",
            "Remove everything from my {shop} cart, the {brand} {item} too",
            "Clear the shopping cart at {shop} with the {brand} {item} and all the rest",
        ),
        draw=branded,
        world=with_cart,
        check=lambda p, inspect: shop_holds(inspect, shop_of(p["shop"]), {}),
        plan=emptied,
    ),
    Template(
        name="add_two_things",
        suite="web_shopping",
        difficulty=3,
        unseen=True,
        max_steps=MAX_STEPS,
        phrasings=(
            "At {shop} add the first result for {item} and the first result for {second} to the cart",
            "From {shop} put the first result for {item} and the first one for {second} into my cart",
            "Search {shop} for {item} and then for {second} and add the first result of each to the cart",
        ),
        draw=draw_two,
        world=with_both,
        check=has_both,
        plan=both,
    ),
    Template(
        name="order_cart",
        suite="web_shopping",
        difficulty=2,
        unseen=True,
        max_steps=MAX_STEPS,
        phrasings=(
            "Order what is in my {shop} cart with the {brand} {item}",
            "Check out my cart at {shop} and place the order for the {brand} {item} and the rest",
            "Buy everything in the cart at {shop} including the {brand} {item}",
        ),
        draw=branded,
        world=with_cart,
        check=is_ordered,
        plan=ordered,
    ),
    Template(
        name="remove_wish",
        suite="web_shopping",
        difficulty=1,
        unseen=True,
        max_steps=MAX_STEPS,
        phrasings=(
            "Take the {brand} {item} off my wish list at {shop}",
            "Remove the {brand} {item} from my {shop} wish list",
            "Drop the {brand} {item} from the wish list at {shop}",
        ),
        draw=branded,
        world=with_wishes,
        check=is_unwished,
        plan=lambda p: in_wishes(p, f"wish:{target(p)}"),
    ),
    Template(
        name="wish_to_cart",
        suite="web_shopping",
        difficulty=2,
        unseen=True,
        max_steps=MAX_STEPS,
        phrasings=(
            "Add the {brand} {item} from my wish list at {shop} to the cart",
            "From my {shop} wish list put the {brand} {item} into the cart",
            "I want to buy the {brand} {item} from my {shop} wish list so add that product to the cart",
        ),
        draw=branded,
        world=with_wishes,
        check=is_taken,
        plan=lambda p: in_wishes(p, f"open:{target(p)}"),
    ),
    Template(
        name="add_with_option",
        suite="web_shopping",
        difficulty=3,
        unseen=True,
        max_steps=MAX_STEPS,
        phrasings=(
            "At {shop} add the first result for {item} in {words} to the cart",
            "Search for {item} at {shop} and put the first one in {words} into my cart",
            "I want the first result for {item} from {shop} in {words} so add that to the cart",
        ),
        draw=draw_option,
        world=lambda p, rng: {
            "browser": {"products": list(shelf(p).products), "carts": {}, "wishlists": {}, "orders": []},
        },
        check=has_option,
        plan=with_option,
    ),
)

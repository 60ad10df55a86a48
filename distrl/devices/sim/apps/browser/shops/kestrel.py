"""kestrel.shop: everything in big cards that can be put into the cart from the list; chips order and filter."""

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.browser.shops.catalog import options_of
from distrl.devices.sim.apps.browser.shops.finding import (
    SORTS,
    find_product,
    results,
    set_wish,
    similar,
    sponsored,
    wish_of,
)
from distrl.devices.sim.apps.browser.shops.parts import (
    blurb,
    buy_button,
    chosen_option,
    free_mark,
    heart,
    hits_line,
    money,
    nothing,
    option_chips,
    photo,
    pill,
    slim_header,
    slug,
    stars,
    tall_header,
)
from distrl.devices.sim.apps.browser.shops.shop import KESTREL as SHOP
from distrl.devices.sim.apps.browser.shops.shop import add, buy_now, quantity_of
from distrl.devices.sim.apps.browser.state import BrowserState, Product
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import button

BESTSELLER_REVIEWS = 3000


def home(ui: Ui) -> View:
    """An offer, popular kinds of things, and today's picks."""
    products = ui.get(BrowserState).products
    offer = Box(
        (
            Box(
                (Text("Free delivery week", 66, "#FFFFFF", "bold", lines=2), Text(SHOP.slogan, 46, "#C9DAEE")),
                gap=12,
                grow=1,
            ),
            Icon("truck_fast", 210, "#FFD54F"),
        ),
        row=True,
        gap=24,
        pad=(52, 52, 44, 52),
        fill="#1F4E82",
        radius=44,
    )
    kinds = list(dict.fromkeys((p.category, p.icon, p.color) for p in products[:4]))
    circles = tuple(_circle(*kind) for kind in kinds)
    picks = tuple(_card(ui, product) for product in products[4:9])
    return View(
        bar=tall_header(ui, SHOP),
        body=(
            Box((offer,), pad=(28, 28, 28, 12)),
            _title("Popular right now"),
            Box(circles, row=True, gap=8, pad=(28, 4, 28, 4)),
            _title("Today's picks"),
            *picks,
        ),
    )


def _title(words: str) -> Box:
    return Box((Text(words, 56, weight="bold"),), pad=(44, 28, 44, 16))


def _circle(category: str, icon: str, color: str) -> Box:
    disc = Box(
        (Icon(icon, 116, color),), width=190, height=190, radius=95, fill="surface", align="center", justify="center"
    )
    name = Box((Text(category.capitalize(), 42, align="center", lines=2),), width=236, height=112)
    return Box(
        (disc, name),
        gap=12,
        grow=1,
        align="center",
        tap=SHOP.go("results", category),
        kind="link",
        id=f"kind:{category}",
    )


def results_page(ui: Ui) -> View:
    """Cards below a line of chips."""
    found = results(ui)
    advert = sponsored(ui)
    cards = tuple(_card(ui, product) for product in found) or (nothing(SHOP),)
    top = (_card(ui, advert, sponsored=True),) if advert else ()
    count = Box((Text(hits_line(ui, found), 42, "text2"),), pad=(44, 12, 44, 4))
    url = f"{SHOP.domain}/s/{slug(ui.arg)}"
    return View(bar=slim_header(ui, SHOP, url, _chips(ui)), body=(count, *top, *cards, Box(height=40)))


def _chips(ui: Ui) -> Box:
    wish = wish_of(ui)
    sort = "Sort" if wish.sort == "relevance" else SORTS[wish.sort].removesuffix(" to high").removesuffix(" to low")
    chips = (
        pill(sort, on=wish.sort != "relevance", tap=SHOP.go("sort"), id="sort", icon="swap_vertical"),
        pill("4 stars +", on=wish.four_stars, tap=do(set_wish, "four_stars", not wish.four_stars), id="four_stars"),
        pill(
            "Free delivery",
            on=wish.free_delivery,
            tap=do(set_wish, "free_delivery", not wish.free_delivery),
            id="free_delivery",
        ),
        _tune(wish.filters),
    )
    if ui.has("new_layout"):
        chips = (chips[3], chips[2], chips[1], chips[0])
    return Box(chips, row=True, gap=14, pad=(28, 18, 28, 18), fill="bg")


def _tune(filters: int) -> Box:
    icon = Icon("tune_variant", 60, "primary" if filters else "text")
    return Box(
        (icon,),
        width=100,
        height=100,
        align="center",
        justify="center",
        tap=SHOP.go("filters"),
        id="filters",
        kind="icon",
        label="All filters",
    )


def _card(ui: Ui, product: Product, *, sponsored: bool = False) -> Box:
    mark: tuple[Node, ...] = ()
    if sponsored:
        mark = (Text("Sponsored", 42, "text2"),)
    elif product.reviews >= BESTSELLER_REVIEWS:
        mark = (
            Box(
                (Text("Best seller", 42, "#FFFFFF", "medium"),), row=True, pad=(18, 2, 18, 4), radius=12, fill="#C2410C"
            ),
        )
    _, options = options_of(product)
    put = do(add, SHOP.id, product.title, options[0] if options else "", 1)
    price = Box((Text(money(product.price_cents), 62, weight="bold"), free_mark(ui, product)), row=True, gap=16)
    words = Box(
        (
            *((Box(mark, row=True),) if mark else ()),
            Text(product.title, 46, weight="medium", lines=2),
            stars(product),
            price,
            Box(height=4),
            Box(
                (buy_button(SHOP, "Add to cart", put, id="" if sponsored else f"add:{product.title}", height=100),),
                row=True,
            ),
        ),
        gap=8,
        grow=1,
    )
    inner = Box(
        (photo(product, 270, 330), words),
        row=True,
        gap=32,
        pad=(24, 28, 20, 28),
        fill="surface",
        radius=40,
        tap=SHOP.go("product", product.title),
        kind="card",
        id=f"ad:{product.title}" if sponsored else f"open:{product.title}",
    )
    return Box((inner,), pad=(24, 10, 24, 10))


def product_page(ui: Ui) -> View:
    """One product: name, picture, price, choices, and the buttons that buy."""
    product = find_product(ui, ui.arg)
    if product is None:
        return View(bar=tall_header(ui, SHOP), body=(nothing(SHOP),))
    option, quantity = chosen_option(ui, product), quantity_of(ui)
    put = buy_button(SHOP, "Add to cart", do(add, SHOP.id, product.title, option, quantity), id="add", icon="cart_plus")
    now = button("Buy now", do(buy_now, SHOP.id, product.title, option, quantity), style="tonal", id="buy_now")
    many = pill(f"Quantity: {quantity}", on=False, tap=SHOP.go("quantity"), id="quantity", icon="menu_down")
    buys = Box((put, now), gap=20, pad=(40, 16, 40, 24))
    fixed = ui.has("new_layout")
    head = Box(
        (
            Text(f"Visit the {product.brand} store", 44, "link"),
            Text(product.title, 54, weight="medium", lines=3),
            stars(product),
        ),
        gap=12,
        pad=(40, 28, 40, 20),
    )
    picture = Box(
        (photo(product, 1000, 560, 40), Box((heart(ui, SHOP, product.title),), width=980, height=132, align="end")),
        gap=-132,
        pad=(40, 0, 40, 0),
    )
    price = Box(
        (Text(money(product.price_cents), 84, weight="bold"), free_mark(ui, product, size=46)),
        gap=4,
        pad=(40, 28, 40, 8),
    )
    return View(
        bar=slim_header(ui, SHOP, f"{SHOP.domain}/p/{slug(product.title)}"),
        body=(
            head,
            picture,
            price,
            *option_chips(ui, product),
            Box((Box((many,), row=True),), pad=(40, 12, 40, 12)),
            *(() if fixed else (buys,)),
            _title("About this item"),
            Box((Text(blurb(product), 46, "text2", lines=6),), pad=(44, 0, 44, 16)),
            _title("Customers also viewed"),
            *(_card(ui, other) for other in similar(ui, product, 3)),
        ),
        bottom=_as_bar(buys) if fixed else None,
    )


def _as_bar(box: Box) -> Box:
    """The same box as a bar at the bottom."""
    return Box(box.children, gap=box.gap, pad=(40, 24, 40, 28), fill="surface")


PAGES = {"home": home, "results": results_page, "product": product_page}

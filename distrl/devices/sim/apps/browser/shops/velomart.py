"""velomart.shop: compact rows with the price at the right, and a bar that sorts them."""

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.browser.shops.finding import find_product, results, set_wish, similar, sponsored, wish_of
from distrl.devices.sim.apps.browser.shops.parts import (
    blurb,
    buy_button,
    chosen_option,
    delivery,
    free_mark,
    heart,
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
from distrl.devices.sim.apps.browser.shops.shop import VELOMART as SHOP
from distrl.devices.sim.apps.browser.shops.shop import add, quantity_of, set_quantity
from distrl.devices.sim.apps.browser.state import BrowserState, Product
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View

BAR = {"relevance": "Best", "price_low": "Price low", "price_high": "Price high", "rating": "Rating"}


def home(ui: Ui) -> View:
    """A ticker, then the kinds of things as a list, then offers."""
    products = ui.get(BrowserState).products
    ticker = Box(
        (
            Icon("lightning_bolt", 72, "#FFC400"),
            Box((Text(SHOP.slogan, 50, "#FFFFFF", "bold"),), grow=1),
            Text("-20 %", 60, "#FFC400", "bold"),
        ),
        row=True,
        gap=20,
        pad=(44, 36, 44, 36),
        fill="#1F1F24",
    )
    kinds = tuple(dict.fromkeys(p.category for p in products[:24]))[:6]
    lines = tuple(
        Box(tuple(_kind(k) for k in kinds[n : n + 2]), row=True, gap=16, pad=(28, 8, 28, 8))
        for n in range(0, len(kinds), 2)
    )
    return View(
        bar=tall_header(ui, SHOP),
        body=(ticker, _title("Shop by type"), *lines, _title("Flash offers"), *(_row(ui, p) for p in products[:6])),
        fill="surface",
    )


def _title(words: str) -> Box:
    return Box((Text(words.upper(), 46, SHOP.accent, "bold"),), pad=(44, 36, 44, 12))


def _kind(category: str) -> Box:
    face = (Box((Text(category.capitalize(), 44, weight="medium"),), grow=1), Icon("chevron_right", 60))
    return Box(
        face,
        row=True,
        pad=(32, 16, 16, 16),
        height=112,
        grow=1,
        radius=16,
        fill="container",
        tap=SHOP.go("results", category),
        kind="link",
        id=f"kind:{category}",
    )


def _row(ui: Ui, product: Product, *, sponsored: bool = False) -> Box:
    color = "success" if product.prime else "text2"
    words = (
        Text(product.title, 44, weight="medium", lines=2),
        Text("Sponsored", 42, "text2") if sponsored else stars(product, short=True),
    )
    right: tuple[Node, ...] = (Text(money(product.price_cents), 54, weight="bold", align="right"),)
    right += (Text("Free" if product.prime else "+ $4.95", 42, color, align="right"),)
    line = Box(
        (photo(product, 168, 168, 16), Box(words, gap=6, grow=1), Box(right, gap=4, width=264)),
        row=True,
        gap=28,
        pad=(32, 20, 36, 20),
        tap=SHOP.go("product", product.title),
        kind="row",
        id=f"ad:{product.title}" if sponsored else f"open:{product.title}",
    )
    return Box((line, Box((Box(height=3, fill="outline"),), pad=(32, 0, 0, 0))))


def _sort_bar(ui: Ui) -> Box:
    now = wish_of(ui).sort
    parts = tuple(
        Box(
            (Text(words, 44, SHOP.on_accent if sort == now else "text", "medium", "center"),),
            height=104,
            grow=1,
            radius=12,
            fill=SHOP.accent if sort == now else "container",
            justify="center",
            tap=do(set_wish, "sort", sort),
            id=f"sort:{sort}",
            kind="tab",
            checked=sort == now,
        )
        for sort, words in BAR.items()
    )
    return Box(parts, row=True, gap=10, pad=(20, 16, 20, 8), fill="surface")


def results_page(ui: Ui) -> View:
    """Rows between a bar that sorts and chips that filter."""
    found, wish, advert = results(ui), wish_of(ui), sponsored(ui)
    chips = Box(
        (
            pill("4 stars +", on=wish.four_stars, tap=do(set_wish, "four_stars", not wish.four_stars), id="four_stars"),
            pill(
                "Free delivery",
                on=wish.free_delivery,
                tap=do(set_wish, "free_delivery", not wish.free_delivery),
                id="free_delivery",
            ),
            pill("More", on=bool(wish.band or wish.brand), tap=SHOP.go("filters"), id="filters", icon="tune"),
        ),
        row=True,
        gap=14,
        pad=(24, 10, 24, 16),
        fill="surface",
    )
    rows = tuple(_row(ui, product) for product in found) or (nothing(SHOP),)
    top = (_row(ui, advert, sponsored=True),) if advert else ()
    below = ui.has("new_layout")
    bars = (chips,) if below else (_sort_bar(ui), chips)
    return View(
        bar=slim_header(ui, SHOP, f"{SHOP.domain}/find/{slug(ui.arg)}", *bars),
        body=(*top, *rows),
        bottom=_sort_bar(ui) if below else None,
        fill="surface",
    )


def product_page(ui: Ui) -> View:
    """Everything on half a page: small picture, price, numbers to touch, one red button."""
    product = find_product(ui, ui.arg)
    if product is None:
        return View(bar=tall_header(ui, SHOP), body=(nothing(SHOP),), fill="surface")
    option, quantity = chosen_option(ui, product), quantity_of(ui)
    facts = Box(
        (
            Text(product.title, 52, weight="bold", lines=4),
            stars(product),
            Text(money(product.price_cents), 84, SHOP.accent, "bold"),
            free_mark(ui, product),
        ),
        gap=14,
        grow=1,
    )
    top = Box((photo(product, 400, 460, 24), facts), row=True, gap=36, pad=(36, 36, 36, 16))
    numbers = tuple(
        pill(str(n), on=n == quantity, tap=do(set_quantity, n), id=f"quantity:{n}", grow=1) for n in range(1, 6)
    )
    many = Box((Text("Quantity", 46, "text2"), Box(numbers, row=True, gap=14)), gap=12, pad=(40, 16, 40, 12))
    put = buy_button(SHOP, "Add to cart", do(add, SHOP.id, product.title, option, quantity), id="add", grow=1)
    buy = Box((put, heart(ui, SHOP, product.title, size=80)), row=True, gap=24, pad=(40, 20, 32, 20))
    choices = (*option_chips(ui, product), many)
    return View(
        bar=slim_header(ui, SHOP, f"{SHOP.domain}/{slug(product.title)}"),
        body=(
            top,
            *((buy, *choices) if ui.has("new_layout") else (*choices, buy)),
            Box((Text(f"{delivery(ui, product)}. {blurb(product)}", 46, "text2", lines=7),), pad=(44, 16, 44, 8)),
            _title("Others also bought"),
            *(_row(ui, other) for other in similar(ui, product, 4)),
        ),
        fill="surface",
    )


PAGES = {"home": home, "results": results_page, "product": product_page}

"""paperleaf.store: a marketplace of sellers with listings and auctions; a bar at the bottom buys."""

from distrl.devices.sim.app import Ui, choose, do
from distrl.devices.sim.apps.browser.shops.finding import SORTS, find_product, results, similar, sponsored, wish_of
from distrl.devices.sim.apps.browser.shops.parts import (
    blurb,
    buy_button,
    chosen_option,
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
    stepper,
    tall_header,
)
from distrl.devices.sim.apps.browser.shops.shop import PAPERLEAF as SHOP
from distrl.devices.sim.apps.browser.shops.shop import add, buy_now, quantity_of
from distrl.devices.sim.apps.browser.state import BrowserState, Product
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import avatar

AUCTION_SHARE = 3
"""Every third product, by its number of reviews, is also in an auction."""


def home(ui: Ui) -> View:
    """Sellers, then what was listed last."""
    products = ui.get(BrowserState).products
    sellers = tuple(dict.fromkeys(p.brand for p in products))[:5]
    faces = tuple(
        Box(
            (avatar(name, 148), Text(name, 42, align="center")),
            gap=10,
            grow=1,
            align="center",
            tap=SHOP.go("results", name),
            kind="link",
            id=f"seller:{name}",
        )
        for name in sellers
    )
    note = Box(
        (
            Icon("hand_heart", 130, SHOP.accent),
            Box(
                (
                    Text(SHOP.slogan, 56, SHOP.ink, "bold", lines=2),
                    Text("Bought from people, posted with care", 44, "#3F6B4E", lines=2),
                ),
                gap=8,
                grow=1,
            ),
        ),
        row=True,
        gap=36,
        pad=(44, 40, 44, 40),
        fill="#D2E6D4",
        radius=36,
    )
    return View(
        bar=tall_header(ui, SHOP),
        body=(
            Box((note,), pad=(32, 28, 32, 12)),
            _title("Sellers you may like"),
            Box(faces, row=True, pad=(24, 8, 24, 8)),
            _title("Just listed"),
            *(_listing(ui, product) for product in products[:6]),
        ),
    )


def _title(words: str) -> Box:
    return Box((Text(words, 54, weight="medium"),), pad=(44, 28, 44, 12))


def _is_auction(product: Product) -> bool:
    return product.reviews % AUCTION_SHARE == 0


def _card(product: Product, words: tuple[Node, ...], side: Box | None, *, id: str) -> Box:
    inner = Box(
        (photo(product, 240, 260, 28), Box(words, gap=8, grow=1), *((side,) if side else ())),
        row=True,
        gap=32,
        pad=(28, 28, 20, 28),
        fill="surface",
        radius=32,
        border="outline",
        tap=SHOP.go("product", product.title),
        kind="card",
        id=id,
    )
    return Box((inner,), pad=(32, 10, 32, 10))


def _listing(ui: Ui, product: Product, *, sponsored: bool = False) -> Box:
    seller = "Sponsored" if sponsored else f"Sold by {product.brand}"
    words = (
        Text(product.title, 46, weight="medium", lines=2),
        Text(seller, 42, "text2"),
        stars(product, short=True),
        Box((Text(money(product.price_cents), 56, weight="bold"), free_mark(ui, product)), row=True, gap=24),
    )
    return _card(product, words, None, id=f"ad:{product.title}" if sponsored else f"open:{product.title}")


def _auction(ui: Ui, product: Product) -> Box:
    hours = 1 + product.reviews % 23
    words = (
        Text(product.title, 46, weight="medium", lines=2),
        Text(f"{product.reviews % 9 + 1} bids, {hours} h left", 44, "#C2410C", "medium"),
        Text(f"Bid {money(product.price_cents * 3 // 5)}", 54, weight="bold"),
        Text(f"Buy now {money(product.price_cents)}", 42, "text2"),
    )
    return _card(product, words, heart(ui, SHOP, product.title, id=f"wish:{product.title}"), id=f"open:{product.title}")


def _tab(words: str, icon: str, name: str, *, on: bool) -> Box:
    color = SHOP.on_accent if on else "text"
    return Box(
        (Icon(icon, 54, color), Text(words, 46, color, "medium")),
        row=True,
        gap=16,
        height=104,
        grow=1,
        radius=52,
        fill=SHOP.accent if on else "",
        justify="center",
        tap=choose("tab", name),
        id=f"tab:{name}",
        kind="tab",
        checked=on,
    )


def results_page(ui: Ui) -> View:
    """Listings or auctions, and a line that says how they are sorted."""
    now = ui.chosen("tab", "all")
    found, wish, advert = results(ui), wish_of(ui), sponsored(ui)
    if now == "auctions":
        found, advert = [p for p in found if _is_auction(p)], None
    both = (
        _tab("All", "view_list_outline", "all", on=now == "all"),
        _tab("Auctions", "gavel", "auctions", on=now == "auctions"),
    )
    tabs = Box(
        (Box(both[::-1] if ui.has("new_layout") else both, row=True, radius=52, fill="container"),),
        pad=(32, 16, 32, 12),
        fill="bg",
    )
    filters = f"Filter ({wish.filters})" if wish.filters else "Filter"
    line = Box(
        (
            Box((Text(f"{len(found)} listings", 44, "text2"),), grow=1),
            pill(
                "Sort" if wish.sort == "relevance" else SORTS[wish.sort],
                on=wish.sort != "relevance",
                tap=SHOP.go("sort"),
                id="sort",
                icon="menu_down",
            ),
            pill(filters, on=wish.filters > 0, tap=SHOP.go("filters"), id="filters"),
        ),
        row=True,
        gap=16,
        pad=(44, 8, 32, 16),
    )
    make = _auction if now == "auctions" else _listing
    cards = tuple(make(ui, product) for product in found) or (nothing(SHOP),)
    top = (_listing(ui, advert, sponsored=True),) if advert else ()
    url = f"{SHOP.domain}/market/{slug(ui.arg)}"
    return View(bar=slim_header(ui, SHOP, url, tabs), body=(line, *top, *cards, Box(height=40)))


def _seller(product: Product) -> Box:
    return Box(
        (
            avatar(product.brand, 112),
            Box((Text(product.brand, 50, weight="medium"), Text("98 % happy buyers", 42, "text2")), grow=1),
            pill("Visit shop", on=False, tap=SHOP.go("results", product.brand), id="seller"),
        ),
        row=True,
        gap=28,
        pad=(28, 20, 24, 20),
        radius=36,
        fill="container",
    )


def _buy_bar(ui: Ui, product: Product) -> Box:
    option, quantity = chosen_option(ui, product), quantity_of(ui)
    now = Box(
        (Text("Buy now", 48, SHOP.accent, "medium"),),
        row=True,
        pad=(40, 12, 40, 12),
        height=120,
        grow=1,
        radius=60,
        border=SHOP.accent,
        fill="surface",
        justify="center",
        tap=do(buy_now, SHOP.id, product.title, option, quantity),
        id="buy_now",
    )
    put = buy_button(SHOP, "Add to basket", do(add, SHOP.id, product.title, option, quantity), id="add", grow=1)
    return Box(
        (put, now) if ui.has("new_layout") else (now, put), row=True, gap=24, pad=(32, 24, 32, 28), fill="surface"
    )


def product_page(ui: Ui) -> View:
    """A listing with its seller; the bar at the bottom stays."""
    product = find_product(ui, ui.arg)
    if product is None:
        return View(bar=tall_header(ui, SHOP), body=(nothing(SHOP),))
    title = Box(
        (
            Box((Text(product.title, 54, weight="bold", lines=3), stars(product)), gap=10, grow=1),
            heart(ui, SHOP, product.title),
        ),
        row=True,
        gap=20,
        pad=(44, 28, 32, 8),
    )
    many = Box((Box((Text("Quantity", 50),), grow=1), stepper(ui)), row=True, pad=(44, 12, 44, 12))
    price = Box(
        (Text(money(product.price_cents), 80, SHOP.accent, "bold"), free_mark(ui, product)),
        row=True,
        gap=36,
        pad=(44, 8, 44, 8),
    )
    return View(
        bar=slim_header(ui, SHOP, f"{SHOP.domain}/listing/{slug(product.title)}"),
        body=(
            Box((photo(product, 1016, 560, 36),), pad=(32, 20, 32, 0)),
            title,
            price,
            *option_chips(ui, product),
            many,
            Box((_seller(product),), pad=(32, 16, 32, 16)),
            Box((Text(blurb(product), 46, "text2", lines=6),), pad=(44, 8, 44, 16)),
            _title("More like this"),
            *(_listing(ui, other) for other in similar(ui, product, 3)),
        ),
        bottom=_buy_bar(ui, product),
    )


PAGES = {"home": home, "results": results_page, "product": product_page}

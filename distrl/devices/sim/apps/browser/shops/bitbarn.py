"""bitbarn.shop: a grid of two columns; a product is opened before it is bought. Filters have a page of their own."""

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.browser.shops.finding import (
    SORTS,
    find_product,
    results,
    similar,
    sponsored,
    wish_of,
)
from distrl.devices.sim.apps.browser.shops.parts import (
    blurb,
    buy_button,
    chosen_option,
    delivery,
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
    stepper,
    tall_header,
)
from distrl.devices.sim.apps.browser.shops.shop import BITBARN as SHOP
from distrl.devices.sim.apps.browser.shops.shop import add, quantity_of
from distrl.devices.sim.apps.browser.state import BrowserState, Product
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View

TILE_W = 498


def home(ui: Ui) -> View:
    """What is new, in the grid."""
    products = ui.get(BrowserState).products
    hero = Box(
        (
            Text("NEW IN THE BARN", 44, SHOP.accent, "bold"),
            Text(SHOP.slogan, 76, "#FFFFFF", "bold", lines=2),
            Box(tuple(Icon(p.icon, 116, "#FFFFFF") for p in products[:5]), row=True, gap=48),
        ),
        gap=24,
        pad=(56, 56, 56, 56),
        fill="#2A2A4A",
    )
    title = Box((Text("Fresh arrivals", 56, weight="bold"),), pad=(40, 36, 40, 12))
    return View(bar=tall_header(ui, SHOP), body=(hero, title, *_grid(ui, products[5:13])), fill="bg")


def _grid(ui: Ui, products: list[Product], advert: Product | None = None) -> tuple[Box, ...]:
    tiles = [_tile(ui, product) for product in products]
    if advert:
        tiles.insert(0, _tile(ui, advert, sponsored=True))
    rows = []
    for k in range(0, len(tiles), 2):
        pair = tuple(tiles[k : k + 2])
        rows.append(Box(pair if len(pair) == 2 else (*pair, Box(width=TILE_W)), row=True, gap=20, pad=(32, 10, 32, 10)))
    return tuple(rows)


def _tile(ui: Ui, product: Product, *, sponsored: bool = False) -> Box:
    inner_w = TILE_W - 56
    free: Node = Text(
        "Sponsored" if sponsored else delivery(ui, product),
        42,
        "success" if product.prime and not sponsored else "text2",
    )
    inner = Box(
        (
            photo(product, inner_w, 340, 28),
            Text(product.title, 44, weight="medium", lines=3),
            stars(product, short=True),
            Text(money(product.price_cents), 58, weight="bold"),
            free,
        ),
        gap=10,
        width=inner_w,
    )
    return Box(
        (inner,),
        width=TILE_W,
        pad=(28, 28, 28, 28),
        fill="surface",
        radius=40,
        align="stretch",
        tap=SHOP.go("product", product.title),
        kind="card",
        id=f"ad:{product.title}" if sponsored else f"open:{product.title}",
    )


def results_page(ui: Ui) -> View:
    """The grid below two buttons."""
    found, wish = results(ui), wish_of(ui)
    filters = f"Filter ({wish.filters})" if wish.filters else "Filter"
    sort = "Sort" if wish.sort == "relevance" else SORTS[wish.sort]
    both = (
        pill(sort, on=wish.sort != "relevance", tap=SHOP.go("sort"), id="sort", icon="sort", grow=1),
        pill(filters, on=wish.filters > 0, tap=SHOP.go("filters"), id="filters", icon="filter_variant", grow=1),
    )
    buttons = Box(
        (both[1], both[0]) if ui.has("new_layout") else both, row=True, gap=20, pad=(32, 20, 32, 16), fill="bg"
    )
    count = Box((Text(hits_line(ui, found), 42, "text2"),), pad=(44, 0, 44, 8))
    grid = _grid(ui, found, sponsored(ui)) if found else (nothing(SHOP),)
    url = f"{SHOP.domain}/search/{slug(ui.arg)}"
    return View(bar=slim_header(ui, SHOP, url, buttons), body=(count, *grid, Box(height=40)))


def _spec(name: str, value: str, *, shaded: bool) -> Box:
    cells = (Box((Text(name, 44, "text2"),), grow=2), Box((Text(value, 44, weight="medium"),), grow=3))
    return Box(
        (Box(cells, row=True, pad=(32, 20, 32, 20), radius=16, fill="container" if shaded else ""),), pad=(32, 0, 32, 0)
    )


def product_page(ui: Ui) -> View:
    """Picture first, then the price beside the stepper, then the facts."""
    product = find_product(ui, ui.arg)
    if product is None:
        return View(bar=tall_header(ui, SHOP), body=(nothing(SHOP),))
    option, quantity = chosen_option(ui, product), quantity_of(ui)
    put = buy_button(
        SHOP, "Add to cart", do(add, SHOP.id, product.title, option, quantity), id="add", icon="cart_plus", grow=1
    )
    name = Box(
        (
            Box((Text(product.title, 54, weight="bold", lines=3), stars(product)), gap=12, grow=1),
            heart(ui, SHOP, product.title, size=84),
        ),
        row=True,
        gap=24,
        pad=(40, 28, 32, 12),
    )
    price = Box(
        (
            Box((Text(money(product.price_cents), 84, weight="bold"), free_mark(ui, product)), gap=0, grow=1),
            stepper(ui),
        ),
        row=True,
        pad=(40, 16, 40, 20),
    )
    facts = (
        ("Brand", product.brand),
        ("Type", product.category.capitalize()),
        ("Delivery", delivery(ui, product)),
        ("Guarantee", "2 years"),
    )
    title = Box((Text("Similar gear", 56, weight="bold"),), pad=(40, 36, 40, 12))
    picture = Box((photo(product, 1080, 620, 0),))
    buy = Box((put,), row=True, pad=(40, 8, 40, 28))
    head = (picture, name, price) if not ui.has("new_layout") else (name, picture, price)
    return View(
        bar=slim_header(ui, SHOP, f"{SHOP.domain}/item/{slug(product.title)}"),
        body=(
            *head,
            *option_chips(ui, product),
            buy,
            *(_spec(key, value, shaded=k % 2 == 0) for k, (key, value) in enumerate(facts)),
            Box((Text(blurb(product), 46, "text2", lines=6),), pad=(44, 24, 44, 8)),
            title,
            *_grid(ui, similar(ui, product, 4)),
        ),
    )


PAGES = {"home": home, "results": results_page, "product": product_page}

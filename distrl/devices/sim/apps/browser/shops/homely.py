"""homely.store: departments and kinds first, then large pictures; tabs order the results, a dialog filters them."""

from distrl.devices.sim.app import Ui, choose, do
from distrl.devices.sim.apps.browser.shops.catalog import DEPARTMENTS, department_of, options_of
from distrl.devices.sim.apps.browser.shops.finding import find_product, results, set_wish, similar, sponsored, wish_of
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
    stepper,
    tall_header,
)
from distrl.devices.sim.apps.browser.shops.shop import HOMELY as SHOP
from distrl.devices.sim.apps.browser.shops.shop import add, quantity_of
from distrl.devices.sim.apps.browser.state import BrowserState, Product
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Text, View

TABS = {"relevance": "Popular", "price_low": "Low price", "price_high": "High price", "rating": "Top rated"}
TINTS = ("#F3D9C9", "#DCE6D3", "#D8E3EA", "#EADCE8")


def home(ui: Ui) -> View:
    """Departments as tabs, their kinds of things as tiles."""
    products = ui.get(BrowserState).products
    there = dict.fromkeys(department_of(p.category) for p in products)
    names = ["All", *(name for name in (*DEPARTMENTS, "More") if name in there)]
    now = ui.chosen("department", "All")
    kinds: dict[str, Product] = {}
    for product in products:
        if now in ("All", department_of(product.category)):
            kinds.setdefault(product.category, product)
    tiles = [_tile(category, product, TINTS[k % 4]) for k, (category, product) in enumerate(sorted(kinds.items()))]
    rows = []
    for k in range(0, len(tiles), 2):
        pair = (*tiles[k : k + 2], Box(grow=1))[:2]
        rows.append(Box(pair, row=True, gap=24, pad=(36, 12, 36, 12)))
    hello = Box(
        (Text(SHOP.slogan, 66, weight="bold"), Text("What are you looking for?", 48, "text2")),
        gap=6,
        pad=(44, 36, 44, 20),
    )
    parts = tuple((name, name == now, choose("department", name), f"department:{name}") for name in names)
    return View(bar=Box((tall_header(ui, SHOP), _tabs(parts))), body=(hello, *rows, Box(height=40)))


def _tabs(parts: tuple[tuple[str, bool, Do, str], ...]) -> Box:
    made = tuple(
        Box(
            (
                Text(words, 44, SHOP.accent if on else "text2", "medium", "center"),
                Box(height=8, radius=4, fill=SHOP.accent if on else ""),
            ),
            gap=18,
            pad=(0, 24, 0, 0),
            grow=1,
            tap=tap,
            id=name,
            kind="tab",
            checked=on,
        )
        for words, on, tap, name in parts
    )
    return Box((Box(made, row=True, pad=(16, 0, 16, 0)), Box(height=3, fill="outline")), fill="bg")


def _tile(category: str, product: Product, tint: str) -> Box:
    art = Box((Icon(product.icon, 150, "#5B3A2B"),), height=230, radius=32, fill=tint, align="center", justify="center")
    name = Text(category.capitalize(), 48, weight="medium", align="center")
    return Box(
        (art, name),
        gap=12,
        pad=(0, 0, 0, 12),
        grow=1,
        tap=SHOP.go("results", category),
        kind="card",
        id=f"kind:{category}",
    )


def results_page(ui: Ui) -> View:
    """Large cards; tabs give the order."""
    found, wish, advert = results(ui), wish_of(ui), sponsored(ui)
    tabs = _tabs(
        tuple((words, sort == wish.sort, do(set_wish, "sort", sort), f"sort:{sort}") for sort, words in TABS.items())
    )
    filters = f"Filter ({wish.filters})" if wish.filters else "Filter"
    pick = pill(filters, on=wish.filters > 0, tap=SHOP.go("filters"), id="filters", icon="tune_variant")
    words = Box((Text(hits_line(ui, found), 44, "text2", lines=2),), grow=1)
    line = Box((pick, words) if ui.has("new_layout") else (words, pick), row=True, gap=20, pad=(44, 20, 36, 12))
    cards = tuple(_card(ui, product) for product in found) or (nothing(SHOP),)
    top = (_card(ui, advert, sponsored=True),) if advert else ()
    return View(
        bar=slim_header(ui, SHOP, f"{SHOP.domain}/{slug(ui.arg)}", tabs), body=(line, *top, *cards, Box(height=40))
    )


def _card(ui: Ui, product: Product, *, sponsored: bool = False) -> Box:
    _, options = options_of(product)
    put = do(add, SHOP.id, product.title, options[0] if options else "", 1)
    plus = Box(
        (Icon("plus", 66, SHOP.on_accent),),
        width=112,
        height=112,
        radius=56,
        fill=SHOP.accent,
        align="center",
        justify="center",
        tap=put,
        id="" if sponsored else f"add:{product.title}",
        kind="icon",
        label="Add to bag",
    )
    facts: tuple[Node, ...] = (Text(product.title, 46, weight="medium", lines=2), stars(product))
    facts += (Text("Sponsored", 42, "text2"),) if sponsored else (free_mark(ui, product),)
    price = Box(
        (Text(money(product.price_cents), 58, weight="bold", align="right"), Box((plus,), align="end")),
        gap=16,
        width=260,
        align="end",
    )
    inner = Box(
        (photo(product, 984, 330, 36), Box((Box(facts, gap=8, grow=1), price), row=True, gap=20, pad=(36, 4, 28, 28))),
        gap=16,
        fill="surface",
        radius=36,
        tap=SHOP.go("product", product.title),
        kind="card",
        id=f"ad:{product.title}" if sponsored else f"open:{product.title}",
    )
    return Box((inner,), pad=(48, 12, 48, 12))


def product_page(ui: Ui) -> View:
    """A large picture, calm words, and the bag at the bottom."""
    product = find_product(ui, ui.arg)
    if product is None:
        return View(bar=tall_header(ui, SHOP), body=(nothing(SHOP),))
    option, quantity = chosen_option(ui, product), quantity_of(ui)
    put = buy_button(SHOP, "Add to bag", do(add, SHOP.id, product.title, option, quantity), id="add", grow=1)
    line = (put, stepper(ui)) if ui.has("new_layout") else (stepper(ui), put)
    bottom = Box(line, row=True, gap=24, pad=(36, 24, 36, 28), fill="surface")
    picture = Box(
        (
            photo(product, 1080, 760, 0),
            Box((heart(ui, SHOP, product.title, size=84),), width=1040, height=150, align="end"),
        ),
        gap=-150,
    )
    words = Box(
        (
            Text(product.brand.upper(), 42, SHOP.accent, "bold"),
            Text(product.title, 60, weight="medium", lines=3),
            stars(product),
            Text(money(product.price_cents), 76, weight="bold"),
            free_mark(ui, product, size=46),
        ),
        gap=12,
        pad=(44, 36, 44, 8),
    )
    others = similar(ui, product, 3)
    return View(
        bar=slim_header(ui, SHOP, f"{SHOP.domain}/{slug(product.title)}"),
        body=(
            picture,
            words,
            *option_chips(ui, product),
            Box((Text(blurb(product), 48, "text2", lines=6),), pad=(44, 20, 44, 20)),
            *((Box((Text("You may also like", 56, weight="bold"),), pad=(44, 28, 44, 12)),) if others else ()),
            *(_card(ui, other) for other in others),
        ),
        bottom=bottom,
    )


PAGES = {"home": home, "results": results_page, "product": product_page}

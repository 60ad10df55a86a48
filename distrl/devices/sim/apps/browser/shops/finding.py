"""Finding products: a query, an order and some filters in, a list of products out."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from distrl.devices.sim.app import Ui
from distrl.devices.sim.apps.browser.state import BrowserState, Product
from distrl.devices.sim.state import Page

FILLERS = frozenset("a an the for of and with some any new please buy me".split())
SORTS = {
    "relevance": "Best match",
    "price_low": "Price: low to high",
    "price_high": "Price: high to low",
    "rating": "Customer rating",
}
BANDS = {
    "under_25": ("Under $25", 0, 2500),
    "25_to_50": ("$25 to $50", 2500, 5000),
    "50_to_100": ("$50 to $100", 5000, 10000),
    "over_100": ("Over $100", 10000, 10**9),
}
MAX_RESULTS = 24


class Wish(msgspec.Struct, frozen=True):
    """How a list of results is ordered and what it leaves out."""

    sort: str = "relevance"
    four_stars: bool = False
    free_delivery: bool = False
    band: str = ""
    brand: str = ""

    @property
    def filters(self) -> int:
        """How many filters are on."""
        return sum(map(bool, (self.four_stars, self.free_delivery, self.band, self.brand)))


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z0-9]+", text.casefold()))


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def find(products: Iterable[Product], query: str) -> list[Product]:
    """Products that have a word for every word of the query, in the order of the catalogue."""
    return [p for p in products if _is_match(query, p.title, p.category)]


@lru_cache(maxsize=32768)
def _is_match(query: str, title: str, category: str) -> bool:
    wanted = [_stem(word) for word in _words(query) if word not in FILLERS]
    words = _words(f"{title} {category}")
    return all(any(word.startswith(stem) for word in words) for stem in wanted)


def refine(products: list[Product], wish: Wish) -> list[Product]:
    """Leave out what is not wished for and put the rest in order."""
    _, low, high = BANDS.get(wish.band, ("", 0, 10**9))
    kept = [
        p
        for p in products
        if (p.rating >= 4 or not wish.four_stars)
        and (p.prime or not wish.free_delivery)
        and low <= p.price_cents < high
        and wish.brand in ("", p.brand)
    ]
    if wish.sort == "price_low":
        kept.sort(key=lambda p: p.price_cents)
    elif wish.sort == "price_high":
        kept.sort(key=lambda p: -p.price_cents)
    elif wish.sort == "rating":
        kept.sort(key=lambda p: -p.rating)
    return kept


def results_page(ui: Ui) -> Page:
    """The page of results that this page is, or lies above."""
    pages = [p for p in ui.phone.stack() if p.name.endswith("_results")]
    return ui.page if ui.page.name.endswith("_results") or not pages else pages[-1]


def wish_of(ui: Ui) -> Wish:
    """What was chosen on the page of results."""
    return msgspec.convert({k: v for k, v in results_page(ui).chosen.items() if k in Wish.__struct_fields__}, Wish)


def set_wish(ui: Ui, name: str, value: str | bool) -> None:
    """Choose an order or a filter; results start at their top again."""
    page = results_page(ui)
    page.chosen[name] = value
    page.scroll = 0


def pick_sort(ui: Ui, sort: str) -> None:
    """Choose an order in the dialog for it."""
    set_wish(ui, "sort", sort)
    ui.back()


def clear_wish(ui: Ui) -> None:
    """Without any filter."""
    for name in ("four_stars", "free_delivery", "band", "brand"):
        results_page(ui).chosen.pop(name, None)


def matches(ui: Ui) -> list[Product]:
    """All products that match the query of the page of results."""
    return find(ui.get(BrowserState).products, results_page(ui).arg)


def results(ui: Ui) -> list[Product]:
    """What the page of results shows."""
    return refine(matches(ui), wish_of(ui))[:MAX_RESULTS]


def sponsored(ui: Ui) -> Product | None:
    """An advertised product that appears above the results a moment after they have loaded."""
    if not ui.has("moving_rows") or ui.age_s < 2:
        return None
    shown = {p.title for p in matches(ui)}
    return next((p for p in reversed(ui.get(BrowserState).products) if p.title not in shown), None)


def find_product(ui: Ui, title: str) -> Product | None:
    """The product with this title."""
    return next((p for p in ui.get(BrowserState).products if p.title == title), None)


def similar(ui: Ui, product: Product, count: int) -> list[Product]:
    """Others of the same kind."""
    others = [p for p in ui.get(BrowserState).products if p.category == product.category and p.title != product.title]
    return others[:count]

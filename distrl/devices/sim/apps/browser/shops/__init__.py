"""The shops on the web: five sites that sell the same catalogue, each in its own way."""

from functools import partial
from types import ModuleType

from distrl.devices.sim.app import PageFn
from distrl.devices.sim.apps.browser.shops import basket, bitbarn, filters, homely, kestrel, paperleaf, velomart
from distrl.devices.sim.apps.browser.shops.catalog import default_products
from distrl.devices.sim.apps.browser.shops.shop import SHOPS, Shop

__all__ = ["PAGES", "SITES", "default_products"]

_OWN: dict[str, ModuleType] = {
    "kestrel": kestrel,
    "bitbarn": bitbarn,
    "homely": homely,
    "velomart": velomart,
    "paperleaf": paperleaf,
}


def _pages_of(shop: Shop) -> dict[str, PageFn]:
    shared: dict[str, PageFn] = {
        "sort": filters.sort_dialog,
        "quantity": filters.quantity_dialog,
        "filters": partial(filters.filter_page, shop=shop) if shop.id == "bitbarn" else filters.filter_dialog,
        "cart": partial(basket.cart_page, shop=shop),
        "empty": partial(basket.empty_dialog, shop=shop),
        "checkout": partial(basket.checkout_page, shop=shop),
        "thanks": partial(basket.thanks_page, shop=shop),
        "wishlist": partial(basket.wishlist_page, shop=shop),
    }
    own: dict[str, PageFn] = _OWN[shop.id].PAGES
    return {shop.page(name): page for name, page in (own | shared).items()}


PAGES: dict[str, PageFn] = {name: page for shop in SHOPS.values() for name, page in _pages_of(shop).items()}
SITES: dict[str, str] = {shop.domain: shop.page("home") for shop in SHOPS.values()}

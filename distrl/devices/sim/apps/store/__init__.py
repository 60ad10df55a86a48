"""Store: search, categories and charts; apps that can be installed, updated, opened, rated, wished for and removed."""

from distrl.devices.sim.app import App
from distrl.devices.sim.apps.store import pages, product
from distrl.devices.sim.apps.store.state import fresh, tiles

APP = App(
    id="store",
    name="Store",
    icon="shopping",
    color="#2E7D5B",
    fresh=fresh,
    pages={
        "home": pages.home,
        "search": pages.search,
        "category": pages.category,
        "mine": pages.mine,
        "app": product.app_page,
        "review": product.review,
        "uninstall": product.uninstall,
        "buy": product.buy,
        "run": product.run,
    },
    more_tiles=tiles,
)
ORDER = 40

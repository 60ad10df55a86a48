"""Browser: an address bar, a search engine, news, weather, shops, bookmarks, history and tabs.

Web pages are pages of this app (`browser/search/<query>`, `browser/news_article/<headline>`), so BACK works by itself.
"""

from random import Random

from distrl.devices.sim.app import App, PageFn
from distrl.devices.sim.apps.browser import library, news, search, shops, weather
from distrl.devices.sim.apps.browser.headlines import write_stories
from distrl.devices.sim.apps.browser.shops.shop import SHOPS
from distrl.devices.sim.apps.browser.sites import LOOKS, NEWS, SITES, Look
from distrl.devices.sim.apps.browser.state import Bookmark, BrowserState

SITES.update(shops.SITES)
for _shop in SHOPS.values():
    _color = _shop.fill if _shop.ink == "#FFFFFF" else _shop.accent
    LOOKS[_shop.domain] = Look(_shop.domain.partition(".")[0].capitalize(), _shop.icon, _color)

PAGES: dict[str, PageFn] = {
    **search.PAGES,
    **news.PAGES,
    **weather.PAGES,
    **shops.PAGES,
    "menu": library.menu,
    "bookmarks": library.bookmarks,
    "history": library.history,
    "clear_history": library.clear_history,
    "tabs": library.tabs,
}


def fresh(rng: Random) -> BrowserState:
    """A browser that has been used a little."""
    visited = ["tern.search/how to repot a fern", "skyline.weather/Lisbon", "tern.search/train to Porto", NEWS]
    rng.shuffle(visited)
    return BrowserState(
        products=shops.default_products(rng),
        bookmarks=[Bookmark(url="openalmanac.org/A short history of tea", title="A short history of tea")],
        history=visited[:3],
        stories=write_stories(rng),
    )


APP = App(id="browser", name="Browser", icon="compass", color="#1E88E5", fresh=fresh, pages=PAGES)
ORDER = 3

"""Addresses: which page of the browser stands behind what is typed, and what the address bar shows for a page."""

import msgspec

ENGINE = "tern.search"
NEWS = "daybreak.news"
WEATHER = "skyline.weather"
HOSTS = {
    "openalmanac.org": "Open Almanac",
    "askharbor.com": "Ask Harbor",
    "thecuriousdesk.com": "The Curious Desk",
    "fieldnotes.blog": "Field Notes",
    "plainly.org": "Plainly",
    "atlasandink.com": "Atlas & Ink",
    "studyhall.net": "Study Hall",
    "weekendreader.com": "Weekend Reader",
}
"""The sites whose articles a search finds."""


class Look(msgspec.Struct, frozen=True):
    """How a site appears in lists and shortcuts."""

    name: str
    icon: str
    color: str


SITES: dict[str, str] = {NEWS: "news_home", WEATHER: "weather_home"}
"""Every site with a page of its own, by domain. The package adds the shops' when it is imported."""

_PREFIXES = {f"{NEWS}/story": "news_article", NEWS: "news_section", WEATHER: "weather_city", ENGINE: "search"}
_PREFIXES |= dict.fromkeys(HOSTS, "article")
LOOKS = {
    NEWS: Look("Daybreak", "newspaper_variant_outline", "#B3261E"),
    WEATHER: Look("Skyline", "weather_partly_cloudy", "#2F7DC4"),
}
"""How sites with pages of their own appear; the package adds the shops'."""

_COLORS = ("#00695C", "#EF6C00", "#6A1B9A", "#2E7D32", "#AD1457", "#4527A0", "#5D4037")


def destination(typed: str) -> tuple[str, str]:
    """The page and its argument for what was typed: a known address opens its site, anything else is searched."""
    address = typed.strip().removeprefix("https://").removeprefix("http://").removeprefix("www.").strip("/")
    if address.casefold() in SITES:
        return SITES[address.casefold()], ""
    for prefix, page in _PREFIXES.items():
        if address.casefold().startswith(prefix + "/"):
            return page, address[len(prefix) + 1 :]
    domain = address.partition("/")[0].casefold()
    if domain in SITES:
        return SITES[domain], ""
    return "search", typed.strip()


def url_of(page: str, arg: str) -> str:
    """The address of a page; pages of a shop, such as shop_fox_cart, share the first two words of their names."""
    if page == "article":
        return f"{host_of(arg)}/{arg}"
    if page.startswith("shop_"):
        shop = page.split("_")[1]
        domain = next((d for d, name in SITES.items() if name.split("_")[:2] == ["shop", shop]), shop)
        return f"{domain}/{arg}" if arg else domain
    for prefix, name in _PREFIXES.items():
        if name == page and arg:
            return f"{prefix}/{arg}"
    return next((domain for domain, name in SITES.items() if name == page), "")


def host_of(title: str) -> str:
    """The site that an article is on."""
    hosts = list(HOSTS)
    return hosts[sum(map(ord, title)) % len(hosts)]


def look_of(domain: str) -> Look:
    """The name, icon and colour of a site."""
    if domain in LOOKS:
        return LOOKS[domain]
    name = HOSTS.get(domain) or domain.partition(".")[0].capitalize()
    return Look(name, "text_box_outline", _COLORS[len(domain) % len(_COLORS)])


def shop_domains() -> list[str]:
    """The sites that sell things."""
    return [domain for domain, page in SITES.items() if page.startswith("shop_")]

"""The search engine: the start page of the browser, the results of a query, and the articles they lead to."""

from distrl.core.seeds import derive_random
from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.browser.answers import Answer, answer, topic_of, words_of
from distrl.devices.sim.apps.browser.chrome import address_bar, submit_field, to, web_field
from distrl.devices.sim.apps.browser.forecast import day_of
from distrl.devices.sim.apps.browser.news import story_card
from distrl.devices.sim.apps.browser.sites import ENGINE, HOSTS, SITES, WEATHER, host_of, look_of, shop_domains, url_of
from distrl.devices.sim.apps.browser.state import BrowserState
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Picture, Text, View
from distrl.devices.sim.widgets import EDGE, badge, chips, empty, paragraph, section

SHOPPING = {
    "buy", "shop", "shopping", "store", "price", "prices", "cheap", "cheapest", "order", "deal", "deals", "sale",
    "discount", "purchase", "online", "headphones", "laptop", "shoes", "backpack", "lamp", "phone", "charger",
    "jacket", "watch", "camera", "keyboard", "mouse", "mug", "kettle", "tent", "gift",
}  # fmt: skip
"""Words that make a search one for things to buy."""
PAGES_FOUND: tuple[tuple[str, str], ...] = (
    ("{}: the complete guide", "A clear overview of {}: background, key facts, figures and further reading."),
    ("Everything you need to know about {}", "We asked three specialists about {} and collected their answers."),
    ("{} explained in five minutes", "Short on time? The essentials of {}, with pictures and no jargon."),
    ("10 surprising facts about {}", "Number seven is hard to believe. What most people do not know about {}."),
    ("Questions about {}, answered", "Readers asked, we looked it up: the most common questions about {}."),
    ("A short history of {}", "How it began, who was there, and how {} became what it is today."),
    ("Common myths about {}", "Much of what is said about {} is not true. Here is what the evidence says."),
    ("{}: maps, pictures and numbers", "Browse our collection on {}. Updated every month by volunteers."),
    ("Why {} matters today", "An essay on {} and what it tells us about the world we live in."),
    ("How to learn more about {}", "Books, podcasts and courses on {} for every level and budget."),
    ("Forum: what do you think of {}?", "124 replies. “I never thought about {} that way until last summer.”"),
    ("{} for beginners", "Start here if {} is new to you. Step by step, with exercises."),
)
"""Titles and first lines of what is found for any topic."""


def home(ui: Ui) -> View:
    """The start page: search, sites people like, and the news."""
    logo = Box(
        (Icon("feather", 140, "primary"), Text("Tern", 128, "text", "medium")),
        row=True,
        gap=24,
        justify="center",
        pad=(0, 130, 0, 56),
    )
    field = web_field(ui, "query", "", "Search the web", icon="magnify")
    search = Box((Box((field, _go_button()), row=True, gap=20),), pad=(EDGE, 0, EDGE, 40))
    stories = ui.get(BrowserState).stories
    tops = [next(s for s in stories if s.section == name) for name in dict.fromkeys(s.section for s in stories)]
    feed = tuple(story_card(story) for story in tops)
    order: tuple[Box, ...] = (*_shortcuts(), section("Discover"), *feed)
    return View(bar=address_bar(ui, ""), body=(logo, search, *order), fill="web")


def _go_button() -> Box:
    return Box(
        (Icon("arrow_right", 66, "on_primary"),),
        width=120,
        height=120,
        radius=60,
        fill="primary",
        align="center",
        justify="center",
        tap=do(submit_field, "query"),
        id="go",
        label="Search",
        kind="icon",
    )


def _shortcuts() -> tuple[Box, ...]:
    domains = list(SITES)[:8]
    lines = []
    for start in range(0, len(domains), 4):
        cells: tuple[Node, ...] = tuple(_shortcut(domain) for domain in domains[start : start + 4])
        cells += tuple(Box(grow=1) for _ in range(4 - len(cells)))
        lines.append(Box(cells, row=True, pad=(24, 12, 24, 12)))
    return tuple(lines)


def _shortcut(domain: str) -> Box:
    look = look_of(domain)
    return Box(
        (badge(look.icon, look.color, 128), Text(look.name, 42, "text", align="center")),
        gap=14,
        pad=(0, 12, 0, 12),
        grow=1,
        align="center",
        tap=to(SITES[domain]),
        id=f"site:{domain}",
        label=look.name,
    )


def _domains_for(query: str) -> list[str]:
    """Sites that a query asks for by name, then the shops if it is about buying."""
    words = words_of(query)
    plain = "".join(words)
    named = [d for d in SITES if d.partition(".")[0] in plain or d in words or look_of(d).name.casefold() in words]
    asks_weather = [WEATHER] if "weather" in words or "forecast" in words else []
    asks_news = [d for d in SITES if d.endswith(".news")] if "news" in words else []
    shops = shop_domains() if SHOPPING & set(words) else []
    return list(dict.fromkeys([*named, *asks_weather, *asks_news, *shops]))


def search(ui: Ui) -> View:
    """What was found for a query."""
    query = ui.arg
    field = Box((web_field(ui, "query", query, "Search the web", icon="magnify"), _go_button()), row=True, gap=20)
    blocks: list[Box] = [Box((field,), pad=(EDGE, 24, EDGE, 8)), _kinds()]
    if ui.has("moving_rows") and ui.age_s >= 2:
        blocks.append(_sponsored(query))
    known = answer(query, ui.now_s)
    if known:
        blocks.append(_answer_box(known, ui.now_s))
    topic = known.subject if known and known.heading == "Meaning" else topic_of(query)
    for domain in _domains_for(query):
        blocks.append(_site(domain, topic))
    for k, (title, text) in enumerate(_found(topic)):
        blocks.append(_result(title, url_of("article", title), text, to("article", title), f"result:{k + 1}"))
    return View(bar=address_bar(ui, f"{ENGINE}/{query}"), body=tuple(blocks), fill="web")


def _kinds() -> Box:
    quiet = do(_no_more)
    return chips(
        ("All", True, quiet), ("Images", False, quiet), ("News", False, to("news_home")), ("Maps", False, quiet)
    )


def _no_more(ui: Ui) -> None:
    ui.toast("Nothing more to show")


def _found(topic: str) -> list[tuple[str, str]]:
    picked = derive_random(0, "results", topic).sample(PAGES_FOUND, 9)
    return [(_sentence(title.format(topic)), text.format(topic)) for title, text in picked]


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _result(title: str, url: str, text: str, tap: Do, id: str) -> Box:
    domain = url.partition("/")[0]
    look = look_of(domain)
    site = Box((Text(look.name, 44, "text"), Text(domain, 42, "text2")), grow=1)
    head = Box((badge(look.icon, look.color, 84), site), row=True, gap=24)
    words = (head, Text(title, 54, "link", lines=2), Text(text, 44, "text2", lines=3))
    return Box(words, gap=12, pad=(EDGE, 28, EDGE, 28), tap=tap, kind="row", id=id)


def _site(domain: str, topic: str) -> Box:
    """The start page of a site; for a shop, as if it had just what was asked for."""
    name, text = look_of(domain).name, "The official site, with everything in one place. Updated today."
    if domain in shop_domains() and name.casefold() not in topic.casefold():
        name, text = f"{_sentence(topic)} at {name}", f"Find {topic} and more. Free returns within 30 days."
    return _result(name, domain, text, to(SITES[domain]), f"site:{domain}")


def _sponsored(query: str) -> Box:
    domain = (shop_domains() or [WEATHER])[0]
    mark = Text("Sponsored", 42, "text2", "medium")
    words = Text(f"{_sentence(topic_of(query))} — great prices at {look_of(domain).name}", 50, "link", lines=2)
    return Box((mark, words), gap=8, pad=(EDGE, 24, EDGE, 24), fill="container", tap=to(SITES[domain]), id="sponsored")


def _answer_box(known: Answer, now_s: float) -> Box:
    head: tuple[Node, ...] = (Text(f"{known.subject} · {known.heading}", 46, "text2", "medium", lines=2),)
    value: Node = Text(known.value, 96 if len(known.value) < 20 else 60, "text", lines=3)
    if known.city:
        icon = Icon(day_of(known.city, int(now_s // 86400)).icon, 140, "#2F7DC4")
        value = Box((Box((value,), grow=1), icon), row=True, gap=24)
    tap = (
        to("weather_city", known.city)
        if known.city
        else to("article", _sentence(PAGES_FOUND[0][0].format(known.subject)))
    )
    foot = Text(f"From {WEATHER}" if known.city else "From Open Almanac", 42, "text2")
    panel = Box(
        (*head, value, foot),
        gap=20,
        pad=(44, 40, 44, 36),
        radius=44,
        border="outline",
        fill="web",
        tap=tap,
        kind="card",
        id="answer",
    )
    return Box((panel,), pad=(32, 16, 32, 16))


def _topic_of_title(title: str) -> str:
    for pattern, _ in PAGES_FOUND:
        before, _, after = pattern.partition("{}")
        if title.startswith(before) and title.endswith(after) and len(title) > len(before) + len(after):
            return title[len(before) : len(title) - len(after)]
    return title


def article(ui: Ui) -> View:
    """A page of the web, found by its title."""
    title, topic = ui.arg, _topic_of_title(ui.arg)
    rng = derive_random(0, "article", title)
    host, known = host_of(title), answer(topic, ui.now_s)
    author = rng.choice(["M. Okafor", "Lena Brandt", "P. Silva", "Noor Haddad", "Tomas Riha", "Ada Quist"])
    texts = [text.format(topic) for text in rng.sample(_PARAGRAPHS, 4)]
    if known:
        texts.insert(0, f"{known.heading} of {known.subject}: {known.value}.")
    head = (
        Box(
            (badge("text_box_outline", look_of(host).color, 84), Text(HOSTS[host], 48, "text", "bold")),
            row=True,
            gap=24,
        ),
        Text(title, 76, "text", "bold", lines=4),
        Text(f"By {author} · {rng.randint(2, 11)} min read", 44, "text2"),
    )
    related = [t for t, _ in _found(topic) if t != title][:3]
    links = tuple(_result(t, url_of("article", t), "", to("article", t), "") for t in related)
    body = (
        Box(head, gap=24, pad=(EDGE, 36, EDGE, 24)),
        Box((Picture("photo", topic, 984, 480),), pad=(EDGE, 8, EDGE, 16)),
        *(paragraph(text, size=50) for text in texts),
        section("Read next"),
        *(links or (empty("text", "Nothing more"),)),
    )
    return View(bar=address_bar(ui, url_of("article", title)), body=body, fill="web")


_PARAGRAPHS = (
    "Ask ten people about {} and you will hear ten stories. What they share is a sense that there is more to "
    "it than meets the eye.",
    "The first written notes on {} are older than most readers expect, and they already describe the main "
    "points that we discuss today.",
    "Numbers help. In a survey of 1,200 adults, two out of three said they wanted to learn more about {}, but "
    "did not know where to start.",
    "Experts advise to take {} step by step. Begin with what you can see and check for yourself, then compare "
    "at least two sources.",
    "Not everything about {} is settled. Researchers still argue about the details, and new findings appear "
    "every year.",
    "If you have an afternoon to spare, a local library or museum is a good place to see how {} touches everyday life.",
    "Critics say that {} is often made more complicated than it needs to be. A good diagram, they say, does "
    "more than a long text.",
)

PAGES = {"home": home, "search": search, "article": article}

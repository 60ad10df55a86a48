"""General tasks on the web: questions to search for, news, addresses, bookmarks and history."""

from random import Random
from typing import Any

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, enter, on, plan, stage, tap
from distrl.tasks.suites.web_words import (
    BOOKS,
    CITIES,
    CONVERSIONS,
    COUNTRIES,
    KEEPS,
    PEAKS,
    RARE_WORDS,
    TOPICS,
    WHAT,
    WHO,
    has_bookmarks,
    is_about,
    is_conversion,
    some_bookmarks,
)
from distrl.tasks.template import Draw, Inspect, Keep, Params, Pool, Template, front, same

SECTIONS = ("world", "sport", "science", "business", "culture")
ORDINALS = ("top", "second", "third", "fourth")
STORIES = Keep("browser", "stories", "headline")


# ---- questions


def _query(inspect: Inspect) -> str:
    """What was searched for, if the results are in front and no bookmark was made; else nothing."""
    app, page, query = front(inspect)
    return query if (app, page) == ("browser", "search") and has_bookmarks(inspect) else ""


def _search_for(query: str) -> Plan:
    return plan("Browser", on(f"browser/search/{query}"), on("browser/home", enter("query", query)))


def _question(name: str, subjects: Pool, forms: tuple[str, ...], *, unseen: bool = False) -> Template:
    """A question with an answer that the search engine knows."""

    def draw(d: Draw) -> Params:
        subject = d.pick(subjects)
        return {"subject": subject, "question": d.choice(forms).format(subject)}

    return Template(
        name=name,
        suite="general",
        difficulty=1,
        phrasings=(
            "{question}? Search the web",
            "Search the web: {question}",
            "{question}? Look it up in the browser",
            "Use the browser to find out: {question}",
            "I have a question, look it up online. {question}?",
        ),
        draw=draw,
        world=some_bookmarks,
        keeps=KEEPS,
        check=lambda p, inspect: is_about(_query(inspect), p["subject"], subjects, kind=name),
        plan=lambda p: _search_for(p["question"]),
        unseen=unseen,
    )


def _draw_conversion(d: Draw) -> Params:
    unit = d.choice(sorted(CONVERSIONS))
    amount = d.number(2, 150)
    return {"subject": f"{amount} {unit} {CONVERSIONS[unit]}", "question": f"{amount} {unit} in {CONVERSIONS[unit]}"}


def _opened_result(p: Params, inspect: Inspect) -> bool:
    app, page, title = front(inspect)
    is_article = (app, page) == ("browser", "article") and has_bookmarks(inspect)
    return is_article and is_about(title, p["topic"], TOPICS, more=8)


# ---- news


def _headline(d: Draw) -> str:
    return f"{d.pick(WHO)} {d.pick(WHAT)}"


def _stories(p: Params, rng: Random) -> Plain:
    """Five sections of four stories; the one in question stands where the task says."""
    who, what = list(WHO.words), list(WHAT.words)
    titles = [t for t in (f"{a} {b}" for a in who for b in what) if not same(t, p["headline"])]
    drawn = iter(rng.sample(titles, 20))
    stories: list[dict[str, Any]] = []
    for section in SECTIONS:
        for k, ordinal in enumerate(ORDINALS):
            is_it = section == p["section"] and ordinal == p["ordinal"]
            headline = p["headline"] if is_it else next(drawn)
            summary = "Residents were surprised on Monday morning."
            stories.append({"section": section, "headline": headline, "summary": summary, "hours_ago": 1 + k})
    return {"browser": {"stories": stories, **some_bookmarks(p, rng)["browser"]}}


def _draw_story(d: Draw) -> Params:
    return {"section": d.choice(SECTIONS), "ordinal": d.choice(ORDINALS), "headline": _headline(d)}


def _draw_section(d: Draw) -> Params:
    return {"section": d.choice(SECTIONS), "ordinal": "top", "headline": _headline(d)}


def _read_story(p: Params) -> Plan:
    return plan(
        "Browser",
        on(f"browser/news_article/{p['headline']}"),
        on(f"browser/news_section/{p['section']}", tap(p["headline"])),
        on("browser/news_home", tap(id=f"section:{p['section']}")),
        on("browser/home", tap(id="site:daybreak.news")),
    )


def _reads_story(p: Params, inspect: Inspect) -> bool:
    app, page, headline = front(inspect)
    is_article = (app, page) == ("browser", "news_article") and has_bookmarks(inspect)
    return is_article and same(headline, p["headline"])


# ---- addresses and bookmarks


def _draw_address(d: Draw) -> Params:
    """A forecast or a section of the news, and the page it is."""
    if d.choice(("weather", "weather", "weather", "news")) == "news":
        section = d.choice(SECTIONS)
        return {"url": f"daybreak.news/{section}", "page": "news_section", "arg": section}
    city = d.pick(CITIES)
    return {"url": f"skyline.weather/{city}", "page": "weather_city", "arg": city}


def _shows_address(p: Params, inspect: Inspect) -> bool:
    app, page, arg = front(inspect)
    return (app, page) == ("browser", p["page"]) and same(arg, p["arg"]) and has_bookmarks(inspect)


def _bookmark(p: Params) -> Plan:
    keep = stage(
        "Browser",
        on("browser/menu", tap(id="bookmark")),
        on(f"browser/{p['page']}/{p['arg']}", tap(id="menu")),
        on("browser/home", enter("url", p["url"])),
        done=lambda inspect: _is_bookmarked(p, inspect),
    )
    return (keep, stage("Browser", on("browser")))


def _is_bookmarked(p: Params, inspect: Inspect) -> bool:
    return any(same(b["url"], p["url"]) for b in inspect("browser")["bookmarks"])


def _bookmarks(p: Params, rng: Random) -> Plain:
    """Four bookmarks, one of them the one in question."""
    cities = rng.sample([c for c in CITIES.words if c != p["city"]], 3)
    cities.insert(rng.randrange(4), p["city"])
    return {"browser": {"bookmarks": [{"url": f"skyline.weather/{c}", "title": f"{c} forecast"} for c in cities]}}


def _history(p: Params, rng: Random) -> Plain:
    """Five visits, one of them the one in question."""
    topics = rng.sample([t for t in TOPICS.words if t != p["topic"]], 4)
    topics.insert(rng.randrange(5), p["topic"])
    return {"browser": {"history": [f"tern.search/{t}" for t in topics], **some_bookmarks(p, rng)["browser"]}}


def _dropped(p: Params, inspect: Inspect) -> bool:
    return p["visit"] not in inspect("browser")["history"] and has_bookmarks(inspect)


def _draw_visit(d: Draw) -> Params:
    topic = d.pick(TOPICS)
    return {"topic": topic, "visit": f"tern.search/{topic}"}


def _opened_bookmark(p: Params, inspect: Inspect) -> bool:
    return front(inspect) == ("browser", "weather_city", p["city"]) and len(inspect("browser")["bookmarks"]) == 4


TEMPLATES = (
    _question(
        "search_capital",
        COUNTRIES,
        ("What is the capital of {}", "What's the capital of {}", "Which city is the capital of {}"),
    ),
    _question(
        "search_height",
        PEAKS,
        ("How tall is {}", "How high is {}", "What is the height of {}"),
    ),
    _question(
        "search_author",
        BOOKS,
        ("Who wrote {}", "Who is the author of {}", "By whom was {} written"),
    ),
    _question(
        "search_meaning",
        RARE_WORDS,
        ("What does {} mean", "What is the meaning of {}", "What is the definition of {}"),
    ),
    _question(
        "search_population",
        COUNTRIES,
        ("What is the population of {}", "How many people live in {}"),
        unseen=True,
    ),
    Template(
        name="search_conversion",
        suite="general",
        difficulty=1,
        phrasings=(
            "How much is {question}? Search the web",
            "Search the web for {question}",
            "Look up {question} in the browser",
        ),
        draw=_draw_conversion,
        world=some_bookmarks,
        keeps=KEEPS,
        check=lambda p, inspect: is_conversion(_query(inspect), *p["subject"].split()),
        plan=lambda p: _search_for(p["question"]),
    ),
    Template(
        name="search_topic",
        suite="general",
        difficulty=1,
        phrasings=(
            "Search for {topic}",
            "Search the web for {topic}",
            "Look up {topic} online",
            "Use the browser to search for {topic}",
        ),
        draw=lambda d: {"topic": d.pick(TOPICS)},
        world=some_bookmarks,
        keeps=KEEPS,
        check=lambda p, inspect: is_about(_query(inspect), p["topic"], TOPICS),
        plan=lambda p: _search_for(p["topic"]),
    ),
    Template(
        name="open_result",
        suite="general",
        difficulty=2,
        phrasings=(
            "Search the web for {topic} and open one of the results",
            "Find an article about {topic} on the web and open it",
            "I want to read something about {topic}, search for it and open a result",
        ),
        draw=lambda d: {"topic": d.pick(TOPICS)},
        world=some_bookmarks,
        keeps=KEEPS,
        check=_opened_result,
        plan=lambda p: (
            stage(
                "Browser",
                on(f"browser/search/{p['topic']}", tap(id="result:1")),
                on("browser/home", enter("query", p["topic"])),
                done=lambda inspect: _opened_result(p, inspect),
            ),
            stage("Browser", on("browser")),
        ),
    ),
    Template(
        name="news_section",
        suite="general",
        difficulty=1,
        phrasings=(
            "Open the {section} section of daybreak.news",
            "Show me the {section} news on Daybreak",
            "Go to daybreak.news and open {section}",
            "What is new in {section}? Open that section on daybreak.news",
            "I would like to see the {section} stories on Daybreak",
        ),
        draw=_draw_section,
        world=_stories,
        keeps=(STORIES, *KEEPS),
        check=lambda p, inspect: front(inspect) == ("browser", "news_section", p["section"]) and has_bookmarks(inspect),
        plan=lambda p: plan(
            "Browser",
            on(f"browser/news_section/{p['section']}"),
            on("browser/news_home", tap(id=f"section:{p['section']}")),
            on("browser/home", tap(id="site:daybreak.news")),
        ),
    ),
    Template(
        name="news_story_of_section",
        suite="general",
        difficulty=1,
        phrasings=(
            "Open the {ordinal} story in the {section} section of daybreak.news",
            "Go to daybreak.news, open {section}, and read the {ordinal} story",
            "On Daybreak, show me the {ordinal} {section} story",
            "What is the {ordinal} story in {section}? Open it on daybreak.news",
        ),
        draw=_draw_story,
        world=_stories,
        keeps=(STORIES, *KEEPS),
        check=_reads_story,
        plan=_read_story,
    ),
    Template(
        name="news_story_by_headline",
        suite="general",
        difficulty=1,
        phrasings=(
            "Open the {section} story {headline} on daybreak.news",
            "On Daybreak, read the article {headline} in the {section} section",
            "Find {headline} in the {section} news of daybreak.news and open it",
        ),
        draw=_draw_story,
        world=_stories,
        keeps=(STORIES, *KEEPS),
        check=_reads_story,
        plan=_read_story,
    ),
    Template(
        name="open_address",
        suite="general",
        difficulty=1,
        phrasings=("Go to {url}", "Open {url} in the browser", "Visit {url}", "Browse to the page {url}"),
        draw=_draw_address,
        world=some_bookmarks,
        keeps=KEEPS,
        check=_shows_address,
        plan=lambda p: plan(
            "Browser", on(f"browser/{p['page']}/{p['arg']}"), on("browser/home", enter("url", p["url"]))
        ),
    ),
    Template(
        name="bookmark_page",
        suite="general",
        difficulty=2,
        phrasings=(
            "Bookmark {url}",
            "Open {url} and bookmark it",
            "Go to {url} in the browser and add the page to my bookmarks",
            "Save {url} as a bookmark",
        ),
        draw=_draw_address,
        world=some_bookmarks,
        keeps=KEEPS,
        check=lambda p, inspect: _is_bookmarked(p, inspect) and has_bookmarks(inspect, 1),
        plan=_bookmark,
    ),
    Template(
        name="open_bookmark",
        suite="general",
        difficulty=1,
        unseen=True,
        phrasings=(
            "Open my bookmark {city} forecast",
            "Go to the page I bookmarked as {city} forecast",
            "In the browser, open the bookmark called {city} forecast",
        ),
        draw=lambda d: {"city": d.pick(CITIES)},
        world=_bookmarks,
        keeps=KEEPS,
        check=_opened_bookmark,
        plan=lambda p: plan(
            "Browser",
            on(f"browser/weather_city/{p['city']}"),
            on("browser/bookmarks", tap(f"{p['city']} forecast")),
            on("browser/menu", tap(id="bookmarks")),
            on("browser/home", tap(id="menu")),
        ),
    ),
    Template(
        name="delete_visit",
        suite="general",
        difficulty=1,
        phrasings=(
            "Remove {topic} from my browsing history",
            "Delete the search {topic} from the history of the browser",
            "I do not want {topic} in my browser history, take it out",
        ),
        draw=_draw_visit,
        world=_history,
        keeps=(Keep("browser", "history"), *KEEPS),
        check=_dropped,
        plan=lambda p: plan(
            "Browser",
            on("browser/history", tap(f"Remove {p['visit']}")),
            on("browser/menu", tap(id="history")),
            on("browser/home", tap(id="menu")),
        ),
    ),
)

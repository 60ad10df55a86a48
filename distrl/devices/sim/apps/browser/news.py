"""The news site: a front page, five sections, and the stories themselves."""

from distrl.core.seeds import derive_random
from distrl.devices.sim.app import Ui
from distrl.devices.sim.apps.browser.chrome import address_bar, to
from distrl.devices.sim.apps.browser.headlines import SECTIONS
from distrl.devices.sim.apps.browser.sites import NEWS, url_of
from distrl.devices.sim.apps.browser.state import BrowserState, Story
from distrl.devices.sim.nodes import Box, Icon, Node, Picture, Text, View
from distrl.devices.sim.widgets import EDGE, empty, paragraph, section

RED = "#B3261E"
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _masthead(ui: Ui, chosen: str) -> tuple[Box, Box]:
    day = int(ui.now_s // 86400)
    date = Text(f"{_DAYS[day % 7]}, {16 + day} November 2026", 42, "text2", align="center")
    name = Box(
        (Icon("weather_sunset_up", 96, RED), Text("Daybreak", 88, "text", "bold")), row=True, gap=20, justify="center"
    )
    logo = Box((name,), tap=to("news_home"), id="masthead", label="Daybreak")
    names = SECTIONS[::-1] if ui.has("new_layout") else SECTIONS
    cells = tuple(_section_tab(name, name == chosen) for name in names)
    strip = Box((Box(height=4, fill="outline"), Box(cells, row=True), Box(height=4, fill="outline")))
    return Box((logo, date), gap=4, pad=(EDGE, 24, EDGE, 20)), strip


def _section_tab(name: str, on: bool) -> Box:
    return Box(
        (
            Text(name.capitalize(), 42, RED if on else "text", "bold" if on else "medium", "center"),
            Box((Box(width=120, height=8, radius=4, fill=RED if on else ""),), align="center"),
        ),
        gap=18,
        pad=(0, 28, 0, 0),
        grow=1,
        tap=to("news_section", name),
        kind="tab",
        checked=on,
        id=f"section:{name}",
    )


def _age(story: Story) -> str:
    return f"{story.hours_ago} hour{'s' if story.hours_ago > 1 else ''} ago"


def story_card(story: Story) -> Box:
    """A story as a line of a list: words at the left, a small picture at the right."""
    words = Box(
        (
            Text(story.section.upper(), 42, RED, "bold"),
            Text(story.headline, 50, "text", "medium", lines=3),
            Text(_age(story), 42, "text2"),
        ),
        gap=10,
        grow=1,
    )
    return Box(
        (words, Picture("photo", story.headline, 240, 240, 32)),
        row=True,
        gap=36,
        pad=(EDGE, 24, EDGE, 24),
        tap=to("news_article", story.headline),
        kind="card",
        label=story.headline,
    )


def _lead(story: Story) -> Box:
    return Box(
        (
            Picture("photo", story.headline, 984, 520, 40),
            Text(story.section.upper(), 42, RED, "bold"),
            Text(story.headline, 68, "text", "bold", lines=3),
            Text(story.summary, 48, "text2", lines=2),
            Text(f"{story.author} · {_age(story)}", 42, "text2"),
        ),
        gap=16,
        pad=(EDGE, 32, EDGE, 32),
        tap=to("news_article", story.headline),
        kind="card",
        label=story.headline,
    )


def _in_section(ui: Ui, name: str) -> list[Story]:
    return [s for s in ui.get(BrowserState).stories if s.section == name.casefold()]


def news_home(ui: Ui) -> View:
    """The front page: the top stories of every section."""
    blocks: list[Box] = []
    for k, name in enumerate(SECTIONS):
        stories = _in_section(ui, name)[:3]
        blocks += [_lead(s) if k == 0 and i == 0 else story_card(s) for i, s in enumerate(stories)]
    return View(bar=address_bar(ui, NEWS), body=(*_masthead(ui, ""), *blocks), fill="web")


def news_section(ui: Ui) -> View:
    """All stories of a section, the top story first."""
    stories = _in_section(ui, ui.arg)
    cards = tuple(_lead(s) if k == 0 else story_card(s) for k, s in enumerate(stories))
    body = cards or (empty("newspaper_remove", f"There is no section called {ui.arg}"),)
    return View(bar=address_bar(ui, f"{NEWS}/{ui.arg}"), body=(*_masthead(ui, ui.arg.casefold()), *body), fill="web")


def news_article(ui: Ui) -> View:
    """One story."""
    bar = address_bar(ui, url_of("news_article", ui.arg))
    story = next((s for s in ui.get(BrowserState).stories if s.headline.casefold() == ui.arg.casefold()), None)
    if story is None:
        return View(bar=bar, body=(*_masthead(ui, ""), empty("newspaper_remove", "This story has moved")), fill="web")
    rng = derive_random(0, "story", story.headline)
    by: tuple[Node, ...] = (
        Icon("account_circle", 84, "text2"),
        Text(f"{story.author}\n{_age(story)}", 44, "text2", lines=2),
    )
    head = Box(
        (
            Text(story.section.upper(), 44, RED, "bold"),
            Text(story.headline, 80, "text", "bold", lines=4),
            Text(story.summary, 54, "text2", lines=3),
            Box(by, row=True, gap=24),
        ),
        gap=24,
        pad=(EDGE, 36, EDGE, 24),
    )
    texts = rng.sample(_TEXTS, 4)
    others = [s for s in _in_section(ui, story.section) if s is not story][:3]
    body = (
        head,
        Box((Picture("photo", story.headline, 984, 560, 40),), pad=(EDGE, 8, EDGE, 20)),
        *(paragraph(text, size=50) for text in texts),
        section(f"More from {story.section}"),
        *(story_card(s) for s in others),
    )
    return View(bar=bar, body=(*_masthead(ui, story.section), *body), fill="web")


_TEXTS = (
    "It began quietly. For weeks only a handful of people knew, and those who did were asked to keep it to "
    "themselves. By the time the news was out on Monday, the square in front of the town hall had filled.",
    "“We did not expect this much interest,” said a spokeswoman, who had to raise her voice over the crowd. "
    "“It shows that people care when they are asked.”",
    "Not everybody is convinced. Neighbours point to the noise and to the cost, which has risen since the "
    "first estimate. A public hearing is planned for next week.",
    "Observers compare it with similar cases in other towns, where it took years until the effects could be "
    "seen. Most of them advise patience.",
    "The figures support the optimists so far: numbers are up by a fifth on last year, and complaints are "
    "down. Whether this will last through the winter is another question.",
    "For Elsa Moreau, 71, who has lived here all her life, the matter is simple. “I have seen many plans,” "
    "she said. “This is the first that anyone has finished.”",
    "More details will be published on Thursday. Until then, both sides have agreed not to comment any further.",
)

PAGES = {"news_home": news_home, "news_section": news_section, "news_article": news_article}

"""The page of one app, its dialogs, and the app itself when it runs."""

import distrl.devices.sim.apps.store.actions as actions
import distrl.devices.sim.apps.store.parts as parts
from distrl.devices.sim.app import Ui, choose, do, go
from distrl.devices.sim.apps.store.catalogue import ABOUT, StoreApp
from distrl.devices.sim.apps.store.state import StoreState, launch
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import EDGE, bar, button, buttons, dialog, icon_button, paragraph, section, wide


def app_page(ui: Ui) -> View:
    """What an app is, what others think of it, and the button everybody came for."""
    state = ui.get(StoreState)
    app = state.find(ui.arg)
    wished = app.name in state.wish_list
    mark = icon_button(
        "bookmark" if wished else "bookmark_plus_outline",
        "Remove from wish list" if wished else "Add to wish list",
        do(actions.toggle_wish, app.name),
        id="wish",
    )
    notes = " • ".join(["Contains ads"] * app.ads + ["In-app purchases"] * app.purchases) or "No ads"
    title = Box(
        (Text(app.name, 64, weight="medium", lines=2), Text(app.developer, 46, "primary"), Text(notes, 42, "text2")),
        gap=6,
        grow=1,
    )
    head = Box((parts.tile(app, 216), title), row=True, gap=44, pad=(EDGE, 20, EDGE, 28))
    similar = [a for a in state.catalogue if a.category == app.category and a.name != app.name]
    body = (
        head,
        _facts(state, app),
        _main_buttons(state, app),
        _shots(app),
        section("About this app"),
        paragraph(ABOUT.get(app.category, "{} is new.").format(app.name), size=46, color="text2", lines=6),
        *_rate(ui, app),
        section("Similar apps"),
        *(parts.app_row(ui, a) for a in similar[:3]),
    )
    find = icon_button("magnify", "Search", do(actions.find), id="search")
    return View(bar=bar("", find, mark), body=body)


def _fact(top: Node, below: str) -> Box:
    return Box((top, Text(below, 42, "text2", align="center")), gap=8, grow=1, align="center")


def _facts(state: StoreState, app: StoreApp) -> Box:
    score = Box((Text(f"{state.score(app.name):.1f}", 48, weight="medium"), Icon("star", 46, "star")), row=True, gap=8)
    line = Box(width=4, height=80, fill="outline")
    size = Text(f"{app.size_mb} MB", 48, weight="medium", align="center")
    loads = Text(app.downloads, 48, weight="medium", align="center")
    facts = (_fact(score, "Rating"), line, _fact(size, "Size"), line, _fact(loads, "Downloads"))
    return Box(facts, row=True, pad=(24, 16, 24, 16))


def _stretch(item: Box) -> Box:
    return Box((item,), grow=1)


def _main_buttons(state: StoreState, app: StoreApp) -> Box:
    name = app.name
    if name not in state.installed:
        words = f"Buy for {app.price}" if app.price else "Install"
        made = [button(words, do(actions.install, name), id="install")]
    else:
        made = [button("Uninstall", go("uninstall", name), style="outlined", id="uninstall")]
        if name in state.updates:
            made += [button("Update", do(actions.update, name), id="update")]
        else:
            made += [button("Open", do(launch, name), id="open")]
    return Box(tuple(_stretch(b) for b in made), row=True, gap=24, pad=(EDGE, 28, EDGE, 28))


def _shots(app: StoreApp) -> Box:
    """Three little screens in the colour of the app."""
    made = []
    for k, icon in enumerate((app.icon, "chart_bar", "account_group")):
        lines = tuple(Box(width=w, height=20, radius=10, fill="#FFFFFF") for w in (190, 150, 120)[: 3 - k])
        inner = Box((Icon(icon, 150, "#FFFFFF"), *lines), gap=28, pad=(0, 80, 0, 0), align="center")
        made.append(Box((inner,), height=520, grow=1, radius=40, fill=app.color))
    return Box(tuple(made), row=True, gap=28, pad=(EDGE, 8, EDGE, 8))


def _stars(ui: Ui, given: int, *, reviewing: bool) -> Box:
    made = tuple(
        icon_button(
            "star" if k <= given else "star_outline",
            "1 star" if k == 1 else f"{k} stars",
            choose("stars", k) if reviewing else do(actions.start_review, ui.arg, k),
            color="star",
            id=f"star:{k}",
            size=96,
        )
        for k in range(1, 6)
    )
    return Box(made, row=True, justify="between", pad=(EDGE, 12, EDGE, 12))


def _rate(ui: Ui, app: StoreApp) -> tuple[Box, ...]:
    state = ui.get(StoreState)
    if app.name not in state.installed:
        return ()
    given = state.my_ratings.get(app.name, 0)
    words = "Your review" if given else "Rate this app"
    text = state.my_reviews.get(app.name, "") or "Tell others what you think"
    return (section(words), _stars(ui, given, reviewing=False), paragraph(text, size=44, color="text2", lines=4))


def review(ui: Ui) -> View:
    """Stars and words for an app."""
    app = ui.get(StoreState).find(ui.arg)
    head = Box((parts.tile(app), Text(app.name, 56, weight="medium")), row=True, gap=36, pad=(EDGE, 16, EDGE, 24))
    field = wide(ui.field("review", "Describe your experience (optional)", lines=8))
    note = paragraph("Reviews are public and include your name.", size=44, color="text2")
    post = button("Post", do(actions.post_review, ui.arg), style="text", id="post")
    return View(
        bar=bar("Rate this app", post), body=(head, _stars(ui, ui.chosen("stars", 0), reviewing=True), field, note)
    )


def uninstall(ui: Ui) -> View:
    """Asks before an app goes."""
    return dialog(
        ui.arg,
        "Do you want to uninstall this app? Its data will be removed from this phone.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Uninstall", do(actions.uninstall, ui.arg), style="text", id="confirm"),
    )


def buy(ui: Ui) -> View:
    """Asks before money is spent."""
    app = ui.get(StoreState).find(ui.arg)
    return dialog(
        f"Buy {app.name}?",
        f"{app.price} will be charged to the card ending in 2041.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Buy", do(actions.install, app.name), style="text", id="confirm"),
        icon="credit_card_outline",
    )


def run(ui: Ui) -> View:
    """An installed app, just started."""
    app = ui.get(StoreState).find(ui.arg)
    icon = Box((parts.tile(app, 400),), pad=(0, 380, 0, 60), align="center")
    words = Box(
        (
            Text(app.name, 84, weight="medium", align="center", lines=2),
            Text(f"by {app.developer}", 48, "text2", align="center"),
        ),
        gap=12,
        pad=(EDGE, 0, EDGE, 120),
    )
    start = button("Get started", do(Ui.toast, f"Welcome to {app.name}"), id="start")
    login = button("I have an account", do(Ui.toast, "Sign-in is not available right now"), style="text")
    return View(body=(icon, words, buttons(start, justify="center"), buttons(login, justify="center")))

"""What the browser keeps for its user: the menu, bookmarks, history and tabs."""

from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.apps.browser.chrome import navigate, remember
from distrl.devices.sim.apps.browser.sites import look_of, url_of
from distrl.devices.sim.apps.browser.state import Bookmark, BrowserState, Tab
from distrl.devices.sim.nodes import Box, Do, Icon, Text, View
from distrl.devices.sim.state import Page
from distrl.devices.sim.widgets import badge, bar, button, card, dialog, empty, fab, icon_button, row


def url_of_page(page: Page) -> str:
    """The address of a page on the stack."""
    return url_of(page.name, page.arg) or "start page"


def _below(ui: Ui) -> Page:
    stack = ui.phone.stack()
    return stack[-2] if len(stack) > 1 else stack[-1]


def _bookmark_of(ui: Ui, page: Page) -> Bookmark | None:
    url = url_of_page(page)
    return next((b for b in ui.get(BrowserState).bookmarks if b.url == url), None)


def _entry(icon: str, words: str, tap: Do, id: str) -> Box:
    children = (Icon(icon, 66, "text2"), Box((Text(words, 48),), grow=1))
    return Box(children, row=True, gap=36, pad=(64, 16, 64, 16), height=124, tap=tap, kind="row", id=id)


def menu(ui: Ui) -> View:
    """What can be done with the page below, and where else to go."""
    page = _below(ui)
    marked = _bookmark_of(ui, page) is not None
    star = ("star", "Remove bookmark") if marked else ("star_outline", "Add bookmark")
    entries = [
        _entry("tab_plus", "New tab", do(_new_tab), "new_tab"),
        _entry(star[0], star[1], do(toggle_bookmark), "bookmark"),
        _entry("bookmark_multiple_outline", "Bookmarks", do(_leave_for, "bookmarks"), "bookmarks"),
        _entry("history", "History", do(_leave_for, "history"), "history"),
        _entry("refresh", "Refresh", do(_refresh), "refresh"),
        _entry("share_variant_outline", "Copy link", do(_copy), "share"),
    ]
    if ui.has("new_layout"):
        entries = entries[2:] + entries[:2]
    return dialog(url_of_page(page), "", button("Close", do(Ui.back, 1), style="text"), content=tuple(entries))


def toggle_bookmark(ui: Ui) -> None:
    """Keep the page below the menu, or forget it."""
    state, page = ui.get(BrowserState), _below(ui)
    found = _bookmark_of(ui, page)
    if found:
        state.bookmarks.remove(found)
    elif page.name not in ("bookmarks", "history", "tabs", "home"):
        url = url_of_page(page)
        title = page.arg or look_of(url).name
        state.bookmarks.insert(0, Bookmark(url=url, title=title, page=page.name, arg=page.arg))
    ui.back()
    ui.toast("Bookmark removed" if found else "Bookmark added")


def _leave_for(ui: Ui, name: str) -> None:
    ui.replace(name)


def _refresh(ui: Ui) -> None:
    ui.back()
    ui.phone.stack()[-1].ready_s = ui.now_s
    ui.toast("Page refreshed")


def _copy(ui: Ui) -> None:
    ui.back()
    ui.toast("Link copied")


def bookmarks(ui: Ui) -> View:
    """The pages that were kept."""
    kept = ui.get(BrowserState).bookmarks
    rows = tuple(
        row(
            b.title,
            b.url,
            lead=badge("star", look_of(b.url.partition("/")[0]).color, 96),
            trail=icon_button("delete_outline", f"Delete {b.title}", do(_forget, b.url), color="text2"),
            tap=do(_open_bookmark, b.url),
        )
        for b in kept
    )
    return View(bar=bar("Bookmarks"), body=rows or (empty("star_outline", "Bookmarks you add appear here"),))


def _open_bookmark(ui: Ui, url: str) -> None:
    for b in ui.get(BrowserState).bookmarks:
        if b.url == url:
            ui.back()
            if b.page:
                remember(ui, url)
                ui.go(b.page, b.arg)
            else:
                navigate(ui, url)


def _forget(ui: Ui, url: str) -> None:
    state = ui.get(BrowserState)
    state.bookmarks = [b for b in state.bookmarks if b.url != url]
    ui.toast("Bookmark removed")


def history(ui: Ui) -> View:
    """Where one has been, the latest first."""
    urls = ui.get(BrowserState).history
    rows = tuple(
        row(
            url.partition("/")[2] or look_of(url).name,
            url.partition("/")[0],
            lead=Icon("history", 72),
            trail=icon_button("close", f"Remove {url}", do(_drop, url), color="text2"),
            tap=do(_revisit, url),
        )
        for url in urls
    )
    clear = icon_button("delete_sweep_outline", "Clear history", go("clear_history"), id="clear_history")
    return View(bar=bar("History", clear), body=rows or (empty("history", "Pages you visit appear here"),))


def _revisit(ui: Ui, url: str) -> None:
    ui.back()
    navigate(ui, url)


def _drop(ui: Ui, url: str) -> None:
    ui.get(BrowserState).history.remove(url)


def clear_history(ui: Ui) -> View:
    """Asks before the history is gone."""
    return dialog(
        "Clear history?",
        "The list of pages you have visited will be deleted. Bookmarks stay.",
        button("Cancel", do(Ui.back, 1), style="text", id="cancel"),
        button("Clear", do(_clear_now), style="text", id="confirm"),
        icon="delete_sweep_outline",
    )


def _clear_now(ui: Ui) -> None:
    ui.get(BrowserState).history.clear()
    ui.back()
    ui.toast("History cleared")


def tabs(ui: Ui) -> View:
    """The open tabs, the one in front first."""
    open_tabs = [_tab_of(_below(ui)), *ui.get(BrowserState).tabs]
    cards = tuple(_tab_card(tab, k) for k, tab in enumerate(open_tabs))
    title = f"{len(open_tabs)} tab" + ("s" if len(open_tabs) > 1 else "")
    plus = icon_button("plus", "New tab", do(_new_tab), id="new_tab")
    if ui.has("new_layout"):
        return View(bar=bar(title, plus), body=cards)
    return View(bar=bar(title), body=cards, fab=fab("plus", "New tab", do(_new_tab), id="new_tab"))


def _tab_of(page: Page) -> Tab:
    return Tab(url=url_of_page(page), page=page.name, arg=page.arg)


def _tab_card(tab: Tab, index: int) -> Box:
    domain = tab.url.partition("/")[0]
    name = "New tab" if tab.page == "home" else tab.arg or look_of(domain).name
    words = Box((Text(name, 50, "text", "medium", lines=2), Text(tab.url, 44, "text2")), gap=6, grow=1)
    close = icon_button("close", f"Close {name}", do(_close_tab, index), color="text2")
    head = Box((badge("web", look_of(domain).color, 96), words, close), row=True, gap=32)
    return card(head, tap=do(_switch_to, index), fill="tonal" if index == 0 else "container")


def _show(ui: Ui, tab: Tab) -> None:
    """Make a tab the one in front, with nothing to go back to but the start page."""
    stack = ui.phone.stack()
    stack.clear()
    stack.append(Page("browser", "home"))
    if tab.page != "home":
        ui.go(tab.page, tab.arg)


def _new_tab(ui: Ui) -> None:
    ui.get(BrowserState).tabs.insert(0, _tab_of(_below(ui)))
    _show(ui, Tab(url="", page="home"))


def _switch_to(ui: Ui, index: int) -> None:
    if index == 0:
        ui.back()
        return
    open_tabs = ui.get(BrowserState).tabs
    chosen = open_tabs.pop(index - 1)
    open_tabs.insert(0, _tab_of(_below(ui)))
    _show(ui, chosen)


def _close_tab(ui: Ui, index: int) -> None:
    open_tabs = ui.get(BrowserState).tabs
    if index > 0:
        del open_tabs[index - 1]
    else:
        _show(ui, open_tabs.pop(0) if open_tabs else Tab(url="", page="home"))

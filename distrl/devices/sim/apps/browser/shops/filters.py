"""Order and filters: a dialog for each, and a whole page of filters. What is touched counts at once."""

from distrl.devices.sim.app import Ui, back, do
from distrl.devices.sim.apps.browser.chrome import address_bar
from distrl.devices.sim.apps.browser.shops.finding import (
    BANDS,
    SORTS,
    clear_wish,
    matches,
    pick_sort,
    results,
    set_wish,
    wish_of,
)
from distrl.devices.sim.apps.browser.shops.parts import buy_button, pill
from distrl.devices.sim.apps.browser.shops.shop import Shop, pick_quantity, quantity_of
from distrl.devices.sim.nodes import Box, Icon, Text, View
from distrl.devices.sim.widgets import bar, button, dialog, switch_mark

MAX_BRANDS = 6


def sort_dialog(ui: Ui) -> View:
    """The orders to choose from."""
    now = wish_of(ui).sort
    rows = tuple(_radio(words, on=sort == now, sort=sort) for sort, words in SORTS.items())
    return dialog("Sort by", "", button("Cancel", back(), style="text", id="cancel"), content=rows)


def _radio(words: str, *, on: bool, sort: str) -> Box:
    mark = Icon("radiobox_marked" if on else "radiobox_blank", 72, "primary" if on else "text2")
    return Box(
        (mark, Box((Text(words, 50),), grow=1)),
        row=True,
        gap=36,
        pad=(64, 16, 48, 16),
        height=132,
        tap=do(pick_sort, sort),
        kind="radio",
        checked=on,
        id=f"sort:{sort}",
    )


def quantity_dialog(ui: Ui) -> View:
    """Numbers to choose from."""
    now = quantity_of(ui)
    numbers = [pill(str(n), on=n == now, tap=do(pick_quantity, n), id=f"quantity:{n}", grow=1) for n in range(1, 7)]
    rows = tuple(Box(tuple(numbers[k : k + 3]), row=True, gap=20, pad=(64, 12, 64, 12)) for k in (0, 3))
    return dialog("Quantity", "", button("Cancel", back(), style="text", id="cancel"), content=rows)


def _switch(words: str, icon: str, name: str, *, on: bool) -> Box:
    return Box(
        (Icon(icon, 66), Box((Text(words, 48),), grow=1), switch_mark(on)),
        row=True,
        gap=32,
        pad=(56, 16, 56, 16),
        height=136,
        tap=do(set_wish, name, not on),
        kind="switch",
        checked=on,
        id=name,
    )


def _choices(title: str, name: str, values: dict[str, str], chosen: str, per_row: int) -> tuple[Box, ...]:
    made = [
        pill(words, on=v == chosen, tap=do(set_wish, name, "" if v == chosen else v), id=f"{name}:{v}", grow=1)
        for v, words in values.items()
    ]
    rows = tuple(
        Box(tuple(made[k : k + per_row]), row=True, gap=16, pad=(56, 10, 56, 10)) for k in range(0, len(made), per_row)
    )
    return (Box((Text(title, 44, "text2", "medium"),), pad=(56, 24, 56, 8)), *rows) if rows else ()


def _all_filters(ui: Ui) -> tuple[Box, ...]:
    wish = wish_of(ui)
    brands = sorted({p.brand for p in matches(ui)})[:MAX_BRANDS]
    return (
        _switch("4 stars and up", "star_outline", "four_stars", on=wish.four_stars),
        _switch("Free delivery", "truck_fast_outline", "free_delivery", on=wish.free_delivery),
        *_choices("Price", "band", {band: words for band, (words, _, _) in BANDS.items()}, wish.band, 2),
        *_choices("Brand", "brand", {brand: brand for brand in brands}, wish.brand, 3),
    )


def _show_words(ui: Ui) -> str:
    number = len(results(ui))
    return f"Show {number} result{'' if number == 1 else 's'}"


def filter_dialog(ui: Ui) -> View:
    """All filters above the results."""
    return dialog(
        "Filters",
        "",
        button("Clear", do(clear_wish), style="text", id="clear_filters"),
        button(f"Show {len(results(ui))}", back(), id="apply"),
        content=_all_filters(ui),
    )


def filter_page(ui: Ui, shop: Shop) -> View:
    """All filters on a page of their own."""
    clear = button("Clear", do(clear_wish), style="text", id="clear_filters")
    show = Box(
        (buy_button(shop, _show_words(ui), back(), id="apply", grow=1),), row=True, pad=(40, 24, 40, 24), fill="surface"
    )
    head = Box((address_bar(ui, f"{shop.domain}/filters"), bar("Filters", clear, fill="surface")))
    return View(bar=head, body=_all_filters(ui), bottom=show, fill="surface")

"""What follows a choice in every shop: the cart, the checkout that asks for nothing, the thanks, and the wish list."""

from distrl.devices.sim.app import Ui, back, do
from distrl.devices.sim.apps.browser.chrome import address_bar
from distrl.devices.sim.apps.browser.shops.finding import find_product
from distrl.devices.sim.apps.browser.shops.parts import buy_button, free_mark, heart, money, photo, step_button
from distrl.devices.sim.apps.browser.shops.shop import (
    Shop,
    cart_of,
    change,
    count,
    delivery_cents,
    empty_cart,
    place_order,
    remove,
    total_cents,
)
from distrl.devices.sim.apps.browser.state import BrowserState, CartItem, Product
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import button, dialog


def _head(ui: Ui, shop: Shop, title: str, place: str, *actions: Box) -> Box:
    up = Box(
        (Icon("arrow_left", 72, shop.ink),),
        width=112,
        height=112,
        align="center",
        justify="center",
        tap=back(),
        id="up",
        kind="icon",
        label="Back",
    )
    line = (up, Box((Text(title, 58, shop.ink, "bold"),), grow=1), *actions)
    return Box(
        (address_bar(ui, f"{shop.domain}/{place}"), Box(line, row=True, gap=12, pad=(16, 12, 24, 16), fill=shop.fill))
    )


def _blank(shop: Shop, icon: str, title: str, words: str) -> Box:
    start = buy_button(shop, "Continue shopping", shop.go("home"), id="continue")
    return Box(
        (
            Icon(icon, 240, "outline"),
            Text(title, 60, weight="medium", align="center", lines=2),
            Text(words, 46, "text2", align="center", lines=3),
            Box(height=16),
            start,
        ),
        gap=24,
        pad=(72, 280, 72, 40),
        align="center",
    )


def cart_page(ui: Ui, shop: Shop) -> View:
    """Everything in the cart; each line can be changed."""
    items = cart_of(ui, shop.id)
    title = f"Your {shop.cart}" + (f" ({count(ui, shop.id)})" if items else "")
    if not items:
        body: tuple[Box, ...] = (
            _blank(shop, shop.cart_icon, f"Your {shop.cart} is empty", "Things you add will wait for you here."),
        )
        return View(bar=_head(ui, shop, title, shop.cart), body=body)
    clear = Box(
        (Text("Empty", 46, shop.ink, "medium"),),
        row=True,
        pad=(24, 12, 24, 12),
        height=108,
        tap=shop.go("empty"),
        id="empty",
        label=f"Empty {shop.cart}",
    )
    lines = tuple(_line(ui, shop, index, item) for index, item in enumerate(items))
    return View(bar=_head(ui, shop, title, shop.cart, clear), body=(Box(height=12), *lines), bottom=_sum(ui, shop))


def _line(ui: Ui, shop: Shop, index: int, item: CartItem) -> Box:
    product = find_product(ui, item.title)
    words: tuple[Node, ...] = (Text(item.title, 46, weight="medium", lines=2),)
    if item.option:
        words += (Text(item.option, 42, "text2"),)
    if product:
        words += (Text(money(product.price_cents * item.quantity), 54, weight="bold"), free_mark(ui, product))
    picture: Node = photo(product, 220, 220) if product else Icon("package_variant", 160)
    top = Box(
        (picture, Box(words, gap=6, grow=1)),
        row=True,
        gap=32,
        tap=shop.go("product", item.title),
        kind="row",
        id=f"open:{item.title}",
    )
    number = Box(
        (Text(str(item.quantity), 50, weight="medium", align="center"),),
        width=72,
        id=f"quantity:{item.title}",
        kind="text",
        label=str(item.quantity),
    )
    steps = Box(
        (
            step_button(
                "minus", "Less", do(change, shop.id, index, -1), id=f"less:{item.title}", enabled=item.quantity > 1
            ),
            number,
            step_button("plus", "More", do(change, shop.id, index, 1), id=f"more:{item.title}"),
        ),
        row=True,
        radius=52,
        border="outline",
        fill="surface",
        height=108,
    )
    gone = Box(
        (Icon("trash_can_outline", 60, "error"), Text("Remove", 46, "error", "medium")),
        row=True,
        gap=12,
        pad=(28, 12, 28, 12),
        height=104,
        tap=do(remove, shop.id, index),
        id=f"remove:{item.title}",
    )
    foot = Box((steps, Box(grow=1), gone), row=True)
    return Box((Box((top, foot), gap=24, pad=(32, 32, 24, 28), fill="surface", radius=36),), pad=(28, 10, 28, 10))


def _sum(ui: Ui, shop: Shop) -> Box:
    number = count(ui, shop.id)
    amount = Box(
        (
            Box((Text(f"Subtotal ({number} item{'' if number == 1 else 's'})", 46, "text2"),), grow=1),
            Text(money(total_cents(ui, shop.id)), 60, weight="bold"),
        ),
        row=True,
    )
    pay = buy_button(shop, "Proceed to checkout", shop.go("checkout"), id="checkout", icon="lock_outline")
    return Box((amount, pay), gap=24, pad=(48, 28, 48, 32), fill="surface")


def empty_dialog(ui: Ui, shop: Shop) -> View:
    """Asks before everything is gone."""
    return dialog(
        f"Empty your {shop.cart}?",
        "All items will be removed.",
        button("Cancel", back(), style="text", id="cancel"),
        button("Remove all", do(empty_cart, shop.id), style="text", id="confirm"),
        icon="trash_can_outline",
    )


def _fact(icon: str, title: str, words: str) -> Box:
    inner = Box(
        (Icon(icon, 78, "primary"), Box((Text(title, 44, "text2"), Text(words, 50, lines=2)), gap=4, grow=1)),
        row=True,
        gap=36,
        pad=(40, 32, 40, 32),
        fill="surface",
        radius=36,
    )
    return Box((inner,), pad=(28, 10, 28, 10))


def _amount(words: str, cents: int, *, weight: str = "regular") -> Box:
    shown = money(cents) if cents else "Free"
    return Box((Box((Text(words, 48, weight=weight),), grow=1), Text(shown, 50, weight=weight)), row=True)


def checkout_page(ui: Ui, shop: Shop) -> View:
    """What will be ordered, where it goes and how it is paid; nothing has to be typed."""
    goods, fee = total_cents(ui, shop.id), delivery_cents(ui, shop.id)
    items = ", ".join(f"{item.quantity} x {item.title}" for item in cart_of(ui, shop.id)) or "Nothing yet"
    sums = Box(
        (_amount("Items", goods), _amount("Delivery", fee), _amount("Total", goods + fee, weight="bold")),
        gap=20,
        pad=(40, 36, 40, 36),
        fill="surface",
        radius=36,
    )
    order = Box(
        (buy_button(shop, f"Place order · {money(goods + fee)}", do(place_order, shop.id), id="place_order"),),
        pad=(48, 28, 48, 32),
        fill="surface",
    )
    return View(
        bar=_head(ui, shop, "Checkout", "checkout"),
        body=(
            Box(height=12),
            _fact("home_map_marker", "Deliver to", "Home, 12 Harbour Street"),
            _fact("cash", "Payment", "Pay on delivery"),
            _fact("package_variant_closed", "Items", items),
            Box((sums,), pad=(28, 10, 28, 10)),
        ),
        bottom=order,
    )


def thanks_page(ui: Ui, shop: Shop) -> View:
    """The order is placed."""
    orders = [order for order in ui.get(BrowserState).orders if order.shop == shop.id]
    total = money(orders[-1].total_cents) if orders else ""
    words = f"Order total {total}. We will send a message when it is on its way."
    return View(
        bar=_head(ui, shop, "Order placed", "thanks"), body=(_blank(shop, "check_circle_outline", "Thank you!", words),)
    )


def wishlist_page(ui: Ui, shop: Shop) -> View:
    """Products kept for later."""
    titles = ui.get(BrowserState).wishlists.get(shop.id, [])
    found = [product for title in titles if (product := find_product(ui, title))]
    rows = tuple(_wished(ui, shop, product) for product in found)
    blank = _blank(shop, "heart_outline", "Nothing on your wish list", "Touch the heart of a product to keep it here.")
    return View(bar=_head(ui, shop, "Wish list", "wishlist"), body=(Box(height=12), *rows) if rows else (blank,))


def _wished(ui: Ui, shop: Shop, product: Product) -> Box:
    words = Box(
        (Text(product.title, 46, weight="medium", lines=2), Text(money(product.price_cents), 52, weight="bold")),
        gap=8,
        grow=1,
    )
    inner = Box(
        (photo(product, 180, 180), words, heart(ui, shop, product.title, id=f"wish:{product.title}")),
        row=True,
        gap=32,
        pad=(28, 24, 24, 24),
        fill="surface",
        radius=36,
        tap=shop.go("product", product.title),
        kind="card",
        id=f"open:{product.title}",
    )
    return Box((inner,), pad=(28, 10, 28, 10))

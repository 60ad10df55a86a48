"""The five shops by name and colour, and what a customer does in any of them: fill a cart, keep a wish list, order."""

import msgspec

from distrl.devices.sim.app import Ui, go
from distrl.devices.sim.apps.browser.state import BrowserState, CartItem, Order
from distrl.devices.sim.nodes import Do
from distrl.devices.sim.state import Page

MAX_QUANTITY = 9
DELIVERY_CENTS = 495


class Shop(msgspec.Struct, frozen=True, kw_only=True):
    """How a shop calls itself and its cart, and its colours.

    `fill` and `ink` are the header's, `accent` that of buttons that buy, `mark` that of the sign beside the name.
    """

    id: str
    name: str
    domain: str
    icon: str
    fill: str
    ink: str
    accent: str
    on_accent: str
    cart: str
    cart_icon: str
    slogan: str
    mark: str
    badge: str = "#D32F2F"

    def page(self, name: str) -> str:
        """The browser's name for a page of this shop."""
        return f"shop_{self.id}_{name}"

    def go(self, name: str, arg: str = "") -> Do:
        """Touch to open a page of this shop."""
        return go(self.page(name), arg)


KESTREL = Shop(
    id="kestrel", name="kestrel", domain="kestrel.shop", icon="bird", fill="#14304F", ink="#FFFFFF", accent="#FFD54F",
    on_accent="#1D1B20", cart="cart", cart_icon="cart_outline", slogan="Everything, by tomorrow", mark="#FFD54F",
)  # fmt: skip
BITBARN = Shop(
    id="bitbarn", name="BitBarn", domain="bitbarn.shop", icon="barn", fill="#1B1B2F", ink="#FFFFFF", accent="#00C2A8",
    on_accent="#06251F", cart="cart", cart_icon="cart_outline", slogan="Gear for curious people", mark="#00C2A8",
)  # fmt: skip
HOMELY = Shop(
    id="homely", name="homely", domain="homely.store", icon="home_heart", fill="#F6E7DC", ink="#7A3B22",
    accent="#B5532F", on_accent="#FFFFFF", cart="bag", cart_icon="shopping_outline",
    slogan="Good things to live with", mark="#B5532F",
)  # fmt: skip
VELOMART = Shop(
    id="velomart", name="VELOMART", domain="velomart.shop", icon="lightning_bolt", fill="#D7263D", ink="#FFFFFF",
    accent="#D7263D", on_accent="#FFFFFF", cart="cart", cart_icon="cart_outline",
    slogan="Fast shop. Low prices.", mark="#FFC400", badge="#1F1F24",
)  # fmt: skip
PAPERLEAF = Shop(
    id="paperleaf", name="paperleaf", domain="paperleaf.store", icon="leaf", fill="#E3EFE3", ink="#1F5130",
    accent="#2E7D4F", on_accent="#FFFFFF", cart="basket", cart_icon="basket_outline",
    slogan="The friendly marketplace", mark="#2E7D4F",
)  # fmt: skip
SHOPS = {shop.id: shop for shop in (KESTREL, BITBARN, HOMELY, VELOMART, PAPERLEAF)}


# ---- the cart


def cart_of(ui: Ui, shop: str) -> list[CartItem]:
    """What is in the cart of a shop."""
    return ui.get(BrowserState).carts.get(shop, [])


def count(ui: Ui, shop: str) -> int:
    """How many things are in the cart of a shop."""
    return sum(item.quantity for item in cart_of(ui, shop))


def total_cents(ui: Ui, shop: str) -> int:
    """What the cart of a shop costs without delivery."""
    prices = {p.title: p.price_cents for p in ui.get(BrowserState).products}
    return sum(prices.get(item.title, 0) * item.quantity for item in cart_of(ui, shop))


def delivery_cents(ui: Ui, shop: str) -> int:
    """What delivery costs: nothing if everything is delivered free."""
    free = {p.title for p in ui.get(BrowserState).products if p.prime}
    return 0 if all(item.title in free for item in cart_of(ui, shop)) else DELIVERY_CENTS


def add(ui: Ui, shop: str, title: str, option: str, quantity: int) -> None:
    """Put a product into the cart; the same product again raises its quantity."""
    cart = ui.get(BrowserState).carts.setdefault(shop, [])
    there = next((item for item in cart if item.title == title and item.option == option), None)
    if there:
        there.quantity = min(there.quantity + quantity, MAX_QUANTITY)
    else:
        cart.append(CartItem(title, quantity, option))
    ui.toast(f"Added to {SHOPS[shop].cart}")


def buy_now(ui: Ui, shop: str, title: str, option: str, quantity: int) -> None:
    """Into the cart and on to the checkout."""
    add(ui, shop, title, option, quantity)
    ui.go(SHOPS[shop].page("checkout"))


def change(ui: Ui, shop: str, index: int, by: int) -> None:
    """One more or one less of a line of the cart."""
    item = cart_of(ui, shop)[index]
    item.quantity = min(max(item.quantity + by, 1), MAX_QUANTITY)


def remove(ui: Ui, shop: str, index: int) -> None:
    """Take a line out of the cart."""
    del cart_of(ui, shop)[index]
    ui.toast(f"Removed from {SHOPS[shop].cart}")


def empty_cart(ui: Ui, shop: str) -> None:
    """Take everything out of the cart."""
    cart_of(ui, shop).clear()
    ui.back()
    ui.toast(f"Your {SHOPS[shop].cart} is empty")


def place_order(ui: Ui, shop: str) -> None:
    """Buy what is in the cart."""
    cart = cart_of(ui, shop)
    if not cart:
        ui.toast(f"Your {SHOPS[shop].cart} is empty")
        return
    total = total_cents(ui, shop) + delivery_cents(ui, shop)
    ui.get(BrowserState).orders.append(Order(shop, list(cart), total))
    ui.get(BrowserState).carts[shop] = []
    ui.replace(SHOPS[shop].page("thanks"))


# ---- the wish list


def is_wished(ui: Ui, shop: str, title: str) -> bool:
    """Whether a product is on the wish list of a shop."""
    return title in ui.get(BrowserState).wishlists.get(shop, [])


def wish(ui: Ui, shop: str, title: str) -> None:
    """Onto the wish list, or off it again."""
    wishes = ui.get(BrowserState).wishlists.setdefault(shop, [])
    if title in wishes:
        wishes.remove(title)
        ui.toast("Removed from wish list")
    else:
        wishes.append(title)
        ui.toast("Saved to wish list")


# ---- choices on the page of a product


def product_page(ui: Ui) -> Page:
    """The page of a product that this page is, or lies above."""
    pages = [p for p in ui.phone.stack() if p.name.endswith("_product")]
    return ui.page if ui.page.name.endswith("_product") or not pages else pages[-1]


def quantity_of(ui: Ui) -> int:
    """How many were chosen on the page of a product."""
    return int(product_page(ui).chosen.get("quantity", 1))


def set_quantity(ui: Ui, quantity: int) -> None:
    """Choose how many."""
    product_page(ui).chosen["quantity"] = min(max(quantity, 1), MAX_QUANTITY)


def pick_quantity(ui: Ui, quantity: int) -> None:
    """Choose how many in the dialog for it."""
    set_quantity(ui, quantity)
    ui.back()


def search(ui: Ui, shop: str) -> None:
    """Show what matches the words in the search field."""
    query = " ".join(ui.typed("query").split())
    if query:
        ui.go(SHOPS[shop].page("results"), query)

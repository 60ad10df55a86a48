"""What the shops' pages are made of: headers with a search field and a cart, prices, stars, steppers, chips."""

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.browser.chrome import address_bar, start_over
from distrl.devices.sim.apps.browser.shops.catalog import options_of
from distrl.devices.sim.apps.browser.shops.shop import Shop, count, is_wished, quantity_of, search, set_quantity, wish
from distrl.devices.sim.apps.browser.state import Product
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Picture, Text

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_S = 86_400


def money(cents: int) -> str:
    """A price as people read it."""
    return f"${cents // 100:,}.{cents % 100:02d}"


def delivery(ui: Ui, product: Product) -> str:
    """When a product comes, and what that costs."""
    today = int(ui.now_s // DAY_S)
    return f"Free delivery {WEEKDAYS[(today + 3) % 7]}" if product.prime else f"Delivery {WEEKDAYS[(today + 5) % 7]}"


def stars(product: Product, *, size: int = 46, short: bool = False) -> Box:
    """Five stars, the rating, and how many people gave it; `short` is one star."""
    icons: tuple[Node, ...] = tuple(Icon(_star(product.rating - k), size, "star") for k in range(1 if short else 5))
    if short:
        icons = (Icon("star", size, "star"),)
    words = Text(f"{product.rating:.1f} ({product.reviews:,})", 42, "text2")
    return Box((Box(icons, row=True), words), row=True, gap=14)


def _star(left: float) -> str:
    return "star" if left >= 0.75 else "star_half_full" if left >= 0.25 else "star_outline"


def photo(product: Product, width: int, height: int, radius: int = 24) -> Picture:
    """The picture of a product."""
    return Picture("product", f"{product.icon}:{product.color}", width, height, radius)


def free_mark(ui: Ui, product: Product, *, size: int = 42) -> Box:
    """The delivery line of a product, green when it is free."""
    color = "success" if product.prime else "text2"
    icon = Icon("truck_fast_outline" if product.prime else "truck_outline", 48, color)
    return Box(
        (icon, Text(delivery(ui, product), size, color, "medium" if product.prime else "regular")), row=True, gap=12
    )


# ---- the header


def search_box(ui: Ui, shop: Shop, *, fill: str = "surface") -> Box:
    """The search field of a shop: it shows the last query, and what is typed replaces that."""
    shown = ui.arg if ui.page.name == shop.page("results") else ""
    typed, focused = ui.typed("query"), ui.phone.system.focus == "query"
    hint = f"Search {shop.name}"
    if focused:
        words = Text(typed + "|", 48, "text")
    else:
        words = Text(typed or shown or hint, 48, "text" if typed or shown else "text2")
    children: tuple[Node, ...] = (Icon("magnify", 66), Box((words,), grow=1))
    if focused and typed:
        clear = do(Ui.fill, "query", "")
        children += (Box((Icon("close_circle", 60),), tap=clear, id="clear:query", label="Clear", kind="icon"),)
    return Box(
        children,
        row=True,
        gap=24,
        pad=(36, 16, 28, 16),
        height=120,
        grow=1,
        radius=60,
        fill=fill,
        border="primary" if focused else "",
        tap=do(start_over, "query"),
        submit=do(search, shop.id),
        id="query",
        kind="field",
        label=typed if focused else typed or shown or hint,
        editable=True,
        focused=focused,
    )


def cart_button(ui: Ui, shop: Shop) -> Box:
    """The way to the cart, with the number of things in it."""
    number = count(ui, shop.id)
    icon = Icon(shop.cart_icon, 78, shop.ink)
    disc = Box((Text(str(number), 42, "#FFFFFF", "bold", "center"),), width=60, height=60, radius=30, fill=shop.badge)
    badge = Box((disc,) if number else (), width=60, height=116)
    return Box(
        (icon, badge),
        row=True,
        gap=-36,
        pad=(14, 4, 0, 4),
        height=124,
        tap=shop.go("cart"),
        id="cart",
        kind="icon",
        label=f"{shop.cart.capitalize()}, {number} item{'' if number == 1 else 's'}",
    )


def wishes_button(shop: Shop) -> Box:
    """The way to the wish list."""
    return Box(
        (Icon("heart_outline", 76, shop.ink),),
        width=112,
        height=124,
        align="center",
        justify="center",
        tap=shop.go("wishlist"),
        id="wishlist",
        kind="icon",
        label="Wish list",
    )


def logo(shop: Shop, *, size: int = 66) -> Box:
    """The name of a shop, which leads to its start."""
    children = (Icon(shop.icon, size + 12, shop.mark), Text(shop.name, size, shop.ink, "bold"))
    return Box(children, row=True, gap=16, height=116, tap=shop.go("home"), id="logo", kind="link", label=shop.name)


def tall_header(ui: Ui, shop: Shop, url: str = "") -> Box:
    """Address bar, name and icons, search field below."""
    left, right = Box((logo(shop),), row=True, grow=1), (wishes_button(shop), cart_button(ui, shop))
    if ui.has("new_layout"):
        top = Box((*right, Box(grow=1), logo(shop)), row=True, gap=4, pad=(12, 4, 40, 0))
    else:
        top = Box((left, *right), row=True, gap=4, pad=(40, 4, 12, 0))
    field = Box((search_box(ui, shop),), row=True, pad=(32, 4, 32, 28))
    return Box((address_bar(ui, url or shop.domain), Box((top, field), fill=shop.fill)))


def slim_header(ui: Ui, shop: Shop, url: str, *more: Box) -> Box:
    """Address bar, then search field and cart in one line, then whatever stays in sight."""
    line = (search_box(ui, shop), cart_button(ui, shop))
    if ui.has("new_layout"):
        line = (line[1], line[0])
    field = Box(line, row=True, gap=16, pad=(32, 12, 24, 20), fill=shop.fill)
    return Box((address_bar(ui, url), field, *more))


def slug(text: str) -> str:
    """Words as an address shows them."""
    return "-".join(text.casefold().replace(",", "").split())


# ---- buttons


def buy_button(shop: Shop, words: str, tap: Do, *, id: str, icon: str = "", grow: int = 0, height: int = 120) -> Box:
    """A button in the colour of the shop."""
    face: tuple[Node, ...] = ((Icon(icon, 60, shop.on_accent),) if icon else ()) + (
        Text(words, 48, shop.on_accent, "medium"),
    )
    return Box(
        face,
        row=True,
        gap=18,
        pad=(44, 12, 44, 12),
        height=height,
        grow=grow,
        radius=height // 2,
        fill=shop.accent,
        justify="center",
        tap=tap,
        id=id,
    )


def pill(words: str, *, on: bool, tap: Do, id: str = "", icon: str = "", grow: int = 0) -> Box:
    """A small choice."""
    color = "on_tonal" if on else "text"
    face: tuple[Node, ...] = ((Icon(icon, 50, color),) if icon else ()) + (Text(words, 42, color, "medium"),)
    return Box(
        face,
        row=True,
        gap=12,
        pad=(28, 12, 28, 12),
        height=100,
        grow=grow,
        radius=50,
        fill="tonal" if on else "surface",
        border="" if on else "outline",
        justify="center",
        tap=tap,
        id=id,
        kind="chip",
        checked=on,
    )


def heart(ui: Ui, shop: Shop, title: str, *, size: int = 72, id: str = "wish") -> Box:
    """Puts a product on the wish list, or takes it off."""
    on = is_wished(ui, shop.id, title)
    return Box(
        (Icon("heart" if on else "heart_outline", size, "#E53935" if on else "text2"),),
        width=size + 40,
        height=size + 40,
        radius=(size + 40) // 2,
        fill="surface",
        align="center",
        justify="center",
        tap=do(wish, shop.id, title),
        id=id,
        kind="switch",
        checked=on,
        label="Remove from wish list" if on else "Add to wish list",
    )


def step_button(icon: str, label: str, tap: Do, *, id: str, enabled: bool = True) -> Box:
    """The minus or the plus of a stepper."""
    return Box(
        (Icon(icon, 60, "text" if enabled else "outline"),),
        width=108,
        height=104,
        align="center",
        justify="center",
        tap=tap,
        id=id,
        kind="icon",
        label=label,
        enabled=enabled,
    )


def stepper(ui: Ui) -> Box:
    """How many to buy, on the page of a product."""
    quantity = quantity_of(ui)
    number = Box(
        (Text(str(quantity), 50, weight="medium", align="center"),),
        width=72,
        id="quantity",
        kind="text",
        label=str(quantity),
    )
    less = step_button("minus", "Less", do(set_quantity, quantity - 1), id="less", enabled=quantity > 1)
    more = step_button("plus", "More", do(set_quantity, quantity + 1), id="more")
    return Box((less, number, more), row=True, radius=54, border="outline", fill="surface", height=112)


def chosen_option(ui: Ui, product: Product) -> str:
    """The size or colour chosen on the page of a product; the first, unless another was touched."""
    _, values = options_of(product)
    return ui.chosen("option", values[0]) if values else ""


def option_chips(ui: Ui, product: Product) -> tuple[Box, ...]:
    """Sizes or colours to choose from."""
    name, values = options_of(product)
    if not values:
        return ()
    chosen = chosen_option(ui, product)
    chips = tuple(pill(v, on=v == chosen, tap=do(Ui.choose, "option", v), id=f"option:{v}") for v in values)
    head = Box((Text(name, 46, "text2"), Text(chosen, 46, weight="medium")), row=True, gap=16)
    return (Box((head, Box(chips, row=True, gap=16)), gap=12, pad=(40, 16, 40, 12)),)


def hits_line(ui: Ui, found: list[Product]) -> str:
    """How many results there are."""
    return f"{len(found)} result{'' if len(found) == 1 else 's'} for “{ui.arg}”"


def nothing(shop: Shop) -> Box:
    """What a list of results shows when nothing matches."""
    return Box(
        (
            Icon("magnify_close", 200, "outline"),
            Text("Nothing matches", 56, weight="medium", align="center"),
            Text(f"Try fewer words or filters at {shop.name}", 46, "text2", align="center", lines=2),
        ),
        gap=24,
        pad=(48, 240, 48, 40),
        align="center",
    )


def blurb(product: Product) -> str:
    """What a shop says about a product."""
    return (
        f"{product.category.capitalize()} by {product.brand}, "
        f"rated {product.rating:.1f} by {product.reviews:,} customers. "
        "Two years of guarantee, and thirty days to send it back."
    )

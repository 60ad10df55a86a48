"""What the browser remembers: bookmarks and history, and what the shops on the web know of the customer."""

import msgspec


class Product(msgspec.Struct):
    """Something that shops sell; `prime` is free fast delivery."""

    title: str
    brand: str
    category: str
    price_cents: int
    rating: float
    reviews: int
    icon: str
    color: str
    prime: bool = False


class CartItem(msgspec.Struct):
    """A line of a shopping cart."""

    title: str
    quantity: int = 1
    option: str = ""


class Order(msgspec.Struct):
    """What was bought at a shop."""

    shop: str
    items: list[CartItem]
    total_cents: int = 0


class Bookmark(msgspec.Struct):
    """A page to come back to: what the address bar showed, and which page of the browser it is (if known)."""

    url: str
    title: str
    page: str = ""
    arg: str = ""


class Tab(msgspec.Struct):
    """A tab that is not in front."""

    url: str
    page: str
    arg: str = ""


class Story(msgspec.Struct):
    """An article of the news site; the first of a section is its top story."""

    section: str
    headline: str
    summary: str
    author: str = "Newsroom"
    hours_ago: int = 1


class BrowserState(msgspec.Struct):
    """Everything the browser keeps. Carts and wish lists are by shop; the newest visit of the history comes first."""

    products: list[Product] = []
    carts: dict[str, list[CartItem]] = {}
    wishlists: dict[str, list[str]] = {}
    orders: list[Order] = []
    bookmarks: list[Bookmark] = []
    history: list[str] = []
    tabs: list[Tab] = []
    stories: list[Story] = []

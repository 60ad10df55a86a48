"""Goods for the shops of the web: a kind of product and a number in, the same catalogue out each time.

The catalogue is a function of a task's parameters, so that its set-up, its check and its expert agree on what comes
first, what is cheapest and what is rated best. No two products of the kind asked for share a price or a rating, and
the first of them is neither the cheapest nor the dearest nor the best. With `lead` "plain" it has no free delivery
and no four stars.
"""

from functools import lru_cache
from random import Random
from typing import Any

import msgspec

from distrl.core.seeds import derive_random
from distrl.tasks.template import Draw, Params, pool

_KINDS = """
gaming mouse|mouse|19|89; mechanical keyboard|keyboard|49|169; usb hub|usb_port|14|69
wireless headphones|headphones|39|249; desk lamp|desk_lamp|19|99; webcam|webcam|29|129
bluetooth speaker|speaker_wireless|25|179; power bank|battery_charging|15|79; phone stand|cellphone|9|39
external drive|harddisk|49|199; wifi router|router_wireless|45|229; smart watch|watch|59|299
studio microphone|microphone_variant|39|199; game controller|controller_classic|25|89; floor lamp|floor_lamp|39|159
office chair|chair_rolling|89|399; standing desk|desk|199|599; bookshelf|bookshelf|49|219; wall mirror|mirror|29|149
scented candle|candle|9|39; picture frame|image_frame|8|45; area rug|rug|39|259
robot vacuum|robot_vacuum_variant|129|499; humidifier|air_humidifier|29|119; watering can|watering_can|12|49
coffee grinder|coffee|29|199; toaster|toaster|19|99; electric kettle|kettle|22|99; hand blender|blender|24|119
kitchen scale|scale|12|59; chef knife|knife|25|159; cooking pot|pot_steam|29|139
water bottle|bottle_soda_classic|9|45; travel mug|cup|12|45; running shoes|shoe_sneaker|59|189
hiking boots|hiking|79|239; yoga mat|yoga|15|89; dumbbell set|dumbbell|29|199; bike helmet|racing_helmet|29|149
tennis racket|tennis|35|229; camping tent|tent|69|349; head torch|flashlight|15|79
hiking backpack|bag_personal|39|199; skateboard|skateboard|35|139; rain jacket|umbrella_outline|49|219
cotton shirt|tshirt_crew|12|59; felt hat|hat_fedora|19|89; sunglasses|sunglasses|15|149; leather wallet|wallet|19|99
cabin suitcase|bag_suitcase|49|259; hair dryer|hair_dryer|25|189; electric toothbrush|toothbrush_electric|25|139
board game|dice_5|15|69; jigsaw puzzle|puzzle|12|49; acoustic guitar|guitar_acoustic|89|399
drawing tablet|tablet|45|299; garden hammer|hammer|12|59; cordless screwdriver|screwdriver|25|119
tape measure|tape_measure|6|29; paper notebook|notebook|5|29; photo printer|printer|69|259
mini projector|projector|79|349; security camera|cctv|35|159; dog bed|dog_side|25|119; cat toy|cat|5|35
desk fan|fan|19|89; wall clock|clock_outline|15|79; wool sweater|hanger|35|149; beach umbrella|umbrella_beach|25|99
folding ladder|ladder|39|199; baby monitor|baby_face_outline|39|179; toolbox|toolbox|19|99
"""
KINDS: dict[str, tuple[str, int, int]] = {
    name: (icon, int(low), int(high))
    for entry in _KINDS.strip().replace("\n", ";").split(";")
    for name, icon, low, high in [entry.strip().split("|")]
}
"""Icon and prices in dollars of every kind of product."""

ITEMS = pool(*KINDS)
SIZED = {
    "running shoes": ("Size", ("41", "42", "43", "44")),
    "hiking boots": ("Size", ("41", "42", "43", "44")),
    "rain jacket": ("Size", ("M", "L", "XL")),
    "cotton shirt": ("Size", ("M", "L", "XL")),
    "felt hat": ("Size", ("M", "L", "XL")),
    "wool sweater": ("Size", ("M", "L", "XL")),
    "wireless headphones": ("Colour", ("White", "Blue", "Green")),
    "water bottle": ("Colour", ("White", "Blue", "Green")),
    "travel mug": ("Colour", ("White", "Blue", "Green")),
    "cabin suitcase": ("Colour", ("White", "Blue", "Green")),
    "hiking backpack": ("Colour", ("White", "Blue", "Green")),
    "electric kettle": ("Colour", ("White", "Blue", "Green")),
    "desk lamp": ("Colour", ("White", "Blue", "Green")),
    "floor lamp": ("Colour", ("White", "Blue", "Green")),
}
"""What shops let a buyer choose, without the value that is chosen at first."""
SIZED_ITEMS = pool(*SIZED)
BRANDS = pool(
    *"Volt Aero Nimbus Pado Orlo Quill Tarn Brisk Fjell Kumo Lumo Sorrel Tindra Vanta Wren Zephyr Alder "
    "Birk Corvo Dune Ember Frost Glint Halden Isola Jarra Kite Larch Moss Norr Opal Pike Rook Sable Tello "
    "Umbra Vesta Willow Yarrow Zola".split()
)
MODELS = "One Pro Lite Max Nova Core Flex Plus Air Go Prime Duo Mini Edge Zen Classic".split()
EXTRAS = (
    "Graphite",
    "Compact",
    "Premium",
    "2026 edition",
    "Extra light",
    "Long life",
    "Gift box",
    "Family size",
    "Refurbished",
)
COLORS = "#37474F #6A1B9A #00695C #5D4037 #1565C0 #C62828 #2E7D32 #EF6C00 #AD1457 #283593 #00838F #9E7B12".split()
GOOD_RATING = 4.0


Product = dict[str, Any]


class Shelf(msgspec.Struct, frozen=True):
    """A catalogue, and the titles of the kind asked for in the order in which a shop finds them."""

    products: tuple[Product, ...]
    found: tuple[Product, ...]

    @property
    def first(self) -> str:
        """The title of the first result."""
        return str(self.found[0]["title"])

    @property
    def cheapest(self) -> str:
        """The title with the lowest price."""
        return str(min(self.found, key=lambda p: p["price_cents"])["title"])

    @property
    def dearest(self) -> str:
        """The title with the highest price."""
        return str(max(self.found, key=lambda p: p["price_cents"])["title"])

    @property
    def best(self) -> str:
        """The title with the highest rating."""
        return str(max(self.found, key=lambda p: p["rating"])["title"])

    @property
    def first_free(self) -> str:
        """The first title with free delivery."""
        return next(str(p["title"]) for p in self.found if p["prime"])

    @property
    def first_good(self) -> str:
        """The first title with four stars and up."""
        return next(str(p["title"]) for p in self.found if p["rating"] >= GOOD_RATING)

    @property
    def others(self) -> tuple[str, ...]:
        """Titles of other kinds."""
        asked = {p["title"] for p in self.found}
        return tuple(str(p["title"]) for p in self.products if p["title"] not in asked)

    def of_brand(self, brand: str) -> str:
        """The title of the kind asked for by this brand."""
        return next(str(p["title"]) for p in self.found if p["brand"] == brand)


def draw_stock(d: Draw) -> str:
    """The number of a catalogue, which no instruction names; those of the test split have brands of their own."""
    return ("t" if d.is_test else "s") + d.number(0, 9999)


def shelf(p: Params) -> Shelf:
    """The catalogue of a task."""
    return _shelf(p["item"], p["stock"], p.get("brand", ""), p.get("lead", ""))


@lru_cache(maxsize=2048)
def _shelf(item: str, stock: str, brand: str, lead: str) -> Shelf:
    rng = derive_random(0, "shelf", item, stock)
    brands = list(_brands(stock))
    found = _asked_for(rng, item, _with_brand(rng, brands, brand))
    if lead == "plain":
        found[0] |= {"prime": False, "rating": rng.randint(31, 32) / 10}
    others = [kind for kind in KINDS if not set(item.split()) <= set(kind.split())]
    products = [
        _product(rng, kind, maker) for kind in rng.sample(others, 10) for maker in rng.sample(brands, rng.randint(1, 3))
    ]
    places = sorted(rng.sample(range(len(products) + 1), len(found)))
    for offset, (place, product) in enumerate(zip(places, found, strict=True)):
        products.insert(place + offset, product)
    return Shelf(tuple(products), tuple(found))


def _brands(stock: str) -> tuple[str, ...]:
    return BRANDS.words if stock.startswith("t") else BRANDS.seen


def _with_brand(rng: Random, brands: list[str], brand: str) -> list[str]:
    """Brands for the results, among them the one that a task names."""
    chosen = rng.sample([b for b in brands if b != brand], rng.randint(4, 6))
    if brand:
        chosen[rng.randrange(len(chosen))] = brand
    return chosen


def _asked_for(rng: Random, item: str, brands: list[str]) -> list[Product]:
    """Products of one kind without ties; the first has neither an extreme price nor the best rating."""
    _, low, high = KINDS[item]
    count = len(brands)
    prices = sorted(rng.sample(range(low, high + 1), count))
    first_price = prices.pop(rng.randrange(1, count - 1))
    rng.shuffle(prices)
    ratings = sorted(rng.sample(range(33, 50), count))
    ratings[-1] = max(ratings[-1], 43)
    first_rating = ratings.pop(rng.randrange(0, count - 1))
    rng.shuffle(ratings)
    made = [_product(rng, item, brand) for brand in brands]
    for product, dollars, rating in zip(made, [first_price, *prices], [first_rating, *ratings], strict=True):
        product["price_cents"] = dollars * 100 + rng.choice([0, 50, 90, 95, 99])
        product["rating"] = rating / 10
    made[rng.randrange(1, count)]["prime"] = True
    return made


def _product(rng: Random, kind: str, brand: str) -> Product:
    icon, low, high = KINDS[kind]
    name = " ".join({"usb": "USB", "wifi": "WiFi"}.get(word, word.capitalize()) for word in kind.split())
    return {
        "title": f"{brand} {rng.choice(MODELS)} {name}, {rng.choice(EXTRAS)}",
        "brand": brand,
        "category": kind,
        "price_cents": rng.randint(low, high) * 100 + rng.choice([0, 50, 90, 95, 99]),
        "rating": rng.randint(33, 49) / 10,
        "reviews": rng.choice([rng.randint(12, 400), rng.randint(400, 6000)]),
        "icon": icon,
        "color": rng.choice(COLORS),
        "prime": rng.random() < 0.5,
    }

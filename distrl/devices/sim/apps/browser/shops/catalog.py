"""What the shops sell: kinds of things with an icon and a price range, and a catalogue of made-up brands."""

from functools import lru_cache
from random import Random

import msgspec

from distrl.core.seeds import derive_random
from distrl.devices.sim.apps.browser.state import Product


class Kind(msgspec.Struct, frozen=True):
    """A kind of product: its icon, its prices in whole dollars, and what titles may promise."""

    icon: str
    low: int
    high: int
    features: tuple[str, ...]


def _kinds(table: str) -> dict[str, Kind]:
    made: dict[str, Kind] = {}
    for line in table.strip().splitlines():
        name, icon, low, high, features = (part.strip() for part in line.split("|"))
        made[name] = Kind(icon, int(low), int(high), tuple(feature.strip() for feature in features.split(";")))
    return made


DEPARTMENTS: dict[str, dict[str, Kind]] = {
    "Tech": _kinds("""
        gaming mouse | mouse | 19 | 89 | 26K DPI; 8 buttons; Wireless; 58 g honeycomb
        mechanical keyboard | keyboard | 49 | 169 | Brown switches; 75 % layout; Hot swap; Backlit
        usb hub | usb_port | 14 | 69 | 7 ports; 4 ports, 10 Gbit; With card reader
        wireless headphones | headphones | 39 | 249 | 40 h battery; Noise cancelling; Foldable
        earbuds | earbuds | 19 | 149 | With charging case; Water resistant; Low latency
        webcam | webcam | 29 | 129 | 1080p; 4K with privacy cover; Autofocus
        bluetooth speaker | speaker_wireless | 25 | 179 | 20 W; Floats on water; 360 degree sound
        power bank | battery_charging | 15 | 79 | 10000 mAh; 20000 mAh; With display
        phone stand | cellphone | 9 | 39 | Foldable; Aluminium; Magnetic
        external drive | harddisk | 49 | 199 | 1 TB; 2 TB, shock proof; Slim
        wifi router | router_wireless | 45 | 229 | Dual band; Mesh ready; 6 antennas
        studio microphone | microphone_variant | 39 | 199 | With tripod; USB-C; Cardioid
        game controller | controller_classic | 25 | 89 | Rumble; Wireless; Rear buttons
        smart watch | watch | 59 | 299 | GPS; 10 day battery; Sleep tracking
    """),
    "Home": _kinds("""
        desk lamp | desk_lamp | 19 | 99 | Dimmable; With wireless charger; Warm light
        floor lamp | floor_lamp | 39 | 159 | Linen shade; Tripod legs; Remote control
        office chair | chair_rolling | 89 | 399 | Lumbar support; Mesh back; Adjustable arms
        standing desk | desk | 199 | 599 | 140 x 70 cm; Oak top; Memory buttons
        bookshelf | bookshelf | 49 | 219 | 5 shelves; Solid pine; Narrow
        wall mirror | mirror | 29 | 149 | Round, 60 cm; Brass frame; Frameless
        scented candle | candle | 9 | 39 | Cedar and fig; 50 h burn time; Soy wax
        picture frame | image_frame | 8 | 45 | A4; Walnut; Set of two
        area rug | rug | 39 | 259 | 160 x 230 cm; Washable; Hand woven
        robot vacuum | robot_vacuum_variant | 129 | 499 | Self emptying; Maps rooms; Quiet
        humidifier | air_humidifier | 29 | 119 | 4 litres; Ultrasonic; Night mode
        watering can | watering_can | 12 | 49 | Long spout; 1.5 litres; Copper
    """),
    "Kitchen": _kinds("""
        coffee grinder | coffee | 29 | 199 | 40 settings; Manual; Steel burrs
        coffee maker | coffee_maker | 39 | 249 | 10 cups; With timer; Thermal jug
        electric kettle | kettle | 22 | 99 | 1.7 litres; Gooseneck; Temperature control
        toaster | toaster | 19 | 99 | 2 slices; Extra wide slots; Retro
        hand blender | blender | 24 | 119 | 800 W; With chopper; Cordless
        kitchen scale | scale | 12 | 59 | 5 kg; Slim glass; Rechargeable
        chef knife | knife | 25 | 159 | 20 cm; Damascus steel; With sheath
        cooking pot | pot_steam | 29 | 139 | 5 litres; Cast iron; With glass lid
        water bottle | bottle_soda_classic | 9 | 45 | 750 ml; Insulated; Leak proof
        travel mug | cup | 12 | 45 | 350 ml; Keeps warm 6 h; Ceramic inside
    """),
    "Sport": _kinds("""
        running shoes | shoe_sneaker | 59 | 189 | Light trail sole; Cushioned; Reflective
        hiking boots | hiking | 79 | 239 | Waterproof; Ankle support; Leather
        yoga mat | yoga | 15 | 89 | 6 mm; Non slip; Natural rubber
        dumbbell set | dumbbell | 29 | 199 | 2 x 5 kg; Adjustable; Neoprene
        bike helmet | racing_helmet | 29 | 149 | With light; MIPS liner; Magnetic buckle
        tennis racket | tennis | 35 | 229 | 285 g; Strung; Junior
        camping tent | tent | 69 | 349 | 2 persons; Sets up in a minute; Double wall
        head torch | flashlight | 15 | 79 | 400 lumen; Rechargeable; Red light
        hiking backpack | bag_personal | 39 | 199 | 30 litres; Rain cover; Ventilated back
        skateboard | skateboard | 35 | 139 | Maple deck; 8 inch; For beginners
    """),
    "Style": _kinds("""
        rain jacket | umbrella_outline | 49 | 219 | Packable; Taped seams; Long cut
        cotton shirt | tshirt_crew | 12 | 59 | Organic; Heavy weight; Pack of two
        felt hat | hat_fedora | 19 | 89 | Wide brim; Wool; Crushable
        sunglasses | sunglasses | 15 | 149 | Polarised; Bio acetate; Clip on
        leather wallet | wallet | 19 | 99 | RFID safe; Slim; With coin pocket
        cabin suitcase | bag_suitcase | 49 | 259 | 38 litres; Four wheels; Front pocket
        electric toothbrush | toothbrush_electric | 25 | 139 | 3 modes; Travel case; Pressure sensor
        hair dryer | hair_dryer | 25 | 189 | 2000 W; Ionic; Folding handle
    """),
}
BRANDS = (
    "Volt Aero Nimbus Pado Orlo Quill Tarn Brisk Fjell Kumo Lumo Sorrel Tindra Vanta Wren Zephyr Alder Birk Corvo Dune "
    "Ember Frost Glint Halden".split()
)
MODELS = "One Pro Lite Max Nova Core Flex Plus Air Go Prime Duo Mini Edge Zen Classic".split()
COLORS = "#37474F #6A1B9A #00695C #5D4037 #1565C0 #C62828 #2E7D32 #EF6C00 #AD1457 #283593 #00838F #9E7B12".split()
SHOE_SIZES = ("40", "41", "42", "43", "44")
SIZES = ("S", "M", "L", "XL")
OPTION_COLORS = ("Black", "White", "Blue", "Green")


def default_products(rng: Random) -> list[Product]:
    """One of sixteen catalogues: few enough to be made once, many enough to differ between phones."""
    return list(_catalogue(rng.randrange(16)))


@lru_cache(maxsize=16)
def _catalogue(number: int) -> tuple[Product, ...]:
    """Three to six products of every kind, in no particular order."""
    rng = derive_random(number, "catalogue")
    made: list[Product] = []
    for kinds in DEPARTMENTS.values():
        for category, kind in kinds.items():
            brands = rng.sample(BRANDS, rng.randint(3, 6))
            made += [_product(rng, category, kind, brand) for brand in brands]
    rng.shuffle(made)
    return tuple(made)


def _product(rng: Random, category: str, kind: Kind, brand: str) -> Product:
    return Product(
        title=f"{brand} {rng.choice(MODELS)} {title_of(category)}, {rng.choice(kind.features)}",
        brand=brand,
        category=category,
        price_cents=rng.randint(kind.low, kind.high) * 100 + rng.choice([0, 50, 90, 95, 99]),
        rating=rng.randint(34, 49) / 10,
        reviews=rng.choice([rng.randint(12, 400), rng.randint(400, 6000)]),
        icon=kind.icon,
        color=rng.choice(COLORS),
        prime=rng.random() < 0.55,
    )


def title_of(category: str) -> str:
    """A kind of product as titles have it."""
    return " ".join({"usb": "USB", "wifi": "WiFi"}.get(word, word.capitalize()) for word in category.split())


def options_of(product: Product) -> tuple[str, tuple[str, ...]]:
    """What a buyer may choose, as a name and its values: sizes of shoes and clothes, colours of some other things."""
    words = product.category.casefold().split()
    if any(word in ("shoes", "boots", "sandals", "sneakers", "slippers") for word in words):
        return "Size", SHOE_SIZES
    if any(word in ("shirt", "jacket", "hat", "hoodie", "gloves", "sweater", "trousers") for word in words):
        return "Size", SIZES
    if any(
        word in ("headphones", "earbuds", "bottle", "mug", "suitcase", "backpack", "kettle", "lamp") for word in words
    ):
        return "Colour", OPTION_COLORS
    return "", ()


@lru_cache(maxsize=512)
def department_of(category: str) -> str:
    """Where a shop would put a kind of product."""
    return next((name for name, kinds in DEPARTMENTS.items() if category.casefold() in kinds), "More")

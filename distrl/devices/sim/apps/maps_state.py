"""The town the map shows: its places, and what its owner saved, called and drives to."""

from random import Random

import msgspec

KINDS = {
    "Restaurants": ("silverware_fork_knife", "#E8710A"),
    "Cafes": ("coffee", "#B06000"),
    "Hotels": ("bed", "#D8436B"),
    "Pharmacies": ("medical_bag", "#188038"),
    "Museums": ("bank", "#1A73E8"),
    "Parks": ("tree", "#137333"),
    "Fuel": ("gas_station", "#5F6368"),
}
MODES = {"Drive": ("car", 30), "Transit": ("bus", 18), "Walk": ("walk", 5), "Bike": ("bike", 14)}
"""Icon and speed in km/h of each way to travel."""


class Place(msgspec.Struct):
    """Somewhere to go; its name is unique."""

    name: str
    kind: str
    street: str
    rating: float
    reviews: int
    closes: int
    phone: str
    distance_m: int

    @property
    def look(self) -> tuple[str, str]:
        """The icon and colour of its kind."""
        return KINDS.get(self.kind, ("map_marker", "#5F6368"))

    @property
    def distance(self) -> str:
        """Like 1.4 km."""
        return f"{self.distance_m / 1000:.1f} km"

    def minutes(self, mode: str) -> int:
        """How long it takes to get there."""
        return max(round(self.distance_m / 1000 / MODES[mode][1] * 60), 1)


class Route(msgspec.Struct):
    """A way that is being followed."""

    to: str
    mode: str


class MapsState(msgspec.Struct):
    """Everything but the places goes by name."""

    places: list[Place] = []
    saved: list[str] = []
    calls: list[str] = []
    route: Route | None = None
    satellite: bool = False

    def find(self, name: str) -> Place:
        """The place of this name."""
        return next(
            (p for p in self.places if p.name == name), Place(name, "Parks", "Unknown street", 4.0, 1, 20, "", 1000)
        )


_NAMES = {
    "Restaurants": ("Blue Ladle", "Casa Limone", "The Copper Pan", "Saffron Table", "Noodle Yard"),
    "Cafes": ("Cafe Aurora", "Bean and Leaf", "Corner Cup", "Sugar Loaf", "The Reading Room"),
    "Hotels": ("Hotel Meridian", "Harbor Inn", "Garden Lodge", "Station Hotel"),
    "Pharmacies": ("Elm Pharmacy", "Central Pharmacy", "Night Owl Pharmacy"),
    "Museums": ("City Museum", "Museum of Ships", "Glass Gallery", "House of Clocks"),
    "Parks": ("East Park", "Willow Gardens", "Botanical Garden", "Castle Hill"),
    "Fuel": ("Nordwind Fuel", "Ring Road Fuel", "Harbor Fuel"),
}
_STREETS = ("Mill Street", "Harbor Road", "Elm Avenue", "Station Square", "Castle Lane", "River Walk", "Market Street")


def fresh(rng: Random) -> MapsState:
    """The same town for everyone, with its own ratings and opening hours on each phone."""
    places = [
        Place(
            name,
            kind,
            f"{rng.choice(_STREETS)} {rng.randint(1, 90)}",
            rng.randint(32, 49) / 10,
            rng.randint(20, 2400),
            rng.choice((18, 20, 22, 23)),
            f"555-{rng.randrange(10000):04d}",
            rng.randrange(300, 9000, 100),
        )
        for kind, names in _NAMES.items()
        for name in names
    ]
    return MapsState(places=places, saved=rng.sample([p.name for p in places], 2))

"""The photos on the phone: where and when they were taken, albums, favourites and the bin."""

import datetime
from random import Random

import msgspec

FIRST_DAY = datetime.date(2026, 11, 16)


class Photo(msgspec.Struct):
    """A picture; its name is unique. `date` is like 2026-11-14."""

    name: str
    place: str
    date: str


class Album(msgspec.Struct):
    """A collection of photos, by their names."""

    name: str
    photos: list[str] = []


class PhotosState(msgspec.Struct):
    """Everything goes by the name of a photo."""

    photos: list[Photo] = []
    albums: list[Album] = []
    favourites: list[str] = []
    bin: list[str] = []

    def kept(self) -> list[Photo]:
        """What is not in the bin, the newest first."""
        shown = [p for p in self.photos if p.name not in self.bin]
        return sorted(shown, key=lambda p: (p.date, p.name), reverse=True)

    def find(self, name: str) -> Photo:
        """The photo of this name."""
        return next((p for p in self.photos if p.name == name), Photo(name, "", str(FIRST_DAY)))


_TRIPS = {
    "Oldport": ("Harbor at dusk", "Fishing boats", "Blue door"),
    "Pinewood Lake": ("Lake in the morning", "Jetty", "Picnic"),
    "Sandhill Beach": ("First swim", "Dunes", "Kite in the wind", "Long shadow"),
    "Castle Rock": ("Castle wall", "View from the tower"),
    "Green Valley": ("Hay bales", "Old barn", "Fog in the valley"),
    "Westgate": ("Street market", "Tram at night"),
    "Snow Ridge": ("Summit", "Cabin window", "Tracks in the snow"),
}


def fresh(rng: Random) -> PhotosState:
    """Five trips of the last weeks, two albums and two favourites."""
    places = rng.sample(sorted(_TRIPS), 5)
    day = FIRST_DAY
    photos: list[Photo] = []
    for place in places:
        day -= datetime.timedelta(rng.randint(1, 5))
        photos += [Photo(name, place, str(day)) for name in _TRIPS[place]]
    names = [p.name for p in photos]
    return PhotosState(
        photos=photos,
        albums=[Album("Summer", rng.sample(names, 4)), Album("Family", rng.sample(names, 3))],
        favourites=rng.sample(names, 2),
    )

"""The music on the phone: songs, playlists, what is liked and what is playing."""

from random import Random

import msgspec


class Song(msgspec.Struct):
    """A song; its title is unique."""

    title: str
    artist: str
    album: str
    length_s: int

    @property
    def length(self) -> str:
        """Like 3:05."""
        return f"{self.length_s // 60}:{self.length_s % 60:02d}"


class Playlist(msgspec.Struct):
    """Songs by their titles, in order."""

    name: str
    songs: list[str] = []


class MusicState(msgspec.Struct):
    """Everything but the songs themselves goes by title."""

    songs: list[Song] = []
    playlists: list[Playlist] = []
    liked: list[str] = []
    current: str = ""
    is_playing: bool = False
    since_s: float = 0.0
    queue: list[str] = []
    shuffle: bool = False
    repeat: bool = False

    def find(self, title: str) -> Song:
        """The song of this title."""
        return next((s for s in self.songs if s.title == title), Song(title, "Unknown artist", "", 180))

    def playlist(self, name: str) -> Playlist | None:
        """The playlist of this name."""
        return next((p for p in self.playlists if p.name == name), None)


_LIBRARY = {
    ("The Paper Boats", "Low Tide"): ("Harbor Lights", "Salt and Rope", "Seven Lanterns", "Drifting Home"),
    ("Mara Veld", "Northern Rooms"): ("Cold Kitchen", "Letter to June", "Window Seat", "Slow Thunder"),
    ("Cobalt Parade", "Electric Orchard"): ("Neon Apples", "Run the Circuit", "Velvet Static", "Midnight Tractor"),
    ("Ilo and the Foxes", "Amber"): ("Foxglove", "Barefoot Monday", "Honey on the Line", "Golden Gate Crash"),
    ("Quiet Machinery", "Gears"): ("Clockwork Rain", "Copper Wire", "Engine Lullaby", "Hum"),
    ("Sol Ramires", "Verano"): ("Dance at Noon", "Paper Sun", "Mango Street", "Last Train South"),
}


def fresh(rng: Random) -> MusicState:
    """Six albums, three playlists and a few hearts."""
    songs = [
        Song(t, artist, album, rng.randrange(130, 330)) for (artist, album), titles in _LIBRARY.items() for t in titles
    ]
    songs.sort(key=lambda s: s.title)
    titles = [s.title for s in songs]
    names = rng.sample(["Morning run", "Dinner party", "Deep focus", "Road trip", "Rainy Sunday"], 3)
    return MusicState(
        songs=songs,
        playlists=[Playlist(name, rng.sample(titles, rng.randint(3, 6))) for name in names],
        liked=rng.sample(titles, 3),
        current=titles[0],
        queue=titles,
    )

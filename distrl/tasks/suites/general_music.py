"""General tasks about music: play, like, playlists."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, Rule, choose, field, on, plan, stage, tap
from distrl.tasks.suites.media_words import ARTISTS, PLAYLISTS, SONGS
from distrl.tasks.suites.strict import Only
from distrl.tasks.template import Inspect, Params, Template, same
from distrl.tasks.words import FIRST_NAMES


def _music(p: Params, rng: Random) -> Plain:
    """Sixteen songs, three playlists, nothing playing."""
    titles = rng.sample([s for s in SONGS.words if s != p.get("song")], 15)
    titles = sorted([*titles, p.get("song", "Hum")])
    songs = [
        {
            "title": t,
            "artist": (artist := rng.choice(ARTISTS)),
            "album": f"Live with {artist}",
            "length_s": rng.randint(120, 300),
        }
        for t in titles
    ]
    names = rng.sample([n for n in PLAYLISTS.words if n not in p.values()], 3)
    if "playlist" in p:
        names[rng.randrange(3)] = p["playlist"]
    other = [t for t in titles if t != p.get("song")]
    playlists = [{"name": n, "songs": rng.sample(other, 3)} for n in names]
    return {
        "music": {
            "songs": songs,
            "playlists": playlists,
            "liked": other[:2],
            "current": "",
            "is_playing": False,
            "queue": [],
        }
    }


def _search_song(song: str, touch: str) -> tuple[Rule, ...]:
    return (on("music/search", field("query", song), tap(id=touch)), on("music/home", tap(id="search")))


def _playing(p: Params, inspect: Inspect) -> bool:
    state = inspect("music")
    return bool(state["current"] == p["song"] and state["is_playing"])


def _like(p: Params) -> Plan:
    """The player shows what plays: leave it if it is another song."""
    song = p["song"]

    def is_playing_it(inspect: Inspect) -> bool:
        return bool(inspect("music")["current"] == song)

    start = stage("Music", *_search_song(song, f"song:{song}"), done=is_playing_it)
    return (start, stage("Music", on("music/player", tap(id="like")), on("music", tap(id="mini"))))


def _has_song(p: Params, inspect: Inspect) -> bool:
    found = [x["songs"] for x in inspect("music")["playlists"] if x["name"] == p["playlist"]]
    return len(found) == 1 and found[0].count(p["song"]) == 1 and len(set(found[0])) == len(found[0]) == 4


def _lost_playlist(p: Params, inspect: Inspect) -> bool:
    return p["playlist"] not in [x["name"] for x in inspect("music")["playlists"]]


LIKED = Only("music", "liked", whole=True)
LISTS = Only("music", "playlists", "name")

TEMPLATES = (
    Template(
        name="play_song",
        suite="general",
        difficulty=1,
        phrasings=("Play the song {song}", "Put on {song} in Music", "I want to hear {song}"),
        draw=lambda d: {"song": d.pick(SONGS)},
        world=_music,
        keeps=(LIKED, LISTS),
        check=_playing,
        plan=lambda p: plan("Music", *_search_song(p["song"], f"song:{p['song']}")),
    ),
    Template(
        name="like_song",
        suite="general",
        difficulty=2,
        phrasings=(
            "Add {song} to my liked songs",
            "Give the song {song} a heart in Music",
            "I love {song}, mark it as liked",
        ),
        draw=lambda d: {"song": d.pick(SONGS)},
        world=_music,
        keeps=(Only("music", "liked"), LISTS),
        check=lambda p, inspect: inspect("music")["liked"].count(p["song"]) == 1,
        plan=_like,
    ),
    Template(
        name="create_playlist",
        suite="general",
        difficulty=2,
        phrasings=(
            "Create a playlist called {name}",
            "Make a new playlist named {name} in Music",
            "Start an empty playlist {name}",
        ),
        draw=lambda d: {"name": f"{d.pick(PLAYLISTS)} with {d.pick(FIRST_NAMES)}"},
        world=_music,
        keeps=(LIKED, LISTS),
        check=lambda p, inspect: (
            [x["songs"] for x in inspect("music")["playlists"] if same(x["name"], p["name"])] == [[]]
        ),
        plan=lambda p: plan(
            "Music",
            on("music/new_playlist", field("name", p["name"]), tap(id="create")),
            on("music/home", choose("Playlists"), tap(id="new_playlist")),
        ),
    ),
    Template(
        name="add_song_to_playlist",
        suite="general",
        difficulty=2,
        phrasings=(
            "Add {song} to my playlist {playlist}",
            "Put the song {song} on the playlist {playlist}",
            "In Music, add {song} to {playlist}",
        ),
        draw=lambda d: {"song": d.pick(SONGS), "playlist": d.pick(PLAYLISTS)},
        world=_music,
        keeps=(LIKED, LISTS),
        check=_has_song,
        plan=lambda p: plan(
            "Music",
            on(f"music/add/{p['song']}", tap(p["playlist"])),
            *_search_song(p["song"], f"add:{p['song']}"),
        ),
    ),
    Template(
        name="delete_playlist",
        suite="general",
        difficulty=2,
        unseen=True,
        phrasings=(
            "Delete the playlist {playlist}",
            "Remove my playlist {playlist} from Music",
            "I am tired of the playlist {playlist}, get rid of it",
        ),
        draw=lambda d: {"playlist": f"{d.pick(PLAYLISTS)} with {d.pick(FIRST_NAMES)}"},
        world=_music,
        keeps=(LIKED, LISTS),
        check=_lost_playlist,
        plan=lambda p: plan(
            "Music",
            on(f"music/delete/{p['playlist']}", tap(id="confirm")),
            on(f"music/playlist/{p['playlist']}", tap(id="delete")),
            on("music/home", choose("Playlists"), tap(p["playlist"])),
        ),
    ),
)

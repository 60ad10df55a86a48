"""Music: songs, artists and playlists, a search, and a player that remembers what it plays."""

from distrl.devices.sim.app import App, Ui, choose, do, go
from distrl.devices.sim.apps.music_state import MusicState, Playlist, Song, fresh
from distrl.devices.sim.nodes import Box, Icon, Picture, Text, View
from distrl.devices.sim.widgets import (
    EDGE,
    avatar,
    bar,
    button,
    dialog,
    empty,
    icon_button,
    row,
    tabs,
    wide,
)


def play(ui: Ui, title: str, queue: tuple[str, ...]) -> None:
    """Play a song, and after it the rest of the list it was in."""
    state = ui.get(MusicState)
    state.current, state.is_playing, state.since_s = title, True, ui.now_s
    state.queue = list(queue)


def _play_and_show(ui: Ui, title: str, queue: tuple[str, ...]) -> None:
    play(ui, title, queue)
    ui.go("player")


def pause(ui: Ui) -> None:
    """Pause, or go on."""
    state = ui.get(MusicState)
    state.is_playing = not state.is_playing
    state.since_s = ui.now_s


def skip(ui: Ui, step: int) -> None:
    """To another song of the queue."""
    state = ui.get(MusicState)
    if state.queue:
        at = state.queue.index(state.current) if state.current in state.queue else 0
        play(ui, state.queue[(at + step) % len(state.queue)], tuple(state.queue))


def like(ui: Ui, title: str) -> None:
    """A heart, or none."""
    liked = ui.get(MusicState).liked
    if title in liked:
        liked.remove(title)
        ui.toast("Removed from liked songs")
    else:
        liked.append(title)
        ui.toast("Added to liked songs")


def _flip(ui: Ui, name: str) -> None:
    state = ui.get(MusicState)
    setattr(state, name, not getattr(state, name))


def _cover(song: Song, side: int, radius: int = 24) -> Picture:
    return Picture("photo", f"cover {song.album}", side, side, radius)


def _song_row(ui: Ui, song: Song, queue: tuple[str, ...]) -> Box:
    state = ui.get(MusicState)
    mine = song.title == state.current and state.is_playing
    words = Box(
        (
            Text(song.title, 50, "primary" if mine else "text", "medium" if mine else "regular"),
            Text(f"{song.artist} • {song.length}", 44, "text2"),
        ),
        gap=4,
        grow=1,
    )
    more = icon_button(
        "playlist_plus", f"Add {song.title} to a playlist", go("add", song.title), id=f"add:{song.title}"
    )
    return Box(
        (_cover(song, 132), words, more),
        row=True,
        gap=36,
        pad=(EDGE, 16, 32, 16),
        tap=do(_play_and_show, song.title, queue),
        kind="row",
        id=f"song:{song.title}",
    )


def _rows(ui: Ui, songs: list[Song]) -> tuple[Box, ...]:
    queue = tuple(s.title for s in songs)
    return tuple(_song_row(ui, s, queue) for s in songs)


def _mini(ui: Ui) -> Box | None:
    """The little player at the foot of every list."""
    state = ui.get(MusicState)
    if not state.current:
        return None
    song = state.find(state.current)
    words = Box((Text(song.title, 46, "on_tonal", "medium"), Text(song.artist, 42, "on_tonal")), grow=1)
    icon, label = ("pause", "Pause") if state.is_playing else ("play", "Play")
    inner = Box(
        (
            _cover(song, 112),
            words,
            icon_button(icon, label, do(pause), id="play", color="on_tonal"),
            icon_button("skip_next", "Next", do(skip, 1), id="next", color="on_tonal"),
        ),
        row=True,
        gap=24,
        pad=(24, 20, 16, 20),
        fill="tonal",
        radius=40,
        tap=go("player"),
        id="mini",
        label=f"Now playing {song.title}",
    )
    return Box((inner,), pad=(24, 8, 24, 12))


def home(ui: Ui) -> View:
    """The library."""
    state = ui.get(MusicState)
    names = ["Playlists", "Songs", "Artists"] if ui.has("new_layout") else ["Songs", "Artists", "Playlists"]
    shown = ui.chosen("tab", "Songs")
    heads = tabs(*((name, name == shown, choose("tab", name)) for name in names))
    if shown == "Artists":
        body = tuple(
            row(
                name,
                f"{sum(s.artist == name for s in state.songs)} songs",
                lead=avatar(name),
                trail=Icon("chevron_right"),
                tap=go("artist", name),
            )
            for name in sorted({s.artist for s in state.songs})
        )
    elif shown == "Playlists":
        body = _playlists(state)
    else:
        body = _rows(ui, state.songs)
    find = icon_button("magnify", "Search", do(_search), id="search")
    return View(bar=Box((bar("Music", find, up=False), heads)), body=(Box(height=12), *body), bottom=_mini(ui))


def _count(songs: list[str]) -> str:
    return f"{len(songs)} song{'' if len(songs) == 1 else 's'}"


def _lead(icon: str, color: str) -> Box:
    return Box(
        (Icon(icon, 72, "#FFFFFF"),), width=132, height=132, radius=28, fill=color, align="center", justify="center"
    )


def _playlists(state: MusicState) -> tuple[Box, ...]:
    new = row("New playlist", lead=_lead("plus", "#8E24AA"), tap=go("new_playlist"), id="new_playlist")
    hearts = row("Liked songs", _count(state.liked), lead=_lead("heart", "#D8436B"), tap=go("liked"), id="liked")
    lists = tuple(
        row(p.name, _count(p.songs), lead=_lead("playlist_music", "#5C6BC0"), tap=go("playlist", p.name))
        for p in state.playlists
    )
    return (new, hearts, *lists)


def _search(ui: Ui) -> None:
    ui.go("search")
    ui.focus("query")


def search(ui: Ui) -> View:
    """Songs by title, artist or album."""
    query = ui.typed("query").casefold().strip()
    songs = ui.get(MusicState).songs
    found = [s for s in songs if query in f"{s.title} {s.artist} {s.album}".casefold()] if query else []
    field = Box((ui.field("query", "Songs, artists, albums", icon="magnify", submit=do(Ui.blur)),), grow=1)
    top = Box(
        (icon_button("arrow_left", "Back", do(Ui.back, 1), id="up"), field), row=True, pad=(16, 16, EDGE, 16), gap=12
    )
    hint = "Nothing found" if query else "Find your music"
    return View(bar=top, body=_rows(ui, found) or (empty("music_note_outline", hint),), bottom=_mini(ui))


def _head(ui: Ui, song: Song, title: str, note: str, queue: tuple[str, ...]) -> Box:
    words = Box((Text(title, 64, weight="medium", lines=2), Text(note, 46, "text2")), gap=8)
    play_all = button("Play", do(_play_and_show, queue[0], queue), icon="play", id="play_all")
    return Box(
        (_cover(song, 320, 48), Box((words, Box((play_all,), row=True)), gap=28, grow=1)),
        row=True,
        gap=48,
        pad=(EDGE, 16, EDGE, 32),
    )


def _list_view(ui: Ui, title: str, songs: list[Song], *actions: Box) -> View:
    if not songs:
        return View(bar=bar(title, *actions), body=(empty("playlist_remove", "No songs here yet"),), bottom=_mini(ui))
    minutes = sum(s.length_s for s in songs) // 60
    queue = tuple(s.title for s in songs)
    head = _head(ui, songs[0], title, f"{_count(list(queue))}, {minutes} min", queue)
    return View(bar=bar("", *actions), body=(head, *_rows(ui, songs)), bottom=_mini(ui))


def artist(ui: Ui) -> View:
    """Everything by one artist."""
    return _list_view(ui, ui.arg, [s for s in ui.get(MusicState).songs if s.artist == ui.arg])


def liked(ui: Ui) -> View:
    """The songs with a heart."""
    state = ui.get(MusicState)
    return _list_view(ui, "Liked songs", [state.find(t) for t in state.liked])


def playlist(ui: Ui) -> View:
    """One playlist."""
    state = ui.get(MusicState)
    found = state.playlist(ui.arg) or Playlist(ui.arg)
    remove = icon_button("delete_outline", "Delete playlist", go("delete", ui.arg), id="delete")
    return _list_view(ui, ui.arg, [state.find(t) for t in found.songs], remove)


def delete(ui: Ui) -> View:
    """Asks before a playlist is gone."""
    return dialog(
        "Delete playlist?",
        f"“{ui.arg}” will be deleted. The songs stay in your library.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Delete", do(_delete_now), style="text", id="confirm"),
        icon="delete_outline",
    )


def _delete_now(ui: Ui) -> None:
    state = ui.get(MusicState)
    state.playlists = [p for p in state.playlists if p.name != ui.arg]
    ui.back(2)
    ui.toast("Playlist deleted")


def new_playlist(ui: Ui) -> View:
    """Asks for a name."""
    return dialog(
        "New playlist",
        "",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Create", do(_create), style="text", id="create"),
        content=(wide(ui.field("name", "Playlist name", submit=do(_create))),),
    )


def _create(ui: Ui) -> None:
    state, name = ui.get(MusicState), ui.typed("name").strip()
    if not name or state.playlist(name):
        ui.toast("This playlist exists already" if name else "Enter a name")
        return
    state.playlists.insert(0, Playlist(name, [ui.arg] if ui.arg else []))
    ui.back()
    ui.toast("Playlist created")


def add(ui: Ui) -> View:
    """The playlists a song may go to."""
    rows = tuple(
        row(p.name, _count(p.songs), lead=_lead("playlist_music", "#5C6BC0"), tap=do(_add_now, p.name))
        for p in ui.get(MusicState).playlists
    )
    new = row("New playlist", lead=_lead("plus", "#8E24AA"), tap=go("new_playlist", ui.arg), id="new_playlist")
    return View(
        bar=bar("Add to playlist"), body=(Box((Text(ui.arg, 48, "text2"),), pad=(EDGE, 8, EDGE, 16)), new, *rows)
    )


def _add_now(ui: Ui, name: str) -> None:
    found = ui.get(MusicState).playlist(name)
    if found and ui.arg not in found.songs:
        found.songs.append(ui.arg)
    ui.back()
    ui.toast(f"Added to {name}")


def _round(icon: str, label: str, name: str) -> Box:
    return Box(
        (Icon(icon, 120, "on_primary"),),
        width=216,
        height=216,
        radius=108,
        fill="primary",
        align="center",
        justify="center",
        tap=do(pause),
        label=label,
        id=name,
    )


def _progress(ui: Ui, song: Song) -> Box:
    state = ui.get(MusicState)
    at = min(int(ui.now_s - state.since_s), song.length_s) if state.is_playing else 0
    length = 920
    done = max(length * at // max(song.length_s, 1), 24)
    track = Box(
        (Box(width=done, height=20, radius=10, fill="primary"), Box(height=20, radius=10, fill="tonal", grow=1)),
        row=True,
        gap=8,
    )
    times = Box(
        (Text(f"{at // 60}:{at % 60:02d}", 42, "text2"), Text(song.length, 42, "text2")), row=True, justify="between"
    )
    return Box((track, times), gap=16, pad=(80, 36, 80, 20))


def player(ui: Ui) -> View:
    """What is playing, large."""
    state = ui.get(MusicState)
    song = state.find(state.current)
    loved = song.title in state.liked
    heart = icon_button(
        "heart" if loved else "heart_outline",
        "Unlike" if loved else "Like",
        do(like, song.title),
        color="error" if loved else "text",
        id="like",
        size=84,
    )
    words = Box((Text(song.title, 68, weight="medium"), Text(song.artist, 50, "text2")), gap=4, grow=1)
    icon, label = ("pause", "Pause") if state.is_playing else ("play", "Play")
    controls = Box(
        (
            icon_button(
                "shuffle", "Shuffle", do(_flip, "shuffle"), color="primary" if state.shuffle else "text2", id="shuffle"
            ),
            icon_button("skip_previous", "Previous", do(skip, -1), id="previous", size=108),
            _round(icon, label, "play"),
            icon_button("skip_next", "Next", do(skip, 1), id="next", size=108),
            icon_button(
                "repeat", "Repeat", do(_flip, "repeat"), color="primary" if state.repeat else "text2", id="repeat"
            ),
        ),
        row=True,
        justify="between",
        pad=(64, 32, 64, 32),
    )
    more = icon_button("playlist_plus", "Add to playlist", go("add", song.title), id="add")
    cover = Box((_cover(song, 920, 64),), pad=(80, 40, 80, 60))
    body = (cover, Box((words, heart), row=True, pad=(80, 0, 64, 0)), _progress(ui, song), controls)
    return View(bar=bar("Now playing", more), body=body, swipe_left=do(skip, 1), swipe_right=do(skip, -1))


APP = App(
    id="music",
    name="Music",
    icon="music_note",
    color="#8E24AA",
    fresh=fresh,
    asks_for="music and audio",
    pages={
        "home": home,
        "search": search,
        "artist": artist,
        "playlist": playlist,
        "liked": liked,
        "delete": delete,
        "new_playlist": new_playlist,
        "add": add,
        "player": player,
    },
)
ORDER = 37

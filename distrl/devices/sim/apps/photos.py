"""Photos: a grid by day and place, search, albums, favourites, a viewer one swipes through, and a bin."""

import datetime

from distrl.devices.sim.app import App, Ui, do, go
from distrl.devices.sim.apps.photos_state import Album, Photo, PhotosState, fresh
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Picture, Text, View
from distrl.devices.sim.widgets import (
    EDGE,
    bar,
    bottom_nav,
    button,
    dialog,
    empty,
    fab,
    icon_button,
    row,
    wide,
)

COLUMNS = 3
SIDE = 344


def _day(date: str) -> str:
    day = datetime.date.fromisoformat(date)
    return f"{day:%a}, {day.day} {day:%B}"


def _cell(ui: Ui, photo: Photo, tap: Do) -> Box:
    children: tuple[Node, ...] = (Picture("photo", photo.name, SIDE, SIDE, 20),)
    if photo.name in ui.get(PhotosState).favourites:
        # A heart in the corner of the picture: the second child lies over the first.
        heart = Box((Icon("heart", 54, "#FFFFFF"),), pad=(24, SIDE - 84, 0, 0), height=SIDE)
        children += (heart,)
    label = f"{photo.name}, {photo.place}, {_day(photo.date)}"
    return Box(
        children, gap=-SIDE, width=SIDE, height=SIDE, tap=tap, kind="photo", label=label, id=f"photo:{photo.name}"
    )


def _grid(ui: Ui, photos: list[Photo], page: str = "photo") -> tuple[Box, ...]:
    lines = [photos[k : k + COLUMNS] for k in range(0, len(photos), COLUMNS)]
    return tuple(
        Box(tuple(_cell(ui, p, go(page, p.name)) for p in line), row=True, gap=12, pad=(12, 6, 12, 6)) for line in lines
    )


def _nav(ui: Ui) -> Box:
    here = ui.page.name
    items = [
        ("image_multiple", "Photos", here == "home", do(_switch, "home")),
        ("heart_outline", "Favourites", here == "favourites", do(_switch, "favourites")),
        ("image_album", "Albums", here == "albums", do(_switch, "albums")),
    ]
    return bottom_nav(*(items[::-1] if ui.has("new_layout") else items))


def _switch(ui: Ui, name: str) -> None:
    if ui.page.name == name:
        return
    if name == "home":
        ui.back()
    elif ui.page.name == "home":
        ui.go(name)
    else:
        ui.replace(name)


def home(ui: Ui) -> View:
    """All photos, by day, or those that are looked for."""
    query = ui.typed("query").casefold().strip()
    kept = [p for p in ui.get(PhotosState).kept() if query in f"{p.name} {p.place}".casefold()]
    blocks: list[Box] = [wide(ui.field("query", "Search places and things", icon="magnify", submit=do(Ui.blur)))]
    for date, place in dict.fromkeys((p.date, p.place) for p in kept):
        words = (Text(_day(date), 50, weight="medium"), Text(place, 44, "text2"))
        blocks.append(Box(words, gap=2, pad=(EDGE - 12, 28, EDGE, 12)))
        blocks += _grid(ui, [p for p in kept if (p.date, p.place) == (date, place)])
    if not kept:
        blocks.append(empty("image_off_outline", "No photos here"))
    bin_button = icon_button("delete_outline", "Bin", go("bin"), id="bin")
    return View(bar=bar("Photos", bin_button, up=False), body=tuple(blocks), bottom=_nav(ui))


def favourites(ui: Ui) -> View:
    """The photos with a heart."""
    state = ui.get(PhotosState)
    shown = [p for p in state.kept() if p.name in state.favourites]
    body = _grid(ui, shown) or (empty("heart_outline", "No favourites yet"),)
    return View(bar=bar("Favourites"), body=body, bottom=_nav(ui))


def albums(ui: Ui) -> View:
    """All albums."""
    made = [_album_card(ui, album) for album in ui.get(PhotosState).albums]
    lines = tuple(
        Box((*made[k : k + 2], *(Box(grow=1),) * (len(made) - k == 1)), row=True, gap=36, pad=(EDGE, 12, EDGE, 28))
        for k in range(0, len(made), 2)
    )
    body = lines or (empty("image_album", "No albums yet"),)
    if ui.has("new_layout"):
        plus = icon_button("plus", "New album", go("new_album"), id="add")
        return View(bar=bar("Albums", plus), body=body, bottom=_nav(ui))
    return View(bar=bar("Albums"), body=body, bottom=_nav(ui), fab=fab("plus", "New album", go("new_album"), id="add"))


def _album_card(ui: Ui, album: Album) -> Box:
    names = [n for n in album.photos if n not in ui.get(PhotosState).bin]
    blank = Box(
        (Icon("image_outline", 160, "outline"),),
        height=474,
        fill="container",
        radius=48,
        align="center",
        justify="center",
    )
    cover = Picture("photo", names[0], 474, 474, 48) if names else blank
    count = f"{len(names)} item{'' if len(names) == 1 else 's'}"
    return Box(
        (cover, Text(album.name, 48, weight="medium"), Text(count, 44, "text2")),
        gap=8,
        grow=1,
        tap=go("album", album.name),
        kind="card",
    )


def album(ui: Ui) -> View:
    """The photos of one album."""
    state = ui.get(PhotosState)
    found = next((a for a in state.albums if a.name == ui.arg), Album(ui.arg))
    shown = [p for p in state.kept() if p.name in found.photos]
    remove = icon_button("delete_outline", "Delete album", do(_delete_album), id="delete_album")
    return View(bar=bar(ui.arg, remove), body=_grid(ui, shown) or (empty("image_outline", "This album is empty"),))


def _delete_album(ui: Ui) -> None:
    state = ui.get(PhotosState)
    state.albums = [a for a in state.albums if a.name != ui.arg]
    ui.back()
    ui.toast("Album deleted, its photos are kept")


def new_album(ui: Ui) -> View:
    """Asks for a name."""
    return dialog(
        "New album",
        "",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Create", do(_create), style="text", id="create"),
        content=(wide(ui.field("name", "Album name", submit=do(_create))),),
    )


def _create(ui: Ui) -> None:
    name = ui.typed("name").strip()
    albums = ui.get(PhotosState).albums
    if not name or any(a.name.casefold() == name.casefold() for a in albums):
        ui.toast("This album exists already" if name else "Enter a name")
        return
    albums.append(Album(name))
    ui.back()
    ui.toast("Album created")


def _turn(ui: Ui, step: int) -> None:
    names = [p.name for p in ui.get(PhotosState).kept()]
    at = names.index(ui.arg) + step if ui.arg in names else -1
    if 0 <= at < len(names):
        ui.replace("photo", names[at])


def photo(ui: Ui) -> View:
    """One photo on black; a swipe shows the next."""
    state = ui.get(PhotosState)
    shown = state.find(ui.arg)
    liked = ui.arg in state.favourites
    white = "#FFFFFF"
    words = Box((Text(shown.place, 52, white, "medium"), Text(_day(shown.date), 44, "#BDBDBD")), gap=2, grow=1)
    top = Box(
        (icon_button("arrow_left", "Back", do(Ui.back, 1), color=white, id="up"), words),
        row=True,
        gap=16,
        pad=(16, 8, 16, 8),
        fill="#000000",
    )
    image = Box((Picture("photo", shown.name, 1080, 1280, 0),), pad=(0, 220, 0, 0))
    caption = Box((Text(shown.name, 46, "#E0E0E0", align="center"),), pad=(EDGE, 28, EDGE, 0))
    items = (
        ("share_variant_outline", "Share", do(Ui.toast, "Link copied"), "share"),
        ("heart" if liked else "heart_outline", "Favourite", do(_like), "favourite"),
        ("folder_plus_outline", "Album", go("add_to", ui.arg), "add_to_album"),
        ("delete_outline", "Delete", go("delete", ui.arg), "delete"),
    )
    foot = Box(
        tuple(
            Box(
                (Icon(icon, 72, white), Text(name, 42, white, align="center")),
                gap=10,
                grow=1,
                align="center",
                tap=tap,
                id=key,
                kind="icon",
                checked=liked if key == "favourite" else None,
            )
            for icon, name, tap, key in items
        ),
        row=True,
        pad=(12, 20, 12, 20),
        fill="#000000",
    )
    return View(
        bar=top, body=(image, caption), bottom=foot, fill="#000000", swipe_left=do(_turn, 1), swipe_right=do(_turn, -1)
    )


def _like(ui: Ui) -> None:
    hearts = ui.get(PhotosState).favourites
    if ui.arg in hearts:
        hearts.remove(ui.arg)
        ui.toast("Removed from favourites")
    else:
        hearts.append(ui.arg)
        ui.toast("Added to favourites")


def delete(ui: Ui) -> View:
    """Asks before a photo goes to the bin."""
    return dialog(
        "Move to bin?",
        "Photos stay in the bin for 30 days.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Move to bin", do(_bin_now), style="text", id="confirm"),
        icon="delete_outline",
    )


def _bin_now(ui: Ui) -> None:
    ui.get(PhotosState).bin.append(ui.arg)
    ui.back(2)
    ui.toast("Moved to bin")


def add_to(ui: Ui) -> View:
    """The albums to choose from."""
    rows = tuple(
        row(a.name, f"{len(a.photos)} items", lead=Icon("image_album"), tap=do(_add, a.name))
        for a in ui.get(PhotosState).albums
    )
    new = row("New album", lead=Icon("plus", 72, "primary"), tap=go("new_album"), id="new_album")
    return View(bar=bar("Add to album"), body=(new, *rows))


def _add(ui: Ui, name: str) -> None:
    for found in ui.get(PhotosState).albums:
        if found.name == name and ui.arg not in found.photos:
            found.photos.append(ui.arg)
    ui.back()
    ui.toast(f"Added to {name}")


def bin_page(ui: Ui) -> View:
    """What was deleted; a touch brings it back."""
    state = ui.get(PhotosState)
    shown = [state.find(name) for name in state.bin]
    note = Box((Text("Touch a photo to restore it.", 46, "text2"),), pad=(EDGE, 8, EDGE, 20))
    body = (note, *_grid(ui, shown, "restore")) if shown else (empty("delete_empty_outline", "The bin is empty"),)
    return View(bar=bar("Bin"), body=body)


def restore(ui: Ui) -> View:
    """Asks what to do with a deleted photo."""
    return dialog(
        "Restore this photo?",
        ui.arg,
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Restore", do(_restore_now), style="text", id="confirm"),
        icon="restore",
    )


def _restore_now(ui: Ui) -> None:
    state = ui.get(PhotosState)
    state.bin = [name for name in state.bin if name != ui.arg]
    ui.back()
    ui.toast("Photo restored")


APP = App(
    id="photos",
    name="Photos",
    icon="image_multiple",
    color="#D8436B",
    fresh=fresh,
    asks_for="photos and videos",
    pages={
        "home": home,
        "favourites": favourites,
        "albums": albums,
        "album": album,
        "new_album": new_album,
        "photo": photo,
        "delete": delete,
        "add_to": add_to,
        "bin": bin_page,
        "restore": restore,
    },
)
ORDER = 36

"""General tasks about photos and files."""

from random import Random
from typing import Any

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, Rule, field, on, plan, tap
from distrl.tasks.suites.media_words import (
    ALBUMS,
    CAPTIONS,
    FILES,
    FOLDERS,
    NEW_NAMES,
    PHOTO_PLACES,
)
from distrl.tasks.suites.strict import Only
from distrl.tasks.template import Draw, Inspect, Params, Template, same

# ---- photos: one from each place, so that the place says which


def _photo_name(place: str) -> str:
    return f"{CAPTIONS[sum(map(ord, place)) % len(CAPTIONS)]} in {place}"


def _photos(p: Params, rng: Random) -> Plain:
    """A photo of each of four places, and two albums."""
    places = rng.sample([x for x in PHOTO_PLACES.words if x != p.get("place")], 4 - ("place" in p))
    if "place" in p:
        places.append(p["place"])
    rng.shuffle(places)
    days = sorted(rng.sample(range(1, 16), len(places)), reverse=True)
    photos = [
        {"name": _photo_name(place), "place": place, "date": f"2026-11-{day:02d}"}
        for place, day in zip(places, days, strict=True)
    ]
    names = rng.sample([a for a in ALBUMS.words if a != p.get("album")], 2)
    if "place" in p and "album" in p:
        names[0] = p["album"]
    rng.shuffle(names)
    return {
        "photos": {"photos": photos, "albums": [{"name": n, "photos": []} for n in names], "favourites": [], "bin": []}
    }


def _on_photo(p: Params, *more: Rule, touch: str) -> Plan:
    name = _photo_name(p["place"])
    return plan("Photos", *more, on(f"photos/photo/{name}", tap(id=touch)), on("photos/home", tap(id=f"photo:{name}")))


def _in_album(p: Params, inspect: Inspect) -> bool:
    found = [a["photos"] for a in inspect("photos")["albums"] if a["name"] == p["album"]]
    return found == [[_photo_name(p["place"])]]


PHOTOS = Only("photos", "photos", "name", whole=True)
ALBUMS_KEPT = Only("photos", "albums", "name")
HEARTS = Only("photos", "favourites", whole=True)
BIN = Only("photos", "bin", whole=True)

PHOTO_TEMPLATES = (
    Template(
        name="favourite_photo",
        suite="general",
        difficulty=1,
        phrasings=(
            "Mark the photo from {place} as a favourite",
            "Add my picture of {place} to the favourites in Photos",
            "Give the photo taken in {place} a heart",
        ),
        draw=lambda d: {"place": d.pick(PHOTO_PLACES)},
        world=_photos,
        keeps=(PHOTOS, ALBUMS_KEPT, BIN),
        check=lambda p, inspect: inspect("photos")["favourites"] == [_photo_name(p["place"])],
        plan=lambda p: _on_photo(p, touch="favourite"),
    ),
    Template(
        name="delete_photo",
        suite="general",
        difficulty=2,
        phrasings=(
            "Delete the photo from {place}",
            "Move my picture of {place} to the bin",
            "The photo taken in {place} is no good, delete it",
        ),
        draw=lambda d: {"place": d.pick(PHOTO_PLACES)},
        world=_photos,
        keeps=(PHOTOS, ALBUMS_KEPT, HEARTS),
        check=lambda p, inspect: inspect("photos")["bin"] == [_photo_name(p["place"])],
        plan=lambda p: _on_photo(p, on(f"photos/delete/{_photo_name(p['place'])}", tap(id="confirm")), touch="delete"),
    ),
    Template(
        name="create_album",
        suite="general",
        difficulty=2,
        phrasings=(
            "Create a photo album called {album}",
            "Make a new album named {album} in Photos",
            "I want an empty album {album} for my pictures",
        ),
        draw=lambda d: {"album": f"{d.pick(ALBUMS)} {d.number(2015, 2026)}"},
        world=_photos,
        keeps=(PHOTOS, ALBUMS_KEPT, HEARTS, BIN),
        check=lambda p, inspect: (
            [a["photos"] for a in inspect("photos")["albums"] if same(a["name"], p["album"])] == [[]]
        ),
        plan=lambda p: plan(
            "Photos",
            on("photos/new_album", field("name", p["album"]), tap(id="create")),
            on("photos/albums", tap(id="add")),
            on("photos/home", tap("Albums")),
        ),
    ),
    Template(
        name="add_photo_to_album",
        suite="general",
        difficulty=2,
        phrasings=(
            "Put the photo from {place} into the album {album}",
            "Add my picture of {place} to {album} in Photos",
            "File the photo taken in {place} under the album {album}",
        ),
        draw=lambda d: {"place": d.pick(PHOTO_PLACES), "album": d.pick(ALBUMS)},
        world=_photos,
        keeps=(PHOTOS, ALBUMS_KEPT, HEARTS, BIN),
        check=_in_album,
        plan=lambda p: _on_photo(
            p, on(f"photos/add_to/{_photo_name(p['place'])}", tap(p["album"])), touch="add_to_album"
        ),
    ),
)

# ---- files

SIZE_KB = 420
"""The size of the file in question."""


def _files(p: Params, rng: Random) -> Plain:
    """Five folders with two or three files each; the one in question is where the task says."""
    folders = [p[key] for key in ("folder", "target") if key in p]
    folders += rng.sample([f for f in FOLDERS.words if f not in p.values()], 5 - len(folders))
    names = rng.sample([f for f in FILES.words if f not in p.values()], 10)
    files = [
        {"name": n, "folder": folders[k // 2], "size_kb": rng.randrange(20, 8000), "day": rng.randint(1, 40)}
        for k, n in enumerate(names)
    ]
    if "file" in p:
        files.append({"name": p["file"], "folder": p["folder"], "size_kb": SIZE_KB, "day": rng.randint(1, 40)})
    rng.shuffle(folders)
    return {"files": {"folders": folders, "files": files}}


def _entry(inspect: Inspect, name: str) -> dict[str, Any] | None:
    found = [f for f in inspect("files")["files"] if same(f["name"], name)]
    return found[0] if len(found) == 1 else None


def _moved(p: Params, inspect: Inspect) -> bool:
    entry = _entry(inspect, p["file"])
    return entry is not None and (entry["folder"], entry["size_kb"]) == (p["target"], SIZE_KB)


def _renamed(p: Params, inspect: Inspect) -> bool:
    entry = _entry(inspect, p["new"])
    is_there = entry is not None and (entry["folder"], entry["size_kb"]) == (p["folder"], SIZE_KB)
    return is_there and not any(same(f["name"], p["file"]) for f in inspect("files")["files"])


def _on_file(p: Params, *more: Rule, touch: str) -> Plan:
    """To the menu of a file, and what to touch there."""
    return plan(
        "Files",
        *more,
        on(f"files/more/{p['file']}", tap(id=touch)),
        on(f"files/folder/{p['folder']}", tap(id=f"more:{p['file']}")),
        on("files/home", tap(p["folder"])),
    )


def _draw_file(d: Draw) -> Params:
    return {"file": d.pick(FILES), "folder": d.pick(FOLDERS)}


def _draw_rename(d: Draw) -> Params:
    file = d.pick(FILES)
    return {"file": file, "folder": d.pick(FOLDERS), "new": f"{d.pick(NEW_NAMES)}.{file.rpartition('.')[2]}"}


def _draw_move(d: Draw) -> Params:
    folder, target = d.pick_two(FOLDERS)
    return {"file": d.pick(FILES), "folder": folder, "target": target}


KEPT_FILES = (Only("files", "files", "name"), Only("files", "folders", whole=True))

FILE_TEMPLATES = (
    Template(
        name="create_folder",
        suite="general",
        difficulty=2,
        phrasings=(
            "Create a folder called {name} in Files",
            "Make a new folder named {name}",
            "I need a folder {name} for my files",
        ),
        draw=lambda d: {"name": f"{d.pick(FOLDERS)} {d.number(2015, 2026)}"},
        world=_files,
        keeps=(Only("files", "files", "name", whole=True), Only("files", "folders")),
        check=lambda p, inspect: sum(same(f, p["name"]) for f in inspect("files")["folders"]) == 1,
        plan=lambda p: plan(
            "Files",
            on("files/new_folder", field("name", p["name"]), tap(id="confirm")),
            on("files/home", tap(id="new_folder")),
        ),
    ),
    Template(
        name="delete_file",
        suite="general",
        difficulty=2,
        phrasings=(
            "Delete the file {file} in the folder {folder}",
            "Remove {file} from my {folder} folder",
            "In Files, open {folder} and delete {file}",
        ),
        draw=_draw_file,
        world=_files,
        keeps=KEPT_FILES,
        check=lambda p, inspect: not any(same(f["name"], p["file"]) for f in inspect("files")["files"]),
        plan=lambda p: _on_file(p, on(f"files/delete/{p['file']}", tap(id="confirm")), touch="delete"),
    ),
    Template(
        name="move_file",
        suite="general",
        difficulty=2,
        phrasings=(
            "Move {file} from the folder {folder} to {target}",
            "The file {file} in {folder} belongs into the folder {target}, move it",
            "In Files, move {file} out of {folder} into {target}",
        ),
        draw=_draw_move,
        world=_files,
        keeps=KEPT_FILES,
        check=_moved,
        plan=lambda p: _on_file(p, on(f"files/move/{p['file']}", tap(p["target"])), touch="move"),
    ),
    Template(
        name="rename_file",
        suite="general",
        difficulty=3,
        unseen=True,
        phrasings=(
            "Rename the file {file} in {folder} to {new}",
            "In my {folder} folder, change the name of {file} to {new}",
            "Call the file {file} in {folder} {new} from now on",
        ),
        draw=_draw_rename,
        world=_files,
        keeps=KEPT_FILES,
        check=_renamed,
        plan=lambda p: _on_file(
            p, on(f"files/rename/{p['file']}", field("name", p["new"]), tap(id="confirm")), touch="rename"
        ),
    ),
)

TEMPLATES = PHOTO_TEMPLATES + FILE_TEMPLATES

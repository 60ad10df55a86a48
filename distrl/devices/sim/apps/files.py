"""Files: folders and what is in them; open, rename, move, delete, sort, and make new folders."""

from random import Random

import msgspec

from distrl.devices.sim.app import App, Ui, choose, do, go
from distrl.devices.sim.nodes import Box, Icon, Node, Picture, Text, View
from distrl.devices.sim.widgets import (
    EDGE,
    badge,
    bar,
    button,
    dialog,
    empty,
    fab,
    icon_button,
    radio,
    row,
    section,
    wide,
)

KINDS = {
    "pdf": ("file_pdf_box", "#D93025"),
    "jpg": ("file_image", "#D8436B"),
    "mp3": ("file_music", "#8E24AA"),
    "mp4": ("file_video", "#F4511E"),
    "zip": ("zip_box", "#6D4C41"),
    "txt": ("file_document_outline", "#3367D6"),
    "csv": ("file_table", "#0B8043"),
}
ORDERS = ("Name", "Newest", "Largest")


class FileEntry(msgspec.Struct):
    """A file; its name is unique on the phone."""

    name: str
    folder: str
    size_kb: int
    day: int = 0

    @property
    def look(self) -> tuple[str, str]:
        """The icon and colour of its kind."""
        return KINDS.get(self.name.rpartition(".")[2], ("file_outline", "#607D8B"))

    @property
    def details(self) -> str:
        """Size and age."""
        size = f"{self.size_kb / 1000:.1f} MB" if self.size_kb >= 1000 else f"{self.size_kb} KB"
        return f"{size} • {'today' if self.day == 0 else f'{self.day} days ago' if self.day > 1 else 'yesterday'}"


class FilesState(msgspec.Struct):
    """Folders by name, and the files in them; `sort` is how every folder is shown."""

    folders: list[str] = []
    files: list[FileEntry] = []
    sort: str = "Name"

    def find(self, name: str) -> FileEntry | None:
        """The file of this name."""
        return next((f for f in self.files if f.name == name), None)

    def inside(self, folder: str) -> list[FileEntry]:
        """What a folder holds, in the chosen order."""
        keys = {
            "Name": lambda f: f.name.casefold(),
            "Newest": lambda f: (f.day, f.name),
            "Largest": lambda f: -f.size_kb,
        }
        return sorted((f for f in self.files if f.folder == folder), key=keys.get(self.sort, keys["Name"]))


_USUAL = {
    "Documents": ("Rental contract.pdf", "CV 2026.pdf", "Meeting notes.txt", "Household budget.csv", "Insurance.pdf"),
    "Download": ("Boarding pass.pdf", "Manual TV.pdf", "Fonts.zip", "Train map.jpg", "Invoice 1180.pdf"),
    "Music": ("Rain on tin.mp3", "Voice memo.mp3"),
    "Pictures": ("Whiteboard.jpg", "Passport photo.jpg", "Garden.jpg"),
    "Videos": ("First steps.mp4", "Concert.mp4"),
}


def fresh(rng: Random) -> FilesState:
    """Five folders with what people keep."""
    files = [
        FileEntry(name, folder, rng.randrange(40, 9000), rng.randrange(0, 60))
        for folder, names in _USUAL.items()
        for name in names
    ]
    return FilesState(folders=list(_USUAL), files=files)


def _file_row(file: FileEntry, *, where: bool = False) -> Box:
    icon, color = file.look
    more = icon_button("dots_vertical", f"More for {file.name}", go("more", file.name), id=f"more:{file.name}")
    note = f"{file.folder} • {file.details}" if where else file.details
    return row(
        file.name, note, lead=Icon(icon, 96, color), trail=more, tap=go("file", file.name), id=f"file:{file.name}"
    )


def _storage(state: FilesState) -> Box:
    used = 41 + sum(f.size_kb for f in state.files) // 1_000_000
    length = 856
    track = Box(
        (Box(width=length * used // 128, height=24, radius=12, fill="primary"),),
        width=length,
        height=24,
        radius=12,
        fill="outline",
    )
    words = Box(
        (Text("Internal storage", 50, weight="medium"), Text(f"{used} GB of 128 GB used", 44, "text2"), track),
        gap=16,
        pad=(48, 40, 48, 48),
        fill="container",
        radius=48,
    )
    return Box((words,), pad=(EDGE, 12, EDGE, 12))


def home(ui: Ui) -> View:
    """Search, storage and folders."""
    state = ui.get(FilesState)
    query = ui.typed("query").casefold().strip()
    search = wide(ui.field("query", "Search files", icon="magnify", submit=do(Ui.blur)))
    add = go("new_folder")
    if query:
        found = tuple(_file_row(f, where=True) for f in state.files if query in f.name.casefold())
        return View(
            bar=bar("Files", up=False), body=(search, *(found or (empty("file_search_outline", "No files found"),)))
        )
    folders = tuple(
        row(
            name,
            _count(state, name),
            lead=badge("folder", "#5F7FB0"),
            trail=Icon("chevron_right"),
            tap=go("folder", name),
        )
        for name in state.folders
    )
    recent = sorted(state.files, key=lambda f: (f.day, f.name))[:3]
    body = (search, _storage(state), section("Folders"), *folders, section("Recent"), *(_file_row(f) for f in recent))
    if ui.has("new_layout"):
        plus = icon_button("folder_plus_outline", "New folder", add, id="new_folder")
        return View(bar=bar("Files", plus, up=False), body=body)
    return View(
        bar=bar("Files", up=False), body=body, fab=fab("folder_plus_outline", "New folder", add, id="new_folder")
    )


def _count(state: FilesState, folder: str) -> str:
    count = sum(f.folder == folder for f in state.files)
    return f"{count} file{'' if count == 1 else 's'}"


def folder(ui: Ui) -> View:
    """What is in a folder."""
    state = ui.get(FilesState)
    files = tuple(_file_row(f) for f in state.inside(ui.arg))
    order = icon_button("sort", "Sort", go("sort"), id="sort")
    head = Box((Text(f"Sorted by {state.sort.lower()}", 44, "text2"),), pad=(EDGE, 8, EDGE, 12))
    return View(
        bar=bar(ui.arg, order),
        body=(head, *files) if files else (empty("folder_open_outline", "This folder is empty"),),
    )


def file(ui: Ui) -> View:
    """A file, opened."""
    found = ui.get(FilesState).find(ui.arg)
    if found is None:
        return View(bar=bar("File"), body=(empty("file_remove_outline", "This file is gone"),))
    more = icon_button("dots_vertical", "More options", go("more", found.name), id="more")
    icon, color = found.look
    art: Node = Icon(icon, 420, color)
    if found.name.endswith((".jpg", ".mp4")):
        art = Picture("photo", found.name, 984, 984, 40)
    words = (
        Text(found.name, 56, weight="medium", align="center", lines=2),
        Text(f"{found.folder} • {found.details}", 46, "text2", align="center"),
    )
    return View(
        bar=bar(found.name, more),
        body=(Box((art,), pad=(EDGE, 240, EDGE, 60), align="center"), Box(words, gap=16, pad=(EDGE, 0, EDGE, 0))),
    )


def more(ui: Ui) -> View:
    """What can be done to a file."""
    items = (
        ("pencil_outline", "Rename", "rename"),
        ("folder_move_outline", "Move to", "move"),
        ("delete_outline", "Delete", "delete"),
        ("information_outline", "Details", "file"),
    )
    rows = tuple(row(words, lead=Icon(icon), tap=do(_act, name), id=name) for icon, words, name in items)
    return dialog(ui.arg, "", button("Cancel", do(Ui.back, 1), style="text"), content=(Box(rows),))


def _act(ui: Ui, name: str) -> None:
    ui.replace(name, ui.arg)


def rename(ui: Ui) -> View:
    """Asks for a new name, with the old one in the field."""
    if "name" not in ui.page.fields:
        ui.fill("name", ui.arg)
    return dialog(
        "Rename",
        "",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("OK", do(_rename_now), style="text", id="confirm"),
        content=(wide(ui.field("name", "File name", submit=do(_rename_now))),),
    )


def _rename_now(ui: Ui) -> None:
    state = ui.get(FilesState)
    name, found = ui.typed("name").strip(), state.find(ui.arg)
    if not name or (name != ui.arg and state.find(name)):
        ui.toast("This name is taken" if name else "Enter a name")
        return
    if found:
        found.name = name
    ui.back()
    if ui.phone.top().name == "file":
        ui.phone.top().arg = name
    ui.toast("File renamed")


def move(ui: Ui) -> View:
    """The folders to choose from."""
    found = ui.get(FilesState).find(ui.arg)
    here = found.folder if found else ""
    rows = tuple(
        row(name, "The file is here" if name == here else "", lead=badge("folder", "#5F7FB0"), tap=do(_move_now, name))
        for name in ui.get(FilesState).folders
    )
    return View(bar=bar("Move to"), body=(Box((Text(ui.arg, 48, "text2"),), pad=(EDGE, 8, EDGE, 16)), *rows))


def _move_now(ui: Ui, folder: str) -> None:
    found = ui.get(FilesState).find(ui.arg)
    if found:
        found.folder = folder
    ui.back()
    ui.toast(f"Moved to {folder}")


def delete(ui: Ui) -> View:
    """Asks before a file is gone."""
    return dialog(
        "Delete file?",
        f"{ui.arg} will be deleted for good.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Delete", do(_delete_now), style="text", id="confirm"),
        icon="delete_outline",
    )


def _delete_now(ui: Ui) -> None:
    state = ui.get(FilesState)
    state.files = [f for f in state.files if f.name != ui.arg]
    ui.back()
    if ui.phone.top().name == "file":
        ui.back()
    ui.toast("File deleted")


def new_folder(ui: Ui) -> View:
    """Asks for the name of a folder."""
    return dialog(
        "New folder",
        "",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Create", do(_create), style="text", id="confirm"),
        content=(wide(ui.field("name", "Folder name", submit=do(_create))),),
    )


def _create(ui: Ui) -> None:
    folders, name = ui.get(FilesState).folders, ui.typed("name").strip()
    if not name or name.casefold() in (f.casefold() for f in folders):
        ui.toast("This folder exists already" if name else "Enter a name")
        return
    folders.append(name)
    ui.back()
    ui.toast("Folder created")


def sort(ui: Ui) -> View:
    """How folders are shown."""
    now = ui.chosen("sort", ui.get(FilesState).sort)
    choices = tuple(radio(name, name == now, choose("sort", name)) for name in ORDERS)
    return dialog(
        "Sort by",
        "",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Apply", do(_sort_now, now), style="text", id="confirm"),
        content=choices,
    )


def _sort_now(ui: Ui, order: str) -> None:
    ui.get(FilesState).sort = order
    ui.back()


APP = App(
    id="files",
    name="Files",
    icon="folder",
    color="#4A6FA5",
    fresh=fresh,
    asks_for="files",
    pages={
        "home": home,
        "folder": folder,
        "file": file,
        "more": more,
        "rename": rename,
        "move": move,
        "delete": delete,
        "new_folder": new_folder,
        "sort": sort,
    },
)
ORDER = 38

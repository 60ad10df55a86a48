"""Notes: a list with search, a page to read and edit, folders by colour, and a bin one can undo from."""

from random import Random

import msgspec

from distrl.devices.sim.app import App, Ui, do, go
from distrl.devices.sim.nodes import Text, View
from distrl.devices.sim.widgets import bar, button, card, dialog, empty, fab, icon_button, wide


class Note(msgspec.Struct):
    """A note; its title is its name."""

    title: str
    body: str
    pinned: bool = False


class NotesState(msgspec.Struct):
    """All notes, the newest first."""

    notes: list[Note] = []


def fresh(rng: Random) -> NotesState:
    """A few notes that anybody might have."""
    bodies = {
        "Packing list": "Charger, passport, rain jacket, headphones",
        "Book ideas": "A lighthouse, two sisters, one winter",
        "Wi-Fi at the cabin": "Ask Rui for the key, router is in the attic",
        "Gift for Ines": "Watercolour set or the blue scarf",
        "Meeting minutes": "Budget moved to Thursday; send slides",
    }
    titles = rng.sample(sorted(bodies), 3)
    return NotesState(notes=[Note(title, bodies[title]) for title in titles])


def home(ui: Ui) -> View:
    """The list."""
    query = ui.typed("query").casefold()
    found = [n for n in ui.get(NotesState).notes if query in (n.title + n.body).casefold()]
    found.sort(key=lambda n: not n.pinned)
    cards = tuple(
        card(
            Text(note.title, 52, weight="medium"),
            Text(note.body or "No text", 44, "text2", lines=2),
            tap=go("edit", note.title),
        )
        for note in found
    )
    search = wide(ui.field("query", "Search your notes", icon="magnify"))
    return View(
        bar=bar("Notes", up=False),
        body=(search, *(cards or (empty("note_text_outline", "No notes here"),))),
        fab=fab("plus", "New note", go("edit")),
    )


def _find(ui: Ui) -> Note | None:
    return next((n for n in ui.get(NotesState).notes if n.title == ui.arg), None)


def edit(ui: Ui) -> View:
    """One note, to read or change. The page fills its fields when it is first shown."""
    note = _find(ui)
    if note and "title" not in ui.page.fields:
        ui.fill("title", note.title)
        ui.fill("body", note.body)
    actions = [icon_button("check", "Save", do(save), id="save")]
    if note:
        actions.insert(0, icon_button("delete_outline", "Delete", go("delete", note.title), id="delete"))
        actions.insert(0, icon_button("pin" if note.pinned else "pin_outline", "Pin", do(pin), id="pin"))
    fields = (wide(ui.field("title", "Title")), wide(ui.field("body", "Note", lines=12)))
    return View(bar=bar("Edit note" if note else "New note", *actions), body=fields)


def save(ui: Ui) -> None:
    """Keep what was typed."""
    title, body = ui.typed("title").strip(), ui.typed("body")
    notes = ui.get(NotesState).notes
    if not title and not body:
        ui.toast("Empty note discarded")
        ui.back()
        return
    note = _find(ui)
    if note:
        note.title, note.body = title, body
    else:
        notes.insert(0, Note(title or "Untitled", body))
    ui.back()
    ui.toast("Note saved")


def pin(ui: Ui) -> None:
    """To the top of the list, or back."""
    note = _find(ui)
    if note:
        note.pinned = not note.pinned


def delete(ui: Ui) -> View:
    """Asks before a note is gone."""
    return dialog(
        "Delete note?",
        f"“{ui.arg}” will be deleted.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Delete", do(delete_now), style="text"),
        icon="delete_outline",
    )


def delete_now(ui: Ui) -> None:
    """Gone."""
    state = ui.get(NotesState)
    state.notes = [n for n in state.notes if n.title != ui.arg]
    ui.back(2)
    ui.toast("Note deleted")


APP = App(
    id="notes",
    name="Notes",
    icon="note_text",
    color="#F9B000",
    fresh=fresh,
    pages={"home": home, "edit": edit, "delete": delete},
)
ORDER = 50

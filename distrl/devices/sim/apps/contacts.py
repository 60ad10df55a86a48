"""Contacts: everybody by letter with a search, a card for each person, favorites, and pages to add, edit and delete."""

from random import Random

from distrl.devices.sim.app import App, Ui, do, go
from distrl.devices.sim.apps.dialer.state import place_call
from distrl.devices.sim.apps.people import KNOWN, Contact, ContactsState
from distrl.devices.sim.apps.people_parts import label_field, round_action, search_field
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import EDGE, avatar, bar, button, dialog, empty, fab, icon_button

_OTHERS = (
    "Adam Fischer", "Bianca Costa", "Carlos Mendes", "Daniel Kim", "Elif Demir", "Felix Brandt", "Greta Lind",
    "Hana Sato", "Ivan Petrov", "Julia Santos", "Karim Haddad", "Laura Jensen", "Marco Bianchi", "Olga Ivanova",
    "Paul Girard", "Rita Moreira", "Samuel Wright", "Vera Kovacs",
)  # fmt: skip
_STREETS = ("Harbor Street", "Mill Lane", "Linden Avenue", "Station Road", "Garden Row", "Castle Hill", "River Walk")


def fresh(rng: Random) -> ContactsState:
    """The known people and some others, each with a number, most with an address."""
    names = [*KNOWN, *rng.sample(_OTHERS, 9)]
    people = []
    for name in names:
        mail = name.lower().replace(". ", ".").replace(" ", ".") + "@postbox.example"
        address = f"{rng.randint(2, 98)} {rng.choice(_STREETS)}" if rng.random() < 0.7 else ""
        people.append(Contact(name, f"555-{rng.randint(100, 999)}-{rng.randint(1000, 9999)}", mail, address))
    for person in rng.sample(people, 3):
        person.favorite = True
    return ContactsState(people=people)


def _person_row(person: Contact, letter: str) -> Box:
    mark: tuple[Node, ...] = (Icon("star", 60, "star"),) if person.favorite else ()
    words = Box((Text(person.name, 50),), grow=1)
    gutter = Box((Text(letter, 50, "primary", "medium", "center"),), width=72)
    return Box(
        (gutter, avatar(person.name, 104), words, *mark),
        row=True,
        gap=36,
        pad=(24, 18, EDGE, 18),
        height=148,
        tap=go("detail", person.name),
        kind="row",
        label=person.name,
        id=f"person:{person.name}",
    )


def home(ui: Ui) -> View:
    """Everybody by letter."""
    people = ui.get(ContactsState).found(ui.typed("query"))
    rows, last = [], ""
    for person in people:
        letter = person.name[:1].upper()
        rows.append(_person_row(person, letter if letter != last else ""))
        last = letter
    add = go("edit")
    moved = ui.has("new_layout")
    actions = (icon_button("account_plus_outline", "Add contact", add, id="add"),) if moved else ()
    count = Text(f"{len(people)} contacts", 42, "text2", "medium")
    return View(
        bar=search_field(ui, "Search contacts", *actions),
        body=(Box((count,), pad=(132, 16, EDGE, 16)), *rows)
        if rows
        else (empty("account_search", "No contacts found"),),
        fab=None if moved else fab("plus", "Add contact", add, id="add"),
    )


def _fact(icon: str, value: str, kind: str) -> Box:
    words = Box((Text(value, 50, lines=2), Text(kind, 42, "text2")), gap=4, grow=1)
    return Box((Icon(icon, 72), words), row=True, gap=40, pad=(0, 18, 0, 18))


def detail(ui: Ui) -> View:
    """A person's card."""
    person = ui.get(ContactsState).named(ui.arg)
    if person is None:
        return View(bar=bar("Contact"), body=(empty("account_off_outline", "This contact is gone"),))
    star = icon_button(
        "star" if person.favorite else "star_outline",
        "Remove from favorites" if person.favorite else "Add to favorites",
        do(flip_favorite),
        id="favorite",
        color="star" if person.favorite else "text",
    )
    edit_it = go("edit", person.name)
    moved = ui.has("new_layout")
    pencil = () if moved else (icon_button("pencil_outline", "Edit", edit_it, id="edit"),)
    bin_ = icon_button("delete_outline", "Delete", go("delete", person.name), id="delete")
    face = Box((avatar(person.name, 300),), pad=(EDGE, 24, EDGE, 28), align="center")
    name = Box((Text(person.name, 76, align="center", lines=2),), pad=(EDGE, 0, EDGE, 36))
    actions = Box(
        (
            round_action("phone", "Call", do(_call), id="call"),
            round_action("message_text", "Text", do(_text), id="text"),
            round_action("email", "Mail", do(_mail), id="mail_to", enabled=bool(person.mail)),
        ),
        row=True,
        pad=(60, 0, 60, 36),
    )
    facts = [_fact("phone_outline", person.phone or "No number", "Mobile")]
    if person.mail:
        facts.append(_fact("email_outline", person.mail, "Mail"))
    if person.address:
        facts.append(_fact("map_marker_outline", person.address, "Home"))
    title = Text("Contact info", 46, weight="medium")
    card = Box((title, *facts), gap=12, pad=(40, 36, 40, 28), fill="container", radius=48)
    return View(
        bar=bar("", star, *pencil, bin_),
        body=(face, name, actions, Box((card,), pad=(40, 12, 40, 12))),
        fab=fab("pencil_outline", "Edit", edit_it, id="edit") if moved else None,
    )


def flip_favorite(ui: Ui) -> None:
    """Star or no star."""
    person = ui.get(ContactsState).named(ui.arg)
    if person:
        person.favorite = not person.favorite
        ui.toast("Added to favorites" if person.favorite else "Removed from favorites")


def _call(ui: Ui) -> None:
    place_call(ui, ui.arg)


def _text(ui: Ui) -> None:
    ui.open("messages", "chat", ui.arg)


def _mail(ui: Ui) -> None:
    ui.open("mail", "compose", ui.arg)


def edit(ui: Ui) -> View:
    """A new contact, or an old one to change. The page fills its fields when it is first shown."""
    person = ui.get(ContactsState).named(ui.arg) if ui.arg else None
    if person and "name" not in ui.page.fields:
        for field in ("name", "phone", "mail", "address"):
            ui.fill(field, str(getattr(person, field)))
    save_it = button("Save", do(save), id="save")
    face = avatar(person.name, 220) if person else _blank_face()
    return View(
        bar=bar("Edit contact" if person else "New contact", Box((save_it,), pad=(0, 0, 24, 0))),
        body=(
            Box((face,), pad=(EDGE, 20, EDGE, 20), align="center"),
            label_field(ui, "Name", "name", "account_outline"),
            label_field(ui, "Phone", "phone", "phone_outline"),
            label_field(ui, "Mail", "mail", "email_outline"),
            label_field(ui, "Address", "address", "map_marker_outline"),
        ),
    )


def _blank_face() -> Box:
    icon = Icon("camera_plus_outline", 96, "on_tonal")
    return Box((icon,), width=220, height=220, radius=110, fill="tonal", align="center", justify="center")


def save(ui: Ui) -> None:
    """Keep what was typed, under a name that nobody else has."""
    state = ui.get(ContactsState)
    name, phone = ui.typed("name").strip(), ui.typed("phone").strip()
    mail, address = ui.typed("mail").strip(), ui.typed("address").strip()
    if not name:
        ui.toast("Enter a name")
        return
    person, other = (state.named(ui.arg) if ui.arg else None), state.named(name)
    if other is not None and other is not person:
        ui.toast(f"{other.name} is already in your contacts")
        return
    if person:
        person.name, person.phone, person.mail, person.address = name, phone, mail, address
        ui.back(2)
    else:
        state.people.append(Contact(name, phone, mail, address))
        ui.back()
    ui.go("detail", name)
    ui.toast("Contact saved")


def delete(ui: Ui) -> View:
    """Asks before a contact is gone."""
    return dialog(
        "Delete contact?",
        f"{ui.arg} will be removed from this phone.",
        button("Cancel", do(Ui.back, 1), style="text", id="cancel"),
        button("Delete", do(delete_now), style="text", id="confirm"),
        icon="delete_outline",
    )


def delete_now(ui: Ui) -> None:
    """Gone."""
    state = ui.get(ContactsState)
    person = state.named(ui.arg)
    state.people = [p for p in state.people if p is not person]
    ui.back(2)
    ui.toast("Contact deleted")


APP = App(
    id="contacts",
    name="Contacts",
    icon="account_box",
    color="#1E88E5",
    fresh=fresh,
    pages={"home": home, "detail": detail, "edit": edit, "delete": delete},
    asks_for="contacts",
)
ORDER = 12

"""Phone: favorites, recent calls, contacts and voicemail; a dial pad; a call that goes on until it is ended."""

from distrl.devices.sim.app import App, Ui, choose, do, go
from distrl.devices.sim.apps.dialer.calling import KINDS, call, call_button, info, pad, person_row, person_rows
from distrl.devices.sim.apps.dialer.state import Call, DialerState, fresh, place_call
from distrl.devices.sim.apps.people import ContactsState
from distrl.devices.sim.apps.people_parts import clock, day_name, search_field, when
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import avatar, bottom_nav, button, dialog, empty, fab, icon_button, section


def _log_line(entry: Call, words: str) -> Box:
    icon, color, _ = KINDS[entry.kind]
    return Box(
        (Icon(icon, 48, color), Text(words, 44, "error" if entry.kind == "missed" else "text2")), row=True, gap=12
    )


def _favorites(ui: Ui) -> tuple[Box, ...]:
    stars = [p for p in ui.get(ContactsState).found("") if p.favorite]
    if not stars:
        return (empty("star_outline", "Star a contact to see it here"),)
    lines = []
    for start in range(0, len(stars), 3):
        cells: list[Node] = [
            Box(
                (avatar(p.name, 232), Text(p.name, 46, align="center", weight="medium")),
                gap=20,
                grow=1,
                align="center",
                tap=do(place_call, p.name),
                id=f"call:{p.name}",
                label=p.name,
            )
            for p in stars[start : start + 3]
        ]
        cells += [Box(grow=1) for _ in range(3 - len(cells))]
        lines.append(Box(tuple(cells), row=True, gap=12, pad=(36, 28, 36, 28)))
    return (section("Favorites"), *lines)


def _recents(ui: Ui) -> tuple[Box, ...]:
    rows: list[Box] = []
    day = ""
    for entry in ui.get(DialerState).calls:
        name = day_name(ui.now_s, entry.time_s)
        if name != day:
            rows.append(section(name))
        day = name
        line = _log_line(entry, f"{KINDS[entry.kind][2]} · {clock(entry.time_s)}")
        rows.append(person_row(entry.name, line, trail=call_button(entry.name), bold=entry.kind == "missed"))
    return tuple(rows) or (empty("history", "No recent calls"),)


def _voicemail(ui: Ui) -> tuple[Box, ...]:
    cards = []
    for mail in ui.get(DialerState).voicemails:
        weight = "regular" if mail.heard else "bold"
        head = Box(
            (
                avatar(mail.name, 88),
                Box((Text(mail.name, 50, weight=weight),), grow=1),
                Text(when(ui.now_s, mail.time_s), 44, "text2"),
            ),
            row=True,
            gap=28,
        )
        actions = Box(
            (
                button("Play again" if mail.heard else "Play", do(play, mail.name), style="tonal", icon="play"),
                icon_button("phone_outline", f"Call {mail.name}", do(place_call, mail.name)),
                icon_button("delete_outline", f"Delete voicemail from {mail.name}", do(delete_voicemail, mail.name)),
            ),
            row=True,
            gap=12,
        )
        body = Text(f"“{mail.text}”", 44, "text2", lines=3)
        inner = Box((head, body, actions), gap=20, pad=(40, 32, 40, 28), fill="container", radius=48)
        cards.append(Box((inner,), pad=(36, 12, 36, 12)))
    return tuple(cards) or (empty("voicemail", "No voicemail"),)


def play(ui: Ui, name: str) -> None:
    """Listen to a message."""
    for mail in ui.get(DialerState).voicemails:
        mail.heard = mail.heard or mail.name == name
    ui.toast(f"Playing message from {name}")


def delete_voicemail(ui: Ui, name: str) -> None:
    """Remove a message."""
    state = ui.get(DialerState)
    state.voicemails = [m for m in state.voicemails if m.name != name]
    ui.toast("Voicemail deleted")


_TABS = {
    "favorites": ("star_outline", "Favorites"),
    "recents": ("clock_outline", "Recents"),
    "contacts": ("account_multiple_outline", "Contacts"),
    "voicemail": ("voicemail", "Voicemail"),
}


def home(ui: Ui) -> View:
    """The four tabs; a search looks through the contacts."""
    state, tab, query = ui.get(DialerState), ui.chosen("tab", "recents"), ui.typed("query")
    if query:
        body = person_rows(ui.get(ContactsState).found(query))
    elif tab == "contacts":
        body = person_rows(ui.get(ContactsState).found(""))
    else:
        body = {"favorites": _favorites, "recents": _recents, "voicemail": _voicemail}[tab](ui)
    if state.ongoing:
        words = Box((Text(f"In a call with {state.ongoing}", 46, "#FFFFFF", "medium"),), grow=1)
        line = Box(
            (Icon("phone_in_talk", 66, "#FFFFFF"), words),
            row=True,
            gap=28,
            pad=(40, 28, 40, 28),
            fill="#1E7B34",
            radius=48,
            tap=go("call", state.ongoing),
            id="return",
        )
        body = (Box((line,), pad=(36, 8, 36, 16)), *body)
    names = list(_TABS)
    if ui.has("new_layout"):
        names.reverse()
    menu = icon_button("delete_sweep_outline", "Clear call history", go("clear"), id="clear")
    return View(
        bar=search_field(ui, "Search contacts", menu),
        body=body,
        bottom=bottom_nav(*((_TABS[n][0], _TABS[n][1], n == tab, choose("tab", n)) for n in names)),
        fab=fab("dialpad", "Dial pad", go("pad"), id="pad"),
    )


def clear(ui: Ui) -> View:
    """Asks before the log is emptied."""
    return dialog(
        "Clear call history?",
        "All calls will be deleted from your history.",
        button("Cancel", do(Ui.back, 1), style="text", id="cancel"),
        button("Clear", do(clear_now), style="text", id="confirm"),
        icon="delete_sweep_outline",
    )


def clear_now(ui: Ui) -> None:
    """The log is empty."""
    ui.get(DialerState).calls.clear()
    ui.back()
    ui.toast("Call history cleared")


APP = App(
    id="dialer",
    name="Phone",
    icon="phone",
    color="#1E9E4A",
    fresh=fresh,
    pages={"home": home, "info": info, "pad": pad, "call": call, "clear": clear},
    asks_for="contacts",
)
ORDER = 1

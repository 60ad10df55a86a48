"""The pages of one call: the dial pad, a person with their calls, and the call that goes on."""

import msgspec

from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.apps.dialer.state import DialerState, place_call
from distrl.devices.sim.apps.people import Contact, ContactsState, digits
from distrl.devices.sim.apps.people_parts import round_action, when
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import EDGE, avatar, bar, empty, icon_button, section

KINDS = {
    "outgoing": ("call_made", "success", "Outgoing"),
    "incoming": ("call_received", "link", "Incoming"),
    "missed": ("call_missed", "error", "Missed"),
}


def call_button(who: str) -> Box:
    """A phone to touch beside a name."""
    return icon_button("phone_outline", f"Call {who}", do(place_call, who), id=f"call:{who}")


def person_row(name: str, under: Node, *, trail: Box, bold: bool = False) -> Box:
    """A person or a number in a list; `under` is the second line."""
    words = Box((Text(name, 50, weight="medium" if bold else "regular"), under), gap=6, grow=1)
    return Box(
        (avatar(name, 112), words, trail),
        row=True,
        gap=36,
        pad=(EDGE, 20, 28, 20),
        height=160,
        tap=go("info", name),
        kind="row",
        id=f"person:{name}",
    )


def person_rows(people: list[Contact]) -> tuple[Box, ...]:
    """People with their numbers."""
    rows = tuple(person_row(p.name, Text(p.phone, 44, "text2"), trail=call_button(p.name)) for p in people)
    return rows or (empty("account_search", "Nobody found"),)


def info(ui: Ui) -> View:
    """A person or a number, with their calls."""
    people, state = ui.get(ContactsState), ui.get(DialerState)
    person = people.named(ui.arg)
    face = Box((avatar(ui.arg, 260),), pad=(EDGE, 12, EDGE, 24), align="center")
    words = (
        Text(ui.arg, 68, align="center"),
        Text(person.phone if person else "Not in your contacts", 46, "text2", align="center"),
    )
    actions = Box(
        (
            round_action("phone", "Call", do(place_call, ui.arg), id="call"),
            round_action("message_text", "Text", do(Ui.open, "messages", "chat", ui.arg), id="text"),
            round_action(
                "account_outline", "Card", do(Ui.open, "contacts", "detail", ui.arg), id="card", enabled=bool(person)
            ),
        ),
        row=True,
        pad=(60, 36, 60, 24),
    )
    lines = []
    for call in (c for c in state.calls if c.name == ui.arg):
        icon, color, kind = KINDS[call.kind]
        length = f" · {call.seconds // 60} min {call.seconds % 60} s" if call.seconds else ""
        what = Box((Text(kind, 48), Text(f"{when(ui.now_s, call.time_s)}{length}", 44, "text2")), gap=4, grow=1)
        lines.append(Box((Icon(icon, 66, color), what), row=True, gap=40, pad=(EDGE, 16, EDGE, 16)))
    return View(
        bar=bar(""),
        body=(
            face,
            Box(words, gap=8, pad=(EDGE, 0, EDGE, 0)),
            actions,
            section("Call history"),
            *(lines or [Box((Text("No calls yet", 46, "text2"),), pad=(EDGE, 20, EDGE, 20))]),
        ),
    )


_KEYS = ("1", "2 ABC", "3 DEF", "4 GHI", "5 JKL", "6 MNO", "7 PQRS", "8 TUV", "9 WXYZ", "*", "0 +", "#")


def _pad_key(key: str) -> Box:
    digit, _, letters = key.partition(" ")
    return Box(
        (Text(digit, 78, align="center"), Text(letters or " ", 42, "text2", align="center")),
        grow=1,
        height=172,
        pad=(0, 8, 0, 8),
        radius=86,
        fill="container",
        justify="center",
        tap=do(press_digit, digit),
        id=f"digit:{digit}",
        label=digit,
    )


def _call_bar(ui: Ui) -> Box:
    call = Box(
        (Icon("phone", 84, "#FFFFFF"),),
        width=340,
        height=152,
        radius=76,
        fill="#1E7B34",
        align="center",
        justify="center",
        tap=do(_dial),
        id="call",
        label="Call",
    )
    rub = icon_button("backspace_outline", "Delete digit", do(rub_out), id="rub_out")
    return Box((Box(width=120), call, rub), row=True, justify="center", gap=48, pad=(0, 16, 0, 24), fill="bg")


def pad(ui: Ui) -> View:
    """Keys for a number; who it belongs to shows above. The letters' keyboard takes the place of the keys."""
    number = ui.typed("number")
    field = msgspec.structs.replace(ui.field("number", "Enter a number", submit=do(_dial)), fill="field")
    matches = ui.get(ContactsState).found(number)[:2] if len(digits(number)) >= 3 else []
    rows = person_rows(matches) if matches else ()
    lines: tuple[Node, ...] = ()
    if ui.phone.system.focus != "number":
        lines = tuple(Box(tuple(map(_pad_key, _KEYS[k : k + 3])), row=True, gap=28) for k in range(0, 12, 3))
    keys = Box((*lines, _call_bar(ui)), gap=24, pad=(60, 24, 60, 8), fill="bg")
    return View(bar=bar("Dial pad"), body=(Box((field,), pad=(EDGE, 24, EDGE, 24)), *rows), bottom=keys)


def press_digit(ui: Ui, digit: str) -> None:
    """One more digit."""
    ui.fill("number", ui.typed("number") + digit)


def rub_out(ui: Ui) -> None:
    """One digit less."""
    ui.fill("number", ui.typed("number")[:-1])


def _dial(ui: Ui) -> None:
    place_call(ui, ui.typed("number"))


def _flip(ui: Ui, name: str) -> None:
    state = ui.get(DialerState)
    setattr(state, name, not getattr(state, name))


def _call_switch(icon: str, words: str, name: str, on: bool) -> Box:
    disc = Box(
        (Icon(icon, 84, "on_primary" if on else "text"),),
        width=184,
        height=152,
        radius=60,
        fill="primary" if on else "field",
        align="center",
        justify="center",
    )
    label = Text(words, 44, "text", align="center")
    return Box(
        (disc, label),
        gap=14,
        grow=1,
        align="center",
        tap=do(_flip, name),
        id=name,
        label=words,
        kind="switch",
        checked=on,
    )


def call(ui: Ui) -> View:
    """Somebody is on the line."""
    state = ui.get(DialerState)
    mine = next((c for c in state.calls if c.name == ui.arg), None)
    seconds = int(ui.now_s - mine.time_s) if mine else 0
    if state.ongoing != ui.arg:
        status = "Call ended"
    elif state.held:
        status = "On hold"
    else:
        status = "Calling…" if seconds < 4 else f"{seconds // 60:02d}:{seconds % 60:02d}"
    number = mine.number if mine and mine.number != ui.arg else ""
    words = (
        Text(status, 50, "text2", align="center"),
        Text(ui.arg, 92, align="center", lines=2),
        Text(number or " ", 50, "text2", align="center"),
    )
    switches = (
        _call_switch("microphone_off", "Mute", "muted", state.muted),
        _call_switch("volume_high", "Speaker", "speaker", state.speaker),
        _call_switch("pause", "Hold", "held", state.held),
    )
    end = Box(
        (Icon("phone_hangup", 96, "#FFFFFF"),),
        width=420,
        height=176,
        radius=88,
        fill="#C62828",
        align="center",
        justify="center",
        tap=do(end_call),
        id="end",
        label="End call",
    )
    panel = Box(
        (Box(switches, row=True), Box((end,), row=True, justify="center")),
        gap=64,
        pad=(60, 64, 60, 72),
        fill="container",
        radius=96,
    )
    return View(
        body=(
            Box(words, gap=12, pad=(EDGE, 120, EDGE, 60)),
            Box((avatar(ui.arg, 440),), align="center", pad=(EDGE, 60, EDGE, 60)),
        ),
        bottom=Box((panel,), pad=(24, 0, 24, 12), fill="bg"),
    )


def end_call(ui: Ui) -> None:
    """Hang up; the log keeps how long it took."""
    state = ui.get(DialerState)
    if state.ongoing:
        mine = next((c for c in state.calls if c.name == state.ongoing), None)
        if mine:
            mine.seconds = int(ui.now_s - mine.time_s)
        ui.toast("Call ended")
    state.ongoing = ""
    ui.back()

"""Messages: conversations with unread marks and search, a chat with bubbles, new conversations, archive and delete."""

import msgspec

from distrl.devices.sim.app import App, Ui, do, go
from distrl.devices.sim.apps.dialer.state import place_call
from distrl.devices.sim.apps.messages.state import Conversation, Message, MessagesState, fresh
from distrl.devices.sim.apps.people import ContactsState, digits
from distrl.devices.sim.apps.people_parts import clock, day_name, query_field, search_field, when
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import EDGE, avatar, bar, button, dialog, empty, fab, icon_button, row


def _conversation_row(ui: Ui, talk: Conversation) -> Box:
    is_new = talk.unread > 0
    weight = "bold" if is_new else "regular"
    last = talk.messages[-1] if talk.messages else Message("No messages", False)
    shown = ("You: " if last.mine else "") + last.text
    words = Box(
        (
            Text(talk.name, 52, weight=weight),
            Text(shown, 44, "text" if is_new else "text2", "medium" if is_new else "regular"),
        ),
        gap=6,
        grow=1,
    )
    mark: Node = Box(width=36, height=36)
    if is_new:
        mark = Box(width=36, height=36, radius=18, fill="primary")
    elif talk.pinned:
        mark = Icon("pin", 44)
    side = Box((Text(when(ui.now_s, talk.time_s), 42, "primary" if is_new else "text2"), mark), gap=16, align="end")
    return Box(
        (avatar(talk.name, 124), words, side),
        row=True,
        gap=36,
        pad=(EDGE, 24, EDGE, 24),
        height=180,
        tap=do(open_chat, talk.name),
        hold=go("menu", talk.name),
        kind="row",
        id=f"chat:{talk.name}",
    )


def open_chat(ui: Ui, name: str) -> None:
    """Read a conversation."""
    talk = ui.get(MessagesState).named(name)
    if talk:
        talk.unread = 0
    ui.go("chat", name)


def _list(ui: Ui, *, archived: bool) -> tuple[Box, ...]:
    found = ui.get(MessagesState).found(ui.typed("query"), archived=archived)
    rows = tuple(_conversation_row(ui, talk) for talk in found)
    return rows or (empty("message_text_outline", "No conversations here"),)


def home(ui: Ui) -> View:
    """The conversations."""
    moved = ui.has("new_layout")
    box = icon_button("archive_outline", "Archived", go("archived"), id="archived")
    add = icon_button("square_edit_outline", "New conversation", go("new"), id="new")
    return View(
        bar=search_field(ui, "Search messages", *((box, add) if moved else (box,))),
        body=_list(ui, archived=False),
        fab=None if moved else fab("message_plus_outline", "New conversation", go("new"), id="new"),
    )


def archived(ui: Ui) -> View:
    """What was put away."""
    return View(bar=bar("Archived"), body=_list(ui, archived=True))


def _bubble(message: Message, *, ends_turn: bool) -> Box:
    fill, color = ("primary", "on_primary") if message.mine else ("bubble", "text")
    words = Box((Text(message.text, 48, color, lines=20),), row=True, pad=(44, 28, 44, 28), fill=fill, radius=60)
    side = (240, 6, 40, 24 if ends_turn else 6) if message.mine else (40, 6, 240, 24 if ends_turn else 6)
    return Box((words,), row=True, justify="end" if message.mine else "start", pad=side)


def _bubbles(ui: Ui, messages: list[Message]) -> list[Box]:
    blocks: list[Box] = []
    before_s = -1e9
    for k, message in enumerate(messages):
        if message.time_s - before_s > 3600:
            words = f"{day_name(ui.now_s, message.time_s)} · {clock(message.time_s)}"
            blocks.append(Box((Text(words, 42, "text2", "medium", "center"),), pad=(EDGE, 32, EDGE, 20)))
        before_s = message.time_s
        is_last = k == len(messages) - 1
        blocks.append(_bubble(message, ends_turn=is_last or messages[k + 1].mine != message.mine))
        if is_last and message.mine:
            status = Text(f"{clock(message.time_s)} · Sent", 42, "text2", align="right")
            blocks.append(Box((status,), pad=(EDGE, 0, 56, 20)))
    return blocks


def _compose_bar(ui: Ui) -> Box:
    field = ui.field("message", "Text message", submit=do(send), lines=4)
    field = msgspec.structs.replace(field, grow=1, radius=66)
    ready = bool(ui.typed("message").strip())
    button_ = Box(
        (Icon("send", 72, "on_primary" if ready else "text2"),),
        width=132,
        height=132,
        radius=66,
        fill="primary" if ready else "container",
        align="center",
        justify="center",
        tap=do(send),
        kind="icon",
        id="send",
        label="Send",
    )
    return Box((field, button_), row=True, gap=24, pad=(36, 20, 36, 24), fill="bg")


def chat(ui: Ui) -> View:
    """A conversation, with a field to write in."""
    talk = ui.get(MessagesState).named(ui.arg)
    title = Box((Text(ui.arg, 56, "text", "medium"),), grow=1)
    actions: list[Box] = [icon_button("phone_outline", f"Call {ui.arg}", do(place_call, ui.arg), id="call")]
    if talk:
        actions.append(icon_button("dots_vertical", "More options", go("menu", talk.name), id="menu"))
    up = icon_button("arrow_left", "Back", do(Ui.back, 1), id="up")
    head = Box(
        (up, avatar(ui.arg, 96), title, *actions), row=True, gap=20, pad=(16, 8, 16, 8), height=156, fill="container"
    )
    blocks = _bubbles(ui, talk.messages) if talk else []
    if not blocks:
        face = Box((avatar(ui.arg, 240),), align="center", pad=(0, 200, 0, 32))
        blocks = [
            face,
            Box((Text(f"Say hello to {ui.arg}", 48, "text2", align="center", lines=2),), pad=(EDGE, 0, EDGE, 0)),
        ]
    return View(bar=head, body=tuple(blocks), bottom=_compose_bar(ui), starts_at_end=True)


def send(ui: Ui) -> None:
    """What is typed becomes a bubble; a conversation that did not exist begins."""
    text = ui.typed("message").strip()
    if not text:
        return
    if ui.settings.airplane:
        ui.toast("Not sent: airplane mode is on")
        return
    state = ui.get(MessagesState)
    talk = state.named(ui.arg)
    if talk is None:
        talk = Conversation(ui.arg)
        state.conversations.append(talk)
    talk.messages.append(Message(text, True, ui.now_s))
    talk.archived = False
    ui.fill("message", "")
    ui.page.scroll = 0


def new(ui: Ui) -> View:
    """To whom: a contact, or a number."""
    query = ui.typed("query").strip()
    found = ui.get(ContactsState).found(query)
    field = query_field(ui, "Type a name or number", icon="account_plus_outline", submit=do(_start))
    rows = [
        row(p.name, p.phone, lead=avatar(p.name), tap=do(_start_with, p.name), id=f"person:{p.name}") for p in found
    ]
    if query and len(digits(query)) >= 3:
        lead = avatar("#")
        rows.insert(0, row(f"Send to {query}", "New number", lead=lead, tap=do(_start_with, query), id="send_to"))
    return View(
        bar=bar("New conversation"),
        body=(Box((field,), pad=(40, 16, 40, 20)), *(rows or [empty("account_search", "Nobody found")])),
    )


def _start_with(ui: Ui, name: str) -> None:
    person = ui.get(ContactsState).numbered(name)
    ui.back()
    open_chat(ui, person.name if person else name)


def _start(ui: Ui) -> None:
    query = ui.typed("query").strip()
    found = ui.get(ContactsState).found(query)
    if not query:
        return
    if found:
        _start_with(ui, found[0].name)
    elif digits(query):
        _start_with(ui, query)
    else:
        ui.toast("Nobody found")


def menu(ui: Ui) -> View:
    """What can be done with a conversation."""
    talk = ui.get(MessagesState).named(ui.arg) or Conversation(ui.arg)
    choices = (
        ("pin_outline", "Unpin" if talk.pinned else "Pin", "pin"),
        ("archive_arrow_down_outline", "Unarchive" if talk.archived else "Archive", "archive"),
        ("email_mark_as_unread", "Mark as unread", "unread"),
        ("delete_outline", "Delete", "delete"),
    )
    rows = tuple(row(words, lead=Icon(icon), tap=do(apply, what), id=what) for icon, words, what in choices)
    return dialog(ui.arg, "", button("Cancel", do(Ui.back, 1), style="text", id="cancel"), content=rows)


def apply(ui: Ui, what: str) -> None:
    """Do what was chosen, and leave the conversation unless it stays in sight."""
    talk = ui.get(MessagesState).named(ui.arg)
    if talk is None or what == "delete":
        ui.replace("delete", ui.arg)
        return
    if what == "pin":
        talk.pinned = not talk.pinned
        ui.toast("Pinned" if talk.pinned else "Unpinned")
    elif what == "archive":
        talk.archived = not talk.archived
        ui.toast("Conversation archived" if talk.archived else "Conversation unarchived")
    else:
        talk.unread = 1
        ui.toast("Marked as unread")
    _leave(ui, also_chat=what != "pin")


def _leave(ui: Ui, *, also_chat: bool) -> None:
    ui.back()
    top = ui.phone.top()
    if also_chat and top.name == "chat" and top.arg == ui.arg:
        ui.back()


def delete(ui: Ui) -> View:
    """Asks before a conversation is gone."""
    return dialog(
        "Delete conversation?",
        f"All messages with {ui.arg} will be deleted from this phone.",
        button("Cancel", do(Ui.back, 1), style="text", id="cancel"),
        button("Delete", do(delete_now), style="text", id="confirm"),
        icon="delete_outline",
    )


def delete_now(ui: Ui) -> None:
    """Gone."""
    state = ui.get(MessagesState)
    talk = state.named(ui.arg)
    state.conversations = [c for c in state.conversations if c is not talk]
    _leave(ui, also_chat=True)
    ui.toast("Conversation deleted")


APP = App(
    id="messages",
    name="Messages",
    icon="message_text",
    color="#1A73E8",
    fresh=fresh,
    pages={"home": home, "archived": archived, "chat": chat, "new": new, "menu": menu, "delete": delete},
    asks_for="contacts",
)
ORDER = 2

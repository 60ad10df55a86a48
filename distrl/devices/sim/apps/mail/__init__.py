"""Mail: an inbox with unread and starred letters, folders, search, a page to read, and pages to write."""

import msgspec

from distrl.devices.sim.app import App, Ui, do, go
from distrl.devices.sim.apps.mail.compose import compose
from distrl.devices.sim.apps.mail.state import FOLDERS, ME, Mail, MailState, fresh
from distrl.devices.sim.apps.people_parts import clock, day_name, search_field, when
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import EDGE, avatar, bar, button, empty, icon_button


def _star(mail: Mail, *, id: str) -> Box:
    return icon_button(
        "star" if mail.starred else "star_outline",
        ("Unstar mail from " if mail.starred else "Star mail from ") + (mail.sender or "me"),
        do(flip_star, mail.key),
        id=id,
        color="star" if mail.starred else "text2",
        size=66,
    )


def _mail_row(ui: Ui, mail: Mail) -> Box:
    weight = "bold" if mail.unread else "regular"
    color = "text" if mail.unread else "text2"
    words = Box(
        (
            Text(mail.who, 50, weight=weight),
            Text(mail.subject or "(no subject)", 46, "text", weight),
            Text(mail.body.replace("\n", " "), 44, "text2"),
        ),
        gap=2,
        grow=1,
    )
    stamp = Text(when(ui.now_s, mail.time_s), 42, color, weight, "right")
    side = Box((stamp, _star(mail, id=f"star:{mail.subject}")), gap=6, align="end")
    return Box(
        (avatar(mail.sender or mail.to or "?", 112), words, side),
        row=True,
        gap=32,
        pad=(EDGE, 22, 28, 22),
        tap=do(open_mail, mail.key),
        kind="row",
        id=f"mail:{mail.subject}",
    )


def open_mail(ui: Ui, key: str) -> None:
    """Read a letter, or go on with a draft."""
    mail = ui.get(MailState).keyed(key)
    if mail and mail.folder == "Drafts":
        ui.go("draft", key)
    elif mail:
        mail.unread = False
        ui.go("read", key)


def flip_star(ui: Ui, key: str) -> None:
    """Star or no star."""
    mail = ui.get(MailState).keyed(key)
    if mail:
        mail.starred = not mail.starred


def _folder_view(ui: Ui, folder: str) -> View:
    found = ui.get(MailState).found(folder, ui.typed("query"))
    rows = tuple(_mail_row(ui, mail) for mail in found)
    moved = ui.has("new_layout")
    lead = icon_button("menu", "Folders", go("folders"), id="folders")
    write = icon_button("pencil_outline", "Compose", go("compose"), id="compose")
    title = Box(
        (Text("Search results" if ui.typed("query") else folder, 44, "text2", "medium"),), pad=(EDGE, 8, EDGE, 8)
    )
    pen = Box(
        (Icon("pencil_outline", 76, "on_tonal"), Text("Compose", 48, "on_tonal", "medium")),
        row=True,
        gap=24,
        pad=(32, 0, 32, 0),
        width=430,
        height=160,
        radius=48,
        fill="tonal",
        justify="center",
        tap=go("compose"),
        id="compose",
        label="Compose",
    )
    return View(
        bar=search_field(ui, "Search in mail", *((write,) if moved else (avatar("Me", 96), Box(width=12))), lead=lead),
        body=(title, *(rows or (empty("email_outline", "Nothing here"),))),
        fab=None if moved else pen,
    )


def home(ui: Ui) -> View:
    """The inbox."""
    return _folder_view(ui, "Inbox")


def folder(ui: Ui) -> View:
    """Another folder."""
    return _folder_view(ui, ui.arg)


def folders(ui: Ui) -> View:
    """The drawer with all folders."""
    state = ui.get(MailState)
    me = Box((Text("Me", 54, weight="medium"), Text(ME, 44, "text2")), gap=4, grow=1)
    rows = []
    for name, icon in FOLDERS.items():
        unread = state.num_unread(name)
        count: tuple[Node, ...] = (Text(str(unread), 46, "on_tonal", "medium"),) if unread else ()
        inner = Box(
            (Icon(icon, 72, "text"), Box((Text(name, 50, weight="medium"),), grow=1), *count),
            row=True,
            gap=40,
            pad=(48, 0, 48, 0),
            height=136,
            radius=68,
            fill="tonal" if name == "Inbox" else "",
            tap=do(show_folder, name),
            kind="row",
            id=f"folder:{name}",
            label=name,
        )
        rows.append(Box((inner,), pad=(28, 6, 28, 6)))
    account = Box((avatar("Me", 132), me), row=True, gap=36, pad=(EDGE, 24, EDGE, 36))
    return View(bar=bar("Mail"), body=(account, *rows))


def show_folder(ui: Ui, name: str) -> None:
    """From the drawer to a folder; the inbox is always below."""
    stack = ui.phone.stack()
    ui.back(len(stack) - 1)
    if name != "Inbox":
        ui.go("folder", name)


def read(ui: Ui) -> View:
    """One letter."""
    mail = ui.get(MailState).keyed(ui.arg)
    if mail is None:
        return View(bar=bar("Mail"), body=(empty("email_outline", "This mail is gone"),))
    actions = [
        _action("Move to inbox", "inbox_arrow_down_outline", "Inbox", "restore")
        if mail.folder in ("Archive", "Trash")
        else _action("Archive", "archive_arrow_down_outline", "Archive", "archive"),
        icon_button("delete_outline", "Delete", do(delete_mail), id="delete"),
        icon_button("email_mark_as_unread", "Mark as unread", do(mark_unread), id="unread"),
    ]
    if ui.has("new_layout"):
        actions.reverse()
    subject = Box((Text(mail.subject or "(no subject)", 64, lines=3),), grow=1)
    stamp = f"{day_name(ui.now_s, mail.time_s)} {clock(mail.time_s)}"
    whom = Text(f"to {'me' if mail.sender else mail.to}", 44, "text2")
    names = Box((Text(mail.sender or "Me", 50, weight="medium"), whom), gap=2, grow=1)
    sender = (avatar(mail.sender or "Me", 112), names, Text(stamp, 42, "text2"))
    answer = Box(
        (_wide_button("reply", "Reply"), _wide_button("forward", "Forward")),
        row=True,
        gap=28,
        pad=(EDGE, 24, EDGE, 28),
        fill="bg",
    )
    return View(
        bar=bar("", *actions),
        body=(
            Box((subject, _star(mail, id="star")), row=True, gap=20, pad=(EDGE, 8, 28, 24)),
            Box(sender, row=True, gap=32, pad=(EDGE, 8, EDGE, 32)),
            Box((Text(mail.body, 50, lines=40),), pad=(EDGE, 16, EDGE, 48)),
        ),
        bottom=answer,
    )


def _action(words: str, icon: str, folder: str, id: str) -> Box:
    return icon_button(icon, words, do(move, folder), id=id)


def _wide_button(name: str, words: str) -> Box:
    icon = "reply" if name == "reply" else "share"
    made = button(words, do(_write, name), style="outlined", icon=icon, id=name)
    return msgspec.structs.replace(made, grow=1)


def _write(ui: Ui, name: str) -> None:
    ui.go(name, ui.arg)


def move(ui: Ui, folder: str) -> None:
    """Put a letter elsewhere."""
    mail = ui.get(MailState).keyed(ui.arg)
    if mail:
        mail.folder = folder
        ui.toast({"Archive": "Archived", "Trash": "Moved to trash"}.get(folder, "Moved to inbox"))
    ui.back()


def delete_mail(ui: Ui) -> None:
    """To the trash; from there, gone."""
    state = ui.get(MailState)
    mail = state.keyed(ui.arg)
    if mail and mail.folder == "Trash":
        state.mails = [m for m in state.mails if m is not mail]
        ui.back()
        ui.toast("Deleted forever")
    else:
        move(ui, "Trash")


def mark_unread(ui: Ui) -> None:
    """As if it had not been read."""
    mail = ui.get(MailState).keyed(ui.arg)
    if mail:
        mail.unread = True
    ui.back()
    ui.toast("Marked as unread")


APP = App(
    id="mail",
    name="Mail",
    icon="email",
    color="#E94235",
    fresh=fresh,
    pages={
        "home": home,
        "folder": folder,
        "folders": folders,
        "read": read,
        "compose": compose,
        "reply": compose,
        "forward": compose,
        "draft": compose,
    },
)
ORDER = 4

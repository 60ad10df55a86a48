"""Writing a letter: new, as a reply, forwarded, or from a draft."""

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.mail.state import Mail, MailState
from distrl.devices.sim.apps.people import Contact, ContactsState
from distrl.devices.sim.nodes import Box, Text, View
from distrl.devices.sim.widgets import EDGE, avatar, icon_button, row

_TITLES = {"compose": "Compose", "reply": "Reply", "forward": "Forward", "draft": "Draft"}


def _prepare(ui: Ui) -> None:
    """Fill the fields when the page is first shown."""
    mail = ui.get(MailState).keyed(ui.arg)
    ui.fill("to", "")
    ui.fill("subject", "")
    ui.fill("body", "")
    if ui.page.name == "compose":
        person = ui.get(ContactsState).named(ui.arg)
        ui.fill("to", person.mail if person else ui.arg)
    elif mail and ui.page.name == "reply":
        ui.fill("to", mail.address or mail.to)
        ui.fill("subject", _prefixed("Re", mail.subject))
    elif mail and ui.page.name == "forward":
        ui.fill("subject", _prefixed("Fwd", mail.subject))
        ui.fill("body", mail.body)
    elif mail:
        ui.fill("to", mail.to)
        ui.fill("subject", mail.subject)
        ui.fill("body", mail.body)


def _prefixed(prefix: str, subject: str) -> str:
    return subject if subject.startswith(f"{prefix}:") else f"{prefix}: {subject}"


def _labelled(ui: Ui, label: str, name: str, hint: str) -> Box:
    field = ui.field(name, hint)
    return Box((Box((Text(label, 46, "text2"),), width=200), Box((field,), grow=1)), row=True, pad=(EDGE, 10, 36, 10))


def _matches(ui: Ui) -> list[Contact]:
    typed = ui.typed("to").strip()
    if ui.phone.system.focus != "to" or not typed or "@" in typed:
        return []
    return [p for p in ui.get(ContactsState).found(typed) if p.mail][:3]


def compose(ui: Ui) -> View:
    """To, subject and text. While a name is typed, contacts that match are offered."""
    if "to" not in ui.page.fields:
        _prepare(ui)
    close = icon_button("close", "Close and save draft", do(keep_draft), id="close")
    title = Box((Text(_TITLES[ui.page.name], 60, "text", "medium"),), grow=1)
    bin_ = icon_button("delete_outline", "Discard", do(discard), id="discard")
    send_it = icon_button("send", "Send", do(send), id="send", color="primary")
    head = Box((close, title, bin_, send_it), row=True, gap=16, pad=(16, 8, 16, 8), height=156, fill="bg")
    offers = tuple(
        row(p.name, p.mail, lead=avatar(p.name, 96), tap=do(choose_person, p.mail), id=f"person:{p.name}")
        for p in _matches(ui)
    )
    fields = (_labelled(ui, "Subject", "subject", "Subject"),)
    body = Box((ui.field("body", "Write your mail", lines=14),), pad=(36, 20, 36, 20))
    return View(bar=head, body=(_labelled(ui, "To", "to", "Name or address"), *offers, *fields, body))


def choose_person(ui: Ui, address: str) -> None:
    """Take an offered contact."""
    ui.fill("to", address)
    ui.blur()


def _address(ui: Ui) -> str:
    typed = ui.typed("to").strip()
    person = ui.get(ContactsState).named(typed)
    return person.mail if person and person.mail else typed


def _forget_draft(ui: Ui) -> None:
    state = ui.get(MailState)
    mail = state.keyed(ui.arg)
    if ui.page.name == "draft":
        state.mails = [m for m in state.mails if m is not mail]


def _letter(ui: Ui, folder: str) -> Mail:
    subject = ui.typed("subject").strip()
    return Mail(subject, ui.typed("body").strip(), to=_address(ui), folder=folder, time_s=ui.now_s)


def send(ui: Ui) -> None:
    """To the recipient, and into Sent."""
    address = _address(ui)
    if "@" not in address or " " in address:
        ui.toast("Add a recipient: a contact or a mail address")
    elif ui.settings.airplane or not (ui.settings.wifi or ui.settings.mobile_data):
        ui.toast("No connection. Your mail was not sent")
    else:
        _forget_draft(ui)
        ui.get(MailState).mails.append(_letter(ui, "Sent"))
        ui.back()
        ui.toast("Mail sent")


def keep_draft(ui: Ui) -> None:
    """Leave; what was written goes to Drafts."""
    if ui.typed("subject").strip() or ui.typed("body").strip():
        _forget_draft(ui)
        ui.get(MailState).mails.append(_letter(ui, "Drafts"))
        ui.toast("Saved to drafts")
    ui.back()


def discard(ui: Ui) -> None:
    """Leave, and forget it."""
    _forget_draft(ui)
    ui.back()
    ui.toast("Discarded")

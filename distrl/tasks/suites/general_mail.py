"""General tasks about mail: write, answer, forward, star, archive, delete and find again."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, Rule, field, if_seen, on, plan, stage, tap
from distrl.tasks.suites.general_people import NOBODY, NOW_S, REPLIES, SHOW_ALL, card, draw_name, mail_of, other_names
from distrl.tasks.suites.strict import Only, alike
from distrl.tasks.template import Draw, Inspect, Params, Template, pool, same
from distrl.tasks.words import PHRASES

SUBJECTS = pool(
    *"Summer party|Train tickets|Rent for May|Piano lessons|Garden fence|Flat hunting|Bike repair|Book club|"
    "Team dinner|School trip|Old photos|Concert seats|Boat licence|Cooking class|Holiday plans|New address|"
    "Football match|Window cleaning|Museum visit|Wedding gift|Phone contract|Winter tyres|Yoga course|Cat food|"
    "Spare keys|Choir practice|Moving day|Chess club|Language test|Beach house".split("|")
)
TEXTS = (
    "Hello, I wanted to ask what you think about it. Write me when you have time.",
    "Good morning, please have a look and tell me by Friday.",
    "Hi! It is all arranged, there is nothing left to do.",
    "Dear friend, I send you the details as promised.",
    "Hey, did you hear about it already? I was quite surprised.",
)


MAILS = Only("mail", "mails", "subject", grows=True)
ALL_MAILS = Only("mail", "mails", "subject", whole=True, grows=True)
"""What was there stays as it was; what was sent is checked by `_sent`."""


def text_of(subject: str) -> str:
    """What the mail with this subject says."""
    return TEXTS[sum(map(ord, subject)) % len(TEXTS)]


def _letter(sender: str, subject: str, *, age: int, folder: str = "Inbox") -> Plain:
    return {
        "subject": subject,
        "body": text_of(subject),
        "sender": sender,
        "address": mail_of(sender),
        "to": "me@postbox.example",
        "folder": folder,
        "time_s": NOW_S - 2_400.0 - 40_000 * age,
        "unread": age < 2,
        "starred": False,
    }


def _letters(p: Params, rng: Random, *, folder: str = "Inbox") -> Plain:
    """The mail in question among five others, one of them elsewhere; everybody is in the contacts."""
    senders = [p["name"], *other_names(rng, 5, p["name"], p.get("to", ""))]
    subjects = [p["subject"], *rng.sample([s for s in SUBJECTS.seen if s != p["subject"]], 5)]
    ages = rng.sample(range(6), 6)
    folders = [folder, *["Inbox"] * 4, "Archive"]
    mails = [
        _letter(sender, subject, age=age, folder=where)
        for sender, subject, age, where in zip(senders, subjects, ages, folders, strict=True)
    ]
    people = [card(name) for name in senders] + ([card(p["to"])] if "to" in p else [])
    return {"contacts": {"people": people}, "mail": {"mails": mails}}


def _key(p: Params) -> str:
    return f"{p['name']}: {p['subject']}"


def _mail(p: Params, inspect: Inspect) -> Plain | None:
    return next((m for m in inspect("mail")["mails"] if m["sender"] == p["name"]), None)


def _is_in(p: Params, inspect: Inspect, folder: str) -> bool:
    """The mail is in this folder, not starred, and nothing was sent."""
    mail = _mail(p, inspect)
    is_there = mail is not None and mail["folder"] == folder and not mail["starred"]
    return (is_there or (mail is None and folder == "Trash")) and not _outgoing(inspect)


def _outgoing(inspect: Inspect) -> list[Plain]:
    return [m for m in inspect("mail")["mails"] if m["folder"] == "Sent"]


def _sent(inspect: Inspect, *, to: str, subject: str, body: str = "") -> bool:
    """One mail was sent, to this address and with just this text."""
    sent = _outgoing(inspect)
    if len(sent) != 1 or not same(sent[0]["to"], to):
        return False
    return alike(sent[0]["subject"], subject) and alike(sent[0]["body"], body)


def _sent_draft(p: Params, inspect: Inspect) -> bool:
    """The draft was sent as it was, and is no draft any more."""
    drafts = [m for m in inspect("mail")["mails"] if m["folder"] == "Drafts" and same(m["subject"], p["subject"])]
    body = text_of(p["subject"])
    return not drafts and _sent(inspect, to=mail_of(p["name"]), subject=p["subject"], body=body)


def _draw_letter(d: Draw) -> Params:
    return {"name": draw_name(d), "subject": d.pick(SUBJECTS)}


def _draw_forward(d: Draw) -> Params:
    name, to = draw_name(d), draw_name(d)
    while to.split()[0] == name.split()[0]:
        to = draw_name(d)
    return {"name": name, "subject": d.pick(SUBJECTS), "to": to}


def _in_inbox(p: Params) -> Rule:
    return on("mail/home", SHOW_ALL, tap(id=f"mail:{p['subject']}"))


def _on_mail(p: Params, button: str) -> Plan:
    """Open the mail, touch a button."""
    return plan("Mail", on(f"mail/read/{_key(p)}", tap(id=button)), _in_inbox(p))


def _in_folder(p: Params, folder: str, *rules: Rule) -> Plan:
    """Find the mail in a folder."""
    return plan(
        "Mail",
        *rules,
        on(f"mail/folder/{folder}", SHOW_ALL, tap(id=f"mail:{p['subject']}")),
        on("mail/folders", tap(id=f"folder:{folder}")),
        on("mail/home", tap(id="folders")),
    )


def _only_star(p: Params, inspect: Inspect) -> bool:
    mail, mails = _mail(p, inspect), inspect("mail")["mails"]
    is_only = [m["sender"] for m in mails if m["starred"]] == [p["name"]]
    return is_only and mail is not None and mail["folder"] == "Inbox" and not _outgoing(inspect)


def _star(p: Params) -> Plan:
    """Take stars off that are there by mistake, then set the one; the second stage leaves it alone."""
    stars = on("mail/home", SHOW_ALL, if_seen("Unstar mail from"), tap(f"Star mail from {p['name']}"))
    return (stage("Mail", stars, done=lambda inspect: _only_star(p, inspect)), stage("Mail", on("mail")))


def _with_recipient(p: Params, rng: Random) -> Plain:
    """Contacts and some mails of theirs; the one to write to has sent none."""
    others = other_names(rng, 6, p.get("name", ""))
    subjects = rng.sample([s for s in SUBJECTS.seen if s != p["subject"]], 4)
    mails = [_letter(sender, subject, age=k) for k, (sender, subject) in enumerate(zip(others, subjects, strict=False))]
    names = [*others, *([p["name"]] if "name" in p else [])]
    rng.shuffle(names)
    return {"contacts": {"people": [card(name) for name in names]}, "mail": {"mails": mails}}


def _with_draft(p: Params, rng: Random) -> Plain:
    world = _letters(p, rng)
    drafts = [
        {"subject": s, "body": text_of(s), "to": mail_of(n), "folder": "Drafts", "time_s": NOW_S - 90_000.0}
        for s, n in ((p["subject"], p["name"]), ("Shopping for Sunday", "Rosa Klein"))
    ]
    world["mail"]["mails"] = [m for m in world["mail"]["mails"] if m["sender"] != p["name"]] + drafts
    return world


def _compose(to: str, *, subject: str, body: str = "") -> Plan:
    fields = [field("to", to), field("subject", subject)] + ([field("body", body)] if body else [])
    return plan("Mail", on("mail/compose", *fields, tap(id="send")), on("mail/home", tap(id="compose")))


WRITING = (
    Template(
        name="send_mail",
        suite="general",
        difficulty=3,
        phrasings=(
            "Send a mail to {name} with the subject {subject} saying {text}",
            "Write an email to {name} with the subject {subject} and the text {text}",
            "Email {name} about {subject} and write {text}",
        ),
        draw=lambda d: {"name": draw_name(d), "subject": d.pick(SUBJECTS), "text": d.pick(PHRASES)},
        world=_with_recipient,
        keeps=(NOBODY, ALL_MAILS),
        check=lambda p, inspect: _sent(inspect, to=mail_of(p["name"]), subject=p["subject"], body=p["text"]),
        plan=lambda p: _compose(p["name"], subject=p["subject"], body=p["text"]),
    ),
    Template(
        name="send_mail_to_address",
        suite="general",
        difficulty=2,
        phrasings=(
            "Send an email to {address} with the subject {subject}",
            "Write a mail with the subject {subject} to {address}",
            "Mail {address} with nothing but the subject {subject}",
        ),
        draw=lambda d: {"address": mail_of(draw_name(d)), "subject": d.pick(SUBJECTS)},
        world=_with_recipient,
        keeps=(NOBODY, ALL_MAILS),
        check=lambda p, inspect: _sent(inspect, to=p["address"], subject=p["subject"]),
        plan=lambda p: _compose(p["address"], subject=p["subject"]),
    ),
    Template(
        name="reply_mail",
        suite="general",
        difficulty=2,
        phrasings=(
            "Reply to the mail from {name} with {text}",
            "Answer the email of {name}: {text}",
            "{name} sent me a mail, reply {text}",
        ),
        draw=lambda d: {**_draw_letter(d), "text": d.pick(REPLIES)},
        world=_letters,
        keeps=(NOBODY, ALL_MAILS),
        check=lambda p, inspect: _sent(inspect, to=mail_of(p["name"]), subject=f"Re: {p['subject']}", body=p["text"]),
        plan=lambda p: plan(
            "Mail",
            on(f"mail/reply/{_key(p)}", field("body", p["text"]), tap(id="send")),
            on(f"mail/read/{_key(p)}", tap(id="reply")),
            _in_inbox(p),
        ),
    ),
    Template(
        name="forward_mail",
        suite="general",
        difficulty=2,
        unseen=True,
        phrasings=(
            "Forward the mail from {name} to {to}",
            "Pass the email {subject} on to {to}",
            "{to} should see the mail {name} sent me, forward it",
        ),
        draw=_draw_forward,
        world=_letters,
        keeps=(NOBODY, ALL_MAILS),
        check=lambda p, inspect: _sent(
            inspect, to=mail_of(p["to"]), subject=f"Fwd: {p['subject']}", body=text_of(p["subject"])
        ),
        plan=lambda p: plan(
            "Mail",
            on(f"mail/forward/{_key(p)}", field("to", p["to"]), tap(id="send")),
            on(f"mail/read/{_key(p)}", tap(id="forward")),
            _in_inbox(p),
        ),
    ),
    Template(
        name="send_draft",
        suite="general",
        difficulty=2,
        phrasings=(
            "Send the draft {subject} that is waiting in Mail",
            "Finish and send my mail draft about {subject}",
            "There is an unsent email called {subject} in my drafts, send it",
        ),
        draw=_draw_letter,
        world=_with_draft,
        keeps=(NOBODY, MAILS),
        check=_sent_draft,
        plan=lambda p: _in_folder(p, "Drafts", on("mail/draft", tap(id="send"))),
    ),
)

SORTING = (
    Template(
        name="star_mail",
        suite="general",
        difficulty=1,
        phrasings=(
            "Star the mail from {name}",
            "Mark the email {subject} with a star",
            "Put a star on the mail {name} sent me",
        ),
        draw=_draw_letter,
        world=_letters,
        keeps=(NOBODY, MAILS),
        check=_only_star,
        plan=_star,
    ),
    Template(
        name="archive_mail",
        suite="general",
        difficulty=1,
        phrasings=(
            "Archive the mail from {name}",
            "Move the email {subject} to the archive",
            "Archive what {name} mailed me",
        ),
        draw=_draw_letter,
        world=_letters,
        keeps=(NOBODY, MAILS),
        check=lambda p, inspect: _is_in(p, inspect, "Archive"),
        plan=lambda p: _on_mail(p, "archive"),
    ),
    Template(
        name="delete_mail",
        suite="general",
        difficulty=1,
        phrasings=(
            "Delete the mail from {name}",
            "Throw away the email {subject}",
            "Delete the email that {name} sent",
        ),
        draw=_draw_letter,
        world=_letters,
        keeps=(NOBODY, MAILS),
        check=lambda p, inspect: _is_in(p, inspect, "Trash"),
        plan=lambda p: _on_mail(p, "delete"),
    ),
    Template(
        name="restore_mail",
        suite="general",
        difficulty=2,
        phrasings=(
            "I deleted the mail from {name} by mistake, move it back to the inbox",
            "Get the email {subject} back from the trash",
            "Restore the mail {name} sent me, it is in the trash",
        ),
        draw=_draw_letter,
        world=lambda p, rng: _letters(p, rng, folder="Trash"),
        keeps=(NOBODY, MAILS),
        check=lambda p, inspect: _is_in(p, inspect, "Inbox"),
        plan=lambda p: _in_folder(p, "Trash", on(f"mail/read/{_key(p)}", tap(id="restore"))),
    ),
)

TEMPLATES = (*WRITING, *SORTING)

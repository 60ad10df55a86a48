"""The state of the Mail app: letters in folders."""

from random import Random

import msgspec

from distrl.devices.sim.apps.people_parts import DAY_S

ME = "me@postbox.example"
FOLDERS = {
    "Inbox": "inbox",
    "Starred": "star_outline",
    "Sent": "send_outline",
    "Drafts": "file_outline",
    "Archive": "archive_outline",
    "Trash": "delete_outline",
}


class Mail(msgspec.Struct):
    """A letter. `folder` is Inbox, Sent, Drafts, Archive or Trash; what I wrote myself has no `sender`."""

    subject: str
    body: str
    sender: str = ""
    address: str = ""
    to: str = ""
    folder: str = "Inbox"
    time_s: float = 0.0
    unread: bool = False
    starred: bool = False

    @property
    def who(self) -> str:
        """Whom a list names: the sender, or the recipient of what I wrote."""
        return self.sender or f"To: {self.to.partition('@')[0] or 'nobody'}"

    @property
    def key(self) -> str:
        """What its page is opened with."""
        return f"{self.who}: {self.subject}"


class MailState(msgspec.Struct):
    """All letters, in no particular order."""

    mails: list[Mail] = []

    def keyed(self, key: str) -> Mail | None:
        """The letter that a page shows: the newest, if several have the same name."""
        hits = [m for m in self.mails if m.key == key]
        return max(hits, key=lambda m: m.time_s, default=None)

    def found(self, folder: str, query: str) -> list[Mail]:
        """Those of a folder that match, the newest first. A search looks everywhere but in the trash."""
        wanted = query.strip().casefold()
        hits = [
            m
            for m in self.mails
            if (m.folder != "Trash" if wanted or folder == "Starred" else m.folder == folder)
            and (m.starred or folder != "Starred")
            and wanted in f"{m.who} {m.subject} {m.body}".casefold()
        ]
        return sorted(hits, key=lambda m: -m.time_s)

    def num_unread(self, folder: str) -> int:
        """How many of a folder are not read yet."""
        return sum(m.unread for m in self.mails if m.folder == folder)


_LETTERS = (
    ("Ana Lopes", "Climbing on Thursday", "Hi!\nThe hall opens at seven on Thursday. Shall I book two places?\n\nAna"),
    ("Ben Carter", "Photos from the lake", "Hello,\nI finally sorted the photos. The one with the heron is the best."),
    (
        "Chloe Martin",
        "Recipe as promised",
        "Two onions, a glass of broth, one hour on a low flame. Tell me how it went!",
    ),
    (
        "Emma Novak",
        "Second chapter",
        "Dear reader,\nattached is the second chapter. Be honest, it can take it.\n\nEmma",
    ),
    ("Nina Rossi", "Concert on Saturday", "We play at nine. You are on the list, plus one."),
    (
        "Dr. Weber",
        "Your appointment",
        "Dear patient,\nyour appointment is on Wednesday at 10:15. Please bring your card.",
    ),
    ("Tom Becker", "The drill", "I put it back into the shed. The short bit is missing, I will buy a new one."),
    ("Harbor Bank", "Your statement is ready", "Your statement for October is ready. Sign in to read it."),
    ("Northwind Rail", "Your ticket to Porto", "Coach 7, seat 42, by the window. We wish you a pleasant journey."),
    ("Green Grocer", "Your order is on its way", "Your vegetables left the farm this morning and arrive before six."),
    ("City Library", "Two books are due", "Please return or renew your books by the end of the week."),
    (
        "Daily Lantern",
        "Five stories for your morning",
        "A lighthouse for sale, a bakery that never sleeps, and three more.",
    ),
    ("Landlord Office", "Heating check next week", "A technician will check the heating on Tuesday between 8 and 12."),
)


def fresh(rng: Random) -> MailState:
    """An inbox of the last days, and something in the other folders."""
    picked = rng.sample(_LETTERS, 10)
    mails = []
    for age, (sender, subject, body) in enumerate(picked):
        time_s = 33_600.0 - age * 4_800 if age < 3 else rng.randint(28_000, 76_000) - DAY_S * (age - 2)
        address = sender.lower().replace(". ", ".").replace(" ", ".") + "@postbox.example"
        folder = "Inbox" if age < 8 else "Archive" if age == 8 else "Trash"
        mails.append(Mail(subject, body, sender, address, ME, folder, time_s, age in (0, 1, 4), age == 3))
    to = "ben.carter@postbox.example"
    mails.append(Mail("Parcel", "It is behind the green door. Thank you!", to=to, folder="Sent", time_s=-20_000.0))
    mails.append(Mail("Packing list", "Rope, chalk, tape", to="", folder="Drafts", time_s=-90_000.0))
    return MailState(mails=mails)

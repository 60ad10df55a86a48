"""The state of the Messages app: conversations and what was said in them."""

from random import Random

import msgspec

from distrl.devices.sim.apps.people_parts import DAY_S


class Message(msgspec.Struct):
    """One bubble."""

    text: str
    mine: bool
    time_s: float = 0.0


class Conversation(msgspec.Struct):
    """Everything said with one person or number, the oldest first."""

    name: str
    messages: list[Message] = []
    unread: int = 0
    archived: bool = False
    pinned: bool = False

    @property
    def time_s(self) -> float:
        """When something was said last."""
        return self.messages[-1].time_s if self.messages else 0.0


class MessagesState(msgspec.Struct):
    """All conversations, in no particular order."""

    conversations: list[Conversation] = []

    def named(self, name: str) -> Conversation | None:
        """The conversation with this person or number."""
        wanted = name.strip().casefold()
        return next((c for c in self.conversations if c.name.casefold() == wanted), None)

    def found(self, query: str, *, archived: bool) -> list[Conversation]:
        """Those that match a search: pinned first, then the newest."""
        wanted = query.strip().casefold()
        hits = [
            c
            for c in self.conversations
            if c.archived == archived
            and (wanted in c.name.casefold() or any(wanted in m.text.casefold() for m in c.messages))
        ]
        return sorted(hits, key=lambda c: (not c.pinned, -c.time_s))


_THREADS: dict[str, tuple[str, ...]] = {
    "Ana Lopes": (
        "<Are we still on for the climbing hall tonight?",
        ">Yes! I'll bring the rope this time",
        "<Perfect. Seven at the entrance?",
        ">Seven works, see you there",
        "<I booked the wall next to the window",
    ),
    "Ben Carter": (
        ">Did the parcel arrive?",
        "<It did, it's behind the green door",
        ">You saved my day, thank you",
        "<Any time",
    ),
    "Chloe Martin": (
        "<The photos from the lake are so good",
        ">Send me the one with the boat please",
        "<Will do when I'm home",
        "<Done, check your mail",
    ),
    "Emma Novak": (
        "<Could you look at the second chapter before Friday?",
        ">Sure, I'm on the train and have three hours",
        "<You are the best",
    ),
    "Mum": (
        "<Have you eaten?",
        ">Yes, soup and bread",
        "<Good. Your father found your old kite in the attic",
        ">The red one? Keep it, I'll come on Sunday",
        "<We will make pancakes",
    ),
    "Nina Rossi": ("<The band plays at nine on Saturday", ">Count me in", "<Great, I'll put you on the list"),
    "Tom Becker": (">Can I borrow your drill?", "<It's in the shed, take it", "<Mind the cable, it's short"),
    "Harbor Bank": ("<Your code is 482913. It is valid for ten minutes. Never share it with anybody.",),
    "Corner Pharmacy": ("<Your prescription is ready to be picked up. We are open until 18:30.",),
    "555-204-7719": ("<Your parcel will arrive today between 14:00 and 16:00.",),
}


def fresh(rng: Random) -> MessagesState:
    """Some conversations of the last days, two of them not yet read."""
    names = rng.sample(sorted(_THREADS), 8)
    conversations = []
    for age, name in enumerate(names):
        end_s = 34_000.0 - rng.randint(0, 7_000) if age < 2 else rng.randint(30_000, 75_000) - DAY_S * (age // 2)
        lines = _THREADS[name]
        messages = [
            Message(line[1:], line[0] == ">", end_s - 140.0 * (len(lines) - 1 - k)) for k, line in enumerate(lines)
        ]
        unread = 1 if age < 2 and not messages[-1].mine else 0
        conversations.append(Conversation(name, messages, unread=unread))
    return MessagesState(conversations=conversations)

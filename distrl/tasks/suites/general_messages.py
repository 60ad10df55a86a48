"""General tasks about text messages: write, answer, archive and delete."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, Rule, enter, field, if_seen, on, plan, tap
from distrl.tasks.suites.general_people import NOBODY, NOW_S, REPLIES, SHOW_ALL, card, draw_name, other_names
from distrl.tasks.suites.strict import Only, alike, same_number
from distrl.tasks.template import Inspect, Params, Template, same
from distrl.tasks.words import PHRASES

OPENERS = (
    "Are you coming tonight?",
    "Did you see the news?",
    "I have a question about Saturday",
    "Where shall we meet?",
    "Have you got a minute?",
    "The plan has changed a little",
    "Shall I buy the tickets?",
)


def _talk(name: str, rng: Random, *, ago_s: float, unread: int = 0) -> Plain:
    """A short conversation; the last word is theirs."""
    first, last = rng.sample(OPENERS, 2)
    at = NOW_S - ago_s
    lines = [(first, False, at - 400), ("Tell me more", True, at - 200), (last, False, at)]
    messages = [{"text": text, "mine": mine, "time_s": time_s} for text, mine, time_s in lines]
    return {"name": name, "messages": messages, "unread": unread, "archived": False, "pinned": False}


def _with_talks(p: Params, rng: Random, *, newest: bool = False) -> Plain:
    """A conversation with the person in question among others."""
    others = other_names(rng, 5, p["name"])
    names = rng.sample([p["name"], *others], 6)
    if newest:
        names.sort(key=lambda n: n != p["name"])
    talks = [_talk(n, rng, ago_s=1500.0 + 43_200 * k, unread=int(k == 0)) for k, n in enumerate(names)]
    cards = [card(n) for n in names]
    rng.shuffle(talks)
    return {"contacts": {"people": cards}, "messages": {"conversations": talks}}


def _without_talk(p: Params, rng: Random) -> Plain:
    """Somebody one has not written to yet."""
    others = other_names(rng, 8, *([p["name"]] if "name" in p else []))
    cards = [card(n) for n in others] + ([card(p["name"])] if "name" in p else [])
    rng.shuffle(cards)
    talks = [_talk(n, rng, ago_s=1500.0 + 43_200 * k) for k, n in enumerate(others[:4])]
    return {"contacts": {"people": cards}, "messages": {"conversations": talks}}


TALKS = Only("messages", "conversations", "name")
OLD_LINES = 3
"""How many lines a conversation has when a task starts."""


def _conversation(inspect: Inspect, name: str) -> Plain | None:
    return next((c for c in inspect("messages")["conversations"] if same(c["name"], name)), None)


def _is_said(talk: Plain, text: str, *, after: int) -> bool:
    """After so many lines one line was sent: this text."""
    lines = talk["messages"]
    is_open = not talk["archived"] and not talk["pinned"]
    return is_open and len(lines) == after + 1 and bool(lines[-1]["mine"]) and alike(lines[-1]["text"], text)


def _said(p: Params, inspect: Inspect) -> bool:
    """A conversation with this person began with this text."""
    talk = _conversation(inspect, p["name"])
    return talk is not None and _is_said(talk, p["text"], after=0)


def _replied(p: Params, inspect: Inspect) -> bool:
    """The conversation with this person went on with this text."""
    talk = _conversation(inspect, p["name"])
    return talk is not None and _is_said(talk, p["text"], after=OLD_LINES)


def _said_to_number(p: Params, inspect: Inspect) -> bool:
    """One conversation with this number, however it is written, has this text."""
    talks = [c for c in inspect("messages")["conversations"] if same_number(c["name"], p["number"])]
    return len(talks) == 1 and _is_said(talks[0], p["text"], after=0)


def _write(name: str, text: str) -> Rule:
    return on(f"messages/chat/{name}", field("message", text), tap(id="send"))


def _reply(p: Params) -> Plan:
    return plan("Messages", _write(p["name"], p["text"]), on("messages/home", SHOW_ALL, tap(id=f"chat:{p['name']}")))


def _through_menu(p: Params, *rules: Rule) -> Plan:
    return plan(
        "Messages",
        *rules,
        on(f"messages/chat/{p['name']}", tap(id="menu")),
        on("messages/home", SHOW_ALL, tap(id=f"chat:{p['name']}")),
    )


def _archived(p: Params, inspect: Inspect) -> bool:
    talk = _conversation(inspect, p["name"])
    return bool(talk and talk["archived"] and not talk["pinned"] and len(talk["messages"]) == OLD_LINES)


TEMPLATES = (
    Template(
        name="send_text",
        suite="general",
        difficulty=2,
        phrasings=(
            "Send {name} a text message saying {text}",
            "Text {name} the words {text}",
            "Write to {name} in Messages: {text}",
            "Start a conversation with {name} and send: {text}",
        ),
        draw=lambda d: {"name": draw_name(d), "text": d.pick(PHRASES)},
        world=_without_talk,
        keeps=(NOBODY, TALKS),
        check=_said,
        plan=lambda p: plan(
            "Messages",
            _write(p["name"], p["text"]),
            on("messages/new", SHOW_ALL, tap(id=f"person:{p['name']}")),
            on("messages/home", tap(id="new")),
        ),
    ),
    Template(
        name="text_number",
        suite="general",
        difficulty=3,
        phrasings=(
            "Send a text message to the number {number} saying {text}",
            "Text {text} to {number}",
            "Write a message to {number} with the words {text}",
        ),
        draw=lambda d: {"number": d.phone_number(), "text": d.pick(PHRASES)},
        world=_without_talk,
        keeps=(NOBODY, TALKS),
        check=_said_to_number,
        plan=lambda p: plan(
            "Messages",
            _write(p["number"], p["text"]),
            on("messages/new", enter("query", p["number"])),
            on("messages/home", tap(id="new")),
        ),
    ),
    Template(
        name="reply_text",
        suite="general",
        difficulty=2,
        phrasings=(
            "Reply to the last message of {name} with {text}",
            "Answer {name} in Messages: {text}",
            "{name} texted me, reply {text}",
        ),
        draw=lambda d: {"name": draw_name(d), "text": d.pick(REPLIES)},
        world=_with_talks,
        keeps=(NOBODY, TALKS),
        check=_replied,
        plan=_reply,
    ),
    Template(
        name="reply_newest_text",
        suite="general",
        difficulty=2,
        unseen=True,
        phrasings=(
            "Reply to my newest text message with {text}",
            "Answer the unread text message: {text}",
            "Somebody just texted me, write back {text}",
        ),
        draw=lambda d: {"name": draw_name(d), "text": d.pick(REPLIES)},
        world=lambda p, rng: _with_talks(p, rng, newest=True),
        keeps=(NOBODY, TALKS),
        check=_replied,
        plan=_reply,
    ),
    Template(
        name="delete_conversation",
        suite="general",
        difficulty=2,
        phrasings=(
            "Delete my conversation with {name}",
            "Delete all text messages from {name}",
            "Remove the chat with {name} from Messages",
        ),
        draw=lambda d: {"name": draw_name(d)},
        world=_with_talks,
        keeps=(NOBODY, TALKS),
        check=lambda p, inspect: _conversation(inspect, p["name"]) is None,
        plan=lambda p: _through_menu(
            p,
            on(f"messages/delete/{p['name']}", tap(id="confirm")),
            on(f"messages/menu/{p['name']}", tap(id="delete")),
        ),
    ),
    Template(
        name="archive_conversation",
        suite="general",
        difficulty=1,
        phrasings=(
            "Archive my conversation with {name}",
            "Put the chat with {name} into the archive",
            "In Messages, archive the messages from {name}",
        ),
        draw=lambda d: {"name": draw_name(d)},
        world=_with_talks,
        keeps=(NOBODY, TALKS),
        check=_archived,
        plan=lambda p: _through_menu(p, on(f"messages/menu/{p['name']}", if_seen("Archive"))),
    ),
)

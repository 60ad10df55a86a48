"""General tasks about people: contacts and phone calls."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.core.seeds import derive_random
from distrl.tasks.plan import Rule, choose, field, if_seen, on, plan, tap
from distrl.tasks.suites.strict import Only, same_number
from distrl.tasks.template import Draw, Inspect, Params, Template, pool, same
from distrl.tasks.words import FIRST_NAMES, LAST_NAMES

NOW_S = 34_860.0
"""When a task starts: 9:41 of the phone's first day."""

REPLIES = pool(
    *"Sounds good to me|Sorry, I cannot make it|Yes, I will be there|Let me check and tell you|On my way|Not today|"
    "Thank you so much|That is great news|I will call you tonight|Please wait for me|No problem at all|Maybe next week|"
    "I am already at home|You are welcome|Give me five minutes|Count me in|I have no idea|Ask me again on Monday|"
    "It was my pleasure|I will bring the cake".split("|")
)


SHOW_ALL = if_seen(id="clear:query")
"""A search that was left behind hides what the expert looks for."""


def draw_name(d: Draw) -> str:
    """A first and a last name."""
    return f"{d.pick(FIRST_NAMES)} {d.pick(LAST_NAMES)}"


def other_names(rng: Random, count: int, *taken: str) -> list[str]:
    """Names of other people; none shares a first name with those taken."""
    used = {name.partition(" ")[0] for name in taken}
    firsts = rng.sample([n for n in FIRST_NAMES.seen if n not in used], count)
    return [f"{first} {rng.choice(LAST_NAMES.seen)}" for first in firsts]


def mail_of(name: str) -> str:
    """The address that a person of this name has."""
    return name.lower().replace(" ", ".") + "@postbox.example"


def number_of(name: str) -> str:
    """The number that a person of this name has."""
    return f"555-{derive_random(0, 'number', name).randrange(10000):04d}"


def card(name: str, *, favorite: bool = False, mail: str | None = None) -> Plain:
    """A contact with a number."""
    return {
        "name": name,
        "phone": number_of(name),
        "mail": mail_of(name) if mail is None else mail,
        "address": "",
        "favorite": favorite,
    }


def people(rng: Random, *cards: Plain, others: int = 8) -> Plain:
    """Contacts with these cards among others."""
    names = other_names(rng, others, *(c["name"] for c in cards))
    made = [*cards, *(card(name, favorite=rng.random() < 0.2) for name in names)]
    rng.shuffle(made)
    return {"people": made}


def _person(p: Params, inspect: Inspect) -> Plain | None:
    return next((c for c in inspect("contacts")["people"] if same(c["name"], p["name"])), None)


def _with_person(p: Params, rng: Random) -> Plain:
    return {"contacts": people(rng, card(p["name"]))}


def _open_person(p: Params) -> Rule:
    return on("contacts/home", SHOW_ALL, tap(id=f"person:{p['name']}"))


def _has_card(
    p: Params, inspect: Inspect, *, number: str | None = None, mail: str | None = None, favorite: bool = False
) -> bool:
    """The person's card says this, and for the rest what it said before."""
    cards = [c for c in inspect("contacts")["people"] if same(c["name"], p["name"])]
    return (
        len(cards) == 1
        and same_number(cards[0]["phone"], number_of(p["name"]) if number is None else number)
        and same(cards[0]["mail"], mail_of(p["name"]) if mail is None else mail)
        and not cards[0]["address"]
        and bool(cards[0]["favorite"]) is favorite
    )


def _draw_mail(d: Draw) -> Params:
    name = draw_name(d)
    return {"name": name, "mail": f"{name.partition(' ')[0].lower()}{d.number(10, 99)}@{d.choice(_HOSTS)}"}


_HOSTS = ("lantern.example", "harbor.example", "meadow.example", "northwind.example")

PEOPLE = Only("contacts", "people", "name")
NOBODY = Only("contacts", "people", "name", whole=True)
"""Tasks that are not about contacts leave all of them alone."""

CONTACTS = (
    Template(
        name="add_contact",
        suite="general",
        difficulty=2,
        phrasings=(
            "Add {name} to my contacts with the number {number}",
            "Save the phone number {number} as {name}",
            "Create a contact for {name} whose number is {number}",
            "I met {name} today, add the number {number} to my contacts",
        ),
        draw=lambda d: {"name": draw_name(d), "number": d.phone_number()},
        world=lambda p, rng: {"contacts": {"people": [card(n) for n in other_names(rng, 9, p["name"])]}},
        keeps=(PEOPLE,),
        check=lambda p, inspect: _has_card(p, inspect, number=p["number"], mail=""),
        plan=lambda p: plan(
            "Contacts",
            on("contacts/edit", field("name", p["name"]), field("phone", p["number"]), tap(id="save")),
            on("contacts/home", tap(id="add")),
        ),
    ),
    Template(
        name="change_contact_number",
        suite="general",
        difficulty=2,
        phrasings=(
            "Change the phone number of {name} to {number}",
            "{name} has a new phone number, change the contact to {number}",
            "Update the contact {name} with the number {number}",
        ),
        draw=lambda d: {"name": draw_name(d), "number": d.phone_number()},
        world=_with_person,
        keeps=(PEOPLE,),
        check=lambda p, inspect: _has_card(p, inspect, number=p["number"]),
        plan=lambda p: plan(
            "Contacts",
            on(f"contacts/edit/{p['name']}", field("phone", p["number"]), tap(id="save")),
            on(f"contacts/detail/{p['name']}", tap(id="edit")),
            _open_person(p),
        ),
    ),
    Template(
        name="add_contact_mail",
        suite="general",
        difficulty=2,
        phrasings=(
            "Add the mail address {mail} to the contact {name}",
            "Save {mail} as the email of {name} in my contacts",
            "Write the address {mail} into the contact card of {name}",
        ),
        draw=_draw_mail,
        world=lambda p, rng: {"contacts": people(rng, card(p["name"], mail=""))},
        keeps=(PEOPLE,),
        check=lambda p, inspect: _has_card(p, inspect, mail=p["mail"]),
        plan=lambda p: plan(
            "Contacts",
            on(f"contacts/edit/{p['name']}", field("mail", p["mail"]), tap(id="save")),
            on(f"contacts/detail/{p['name']}", tap(id="edit")),
            _open_person(p),
        ),
    ),
    Template(
        name="star_contact",
        suite="general",
        difficulty=1,
        phrasings=(
            "Make {name} a favorite contact",
            "Add {name} to my favorites",
            "Star {name} in my contacts",
        ),
        draw=lambda d: {"name": draw_name(d)},
        world=_with_person,
        keeps=(PEOPLE,),
        check=lambda p, inspect: _has_card(p, inspect, favorite=True),
        plan=lambda p: plan(
            "Contacts", on(f"contacts/detail/{p['name']}", if_seen("Add to favorites")), _open_person(p)
        ),
    ),
    Template(
        name="unstar_contact",
        suite="general",
        difficulty=1,
        unseen=True,
        phrasings=(
            "Remove {name} from my favorites, but keep the contact",
            "{name} should no longer be a favorite contact",
            "Take the star off {name} in Contacts",
        ),
        draw=lambda d: {"name": draw_name(d)},
        world=lambda p, rng: {"contacts": people(rng, card(p["name"], favorite=True))},
        keeps=(PEOPLE,),
        check=_has_card,
        plan=lambda p: plan(
            "Contacts", on(f"contacts/detail/{p['name']}", if_seen("Remove from favorites")), _open_person(p)
        ),
    ),
    Template(
        name="delete_contact",
        suite="general",
        difficulty=1,
        phrasings=(
            "Delete the contact {name}",
            "Remove {name} from my contacts",
            "I do not need the number of {name} any more, delete the contact",
        ),
        draw=lambda d: {"name": draw_name(d)},
        world=_with_person,
        keeps=(PEOPLE,),
        check=lambda p, inspect: _person(p, inspect) is None,
        plan=lambda p: plan(
            "Contacts",
            on(f"contacts/delete/{p['name']}", tap(id="confirm")),
            on(f"contacts/detail/{p['name']}", tap(id="delete")),
            _open_person(p),
        ),
    ),
)


# ---- phone


def _past_calls(rng: Random, *names: str) -> list[Plain]:
    kinds = ("incoming", "missed", "outgoing")
    return [
        {"name": n, "number": "", "kind": rng.choice(kinds), "time_s": NOW_S - 900.0 - 43_200 * k, "seconds": 60}
        for k, n in enumerate(names)
    ]


def _with_calls(p: Params, rng: Random) -> Plain:
    """The contact in question among others, and a call log of the others."""
    contacts = people(rng, *([card(p["name"])] if "name" in p else []))
    others = [c["name"] for c in contacts["people"] if c["name"] != p.get("name")]
    return {"contacts": contacts, "dialer": {"calls": _past_calls(rng, *rng.sample(others, 5))}}


def _last_call(inspect: Inspect) -> Plain:
    """The newest call that was made after the task began."""
    calls = inspect("dialer")["calls"]
    made = calls and calls[0]["kind"] == "outgoing" and calls[0]["time_s"] >= NOW_S
    return calls[0] if made else {"name": "", "number": ""}


def _hang_up() -> tuple[Rule, ...]:
    """A call to somebody else has to end first."""
    return (on("dialer/call", tap(id="end")),)


def _with_voicemail(p: Params, rng: Random) -> Plain:
    texts = ("Call me back when you can.", "Your glasses are ready.", "I am at the station already.")
    names = [p["name"], *other_names(rng, 2, p["name"])]
    mails = [
        {"name": n, "text": t, "time_s": NOW_S - 20_000 * (k + 1)}
        for k, (n, t) in enumerate(zip(names, texts, strict=True))
    ]
    rng.shuffle(mails)
    return {"contacts": people(rng, card(p["name"])), "dialer": {"voicemails": mails}}


def _voicemails(inspect: Inspect) -> list[str]:
    return [v["name"] for v in inspect("dialer")["voicemails"]]


PHONE = (
    Template(
        name="call_contact",
        suite="general",
        difficulty=1,
        phrasings=(
            "Call {name}",
            "Give {name} a call",
            "I want to talk to {name}, make a phone call",
            "Phone {name} now",
        ),
        draw=lambda d: {"name": draw_name(d)},
        world=_with_calls,
        keeps=(NOBODY, Only("dialer", "calls", "name")),
        check=lambda p, inspect: same(_last_call(inspect)["name"], p["name"]),
        plan=lambda p: plan(
            "Phone",
            on(f"dialer/call/{p['name']}"),
            *_hang_up(),
            on("dialer/home", if_seen(id="return"), SHOW_ALL, choose("Contacts"), tap(id=f"call:{p['name']}")),
        ),
    ),
    Template(
        name="call_number",
        suite="general",
        difficulty=2,
        phrasings=("Call the number {number}", "Dial {number}", "Make a phone call to {number}"),
        draw=lambda d: {"number": d.phone_number()},
        world=_with_calls,
        keeps=(NOBODY, Only("dialer", "calls", "number")),
        check=lambda p, inspect: same_number(_last_call(inspect)["number"], p["number"]),
        plan=lambda p: plan(
            "Phone",
            on(f"dialer/call/{p['number']}"),
            *_hang_up(),
            on("dialer/pad", field("number", p["number"]), tap(id="call")),
            on("dialer/home", if_seen(id="return"), tap(id="pad")),
        ),
    ),
    Template(
        name="delete_voicemail",
        suite="general",
        difficulty=1,
        phrasings=(
            "Delete the voicemail from {name}",
            "Remove the voice message that {name} left me",
            "I have heard what {name} said on my voicemail, delete it",
        ),
        draw=lambda d: {"name": draw_name(d)},
        world=_with_voicemail,
        keeps=(NOBODY, Only("dialer", "voicemails", "name")),
        check=lambda p, inspect: p["name"] not in _voicemails(inspect),
        plan=lambda p: plan(
            "Phone",
            *_hang_up(),
            on("dialer/home", SHOW_ALL, choose("Voicemail"), if_seen(f"Delete voicemail from {p['name']}")),
        ),
    ),
)

TEMPLATES = (*CONTACTS, *PHONE)

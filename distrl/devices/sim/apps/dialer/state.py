"""The state of the Phone app: the call log, voicemail, and who is on the line."""

from random import Random

import msgspec

from distrl.devices.sim.app import Ui
from distrl.devices.sim.apps.people import KNOWN, ContactsState, digits
from distrl.devices.sim.apps.people_parts import DAY_S


class Call(msgspec.Struct):
    """A call of the log. `kind` is outgoing, incoming or missed; `name` is the number for strangers."""

    name: str
    number: str
    kind: str
    time_s: float
    seconds: int = 0


class Voicemail(msgspec.Struct):
    """A message that somebody left."""

    name: str
    text: str
    time_s: float
    heard: bool = False


class DialerState(msgspec.Struct):
    """The call log, the newest first; `ongoing` is who is on the line, or empty."""

    calls: list[Call] = []
    voicemails: list[Voicemail] = []
    ongoing: str = ""
    muted: bool = False
    speaker: bool = False
    held: bool = False


def fresh(rng: Random) -> DialerState:
    """A log of the last days and two voice messages."""
    calls = []
    times = [33_120.0, 29_400.0] + [rng.randint(9 * 60, 21 * 60) * 60 - DAY_S * rng.randint(1, 4) for _ in range(7)]
    for time_s in sorted(times, reverse=True):
        name = rng.choice([*KNOWN, "555-204-7719", "555-661-0385"])
        kind = rng.choice(["outgoing", "incoming", "incoming", "missed"])
        seconds = 0 if kind == "missed" else rng.randint(20, 900)
        calls.append(Call(name, name if name[0].isdecimal() else "", kind, time_s, seconds))
    texts = [
        "Hi, it's me. Call me back when you have a minute, it's nothing urgent.",
        "Hello, your glasses are ready. You can pick them up until six o'clock.",
        "I'm at the station already. See you at the usual place!",
    ]
    mails = [
        Voicemail(n, t, 30_000.0 - k * DAY_S, k > 0)
        for k, (n, t) in enumerate(zip(rng.sample(KNOWN, 3), texts, strict=True))
    ]
    return DialerState(calls=calls, voicemails=mails)


def place_call(ui: Ui, who: str) -> None:
    """Call a contact by name, or a number; contacts that are dialled by number get their name."""
    people, state = ui.get(ContactsState), ui.get(DialerState)
    person = people.named(who) or people.numbered(who)
    name, number = (person.name, person.phone) if person else (who.strip(), who.strip())
    if ui.settings.airplane:
        ui.toast("Turn off airplane mode to make a call")
    elif not digits(number):
        ui.toast("Enter a number to call")
    elif state.ongoing:
        ui.toast("You are already in a call")
    else:
        state.calls.insert(0, Call(name, number, "outgoing", ui.now_s))
        state.ongoing, state.muted, state.speaker, state.held = name, False, False, False
        ui.open("dialer", "call", name)

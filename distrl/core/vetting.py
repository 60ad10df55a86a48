"""What is done with every action that comes from outside: refuse what no device can perform, and say why.

In flow an action and the text that it was read from; out flows the same action, or an `Invalid` that is safe to store:
bounded, and without the lone surrogates that no encoder accepts.
"""

import re

from distrl.core.types import Action, Invalid, OpenApp, TypeText

MAX_RAW_CHARS = 500
"""As much of an unreadable text as an `Invalid` keeps; its reason has the same bound."""

MAX_OUTPUT_CHARS = 262_144
"""The longest text that is looked at: room for long reasoning before the action, and a bound on the work."""

MAX_APP_CHARS = 256
"""The longest name of an app."""

TWO_ACTIONS = "two actions where one was expected"
"""The reason when a text holds several different actions."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_UNTYPABLE = re.compile("[\x00-\x08\x0b-\x1f]")


def invalid(raw: str, reason: str) -> Invalid:
    """The `Invalid` for this text, cut to what may be stored."""
    return Invalid(raw=_storable(raw), reason=_storable(reason))


def vetted(action: Action, *, raw: str) -> Action:
    """The action if a device can perform it, otherwise the reason why not."""
    match action:
        case TypeText(text=text):
            problem = _text_problem(text)
        case OpenApp(app=app) if not app.strip():
            problem = "the app has no name"
        case OpenApp(app=app) if len(app) > MAX_APP_CHARS:
            problem = f"the name of the app has {len(app)} characters; at most {MAX_APP_CHARS} are allowed"
        case OpenApp(app=app):
            problem = _text_problem(app)
        case Invalid(raw=inner, reason=reason):
            return invalid(inner, reason)
        case _:
            problem = ""
    return invalid(raw, problem) if problem else action


def _text_problem(text: str) -> str:
    found = _UNTYPABLE.search(text)
    if found:
        return f"the text has the control character U+{ord(found[0]):04X} at position {found.start()}"
    found = _LONE_SURROGATE.search(text)
    if found:
        return f"the text has half a surrogate pair at position {found.start()}"
    return ""


def _storable(text: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", text[:MAX_RAW_CHARS])

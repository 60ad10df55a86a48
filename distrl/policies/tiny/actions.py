"""The language of the tiny policy: actions as tokens, and back.

The first token says what to do; an element follows where something is touched, two words of the instruction (the
first and the last of what to type) where something is typed. A token is a whole number: verbs from 0, elements from
100, first words from 200, last words from 300.
"""

from collections.abc import Sequence
from enum import IntEnum

from distrl.core.types import (
    Action,
    Button,
    Claim,
    Decision,
    Element,
    Finish,
    LongPress,
    Observation,
    Press,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from distrl.policies.tiny.words import Words


class Verb(IntEnum):
    """What can be done."""

    TAP = 0
    HOLD = 1
    TYPE = 2
    SWIPE_UP = 3
    SWIPE_DOWN = 4
    SWIPE_LEFT = 5
    SWIPE_RIGHT = 6
    BACK = 7
    HOME = 8
    ENTER = 9
    WAIT = 10
    COMPLETE = 11
    IMPOSSIBLE = 12


ELEMENT_VERBS = (Verb.TAP, Verb.HOLD)
WORD_VERBS = (Verb.TYPE,)
_ELEMENT, _FIRST, _LAST = 100, 200, 300
PLAIN: dict[Verb, Action] = {
    Verb.SWIPE_UP: Swipe(x=0.5, y=0.62, to_x=0.5, to_y=0.3),
    Verb.SWIPE_DOWN: Swipe(x=0.5, y=0.3, to_x=0.5, to_y=0.62),
    Verb.SWIPE_LEFT: Swipe(x=0.8, y=0.45, to_x=0.2, to_y=0.45),
    Verb.SWIPE_RIGHT: Swipe(x=0.2, y=0.45, to_x=0.8, to_y=0.45),
    Verb.BACK: Press(button=Button.BACK),
    Verb.HOME: Press(button=Button.HOME),
    Verb.ENTER: Press(button=Button.ENTER),
    Verb.WAIT: Wait(),
    Verb.COMPLETE: Finish(claim=Claim.COMPLETE),
    Verb.IMPOSSIBLE: Finish(claim=Claim.IMPOSSIBLE),
}
"""What takes no argument."""


def tokens_of(verb: int, arguments: Sequence[int]) -> tuple[int, ...]:
    """The tokens of a choice."""
    if verb in ELEMENT_VERBS:
        return verb, _ELEMENT + arguments[0]
    if verb in WORD_VERBS:
        return verb, _FIRST + arguments[0], _LAST + arguments[1]
    return (verb,)


def verb_of(decision: Decision) -> tuple[int, tuple[int, ...]]:
    """The choice behind recorded tokens; a decision of somebody else's counts as waiting."""
    if not decision.tokens:
        return Verb.WAIT, ()
    verb, *rest = decision.tokens
    return verb, tuple(token % 100 for token in rest)


def action_of(verb: int, arguments: Sequence[int], observation: Observation, words: Words) -> Action:
    """What a choice means on this screen for this instruction."""
    if verb in WORD_VERBS:
        return TypeText(text=words.span(arguments[0], arguments[1]))
    if verb in ELEMENT_VERBS:
        x, y = observation.elements[arguments[0]].center
        return Tap(x=x, y=y) if verb == Verb.TAP else LongPress(x=x, y=y)
    return PLAIN[Verb(verb)]


def choice_of(action: Action, observation: Observation, words: Words) -> tuple[int, tuple[int, ...]] | None:
    """The choice that means this action, or None if there is none: what an expert did, in this language."""
    if isinstance(action, Tap | LongPress):
        verb = Verb.TAP if isinstance(action, Tap) else Verb.HOLD
        places = [i for i, e in enumerate(observation.elements) if _is_at(e, action.x, action.y)]
        return (verb, (places[0],)) if places else None
    if isinstance(action, TypeText):
        for first in range(len(words)):
            for last in range(first, len(words)):
                if words.span(first, last) == action.text:
                    return Verb.TYPE, (first, last)
        return None
    for verb, plain in PLAIN.items():
        if plain == action:
            return verb, ()
    return None


def _is_at(element: Element, x: float, y: float) -> bool:
    center_x, center_y = element.center
    return abs(center_x - x) < 1e-6 and abs(center_y - y) < 1e-6

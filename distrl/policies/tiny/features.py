"""What the network is told about one moment: a situation in, arrays out.

What decides is the similarity between each word of the instruction and each element, built in: it makes names that were
never seen before as good as known ones.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from distrl.core.types import Observation, Situation, Step
from distrl.policies.tiny.actions import WORD_VERBS, Verb, verb_of
from distrl.policies.tiny.eyes import Eyes, Floats, Ids, Sight
from distrl.policies.tiny.words import SURFACE_DIM, surface_of, words_of

HISTORY = 4
LONG = 20
"""Steps of a long episode: progress is counted in these, whatever a task's own limit."""
MATCH_DIM = 13
NEAR_DIM = 4
REACH = 0.2
"""How far down a screen a name may stand above what belongs to it, as a share of the height."""
MARK_DIM = 3 + SURFACE_DIM
STATE_DIM = 7
_OTHER_SWIPES = (Verb.SWIPE_DOWN, Verb.SWIPE_LEFT, Verb.SWIPE_RIGHT)
PAST_DIM = 4
"""Columns of `past`: verb + 1, element id, first word + 1, last word + 1; all 0 where there is no past."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One situation in numbers."""

    words: Ids
    marks: Floats
    """[W, MARK_DIM]: whether each word was typed before, was touched, is none of the familiar ones; its surface."""
    elements: Ids
    geometry: Floats
    match: Floats
    similarity: Floats
    past: npt.NDArray[np.int32]
    is_stuck: Floats
    state: Floats
    """[STATE_DIM]: how far the episode is, what the request names that is in sight or is not, how much was swiped."""


def moments_of(situations: Sequence[Situation], eyes: Eyes) -> list[Moment]:
    """Many at once, so that what is new on all their screens is looked at together."""
    sights = eyes.see([s.observation for s in situations])
    return [_moment(s, sight, eyes) for s, sight in zip(situations, sights, strict=True)]


def _moment(situation: Situation, sight: Sight, eyes: Eyes) -> Moment:
    words = eyes.read(situation.task.instruction)
    touches, typed, touched = _done(situation.steps, words, eyes)
    is_strange = np.logical_not(eyes.meanings()[words].any(axis=1)).astype(np.float32)
    surface = surface_of(words_of(situation.task.instruction))
    similarity, match = _compare(words, sight, eyes)
    is_open = (1.0 - np.maximum(typed, touched)).astype(np.float32)
    match[:, -3] = (similarity * is_strange[:, None]).max(axis=0, initial=0.0)
    match[:, -2] = (similarity * is_open[:, None]).max(axis=0, initial=0.0)
    match[:, -1] = [touches.get(element, 0) / 4 for element in sight.elements.tolist()]
    match[:, -3 - NEAR_DIM : -3] = _near(match[:, -3:-1], sight.geometry)
    past, is_stuck = _past(situation.steps[-HISTORY:], situation.observation, eyes)
    return Moment(
        words=words,
        marks=np.column_stack((typed, touched, is_strange, surface)).astype(np.float32),
        elements=sight.elements,
        geometry=sight.geometry,
        match=match,
        similarity=similarity,
        past=past,
        is_stuck=is_stuck,
        state=_state(situation.steps, similarity.max(axis=1, initial=0.0), is_open, is_strange, surface),
    )


def _state(steps: Sequence[Step], seen: Floats, is_open: Floats, is_strange: Floats, surface: Floats) -> Floats:
    """What holds for the whole moment: above all whether something the request names is still to be found."""
    is_name = surface[:, 1:3].max(axis=1, initial=0.0)
    is_name[:1] *= surface[:1, 2]  # every request begins with a capital
    sought = [kind * is_open * there for kind in (is_name, is_strange) for there in (1.0 - seen, seen)]
    verbs = [verb_of(step.decision)[0] for step in steps]
    verbs = verbs[len(verbs) - verbs[::-1].index(Verb.HOME) :] if Verb.HOME in verbs else verbs
    swipes = [verbs.count(Verb.SWIPE_UP) / 4, sum(verbs.count(v) for v in _OTHER_SWIPES) / 4]
    return np.array([len(steps) / LONG, *(s.max(initial=0.0) for s in sought), *swipes], np.float32)


def _compare(words: Ids, sight: Sight, eyes: Eyes) -> tuple[Floats, Floats]:
    """How well each word matches each element [W, E], and what follows for each element [E, MATCH_DIM].

    The last columns are left for what depends on what was done.
    """
    count = len(sight.elements)
    if count == 0 or len(words) == 0:
        return np.zeros((len(words), count), np.float32), np.zeros((count, MATCH_DIM), np.float32)
    sharp = _likeness(words, sight.segments, eyes)
    similarity = np.maximum.reduceat(sharp, sight.starts, axis=1)
    lengths = np.diff(np.append(sight.starts, len(sight.segments)))
    covered = np.add.reduceat(sharp.max(axis=0), sight.starts) / lengths
    following = similarity[1:]
    pairs = np.minimum(similarity[:-1], following).max(axis=0, initial=0.0)
    triples = np.minimum(np.minimum(similarity[:-2], similarity[1:-1]), similarity[2:]).max(axis=0, initial=0.0)
    total, nothing = similarity.sum(axis=0) / 4, np.zeros(count)
    match = (covered, similarity.max(axis=0), pairs, triples, total, lengths / 8, *[nothing] * (NEAR_DIM + 3))
    return similarity, np.stack(match, axis=1).astype(np.float32)


def _near(matches: Floats, geometry: Floats) -> Floats:
    """[E, NEAR_DIM]: how well what stands beside each element matches, then what stands above it, the nearer the more.

    A bin or a bell shows no name: it belongs to the name in its row, or to the one at the head of its card.
    """
    middle, height = geometry[:, 1], geometry[:, 3]
    below = middle[:, None] - middle
    is_other = ~np.eye(len(middle), dtype=bool)
    is_beside = (np.abs(below) < np.maximum(height[:, None], height) / 2) & is_other
    closeness = np.clip(1.0 - below / REACH, 0.0, 1.0) * (is_other & (below > -1e-3))
    weights = np.stack((is_beside.astype(np.float32), closeness.astype(np.float32)))
    near: Floats = (weights[:, :, :, None] * matches).max(axis=2, initial=0.0)
    return near.transpose(1, 0, 2).reshape(len(middle), NEAR_DIM)


def _likeness(words: Ids, segments: Ids, eyes: Eyes) -> Floats:
    """[W, S]: how alike words are however they are written, 0 for all that could be a coincidence."""
    vectors = eyes.vectors()
    cosine = (vectors[eyes.ways(words)] @ vectors[segments].T).max(axis=0)
    sharp: Floats = np.clip((cosine - eyes.sharpness) / (0.95 - eyes.sharpness), 0.0, 1.0).astype(np.float32)
    return sharp


def _done(steps: Sequence[Step], words: Ids, eyes: Eyes) -> tuple[Counter[int], Floats, Floats]:
    """How often each element was touched, which words were typed, and which stood on what was touched since HOME."""
    touches: Counter[int] = Counter()
    typed = np.zeros(len(words), np.float32)
    segments: list[Ids] = []
    for step in steps:
        verb, arguments = verb_of(step.decision)
        if verb in WORD_VERBS:
            typed[arguments[0] : arguments[1] + 1] = 1.0
        elif arguments:
            sight = eyes.see([step.observation])[0]
            touches[int(sight.elements[arguments[0]])] += 1
            ends = (*sight.starts.tolist(), len(sight.segments))
            segments.append(sight.segments[ends[arguments[0]] : ends[arguments[0] + 1]])
        elif verb == Verb.HOME:
            segments.clear()
    touched = _likeness(words, np.concatenate(segments), eyes).max(axis=1) if segments else np.zeros_like(typed)
    return touches, typed, touched


def _touched(step: Step, place: int, eyes: Eyes) -> int:
    return int(eyes.see([step.observation])[0].elements[place])


def _past(steps: Sequence[Step], now: Observation, eyes: Eyes) -> tuple[npt.NDArray[np.int32], Floats]:
    """The last actions, the newest first, and whether each left the screen as it was."""
    past = np.zeros((HISTORY, PAST_DIM), np.int32)
    is_stuck = np.zeros(HISTORY, np.float32)
    after = now
    for row, step in enumerate(reversed(steps)):
        verb, arguments = verb_of(step.decision)
        past[row, 0] = verb + 1
        if verb in WORD_VERBS:
            past[row, 2:] = (arguments[0] + 1, arguments[1] + 1)
        elif arguments:
            past[row, 1] = _touched(step, arguments[0], eyes)
        is_stuck[row] = eyes.is_same(step.observation, after)
        after = step.observation
    return past, is_stuck

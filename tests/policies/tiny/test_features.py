"""What the network is told about a moment: matches between words and elements, and the last actions."""

import numpy as np
import pytest

from distrl.core.types import Decision, Observation, Situation, Step, Wait
from distrl.policies.tiny.actions import Verb, tokens_of
from distrl.policies.tiny.eyes import TextEyes
from distrl.policies.tiny.features import HISTORY, MARK_DIM, MATCH_DIM, STATE_DIM, Moment, moments_of

from .screens import element, observation, page, situation, step, task

COVERED, BEST, PAIR, TRIPLE, TOTAL, LENGTH, BESIDE, BESIDE_OPEN, ABOVE, ABOVE_OPEN, STRANGE, OPEN, TOUCHED = range(
    MATCH_DIM
)
TYPED, PUSHED, IS_STRANGE, LAST, CAPITAL, DIGIT, CLAUSE = range(MARK_DIM)
PROGRESS, NAME_MISSING, NAME_THERE, STRANGE_MISSING, STRANGE_THERE, SWIPES_UP, SWIPES = range(STATE_DIM)


def moment(instruction: str, *texts: str) -> Moment:
    elements = [element(text, (0.0, n / 10, 1.0, (n + 1) / 10)) for n, text in enumerate(texts)]
    return moments_of([situation(instruction, *elements)], TextEyes())[0]


def after(*decisions: Decision, seen: Observation, now: Observation, instruction: str = "Open the clock") -> Moment:
    steps = tuple(step(seen, d) for d in decisions)
    return moments_of([Situation(task=task(instruction), steps=steps, observation=now)], TextEyes())[0]


def did(verb: Verb, *arguments: int) -> Decision:
    return Decision(action=Wait(), tokens=tokens_of(verb, arguments))


def test_a_word_matches_the_element_that_says_it_fully_and_others_not_at_all() -> None:
    similarity = moment("Call Elena", "Elena", "Marcus", "call").similarity
    assert similarity[1] == pytest.approx([1.0, 0.0, 0.0])
    assert similarity[0] == pytest.approx([0.0, 0.0, 1.0])


def test_what_follows_from_the_match_for_each_element() -> None:
    match = moment("Call Elena Maria Quist", "Elena Maria Quist", "Elena Duarte", "Zzyx").match
    assert match[0, [COVERED, BEST, PAIR, TRIPLE, TOTAL, LENGTH]] == pytest.approx([1.0, 1.0, 1.0, 1.0, 3 / 4, 3 / 8])
    assert match[1, COVERED] == pytest.approx(0.5, abs=0.1), "one of its two words is in the instruction"
    assert match[1, BEST] == pytest.approx(1.0)
    assert match[1, [PAIR, TRIPLE]] == pytest.approx([0.0, 0.0], abs=0.1)
    assert match[2, :LENGTH] == pytest.approx(np.zeros(LENGTH), abs=0.1)


def test_a_pair_needs_words_that_follow_each_other() -> None:
    assert moment("red blue", "red blue").match[0, PAIR] == pytest.approx(1.0)
    assert moment("red xyzzy blue", "red blue").match[0, PAIR] == pytest.approx(0.0)


@pytest.mark.parametrize(("instruction", "texts"), [("", ("Elena",)), ("Call Elena", ()), ("", ()), ("one", ("one",))])
def test_no_words_and_no_elements_are_moments_too(instruction: str, texts: tuple[str, ...]) -> None:
    told = moment(instruction, *texts)
    assert told.similarity.shape == (len(instruction.split()), len(texts))
    assert told.match.shape == (len(texts), MATCH_DIM)


def test_progress_is_counted_in_long_episodes() -> None:
    screen = page("Clock")
    assert after(seen=screen, now=screen).state[PROGRESS] == 0.0
    assert after(*[did(Verb.WAIT)] * 3, seen=screen, now=screen).state[PROGRESS] == pytest.approx(3 / 20)


def test_what_was_typed_and_touched_is_known_however_long_ago() -> None:
    screen = page("Clock", "Notes", "Maps")
    long_ago = (did(Verb.TAP, 1), did(Verb.TAP, 1), did(Verb.HOLD, 2), did(Verb.TYPE, 1, 2))
    told = after(*long_ago, *[did(Verb.WAIT)] * 6, seen=screen, now=screen, instruction="Open the clock now")
    assert told.marks[:, TYPED].tolist() == [0.0, 1.0, 1.0, 0.0]
    assert told.match[:, TOUCHED].tolist() == [0.0, 2 / 4, 1 / 4]
    assert not told.past[:, 1].any(), "the last actions alone do not tell"


def test_the_words_on_what_was_touched_are_done_until_the_next_start_from_home() -> None:
    seen, now = page("Zyzzyva", "Notes"), page("Zyzzyva", "Open")
    request = "Open Zyzzyva"
    told = after(did(Verb.TAP, 0), seen=seen, now=now, instruction=request)
    assert told.marks[:, PUSHED].tolist() == pytest.approx([0.0, 1.0])
    assert told.match[:, OPEN] == pytest.approx([0.0, 1.0]), "what is left to do is to open it"
    assert told.match[:, STRANGE] == pytest.approx([1.0, 0.0])
    again = after(did(Verb.TAP, 0), did(Verb.HOME), seen=seen, now=now, instruction=request)
    assert not again.marks[:, PUSHED].any()
    assert again.match[:, OPEN] == pytest.approx([1.0, 1.0])
    assert again.match[0, TOUCHED] == 1 / 4, "touches are counted over the whole episode"


def test_what_a_word_looks_like_is_told() -> None:
    marks = moment("Write to Zyzzyva at 9:30: see you", "Notes").marks
    assert marks[:, IS_STRANGE].tolist() == [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    assert marks[:, LAST].tolist() == [0.0] * 6 + [1.0]
    assert marks[:, CAPITAL].tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert marks[:, DIGIT].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert marks[:, CLAUSE].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("texts", "missing", "there"), [(("Notes", "Clock"), 1.0, 0.0), (("Zyzzyva", "Clock"), 0.0, 1.0), ((), 1.0, 0.0)]
)
def test_whether_something_named_is_in_sight_is_told(texts: tuple[str, ...], missing: float, there: float) -> None:
    state = moment("Open Zyzzyva", *texts).state
    assert state[[NAME_MISSING, NAME_THERE]] == pytest.approx([missing, there], abs=0.05)
    assert state[[STRANGE_MISSING, STRANGE_THERE]] == pytest.approx([missing, there], abs=0.05)


def test_a_familiar_word_is_a_name_if_it_is_written_like_one_but_not_where_all_begin_so() -> None:
    assert moment("Open the Clock", "Notes").state[NAME_MISSING] == pytest.approx(1.0)
    assert moment("Open the clock", "Notes").state[[NAME_MISSING, STRANGE_MISSING]] == pytest.approx([0.0, 0.0])


def test_what_was_typed_is_no_longer_missing() -> None:
    screen = page("Clock")
    typed = after(did(Verb.TYPE, 1, 1), seen=screen, now=screen, instruction="Open Zyzzyva")
    assert not typed.state[[NAME_MISSING, STRANGE_MISSING]].any()


def test_swipes_are_counted_since_the_last_start_from_home() -> None:
    screen = page("Clock")
    swipes = (did(Verb.SWIPE_UP), did(Verb.SWIPE_UP), did(Verb.SWIPE_LEFT), did(Verb.WAIT))
    assert after(*swipes, seen=screen, now=screen).state[[SWIPES_UP, SWIPES]].tolist() == [2 / 4, 1 / 4]
    later = after(*swipes, did(Verb.HOME), did(Verb.SWIPE_DOWN), seen=screen, now=screen)
    assert later.state[[SWIPES_UP, SWIPES]].tolist() == [0.0, 1 / 4]


def test_the_past_is_the_last_four_actions_the_newest_first() -> None:
    seen, now = page("Clock", "Notes"), page("Alarm")
    told = after(
        did(Verb.BACK),
        did(Verb.TAP, 1),
        did(Verb.TYPE, 0, 2),
        did(Verb.SWIPE_UP),
        did(Verb.HOLD, 0),
        seen=seen,
        now=now,
    )
    eyes = TextEyes()
    clock, notes = eyes.see([seen])[0].elements.tolist()
    assert told.past.shape == (HISTORY, 4) == (4, 4)
    assert told.past[:, 0].tolist() == [Verb.HOLD + 1, Verb.SWIPE_UP + 1, Verb.TYPE + 1, Verb.TAP + 1]
    assert told.past[2, 2:].tolist() == [1, 3]
    assert told.past[[0, 1, 2], 1].tolist() != [0, 0, 0]
    assert (told.past[0, 1], told.past[1, 1], told.past[2, 1]) == (told.past[0, 1], 0, 0)
    # `after` has eyes of its own, which number elements alike because they saw the same screens in the same order.
    assert {int(told.past[0, 1]), int(told.past[3, 1])} <= {n + 1 for n in range(3)}
    assert told.past[0, 1] != told.past[3, 1]
    assert clock != notes


def test_no_past_is_all_zero() -> None:
    told = after(seen=page("Clock"), now=page("Clock"))
    assert not told.past.any()
    assert not told.is_stuck.any()


def test_the_touched_element_of_the_past_is_that_of_the_screen_it_was_touched_on() -> None:
    eyes = TextEyes()
    seen, now = page("Clock", "Notes"), page("Alarm", "Timer", "Clock")
    (told,) = moments_of([Situation(task=task("x"), steps=(step(seen, did(Verb.TAP, 1)),), observation=now)], eyes)
    assert told.past[0, 1] == eyes.see([seen])[0].elements[1]
    assert told.past[0, 1] not in eyes.see([now])[0].elements


def test_an_action_that_left_the_screen_as_it_was_is_marked() -> None:
    one, two = page("Clock"), page("Alarm")
    # one -(back)-> one -(wait)-> two -(wait)-> two
    steps = (step(one, did(Verb.BACK)), step(one, did(Verb.WAIT)), step(two, did(Verb.WAIT)))
    (told,) = moments_of([Situation(task=task("x"), steps=steps, observation=two)], TextEyes())
    assert told.is_stuck.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_a_decision_of_somebody_else_counts_as_waiting() -> None:
    screen = page("Clock")
    told = after(Decision(action=Wait()), seen=screen, now=screen)
    assert told.past[0].tolist() == [Verb.WAIT + 1, 0, 0, 0]


def test_what_shows_no_name_knows_the_one_in_its_row_and_the_one_above() -> None:
    rows = {
        "Marcus": (0.1, 0.10, 0.5, 0.14),
        "bin of Marcus": (0.8, 0.11, 0.9, 0.13),
        "Elena": (0.1, 0.20, 0.5, 0.24),
        "bin of Elena": (0.8, 0.21, 0.9, 0.23),
        "below Elena": (0.4, 0.30, 0.6, 0.34),
        "far below": (0.4, 0.50, 0.6, 0.54),
    }
    said = ["x", "y", "Elena", "z", "u", "v"]
    seen = situation("Remove Elena", *(element(text, box) for text, box in zip(said, rows.values(), strict=True)))
    match = moments_of([seen], TextEyes())[0].match
    assert match[:, STRANGE].tolist() == [0, 0, 1, 0, 0, 0]
    assert match[:, BESIDE].tolist() == match[:, BESIDE_OPEN].tolist() == [0, 0, 0, 1, 0, 0]
    assert match[:, ABOVE] == pytest.approx([0, 0, 0, 1, 0.5, 0], abs=1e-6)
    assert match[:, ABOVE_OPEN] == pytest.approx(match[:, ABOVE])


def test_a_name_that_was_typed_or_touched_is_no_longer_sought_nearby() -> None:
    row = (element("Elena", (0.1, 0.2, 0.5, 0.24)), element("bin", (0.8, 0.2, 0.9, 0.24)))
    told = after(did(Verb.TAP, 0), seen=observation(*row), now=observation(*row), instruction="Remove Elena")
    assert (told.match[1, BESIDE], told.match[1, BESIDE_OPEN]) == (1.0, 0.0)


def steps_of(count: int, seen: Observation) -> tuple[Step, ...]:
    return tuple(step(seen, did(Verb.WAIT)) for _ in range(count))


def test_only_the_last_four_steps_and_their_number_matter() -> None:
    seen = observation(element("Clock"))
    eyes = TextEyes()
    long = (*steps_of(3, page("Else")), *steps_of(4, seen))
    other = (*steps_of(3, page("Other")), *steps_of(4, seen))
    one, two = moments_of([Situation(task=task("x"), steps=s, observation=seen) for s in (long, other)], eyes)
    assert (one.past == two.past).all()
    assert (one.is_stuck == two.is_stuck).all()
    assert one.state[PROGRESS] == two.state[PROGRESS] == pytest.approx(7 / 20)

"""Actions as tokens, and back; and that everything an expert does can be said in them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.types import (
    Action,
    Decision,
    Invalid,
    LongPress,
    OpenApp,
    Press,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from distrl.policies.tiny.actions import (
    ELEMENT_VERBS,
    PLAIN,
    WORD_VERBS,
    Verb,
    action_of,
    choice_of,
    tokens_of,
    verb_of,
)
from distrl.policies.tiny.eyes import MAX_ELEMENTS
from distrl.policies.tiny.words import MAX_WORDS, words_of
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange, see
from distrl.tasks.book import expert_for, is_solved, load_tasks

from .screens import element, observation

WORDS = words_of(" ".join(f"w{n}" for n in range(MAX_WORDS)))
SCREEN = observation(*(element("", (0.0, n / 64, 0.5, (n + 1) / 64)) for n in range(MAX_ELEMENTS)))

elements = st.integers(0, MAX_ELEMENTS - 1)
choices = st.one_of(
    st.tuples(st.sampled_from(ELEMENT_VERBS), st.tuples(elements)),
    st.tuples(
        st.sampled_from(WORD_VERBS),
        st.tuples(st.integers(0, MAX_WORDS - 1), st.integers(0, MAX_WORDS - 1)).map(lambda w: tuple(sorted(w))),
    ),
    st.tuples(st.sampled_from(list(PLAIN)), st.just(())),
)


def all_choices() -> list[tuple[Verb, tuple[int, ...]]]:
    touches = [(verb, (e,)) for verb in ELEMENT_VERBS for e in range(MAX_ELEMENTS)]
    typing = [(verb, (i, j)) for verb in WORD_VERBS for i in range(MAX_WORDS) for j in range(i, MAX_WORDS)]
    return [*touches, *typing, *((verb, ()) for verb in PLAIN)]


def test_every_verb_is_of_one_sort() -> None:
    assert sorted((*ELEMENT_VERBS, *WORD_VERBS, *PLAIN)) == list(Verb)


@settings(deadline=None)
@given(choices)
def test_a_choice_comes_back_from_its_tokens(choice: tuple[Verb, tuple[int, ...]]) -> None:
    verb, arguments = choice
    tokens = tokens_of(verb, arguments)
    assert len(tokens) == 1 + len(arguments)
    assert verb_of(Decision(action=Wait(), tokens=tokens)) == (verb, arguments)


@settings(deadline=None)
@given(choices)
def test_a_choice_comes_back_from_its_action(choice: tuple[Verb, tuple[int, ...]]) -> None:
    verb, arguments = choice
    assert choice_of(action_of(verb, arguments, SCREEN, WORDS), SCREEN, WORDS) == (verb, arguments)


def test_no_two_choices_have_the_same_tokens() -> None:
    made = [tokens_of(*choice) for choice in all_choices()]
    assert len(set(made)) == len(made) == 2 * 64 + 32 * 33 // 2 + 10


def test_no_token_means_two_things() -> None:
    places = [
        {tokens[place] for tokens in (tokens_of(*c) for c in all_choices()) if len(tokens) > place}
        for place in range(3)
    ]
    assert not places[0] & places[1]
    assert not places[1] & places[2]
    assert not places[0] & places[2]


def test_what_the_actions_are() -> None:
    words = words_of("Write milk and eggs")
    seen = observation(element("", (0.2, 0.1, 0.4, 0.3)))
    x, y = seen.elements[0].center
    assert (x, y) == pytest.approx((0.3, 0.2))
    assert action_of(Verb.TAP, (0,), seen, words) == Tap(x=x, y=y)
    assert action_of(Verb.HOLD, (0,), seen, words) == LongPress(x=x, y=y)
    assert action_of(Verb.TYPE, (1, 3), seen, words) == TypeText(text="milk and eggs")
    up = action_of(Verb.SWIPE_UP, (), seen, words)
    left = action_of(Verb.SWIPE_LEFT, (), seen, words)
    assert isinstance(up, Swipe)
    assert isinstance(left, Swipe)
    assert up.to_y < up.y
    assert left.to_x < left.x


@pytest.mark.parametrize(
    "action",
    [
        Tap(x=0.9, y=0.9),
        LongPress(x=0.9, y=0.9),
        TypeText(text="not there"),
        TypeText(text=""),
        Swipe(x=0.1, y=0.1, to_x=0.2, to_y=0.2),
        OpenApp(app="Clock"),
        Invalid(raw="?", reason="?"),
    ],
)
def test_what_cannot_be_said_is_no_choice(action: Action) -> None:
    assert choice_of(action, SCREEN, WORDS) is None


def test_a_decision_without_tokens_is_waiting() -> None:
    assert verb_of(Decision(action=Press(button="BACK"))) == (Verb.WAIT, ())  # type: ignore[arg-type]


def test_of_two_elements_at_one_place_the_first_is_chosen() -> None:
    twice = observation(element("a"), element("b"))
    assert choice_of(Tap(x=0.5, y=0.15), twice, WORDS) == (Verb.TAP, (0,))


@pytest.mark.parametrize("suite", ["general", "web_shopping"])
def test_everything_an_expert_does_can_be_said_and_means_the_same(suite: str) -> None:
    phone = make_phone(scale=0.1)
    verbs: set[int] = set()
    tasks = load_tasks(suite, "train")[5::40] + load_tasks(suite, "test")[3::32]
    for task in tasks:
        arrange(phone, task)
        expert, words = expert_for(task, phone.inspect), words_of(task.instruction)
        for _ in range(task.max_steps):
            seen = see(phone)
            wanted = expert.act(seen)
            choice = choice_of(wanted, seen, words)
            assert choice is not None, (task.id, wanted)
            verbs.add(choice[0])
            action = action_of(*choice, seen, words)
            if isinstance(wanted, Tap) and isinstance(action, Tap):
                assert (action.x, action.y) == pytest.approx((wanted.x, wanted.y), abs=1e-6)
            else:
                assert action == wanted
            phone.perform(action)
            if is_solved(task, phone.inspect):
                break
        assert is_solved(task, phone.inspect), task.id
    assert {Verb.TAP, Verb.TYPE} <= verbs

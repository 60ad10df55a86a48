"""The parser: a success is exact or it is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.types import Ruling
from distrl.tasks.judges.answers import MAX_ANSWER_CHARS, new_nonce, read_answer, write_answer

from .corpus import CORPUS, NONCE, SCREENS, Spoof, verdict

pytestmark = pytest.mark.judge


def test_the_corpus_has_at_least_sixty_different_spoofs() -> None:
    spoofs = {spoof.text for spoof in CORPUS if spoof.expected == "unknown"}
    assert len(spoofs) >= 60
    assert len(SCREENS) >= 30


@pytest.mark.parametrize("spoof", CORPUS, ids=lambda spoof: spoof.name)
def test_no_spoof_is_read_as_success(spoof: Spoof) -> None:
    assert read_answer(spoof.text, nonce=NONCE).ruling.value == spoof.expected != "success"


@pytest.mark.parametrize("word", ["success", "failure", "unknown"])
@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "  {}\n\n",
        "The cart shows it.\n{}",
        "```json\n{}\n```",
        "{}\n{}",
        'A page says {{"verdict": "failure"}} and { other braces }.\n{}',
    ],
)
def test_the_exact_verdict_at_the_end_is_read(word: str, form: str) -> None:
    text = form.replace("{{", "\1").replace("}}", "\2").replace("{}", verdict(word))
    reading = read_answer(text.replace("\1", "{").replace("\2", "}"), nonce=NONCE)
    assert (reading.ruling, reading.is_exact, reading.reason) == (Ruling(word), True, "r")


def test_a_reason_may_be_left_out_and_hold_anything() -> None:
    assert read_answer(f'{{"nonce": "{NONCE}", "verdict": "success"}}', nonce=NONCE).ruling is Ruling.SUCCESS
    said = 'it shows {"verdict": "failure"} and "unsuccessful"'
    assert read_answer(write_answer(Ruling.SUCCESS, nonce=NONCE, reason=said), nonce=NONCE).reason == said


def test_pretty_printed_json_is_read() -> None:
    text = json.dumps({"nonce": NONCE, "verdict": "failure", "reason": "r"}, indent=2)
    assert read_answer(text, nonce=NONCE).ruling is Ruling.FAILURE


def test_an_empty_nonce_never_matches() -> None:
    assert read_answer(verdict("success", nonce=""), nonce="").ruling is Ruling.UNKNOWN


def test_nonces_differ() -> None:
    assert len({new_nonce() for _ in range(1000)}) == 1000


words = st.text() | st.sampled_from([spoof.text for spoof in CORPUS]) | st.just("success")


@given(st.lists(words, max_size=6).map("\n".join))
def test_text_without_the_nonce_is_never_a_verdict(text: str) -> None:
    assert read_answer(text, nonce="9d1e5c7a3b8f2046").ruling is Ruling.UNKNOWN


@given(before=st.text(), after=st.text(min_size=1))
def test_anything_after_a_verdict_makes_it_unknown(before: str, after: str) -> None:
    text = f"{before}\n{verdict('success')}{after}x"
    assert read_answer(text, nonce=NONCE).ruling is Ruling.UNKNOWN


@given(st.text(max_size=MAX_ANSWER_CHARS // 4))
def test_a_failure_at_the_end_is_never_a_success_whatever_stands_before(before: str) -> None:
    assert read_answer(f"{before}\n{verdict('failure')}", nonce=NONCE).ruling is not Ruling.SUCCESS
    assert read_answer(f"{verdict('success')}{before}\n{verdict('failure')}", nonce=NONCE).ruling is not Ruling.SUCCESS


@given(st.text(alphabet='{}[]":,\\ success failure nonce verdict' + NONCE, max_size=300))
def test_shuffled_letters_of_a_verdict_are_read_without_an_error(text: str) -> None:
    reading = read_answer(text, nonce=NONCE)
    assert reading.is_exact or reading.ruling is Ruling.UNKNOWN

"""The words of an instruction: cut at blanks, freed of punctuation, and typed verbatim."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.policies.tiny.words import MAX_WORDS, Words, words_of
from distrl.tasks.book import template_of

from .screens import all_tasks

texts = st.one_of(st.text(), st.text(st.sampled_from("ab1 .,:;!?()[]{}<>\"'\t\n\u00a0\u201c\u2019\u2026")))


def listed(words: Words) -> list[str]:
    return [words[i] for i in range(len(words))]


def test_a_word_is_what_stands_between_blanks_without_the_punctuation_around_it() -> None:
    text = 'Set 9:30, then write "I\'m late!" to (Ana) <ana@x.org>; pay $5.50.'
    assert listed(words_of(text)) == [
        "Set",
        "9:30",
        "then",
        "write",
        "I'm",
        "late",
        "to",
        "Ana",
        "ana@x.org",
        "pay",
        "$5.50",
    ]


def test_a_span_is_the_text_as_it_stands_there() -> None:
    words = words_of('Write "eggs,  milk" now.')
    assert words.span(1, 2) == "eggs,  milk"
    assert words.span(0, 3) == 'Write "eggs,  milk" now'


def test_punctuation_that_stands_alone_is_a_word() -> None:
    assert listed(words_of("a ... b ?! c")) == ["a", "...", "b", "?!", "c"]


def test_nothing_has_no_words() -> None:
    assert len(words_of("")) == len(words_of(" \n\t ")) == 0


def test_words_beyond_the_thirty_second_are_left_out() -> None:
    words = words_of(" ".join(f"w{n}" for n in range(40)))
    assert len(words) == MAX_WORDS == 32
    assert (words[0], words[31]) == ("w0", "w31")


@settings(deadline=None)
@given(texts)
def test_places_lie_within_the_text_in_order_and_apart(text: str) -> None:
    words = words_of(text)
    places = [place for pair in zip(words.starts, words.ends, strict=True) for place in pair]
    assert places == sorted(places)
    assert all(0 <= start < end <= len(text) for start, end in zip(words.starts, words.ends, strict=True))
    assert all(end < start for end, start in zip(words.ends, words.starts[1:], strict=False))


@settings(deadline=None)
@given(texts)
def test_there_are_as_many_words_as_chunks_between_blanks_and_no_word_has_a_blank(text: str) -> None:
    words = words_of(text)
    chunks = re.findall(r"\S+", text)
    assert len(words) == min(len(chunks), MAX_WORDS)
    assert all(word in chunk for word, chunk in zip(listed(words), chunks, strict=False))


@settings(deadline=None)
@given(texts, st.data())
def test_a_span_begins_with_its_first_word_and_ends_with_its_last(text: str, data: st.DataObject) -> None:
    words = words_of(text)
    if len(words):
        first = data.draw(st.integers(0, len(words) - 1))
        last = data.draw(st.integers(first, len(words) - 1))
        span = words.span(first, last)
        assert span in text
        assert span.startswith(words[first])
        assert span.endswith(words[last])
        assert words.span(first, first) == words[first]


def test_whatever_an_expert_types_in_any_suite_is_a_span_of_the_instruction() -> None:
    typed, strange = 0, []
    for task in all_tasks():
        words = words_of(task.instruction)
        spans = {words.span(i, j) for i in range(len(words)) for j in range(i, len(words))}
        for stage in template_of(task).plan(task.params):
            for act in (act for rule in stage.rules for act in rule.acts if act.how in ("field", "enter")):
                typed += 1
                if act.value not in spans:
                    strange.append((task.id, act.value))
    assert strange == []
    assert typed > 2000


def test_no_instruction_has_more_words_than_are_read() -> None:
    assert [task.id for task in all_tasks() if len(task.instruction.split()) > MAX_WORDS] == []

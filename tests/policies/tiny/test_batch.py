"""Moments side by side: every token once, in its place, and rectangles that hold all of them."""

import numpy as np
import pytest
import torch

from distrl.core.types import Decision, Situation, Wait
from distrl.policies.tiny.actions import Verb, tokens_of
from distrl.policies.tiny.batch import Batch, collate
from distrl.policies.tiny.eyes import TextEyes
from distrl.policies.tiny.features import HISTORY, moments_of

from .screens import element, observation, real_situations, situation, step, task

SMALL = situation("Call Elena", element("Elena"))
LARGE = situation("Set an alarm for nine", *(element(f"e{n}") for n in range(5)))


def batch_of(*situations: Situation, rows: int = 16) -> Batch:
    eyes = TextEyes()
    return collate(moments_of(situations, eyes), eyes, rows=rows)


def test_words_and_elements_of_all_moments_stand_in_one_row_and_are_found_there() -> None:
    batch = batch_of(SMALL, LARGE)
    assert len(batch.word_seen) == 2 + 5
    assert len(batch.element_seen) == 1 + 5
    assert batch.word_slots.tolist() == [[0, 1, 7, 7, 7], [2, 3, 4, 5, 6]]
    assert batch.element_slots.tolist() == [[0, 6, 6, 6, 6], [1, 2, 3, 4, 5]]
    assert batch.word_owners.tolist() == [0, 0, 1, 1, 1, 1, 1]
    assert batch.element_owners.tolist() == [0, 1, 1, 1, 1, 1]


def test_a_mean_takes_the_same_of_everything_that_belongs_to_a_moment() -> None:
    batch = batch_of(SMALL, LARGE, situation("", element("x")))
    assert batch.word_means.tolist() == [[0.5] * 2 + [0.0] * 5, [0.0] * 2 + [pytest.approx(0.2)] * 5, [0.0] * 7]
    assert batch.element_means.sum(dim=1).tolist() == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize("rows", [1, 3, 16])
def test_every_token_stands_once_in_the_rectangles_with_those_of_its_moment(rows: int) -> None:
    situations = [SMALL, LARGE, *real_situations(6), situation("Call Elena"), situation("")]
    batch = batch_of(*situations, rows=rows)
    n = len(situations)
    owners = torch.cat(
        (torch.arange(n), torch.arange(n).repeat_interleave(HISTORY), batch.word_owners, batch.element_owners)
    )
    assert len(batch.back) == len(owners)
    assert batch.slots[batch.back].tolist() == list(range(len(owners)))
    is_there = ~torch.cat([group.is_empty.flatten() for group in batch.groups])
    assert sorted(batch.back.tolist()) == is_there.nonzero().flatten().tolist()
    start = 0
    for group in batch.groups:
        assert len(group.is_empty) <= rows
        for row in group.is_empty:
            held = owners[batch.slots[start : start + len(row)][~row]]
            assert len(set(held.tolist())) == 1
            start += len(row)


def test_likeness_stands_between_a_word_and_an_element_both_ways_and_nowhere_else() -> None:
    (group,) = batch_of(situation("Call Elena", element("Marcus"), element("Elena"))).groups
    elena_word, elena = 6, 8  # after the summary, four past actions and `Call`; after `Marcus`
    assert group.alike[0].nonzero().tolist() == [[elena_word, elena], [elena, elena_word]]
    assert group.alike[0, elena, elena_word] == 1.0


def test_the_words_of_a_request_are_told_once_between_their_neighbours() -> None:
    eyes = TextEyes()
    situations = [situation("Open the clock", element("x")), SMALL, situation("Open the clock", element("y"))]
    moments = moments_of(situations, eyes)
    batch = collate(moments, eyes)
    assert batch.word_rows.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    assert batch.request_places.tolist() == [0, 1, 2, 0, 1]
    before, itself, after = batch.request_words.view(5, 3, -1).numpy().transpose(1, 0, 2)
    meanings = eyes.meanings()
    assert np.array_equal(itself, meanings[np.concatenate((moments[0].words, moments[1].words))])
    assert np.array_equal(before[1:3], itself[0:2])
    assert np.array_equal(after[0:2], itself[1:3])
    assert itself[2].any()
    assert not (before[0].any() or before[3].any() or after[2].any() or after[4].any())


def test_how_well_a_word_is_in_sight() -> None:
    seen = batch_of(situation("Call Elena", element("Elena"), element("Elena"), element("Marcus"))).word_seen[:, :2]
    assert seen.tolist() == [[0.0, 0.0], [1.0, 0.5]]
    often = batch_of(situation("Elena", *(element("Elena") for _ in range(9)))).word_seen[:, :2]
    assert often.tolist() == [[1.0, 1.0]]


def test_words_that_were_typed_are_found_among_those_of_all_moments() -> None:
    seen = observation(element("Elena"))
    typed = Decision(action=Wait(), tokens=tokens_of(Verb.TYPE, (1, 2)))
    typing = Situation(task=task("Write to Ana Lima"), steps=(step(seen, typed),), observation=seen)
    batch = batch_of(SMALL, typing)
    assert batch.past[1, 0].tolist()[2:] == [2 + 1, 2 + 2], "after the two words of the first moment"
    assert batch.past[0, :, 2:].tolist() == [[6, 6]] * HISTORY, "none"


def test_elements_that_occur_twice_are_told_once() -> None:
    eyes = TextEyes()
    same = [situation("x", element("Elena"), element("Marcus")) for _ in range(6)]
    batch = collate(moments_of(same, eyes), eyes)
    assert len(batch.texts) == len(batch.looks) == 2 + 1, "and the blank one of the past"
    told = batch.texts[batch.element_rows].view(6, 2, -1)
    assert torch.equal(told[0], torch.from_numpy(eyes.texts(eyes.see([same[0].observation])[0].elements)))
    assert (told == told[0]).all()


def test_a_name_means_nothing_and_still_matches() -> None:
    eyes = TextEyes()
    (told,) = moments_of([situation("Call Zyzzyva Elena", element("Zyzzyva"), element("Call"))], eyes)
    batch = collate([told], eyes)
    itself = batch.request_words.view(3, 3, -1)[:, 1]
    assert itself.any(dim=-1).tolist() == [True, False, False]
    assert batch.texts[batch.element_rows].any(dim=-1).tolist() == [False, True]
    assert told.similarity[1].tolist() == pytest.approx([1.0, 0.0])

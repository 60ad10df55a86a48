"""Moments side by side, without padding: many of them in, the tensors that the network takes out.

Words and elements of all moments stand in one long row each, so that whatever is computed for each token by itself is
computed for what is there and for nothing else. Only where the tokens of a moment look at each other, they are laid out
as a rectangle: in groups of moments that are about equally long, each padded to its longest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from distrl.policies.tiny.encoder import WORD_DIM
from distrl.policies.tiny.eyes import Eyes, Ids
from distrl.policies.tiny.features import HISTORY, Moment

_ROWS = 16
"""Moments of a group."""
_FIXED = 1 + HISTORY
"""Tokens that every moment has: the summary and the last actions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Moments as a rectangle of tokens [N, L]: in each row summary, last actions, words, elements."""

    alike: Tensor
    """[N, L, L]: similarity between words and elements, both ways; 0 elsewhere."""
    is_empty: Tensor
    """[N, L]: where there is no token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """N moments with P words and Q elements in all; U different elements; V words of different requests.

    The row of all tokens is: N summaries, N x HISTORY last actions, P words, Q elements.
    """

    request_words: Tensor
    """[V, 3 WORD_DIM]: what each word means, between the one before and the one after it."""
    request_places: Tensor
    """[V]: its place in the request."""
    word_rows: Tensor
    """[P]: which of them it is."""
    word_seen: Tensor
    """[P, 2 + MARK_DIM]: whether it is in sight, and its marks."""
    element_rows: Tensor
    """[Q]: which of the different elements it is."""
    texts: Tensor
    """[U, WORD_DIM]"""
    looks: Tensor
    """[U, look_dim]"""
    element_seen: Tensor
    """[Q, 4 + MATCH_DIM]: geometry and match."""
    past: Tensor
    """[N, HISTORY, PAST_DIM]: verb + 1, row among the different elements, first and last word among all; P for none."""
    is_stuck: Tensor
    """[N, HISTORY]"""
    state: Tensor
    """[N, STATE_DIM]"""
    word_means: Tensor
    """[N, P]: what the mean of its words takes of each."""
    element_means: Tensor
    """[N, Q]"""
    word_slots: Tensor
    """[N, W]: the words of each moment among all; P where there is none."""
    element_slots: Tensor
    """[N, E]: likewise; Q where there is none."""
    word_owners: Tensor
    """[P]: whose word it is."""
    element_owners: Tensor
    """[Q]"""
    clauses: Tensor
    """[N, W]: how many clauses have ended before each word."""
    groups: tuple[Group, ...]
    slots: Tensor
    """[all places of all rectangles]: which token stands there; any where there is none."""
    back: Tensor
    """[all tokens]: where each stands in the rectangles."""


def collate(moments: Sequence[Moment], eyes: Eyes, *, rows: int = _ROWS) -> Batch:
    """Put moments side by side, at most so many in a group."""
    n = len(moments)
    num_words = np.array([len(m.words) for m in moments])
    num_elements = np.array([len(m.elements) for m in moments])
    request_words, request_places, word_rows = _requests(moments, eyes)
    in_sight = [m.similarity.max(axis=1, initial=0.0) for m in moments]
    how_often = [m.similarity.sum(axis=1).clip(max=4.0) / 4 for m in moments]
    marks = np.concatenate([m.marks for m in moments])
    past = np.stack([m.past for m in moments])
    ids = np.concatenate([*(m.elements for m in moments), past[:, :, 1].ravel()])
    different, element_rows = _different(ids)
    past[:, :, 1] = element_rows[num_elements.sum() :].reshape(n, HISTORY)
    word_starts = np.cumsum(num_words) - num_words
    ends = past[:, :, 2:]
    past[:, :, 2:] = np.where(ends > 0, ends - 1 + word_starts[:, None, None], num_words.sum())
    groups, slots, back = _groups(moments, num_words, num_elements, rows)
    word_slots, element_slots = _slots(num_words), _slots(num_elements)
    return Batch(
        request_words=_tensor(request_words),
        request_places=_tensor(request_places),
        word_rows=_tensor(word_rows),
        word_seen=_tensor(np.column_stack((np.concatenate(in_sight), np.concatenate(how_often), marks))),
        element_rows=_tensor(element_rows[: num_elements.sum()]),
        texts=_tensor(eyes.texts(different)),
        looks=_tensor(eyes.looks(different)),
        element_seen=_tensor(np.concatenate([np.column_stack((m.geometry, m.match)) for m in moments])),
        past=_tensor(past).long(),
        is_stuck=_tensor(np.stack([m.is_stuck for m in moments])),
        state=_tensor(np.stack([m.state for m in moments])),
        word_means=_tensor(_means(num_words)),
        element_means=_tensor(_means(num_elements)),
        word_slots=_tensor(word_slots),
        element_slots=_tensor(element_slots),
        word_owners=_tensor(np.repeat(np.arange(n), num_words)),
        element_owners=_tensor(np.repeat(np.arange(n), num_elements)),
        clauses=_tensor(_clauses(marks[:, -1], word_slots)),
        groups=groups,
        slots=_tensor(slots),
        back=_tensor(back),
    )


def _requests(moments: Sequence[Moment], eyes: Eyes) -> tuple[npt.NDArray[np.float32], Ids, npt.NDArray[np.int64]]:
    """The words of different requests with their neighbours, their places, and where the words of each moment stand.

    What to type stands between known words; the moments of an episode have one request, so its words are told once.
    """
    starts: dict[bytes, int] = {}
    requests: list[Ids] = []
    total = 0
    rows = []
    for m in moments:
        start = starts.setdefault(m.words.tobytes(), total)
        if start == total and len(m.words):
            requests.append(m.words)
            total += len(m.words)
        rows.append(np.arange(start, start + len(m.words)))
    around = np.zeros((total, 3, WORD_DIM), np.float32)
    start = 0
    for request in requests:
        meanings, end = eyes.meanings()[request], start + len(request)
        around[start:end, 1] = meanings
        around[start + 1 : end, 0] = meanings[:-1]
        around[start : end - 1, 2] = meanings[1:]
        start = end
    places = [np.arange(len(request)) for request in requests]
    return around.reshape(total, 3 * WORD_DIM), np.concatenate([np.zeros(0, np.int64), *places]), np.concatenate(rows)


def _groups(
    moments: Sequence[Moment], num_words: Ids, num_elements: Ids, rows: int
) -> tuple[tuple[Group, ...], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rectangles of moments that are alike in length, which token stands where in them, and where each token stands."""
    n, p = len(moments), int(num_words.sum())
    lengths = _FIXED + num_words + num_elements
    word_starts = n * _FIXED + np.cumsum(num_words) - num_words
    element_starts = n * _FIXED + p + np.cumsum(num_elements) - num_elements
    order = np.argsort(lengths, kind="stable")
    back = np.zeros(int(lengths.sum()), np.int64)
    groups, all_slots, start = [], [], 0
    for members in np.array_split(order, -(-n // rows)):
        size, length = len(members), int(lengths[members].max())
        slots = np.zeros((size, length), np.int64)
        alike = np.zeros((size, length, length), np.float32)
        for row, i in enumerate(members.tolist()):
            w, e = _FIXED + num_words[i], lengths[i]
            slots[row, 0] = i
            slots[row, 1:_FIXED] = np.arange(n + i * HISTORY, n + (i + 1) * HISTORY)
            slots[row, _FIXED:w] = np.arange(word_starts[i], word_starts[i] + num_words[i])
            slots[row, w:e] = np.arange(element_starts[i], element_starts[i] + num_elements[i])
            alike[row, _FIXED:w, w:e] = moments[i].similarity
            alike[row, w:e, _FIXED:w] = moments[i].similarity.T
        is_empty = np.arange(length) >= lengths[members, None]
        back[slots[~is_empty]] = start + np.flatnonzero(~is_empty.ravel())
        start += slots.size
        all_slots.append(slots.ravel())
        groups.append(Group(alike=_tensor(alike), is_empty=_tensor(is_empty)))
    return tuple(groups), np.concatenate(all_slots), back


def _slots(counts: Ids) -> npt.NDArray[np.int64]:
    """[N, most]: the numbers of what belongs to each of them; how many there are in all where there is no more."""
    places = np.arange(max(int(counts.max(initial=0)), 1))
    starts = np.cumsum(counts) - counts
    return np.where(places < counts[:, None], starts[:, None] + places, counts.sum())


def _means(counts: Ids) -> npt.NDArray[np.float32]:
    """[N, sum]: a matrix that takes the mean of what belongs to each of them, 0 if nothing does."""
    means = np.zeros((len(counts), int(counts.sum())), np.float32)
    means[np.repeat(np.arange(len(counts)), counts), np.arange(counts.sum())] = np.repeat(
        1.0 / np.maximum(counts, 1), counts
    )
    return means


def _clauses(is_end: npt.NDArray[np.float32], slots: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    ends = np.append(is_end, 0.0).astype(np.float32)[slots]
    made: npt.NDArray[np.float32] = ends.cumsum(axis=1) - ends
    return made


def _different(ids: Ids) -> tuple[Ids, npt.NDArray[np.int64]]:
    """The different ids in the order in which they appear, and where each stands among them.

    Not in the order of their numbers: these depend on what was seen when, and sums on the order of what is summed.
    """
    sorted_ids, firsts, places = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return sorted_ids[order], rank[places]


def _tensor(array: npt.NDArray[np.generic]) -> Tensor:
    """A copy in memory of torch's own: how numbers are aligned decides in which order they are summed."""
    return torch.from_numpy(array).clone()

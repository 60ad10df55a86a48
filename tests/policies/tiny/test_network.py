"""The network: probabilities that add up, an entropy that is one, and padding that changes nothing."""

import itertools

import numpy as np
import pytest
import torch

from distrl.core.types import Situation
from distrl.policies.tiny.actions import ELEMENT_VERBS, PLAIN, Verb
from distrl.policies.tiny.batch import Batch, collate
from distrl.policies.tiny.features import moments_of
from distrl.policies.tiny.network import (
    SIMILARITY_SCALES,
    Output,
    attention_bias,
    entropy_of,
    log_probs_of,
)
from distrl.policies.tiny.policy import Mode, TinyModule, TinyPolicy
from distrl.policies.tiny.words import words_of

from .screens import element, make_policy, real_situations, situation

MODES: tuple[Mode, ...] = ("pixels", "text")
EMPTY = situation("")
NO_ELEMENTS = situation("Call Elena")
NO_WORDS = situation("", element("Elena"), element("Marcus"))


def sharp(mode: Mode) -> TinyPolicy:
    """A policy of strong opinions that likes to touch and to type: at the start all actions are nearly alike."""
    policy = TinyPolicy(mode, seed=4)
    network = policy.module.network
    with torch.no_grad():
        for parameter in (network.verb.weight, network.point.weight, network.last_query.weight):
            parameter.mul_(3.0)
        network.verb.bias[[Verb.TAP, Verb.HOLD, Verb.TYPE]] += 3.0
    return policy


def batch_of(policy: TinyPolicy, situations: list[Situation]) -> Batch:
    return collate(moments_of(situations, policy.eyes), policy.eyes)


def output_of(policy: TinyPolicy, situations: list[Situation]) -> Output:
    with torch.inference_mode():
        output: Output = policy.module.network(batch_of(policy, situations))
    return output


def every_choice(s: Situation) -> list[tuple[int, int, int]]:
    """All actions of a state: touches of its elements, spans of its words, and what takes no argument."""
    num_words = len(words_of(s.task.instruction))
    touches = [(verb, e, 0) for verb in ELEMENT_VERBS for e in range(len(s.observation.elements[:64]))]
    spans = [(Verb.TYPE, i, j) for i in range(num_words) for j in range(i, num_words)]
    return [*touches, *spans, *((verb, 0, 0) for verb in PLAIN)]


def log_probs_of_all(policy: TinyPolicy, s: Situation) -> np.ndarray:
    """The log-probability of every action of a state, each asked for by itself."""
    choices = torch.tensor(every_choice(s))
    output = output_of(policy, [s] * len(choices))
    return torch.stack(log_probs_of(output, choices)).sum(dim=0).double().numpy()


@pytest.mark.parametrize("mode", MODES)
def test_the_probabilities_of_all_actions_of_a_state_add_up_to_one(mode: Mode) -> None:
    policy = sharp(mode)
    for s in (*real_situations(6), NO_ELEMENTS, NO_WORDS, EMPTY):
        assert np.exp(log_probs_of_all(policy, s)).sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_the_entropy_is_that_of_all_actions(mode: Mode) -> None:
    policy = sharp(mode)
    for s in (*real_situations(6), NO_ELEMENTS, NO_WORDS, EMPTY):
        log_probs = log_probs_of_all(policy, s)
        by_hand = -(np.exp(log_probs) * log_probs).sum()
        assert float(entropy_of(output_of(policy, [s]))) == pytest.approx(by_hand, abs=1e-4)


def test_what_cannot_be_done_has_no_probability() -> None:
    policy = sharp("text")
    verbs = output_of(policy, [NO_ELEMENTS, NO_WORDS, EMPTY]).verb.exp()
    assert (verbs == 0)[:, [Verb.TAP, Verb.HOLD, Verb.TYPE]].tolist() == [
        [True, True, False],
        [False, False, True],
        [True, True, True],
    ]
    assert (verbs[:, Verb.TYPE + 1 :] > 0).all()


def test_a_span_never_ends_before_it_begins() -> None:
    last = output_of(sharp("text"), [situation("one two three four", element("x"))]).last.exp()[0]
    assert not last.tril(-1).any()
    assert last.sum(dim=-1) == pytest.approx(torch.ones(4))


def test_padding_changes_nothing() -> None:
    policy = sharp("text")
    small = situation("Call Elena", element("Elena"), element("Marcus"))
    crowded = situation(" ".join(f"w{n}" for n in range(30)), *(element(f"e{n}") for n in range(60)))
    alone, beside = output_of(policy, [small]), output_of(policy, [small, crowded])
    for name, shape in (("verb", (13,)), ("tap", (2,)), ("hold", (2,)), ("first", (2,)), ("last", (2, 2))):
        one, other = getattr(alone, name)[0], getattr(beside, name)[0][tuple(slice(n) for n in shape)]
        assert one.exp() == pytest.approx(other.exp(), abs=1e-6), name
    assert alone.value_logits[:, 0] == pytest.approx(beside.value_logits[:, 0], abs=1e-5)
    assert float(alone.trajectory_value_logit[0]) == pytest.approx(float(beside.trajectory_value_logit[0]), abs=1e-5)


def test_padding_has_no_probability() -> None:
    output = output_of(sharp("text"), [situation("a", element("x")), situation("a b c", *map(element, "xyz"))])
    for padded in (output.tap[0, 1:], output.hold[0, 1:], output.first[0, 1:], output.last[0, 0, 1:]):
        assert not padded.exp().any()


def test_attention_is_raised_between_a_word_and_what_it_matches_in_all_heads_but_the_first() -> None:
    policy = make_policy("text")
    batch = batch_of(policy, [situation("Call Elena", element("Elena"), element("Marcus"))])
    bias = attention_bias(batch.groups[0], SIMILARITY_SCALES)
    elena_word, elena, marcus = bias.shape[-1] - 3, bias.shape[-1] - 2, bias.shape[-1] - 1
    assert bias[0, :, elena_word, elena].tolist() == list(SIMILARITY_SCALES)
    assert bias[0, :, elena, elena_word].tolist() == list(SIMILARITY_SCALES)
    assert not bias[0, :, elena_word, marcus].any()


def test_nobody_attends_to_padding() -> None:
    policy = make_policy("text")
    batch = batch_of(policy, [situation("a", element("x")), situation("a b", element("x"), element("y"))])
    bias = attention_bias(batch.groups[0], SIMILARITY_SCALES)
    blocked = (bias[:, 0] < -1e8).all(dim=1)
    # summary, 4 past actions, a word and an element; two of each
    assert blocked.tolist() == [[False] * 7 + [True] * 2, [False] * 9]


@pytest.mark.parametrize("rows", [1, 2, 5, 100])
def test_it_does_not_matter_in_which_groups_moments_look_at_themselves(rows: int) -> None:
    policy = sharp("text")
    moments = moments_of([*real_situations(8), NO_ELEMENTS, NO_WORDS, EMPTY], policy.eyes)
    with torch.inference_mode():
        wanted = policy.module.network(collate(moments, policy.eyes))
        made = policy.module.network(collate(moments, policy.eyes, rows=rows))
    for name in ("verb", "tap", "hold", "first", "last"):
        assert getattr(made, name).exp() == pytest.approx(getattr(wanted, name).exp(), abs=1e-5), name
    assert made.value_logits == pytest.approx(wanted.value_logits, abs=1e-4)


def test_it_does_not_matter_who_stands_beside() -> None:
    policy = sharp("text")
    situations = [NO_WORDS, *real_situations(5), EMPTY, NO_ELEMENTS]
    together = output_of(policy, situations)
    for i, s in enumerate(situations):
        alone = output_of(policy, [s])
        assert together.verb[i].exp() == pytest.approx(alone.verb[0].exp(), abs=1e-5)
        there = len(s.observation.elements)
        assert together.tap[i, :there].exp() == pytest.approx(alone.tap[0, :there].exp(), abs=1e-5)
        assert together.value_logits[:, i] == pytest.approx(alone.value_logits[:, 0], abs=1e-4)


def test_the_order_of_the_elements_does_not_matter() -> None:
    policy = sharp("text")
    elements = [element(t, (0.0, n / 10, 1.0, (n + 1) / 10)) for n, t in enumerate(("Elena", "Marcus", "Tia", "Ugo"))]
    straight = output_of(policy, [situation("Call Tia", *elements)])
    for order in itertools.islice(itertools.permutations(range(4)), 1, 24, 5):
        other = output_of(policy, [situation("Call Tia", *(elements[i] for i in order))])
        assert straight.tap[0, list(order)] == pytest.approx(other.tap[0], abs=1e-4)
        assert straight.verb[0] == pytest.approx(other.verb[0], abs=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_there_are_fewer_than_three_million_parameters(mode: Mode) -> None:
    assert sum(p.numel() for p in TinyModule(mode).parameters()) < 3_000_000


@pytest.mark.parametrize("mode", MODES)
def test_gradients_reach_everything_that_is_trained_and_nothing_of_the_eye(mode: Mode) -> None:
    policy = TinyPolicy(mode, seed=2)
    situations = [*real_situations(20, seed=1), NO_ELEMENTS, situation("Tell Ana: come home", element("Ana"))]
    batch = batch_of(policy, situations)
    batch.is_stuck.fill_(1.0)
    output = policy.module.network(batch)
    total = sum(
        torch.where(table > -1e6, table, 0.0).square().sum()
        for table in (output.verb, output.tap, output.hold, output.first, output.last)
    )
    (total + output.value_logits.square().sum() + output.trajectory_value_logit.square().sum()).backward()  # type: ignore[union-attr]
    untouched = [n for n, p in policy.module.network.named_parameters() if p.grad is None or not p.grad.any()]
    assert untouched == []
    if policy.module.encoder is not None:
        assert all(p.grad is None and not p.requires_grad for p in policy.module.encoder.parameters())
    trained = {id(p) for p in policy.parameters()}
    assert trained == {id(p) for p in policy.module.network.parameters()}


def test_what_is_typed_depends_on_its_length_and_on_the_ends_of_clauses() -> None:
    policy = sharp("text")
    network = policy.module.network
    batch = batch_of(policy, [situation("Tell Ana: come home soon", element("Ana"))])
    with torch.no_grad():
        network.span_length.weight[:, 0] = torch.arange(32) * 10.0
        network.span_break.fill_(-1.0)
        span = network._span(batch)[0]
    assert span[0].tolist() == [0.0, 10.0, 19.0, 29.0, 39.0], "after `Ana:` another clause begins"
    assert span[2, 2:].tolist() == [0.0, 10.0, 20.0]


def test_what_was_typed_before_changes_what_is_typed_next() -> None:
    policy = sharp("text")
    batch = collate(moments_of([situation("Call Elena Quist now", element("Elena"))], policy.eyes), policy.eyes)
    with torch.no_grad():
        before = policy.module.network(batch).first
        batch.word_seen[1, 2] = 1.0
        after = policy.module.network(batch).first
    assert not torch.equal(before, after)

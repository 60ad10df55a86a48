"""What acted is what is learned from: the log-probabilities of both sides are the same, for every family."""

from typing import Any

import pytest
import torch

from distrl.policies.hf.sampling import Sampler

from .asking import choices_of, make_policy, recomputed, rngs, situations, teach
from .conftest import MakeModel
from .families import FAMILIES, VISUAL

pytestmark = pytest.mark.models
CLOSE = 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_the_learner_computes_the_log_probabilities_that_acted(model_of: MakeModel, family: str) -> None:
    policy = make_policy(model_of(family), temperature=0.7)
    asked = situations()
    decided = policy.decide(asked, rngs(len(asked)))
    said = recomputed(policy, asked, decided)
    assert [len(d.tokens) for d in decided] == [len(d.token_log_probs) for d in decided]
    torch.testing.assert_close(said.log_prob.detach(), torch.tensor([d.log_prob for d in decided]), atol=CLOSE, rtol=0)
    alone = [
        policy.judge([policy.reader.moment(s)], choices_of(policy, [d])) for s, d in zip(asked, decided, strict=True)
    ]
    torch.testing.assert_close(torch.cat([a.log_prob for a in alone]), said.log_prob, atol=CLOSE, rtol=0)
    torch.testing.assert_close(torch.cat([a.value_logits for a in alone], dim=1), said.value_logits, atol=CLOSE, rtol=0)


@pytest.mark.parametrize("family", ["qwen2_5_vl", "smolvlm", "llama"])
def test_so_it_does_when_all_weights_are_trained(model_of: MakeModel, family: str) -> None:
    policy = make_policy(model_of(family), adapter="none", is_taught=False)
    asked = situations()
    decided = policy.decide(asked, rngs(len(asked)))
    said = recomputed(policy, asked, decided).log_prob.detach()
    torch.testing.assert_close(said, torch.tensor([d.log_prob for d in decided]), atol=CLOSE, rtol=0)


def test_an_adapter_changes_what_is_said_and_the_temperature_how_surely(model_of: MakeModel) -> None:
    plain, taught = (make_policy(model_of("qwen2_5_vl"), is_taught=is_taught) for is_taught in (False, True))
    hot = make_policy(model_of("qwen2_5_vl"), is_taught=False, temperature=5.0)
    asked = situations()[:2]
    decided = plain.decide(asked, rngs(2))
    before = recomputed(plain, asked, decided)
    assert not torch.allclose(recomputed(taught, asked, decided).log_prob, before.log_prob, atol=1e-2)
    assert bool((recomputed(hot, asked, decided).entropy > before.entropy).all())


def test_without_random_numbers_the_likeliest_token_is_said(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"))
    asked = situations()
    greedy = policy.decide(asked, None)
    assert greedy == policy.decide(asked, None)
    sampled = policy.decide(asked, rngs(len(asked)))
    assert all(g.token_log_probs[0] >= s.token_log_probs[0] for g, s in zip(greedy, sampled, strict=True))


def test_the_same_random_numbers_say_the_same_and_others_something_else(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"))
    asked = situations()
    first = policy.decide(asked, rngs(len(asked)))
    assert [d.tokens for d in first] == [d.tokens for d in policy.decide(asked, rngs(len(asked)))]
    assert [d.tokens for d in first] != [d.tokens for d in policy.decide(asked, rngs(len(asked) + 1)[1:])]


def test_sampled_tokens_come_as_often_as_their_probability_says() -> None:
    logits = torch.tensor([2.0, 0.0, 1.0, 5.0]).repeat(4000, 1)
    sampler = Sampler(rngs(4000), never_said=torch.tensor([3]), stop_ids=(0,), temperature=2.0)
    chosen = sampler(torch.zeros(4000, 1), logits).argmax(dim=1)
    shares = torch.bincount(chosen, minlength=4) / 4000
    wanted = torch.tensor([1.0, 0.0, 0.5, -torch.inf]).softmax(dim=0)  # logits / 2, and the last is never said
    torch.testing.assert_close(shares, wanted, atol=0.03, rtol=0)


@pytest.mark.parametrize("family", VISUAL)
def test_a_token_that_stands_for_a_picture_is_never_said(model_of: MakeModel, family: str) -> None:
    policy = make_policy(model_of(family), temperature=10.0)
    asked = situations()[:2] * 4
    said = {token for decision in policy.decide(asked, rngs(len(asked))) for token in decision.tokens}
    assert policy.loaded.never_said
    assert not said & set(policy.loaded.never_said)


def test_an_answer_ends_with_its_end_or_at_its_greatest_length(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"), temperature=3.0, max_new_tokens=40)
    asked = situations()
    for decision in policy.decide(asked, rngs(len(asked))):
        assert decision.tokens[-1] in policy.loaded.stop_ids or len(decision.tokens) == 40
        assert not set(decision.tokens[:-1]) & set(policy.loaded.stop_ids)


def test_small_parts_give_the_same_numbers_and_gradients_as_all_at_once(model_of: MakeModel) -> None:
    asked = situations()
    whole, parts = (make_policy(model_of("qwen2_5_vl"), batch_tokens=tokens) for tokens in (100_000, 400))
    layers = make_policy(model_of("qwen2_5_vl"), gradient_checkpointing=True, batch_tokens=100_000)
    decided = whole.decide(asked, rngs(len(asked)))
    gradients, counts = [], []
    for policy in (whole, parts, layers):
        passes: list[Any] = []
        policy.network.get_decoder().layers[0].register_forward_pre_hook(lambda *given, to=passes: to.append(given))
        said = recomputed(policy, asked, decided)
        loss = said.log_prob.sum() + said.entropy.sum() + said.value_logits.sum() + said.trajectory_value_logit.sum()
        loss.backward()
        gradients.append([said.log_prob.detach(), *(p.grad for p in policy.parameters())])
        counts.append(len(passes))
    for others in gradients[1:]:
        for ours, theirs in zip(gradients[0], others, strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-3)
    assert len(parts._groups([300] * 6)) == 6
    assert [policy.network.is_gradient_checkpointing for policy in (whole, parts, layers)] == [False, False, True]
    assert counts[1] > counts[0]
    assert counts[2] == 2 * counts[0]  # once to be told, once more for gradients


def test_in_16_bits_both_sides_stay_near_each_other(model_of: MakeModel) -> None:
    policy = make_policy(model_of("qwen2_5_vl"), dtype="bfloat16")
    assert policy.network.dtype == torch.bfloat16
    assert {p.dtype for p in policy.parameters()} == {torch.float32}  # what learns keeps its digits
    asked = situations()[:3]
    decided = policy.decide(asked, rngs(3))
    said = recomputed(policy, asked, decided).log_prob.detach()
    torch.testing.assert_close(said, torch.tensor([d.log_prob for d in decided]), atol=0.1, rtol=0)


def test_old_weights_act_as_they_did_and_the_learners_stay_as_they_are(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"))
    asked = situations()
    before, old = policy.decide(asked, rngs(len(asked))), policy.snapshot()
    policy.version = 4
    teach(policy, seed=8)
    now = {name: tensor.clone() for name, tensor in policy.tensors().items()}
    again = policy.decide(asked, rngs(len(asked)), old)
    assert [d.tokens for d in again] == [d.tokens for d in before]
    assert [d.log_prob for d in again] == pytest.approx([d.log_prob for d in before], abs=CLOSE)
    assert all(torch.equal(now[name], tensor) for name, tensor in policy.tensors().items())
    after = policy.decide(asked, rngs(len(asked)))
    assert [d.token_log_probs for d in after] != [d.token_log_probs for d in before]
    assert (after[0].policy_version, before[0].policy_version) == (4, 0)

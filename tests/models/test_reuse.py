"""What is computed once and used again changes no number: beginnings of prompts, and layers that are not trained."""

from typing import Any

import pytest
import torch

from distrl.core.types import Situation
from distrl.policies.hf import frozen as frozen_module
from distrl.policies.hf import prefix
from distrl.policies.hf.policy import HfPolicy

from .asking import episodes, make_policy, recomputed, rngs, situations, teach
from .conftest import MakeModel

pytestmark = pytest.mark.models
CLOSE = 1e-4


def gradients(policy: HfPolicy, decided: Any) -> list[torch.Tensor]:
    """What the learner computes about these decisions, and what it would learn from them."""
    for parameter in policy.parameters():
        parameter.grad = None
    said = recomputed(policy, situations(), decided)
    (said.log_prob.sum() + said.entropy.sum() + said.value_logits.sum() + said.trajectory_value_logit.sum()).backward()
    return [said.log_prob.detach(), said.value_logits.detach(), *(p.grad for p in policy.parameters())]


def assert_same(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=CLOSE, rtol=1e-3)


def test_a_beginning_that_all_prompts_share_changes_no_number(model_of: MakeModel) -> None:
    shared, apart = make_policy(model_of("llama")), make_policy(model_of("llama"))
    assert len(shared.beginnings.ids) > 20
    apart.beginnings.ids = apart.beginnings.ids[:0]
    asked = situations()
    for snapshot in (None, shared.snapshot()):
        for count in (len(asked), 1):
            ours, theirs = (p.decide(asked[:count], rngs(count), snapshot) for p in (shared, apart))
            assert [d.tokens for d in ours] == [d.tokens for d in theirs]
    decided = apart.decide(asked, rngs(len(asked)))
    assert_same(gradients(shared, decided), gradients(apart, decided))


@pytest.mark.parametrize("prompt", ["numbered", "brief"])
def test_an_episode_computes_its_task_once_and_decides_as_without(model_of: MakeModel, prompt: str) -> None:
    policy = make_policy(model_of("llama"), prompt=prompt)
    snapshot, known = policy.snapshot(), []
    for t in range(2):
        asked = [
            Situation(task=e.task, steps=e.steps[:t], observation=e.steps[t].observation)
            for e in episodes()
            if t < len(e.steps)
        ]
        ids = [policy.reader.encode(policy.reader.moment(s)).ids for s in asked]
        known.append(policy.beginnings.find(ids, snapshot).counts)
        ours, alone = policy.decide(asked, rngs(len(asked)), snapshot), policy.decide(asked, rngs(len(asked)))
        assert [d.tokens for d in ours] == [d.tokens for d in alone]
        said = torch.tensor([[d.log_prob for d in each] for each in (ours, alone)])
        torch.testing.assert_close(said[0], said[1], atol=CLOSE, rtol=0)
    task_tokens = len(policy.loaded.tokenizer(episodes()[0].task.instruction)["input_ids"])
    assert known[0][0] >= len(policy.beginnings.ids)
    assert known[1][0] >= len(policy.beginnings.ids) + task_tokens


def test_other_weights_use_nothing_that_these_computed(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"))
    asked = situations()
    old = policy.snapshot()
    before = policy.decide(asked, rngs(len(asked)), old)
    teach(policy, seed=8)
    new = policy.snapshot()
    ids = [policy.reader.encode(policy.reader.moment(s)).ids for s in asked]
    assert set(policy.beginnings.find(ids, new).counts) == {len(policy.beginnings.ids)}
    after, alone = policy.decide(asked, rngs(len(asked)), new), policy.decide(asked, rngs(len(asked)))
    assert [d.log_prob for d in after] == pytest.approx([d.log_prob for d in alone], abs=CLOSE)
    assert [d.log_prob for d in before] != pytest.approx([d.log_prob for d in after], abs=1e-2)
    again = policy.decide(asked, rngs(len(asked)), old)
    assert [d.log_prob for d in again] == pytest.approx([d.log_prob for d in before], abs=CLOSE)


def test_no_more_is_kept_than_there_is_room_for(model_of: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix, "MAX_KEPT_TOKENS", 300)
    policy = make_policy(model_of("llama"))
    snapshot = policy.snapshot()
    for _ in range(3):
        policy.decide(situations(), rngs(len(situations())), snapshot)
    assert sum(len(kept.ids) for kept in policy.beginnings._kept) <= 300


def test_models_with_eyes_share_no_beginning(model_of: MakeModel) -> None:
    policy = make_policy(model_of("qwen2_5_vl"), lora_layers=1)
    assert len(policy.beginnings.ids) == 0
    assert policy.frozen is None


def test_layers_under_the_adapter_are_computed_once_and_change_no_number(model_of: MakeModel) -> None:
    split, whole = (make_policy(model_of("llama"), lora_layers=1) for _ in range(2))
    assert split.frozen is not None
    whole.frozen = None
    asked = situations()
    decided = whole.decide(asked, rngs(len(asked)))
    wanted = gradients(whole, decided)
    runs: list[int] = []
    hook = split.network.get_decoder().layers[0].register_forward_hook(lambda *_: runs.append(1))
    assert_same(gradients(split, decided), wanted)
    num_first, num_shared = len(runs), 1
    assert_same(gradients(split, decided), wanted)
    hook.remove()
    assert num_first > num_shared
    assert len(runs) == num_first + num_shared  # the second time only what all prompts begin with


def test_what_frozen_layers_made_is_forgotten_when_there_is_no_room(
    model_of: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen_module, "MAX_REMEMBERED_BYTES", 100_000)
    policy, whole = (make_policy(model_of("llama"), lora_layers=1) for _ in range(2))
    whole.frozen = None
    asked = situations()
    decided = whole.decide(asked, rngs(len(asked)))
    for _ in range(2):
        assert_same(gradients(policy, decided), gradients(whole, decided))
    assert policy.frozen is not None
    assert sum(state.nbytes for state in policy.frozen._known.values()) <= 100_000


@pytest.mark.parametrize("options", [{}, {"lora_layers": 2}, {"lora_layers": 1, "adapter": "none"}])
def test_where_every_layer_learns_none_is_taken_for_frozen(model_of: MakeModel, options: dict[str, Any]) -> None:
    assert make_policy(model_of("llama"), **options).frozen is None


def test_rows_of_like_length_are_computed_together(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"), batch_tokens=1000)
    assert policy._groups([100, 96, 50, 90, 45]) == [[0, 1, 3], [2, 4]]
    assert policy._groups([400, 400, 400]) == [[0, 1], [2]]

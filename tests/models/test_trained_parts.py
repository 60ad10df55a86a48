"""What of a model is trained, what travels, and what is refused."""

import pytest
import torch

from distrl.core.errors import UserError

from .asking import episodes, make_policy, teach
from .conftest import MakeModel
from .families import FAMILIES

pytestmark = pytest.mark.models


@pytest.mark.parametrize("family", FAMILIES)
def test_only_language_layers_are_adapted_and_the_eyes_stay_as_they_are(model_of: MakeModel, family: str) -> None:
    policy = make_policy(model_of(family))
    adapted = [name for name in policy.snapshot().parameters if "lora_A" in name]
    assert len(adapted) == 2 * 7  # layers x (q, k, v, o, gate, up, down)
    assert not any("vision" in name or "visual" in name for name in adapted)
    assert {p.shape[0] for name, p in policy.snapshot().parameters.items() if "lora_A" in name} == {16}
    assert policy.adapter is not None
    assert policy.adapter.peft_config["default"].lora_alpha == 32


def test_only_the_last_layers_are_adapted_if_so_many_are_given(model_of: MakeModel) -> None:
    policy = make_policy(model_of("qwen3_vl"), lora_layers=1, lora_rank=4)
    names = [name for name in policy.snapshot().parameters if "lora_A" in name]
    assert len(names) == 7
    assert all(".layers.1." in name for name in names)


def test_a_new_adapter_changes_nothing(model_of: MakeModel) -> None:
    many = {"is_taught": False, "max_new_tokens": 24}
    plain, adapted = (make_policy(model_of("llama"), adapter=a, **many) for a in ("none", "lora"))
    prepared = plain.prepare(episodes()[0])
    said = [policy.judge(prepared.moments[:-1], prepared.choices).log_prob for policy in (plain, adapted)]
    torch.testing.assert_close(said[0], said[1], atol=1e-5, rtol=0)


def test_everything_is_trained_without_an_adapter(model_of: MakeModel) -> None:
    policy = make_policy(model_of("internvl"), adapter="none", is_taught=False)
    own = sum(p.numel() for p in policy.network.parameters())
    assert sum(t.numel() for t in policy.snapshot().parameters.values()) == own


def test_what_travels_is_the_adapter_alone(model_of: MakeModel) -> None:
    policy = make_policy(model_of("qwen2_5_vl"))
    travels = sum(t.numel() for t in policy.snapshot().parameters.values())
    assert travels < sum(p.numel() for p in policy.network.parameters() if not p.requires_grad) / 5
    assert not any(name.startswith("heads.") for name in policy.snapshot().parameters)


@pytest.mark.parametrize("damage", ["missing", "unknown", "shape", "nan"])
def test_weights_that_are_not_whole_are_refused_and_nothing_changes(model_of: MakeModel, damage: str) -> None:
    policy = make_policy(model_of("llama"))
    tensors = {name: tensor.clone() for name, tensor in policy.snapshot().parameters.items()}
    name = sorted(tensors)[0]
    match damage:
        case "missing":
            del tensors[name]
        case "unknown":
            tensors["another"] = torch.zeros(1)
        case "shape":
            tensors[name] = torch.zeros(3)
        case "nan":
            tensors[name] = torch.full_like(tensors[name], torch.nan)
    before = {n: t.clone() for n, t in policy.tensors().items()}
    for take in (policy.load_tensors, lambda given: policy.snapshot_of(7, given)):
        with pytest.raises(UserError, match=r"do not fit|not finite"):
            take(tensors)
    assert all(torch.equal(before[n], t) for n, t in policy.tensors().items())


def test_weights_of_one_policy_make_another_say_the_same(model_of: MakeModel) -> None:
    taught, other = (make_policy(model_of("llama"), seed=seed, max_new_tokens=24) for seed in (0, 1))
    teach(taught, seed=5)
    other.load_tensors(taught.tensors())
    prepared = taught.prepare(episodes()[0])
    ours, theirs = (p.judge(prepared.moments[:-1], prepared.choices) for p in (taught, other))
    torch.testing.assert_close(ours.log_prob, theirs.log_prob)
    torch.testing.assert_close(ours.value_logits, theirs.value_logits)


def test_an_experts_actions_are_put_into_words(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"), max_new_tokens=24)
    episode = episodes()[0]
    prepared = policy.prepare(episode)
    assert len(prepared.moments) == len(episode.steps) + 1
    for step, row in zip(episode.steps, prepared.choices, strict=True):
        tokens = (row[row > 0] - 1).tolist()
        assert tokens[-1] in policy.loaded.stop_ids
        assert policy.reader.answer_text(tokens) == policy.prompt.write(step.decision.action, step.observation)

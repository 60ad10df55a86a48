"""The paper's policy, with tiny models made from configurations: probabilities, values, a whole run, loading."""

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from transformers import T5ForConditionalGeneration

from distrl.core.clock import run_virtual
from distrl.core.config import config_of
from distrl.core.config_autoui import AutoUIConfig
from distrl.core.errors import UserError
from distrl.core.types import Outcome, Ruling, Step, Trajectory, Verdict
from distrl.policies.autoui.policy import AutoUIPolicy
from distrl.runtime.api import Engine, ready_training
from distrl.runtime.demonstrations import demonstrate, without_tokens
from distrl.runtime.evaluation import evaluate
from distrl.runtime.export import export_run
from distrl.runtime.players import make_player
from distrl.runtime.trained import read_run
from distrl.runtime.wire import decode, encode
from distrl.tasks.book import load_tasks

from .asking import rngs, situations
from .autoui import FEATURES, make_autoui, tables
from .test_loading import with_own_code

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return make_autoui(tmp_path_factory.mktemp("autoui"))


@pytest.fixture(scope="module")
def policy(models: dict[str, str]) -> AutoUIPolicy:
    return AutoUIPolicy(AutoUIConfig(**models, max_new_tokens=12, batch_rows=3))


def recorded(policy: AutoUIPolicy, **options: Any) -> Trajectory:
    """A trajectory whose decisions are the policy's own, drawn in the situations of an expert's."""
    seen = situations()[:4]
    decisions = policy.decide(seen, rngs(len(seen)), **options)
    steps = tuple(Step(observation=s.observation, decision=d, rewards={}) for s, d in zip(seen, decisions, strict=True))
    return Trajectory(
        id="t",
        task=seen[0].task,
        steps=steps,
        final=seen[-1].observation,
        outcome=Outcome.FAILED,
        verdict=Verdict(ruling=Ruling.FAILURE, judge="rule"),
        worker="w",
        device="d",
    )


def test_the_learner_recomputes_the_log_probabilities_that_acted(policy: AutoUIPolicy) -> None:
    trajectory = recorded(policy)
    # What was decided depended on the expert's past, so each is judged in the situation that it was decided in.
    seen = situations()[:4]
    prepared = policy.prepare(trajectory)
    moments = policy.reader.moments(seen)
    said = policy.judge(moments, prepared.choices).log_prob
    acted = [step.decision.log_prob for step in trajectory.steps]
    assert torch.allclose(said, torch.tensor(acted), atol=1e-4)
    assert len({step.decision.tokens for step in trajectory.steps}) > 1


def test_a_batch_says_the_same_as_each_by_itself(policy: AutoUIPolicy) -> None:
    seen = situations()[:4]
    together = policy.decide(seen, rngs(4))
    alone = [policy.decide([s], [r])[0] for s, r in zip(seen, rngs(4), strict=True)]
    assert [d.tokens for d in together] == [d.tokens for d in alone]
    assert [d.log_prob for d in together] == pytest.approx([d.log_prob for d in alone], abs=1e-4)


def test_the_screen_is_let_in_by_the_gate_and_two_frames_go_to_the_critics(policy: AutoUIPolicy) -> None:
    first, second = policy.reader.moments(situations()[:2])
    assert first.screens.shape == (2 * FEATURES,)
    assert np.array_equal(first.screens[:FEATURES], first.screens[FEATURES:])  # there is nothing before the first
    assert np.array_equal(second.screens[:FEATURES], first.screens[FEATURES:])
    assert not np.array_equal(second.screens[FEATURES:], first.screens[FEATURES:])
    seen, _ = policy._look([first.ids, first.ids], [first.screens[FEATURES:], second.screens[FEATURES:]])
    assert not torch.allclose(seen.last_hidden_state[0], seen.last_hidden_state[1])


def test_a_long_past_is_cut_off_at_its_beginning_and_never_the_goal(models: dict[str, str]) -> None:
    policy = AutoUIPolicy(AutoUIConfig(**models, num_actions=64))
    situation = situations()[1]
    long = msgspec.structs.replace(situation, steps=situation.steps * 64)
    ids = policy.reader.ids(long)
    assert len(ids) == 512
    assert situation.task.instruction in policy.loaded.tokenizer.decode(ids)


def test_what_is_frozen_stays_and_everything_else_learns(policy: AutoUIPolicy) -> None:
    prepared = policy.prepare(recorded(policy))
    said = policy.judge(prepared.moments[:-1], prepared.choices)
    # The critics' last layers begin at zero, so that only these have a gradient at first.
    (said.log_prob.sum() + said.value_logits.sum() + said.trajectory_value_logit.sum()).backward()
    named = dict(policy.network.named_parameters())
    for name in ("image_dense.weight", "gate_dense.weight", "mha_layer.in_proj_weight", "shared.weight"):
        assert named[name].grad is not None and named[name].grad.any(), name
    assert all(head[-1].weight.grad.any() for head in (*policy.heads.value, policy.heads.trajectory_value))
    frozen = [*policy.loaded.eyes.network.parameters(), *policy.loaded.text.parameters()]
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in frozen)
    policy.network.zero_grad()
    policy.heads.zero_grad()


def test_a_snapshot_acts_as_it_did_and_leaves_the_policy_as_it_is(models: dict[str, str]) -> None:
    policy = AutoUIPolicy(AutoUIConfig(**models, max_new_tokens=8))
    before = policy.decide(situations()[:2], rngs(2))
    snapshot = policy.snapshot()
    policy.load_tensors({name: tensor + 0.3 for name, tensor in policy.tensors().items()})
    policy.version = 5
    after = policy.decide(situations()[:2], rngs(2))
    assert [d.tokens for d in after] != [d.tokens for d in before]
    assert policy.decide(situations()[:2], rngs(2), snapshot) == before
    assert policy.decide(situations()[:2], rngs(2)) == after
    with pytest.raises(UserError, match="do not fit"):
        policy.snapshot_of(6, dict(list(snapshot.parameters.items())[1:]))


def test_what_the_worker_saw_travels_and_its_learner_needs_no_eyes(models: dict[str, str]) -> None:
    worker, learner = (AutoUIPolicy(AutoUIConfig(**models, max_new_tokens=8)) for _ in range(2))
    sent = worker.with_features(recorded(worker))
    assert len(sent.features) == 4 * FEATURES * (len(sent.steps) + 1)
    arrived = decode(encode(sent))
    assert arrived.features == sent.features
    ours, theirs = learner.prepare(arrived), worker.prepare(sent)
    assert "network" not in vars(learner.loaded.eyes)  # it was never loaded
    for one, other in zip(ours.moments, theirs.moments, strict=True):
        assert np.array_equal(one.screens, other.screens)


@pytest.mark.parametrize("features", [b"", b"short", np.full(5 * FEATURES, np.nan, np.float32).tobytes()])
def test_features_that_cannot_be_are_looked_for_instead(models: dict[str, str], features: bytes) -> None:
    worker, learner = (AutoUIPolicy(AutoUIConfig(**models, max_new_tokens=8)) for _ in range(2))
    trajectory = recorded(worker)
    wanted = worker.prepare(trajectory).moments
    made = learner.prepare(msgspec.structs.replace(trajectory, features=features)).moments
    assert all(np.allclose(one.screens, other.screens) for one, other in zip(made, wanted, strict=True))


def test_every_trajectory_of_a_worker_has_what_was_seen_in_it(models: dict[str, str]) -> None:
    policy = AutoUIPolicy(AutoUIConfig(**models, max_new_tokens=8))
    config = config_of(tables(models, 1))
    tasks = load_tasks("general", "train")[:2]
    played = run_virtual(evaluate(policy, tasks, config, is_greedy=True, snapshot=policy.snapshot()))
    assert [len(t.features) for t in played] == [4 * FEATURES * (len(t.steps) + 1) for t in played]


def test_imitating_an_expert_makes_its_answers_likelier(models: dict[str, str]) -> None:
    policy = AutoUIPolicy(AutoUIConfig(**models, max_new_tokens=64, batch_rows=4))
    (shown,) = demonstrate(load_tasks("general", "train")[:1], noise=0.0, seed=0, scale=0.1)
    prepared = policy.prepare(without_tokens(shown))
    moments, choices = prepared.moments[:4], prepared.choices[:4]
    assert (choices[:, 0] > 0).all()
    optimiser = torch.optim.Adam(policy.parameters(), lr=3e-3)
    losses = []
    for _ in range(8):
        loss = -policy.judge(moments, choices).log_prob.mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]


def test_two_updates_of_a_whole_run_a_resume_and_an_export_that_opens_again(
    models: dict[str, str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    ready_training(config_of(tables(models, 4)), run, lambda progress: None, Engine("serial")).run()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(rows) >= 2
    assert all(row["loss"] is not None and row["rho_mean"] > 0 for row in rows)
    result = ready_training(config_of(tables(models, 7)), run, lambda progress: None, Engine("serial")).run()
    events = [json.loads(line)["event"] for line in (run / "events.jsonl").read_text().splitlines()]
    assert "resumed" in events
    export_run(read_run(run), "hf", tmp_path / "out")
    with pytest.raises(UserError, match="there is no adapter"):
        export_run(read_run(run), "peft", tmp_path / "adapter")
    seen = situations()[:2]
    players: list[Any] = [result.policy, read_run(run).load_policy(), make_player(tmp_path / "out")]
    tokens = [[d.tokens for d in player.decide(seen, rngs(2))] for player in players]
    assert tokens[0] == tokens[1] == tokens[2]
    plain = T5ForConditionalGeneration.from_pretrained(tmp_path / "out")
    trained = dict(result.policy.network.named_parameters())
    assert torch.equal(plain.shared.weight, trained["shared.weight"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": ""}, r"policy\.autoui\.model: say which models"),
        ({"vision": "/nowhere"}, r"policy\.autoui\.vision: cannot load '/nowhere'"),
        ({"text": "/nowhere"}, r"policy\.autoui\.text: cannot load '/nowhere'"),
        ({"model": "/nowhere"}, r"policy\.autoui\.model: cannot load '/nowhere'"),
        ({"device": "cuda:7"}, r"policy\.autoui\.device: cuda:7"),
    ],
)
def test_a_model_that_is_not_there_is_one_clear_error(
    models: dict[str, str], change: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=reason):
        AutoUIPolicy(AutoUIConfig(**(models | change)))


def test_an_answer_that_is_too_long_to_be_learned_whole_is_not_learned_by_half(models: dict[str, str]) -> None:
    policy = AutoUIPolicy(AutoUIConfig(**models, max_new_tokens=8))
    (shown,) = demonstrate(load_tasks("general", "test")[:1], noise=0.0, seed=0)
    with pytest.raises(UserError, match=r"policy\.autoui\.max_new_tokens: an answer of \d+ tokens .* 8 are allowed"):
        policy.prepare(without_tokens(shown))


@pytest.mark.parametrize("part", ["vision", "text"])
def test_code_that_comes_with_a_model_is_never_run(
    models: dict[str, str], tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda *asked: "y")  # whoever asks is told yes
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    foreign = with_own_code(Path(shutil.copytree(models[part], tmp_path / part)), tmp_path / "ran")
    with contextlib.suppress(UserError):
        AutoUIPolicy(AutoUIConfig(**(models | {part: str(foreign)})))
    assert not (tmp_path / "ran").exists()

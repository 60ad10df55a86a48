"""A model learns: imitation makes demonstrations likelier, and numbers that are none change nothing."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from distrl.core.config import config_of
from distrl.core.types import Outcome
from distrl.policies.hf.policy import HfPolicy
from distrl.runtime.chosen_tasks import chosen_tasks
from distrl.runtime.imitation import ImitationOptions, imitate
from distrl.runtime.players import make_player
from distrl.runtime.policies import load_start

from .asking import make_policy
from .conftest import MakeModel
from .learning import make_learner, played

pytestmark = pytest.mark.models


@pytest.mark.learning
@pytest.mark.parametrize(("adapter", "learning_rate", "share"), [("none", 3e-3, 0.7), ("lora", 0.05, 0.95)])
def test_the_loss_falls_when_a_tiny_qwen_imitates_demonstrations(
    model_of: MakeModel, adapter: str, learning_rate: float, share: float
) -> None:
    hf = {"model": str(model_of("qwen2_5_vl")), "max_new_tokens": 24, "num_actions": 1, "prompt": "numbered"}
    hf["adapter"] = adapter
    config = config_of(
        {
            "policy": {"kind": "hf", "start": "scratch", "hf": hf},
            "tasks": {"templates": ["star_mail", "pin_note"]},
            "env": {"max_steps": 1},
            "collect": {"num_devices": 1},
        }
    )
    policy = load_start(config)
    options = ImitationOptions(
        learning_rate=learning_rate,
        per_template=2,
        noise=0.0,
        target=1.0,
        max_epochs=5,
        checks_per_template=1,
        batch_steps=4,
    )
    ticks: list[int] = []
    tasks = chosen_tasks(config.tasks, "train")
    losses = [progress.loss for progress in imitate(policy, tasks, config, options, tick=ticks.append)]
    assert losses[-1] < share * losses[0]
    assert sum(ticks) % 5 == 0  # every epoch is told whole


def test_the_command_line_imitates_and_a_run_starts_from_it(model_of: MakeModel, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        f'''
[policy]
kind = "hf"
[policy.hf]
model = "{model_of("llama")}"
prompt = "numbered"
num_screens = 0
max_new_tokens = 24
[tasks]
templates = ["star_mail"]
[env]
max_steps = 1
[collect]
num_devices = 1
'''
    )
    command = [sys.executable, "-m", "distrl", "imitate", "-c", str(config), "--out", str(tmp_path / "start")]
    more = ["--per-template", "1", "--max-epochs", "1", "--checks", "1", "--json"]
    done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["epochs"] == 1
    assert {"adapter_model.safetensors", "adapter_config.json", "distrl.json", "imitation.json"} <= {
        path.name for path in (tmp_path / "start").iterdir()
    }
    log = json.loads((tmp_path / "start" / "imitation.json").read_text())
    assert log["options"]["entropy_weight"] == 0.01
    hf = {"model": str(model_of("llama")), "prompt": "numbered", "num_screens": 0}
    starts = ("scratch", str(tmp_path / "start"))
    configs = [config_of({"policy": {"kind": "hf", "start": start, "hf": hf}}) for start in starts]
    before, after = (load_start(each).snapshot().parameters for each in configs)
    assert any(not torch.equal(before[name], after[name]) for name in before if "lora_B" in name)
    evaluated = make_player("imitation", config=configs[1])
    assert isinstance(evaluated, HfPolicy), "what a run starts from, not what is shipped for another kind of policy"
    assert all(torch.equal(after[name], tensor) for name, tensor in evaluated.snapshot().parameters.items())
    again = subprocess.run([*command, *more], capture_output=True, text=True, timeout=110)
    assert again.returncode == 2
    assert "there already" in again.stderr


def test_a_number_that_is_none_changes_no_weight_and_makes_no_version(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"))
    learner = make_learner(policy, played(policy))
    learner.update()
    before = {name: tensor.clone() for name, tensor in policy.tensors().items()}
    version = policy.version
    hook = policy.network.get_output_embeddings().register_forward_hook(lambda *given: given[2] * float("nan"))
    learner.update()
    hook.remove()
    assert learner.num_bad_updates == 1
    assert policy.version == version
    assert all(torch.equal(before[name], tensor) for name, tensor in policy.tensors().items())
    assert np.isfinite(learner.update()["loss"])


def test_what_old_weights_did_is_weighed_by_how_likely_it_is_now(model_of: MakeModel) -> None:
    policy = make_policy(model_of("llama"))
    arrived = played(policy)
    assert {t.outcome for t in arrived} == {Outcome.SUCCEEDED, Outcome.TRUNCATED_STEPS}
    learner = make_learner(policy, arrived)
    first, later = learner.update(), [learner.update() for _ in range(3)][-1]
    assert first["rho_mean"] == pytest.approx(1.0, abs=1e-3)  # nothing has been learned since it acted
    assert abs(later["rho_mean"] - 1.0) > 1e-3
    assert later["age_max"] >= 0

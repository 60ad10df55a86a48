"""Whole runs with tiny models of every family: online updates, checkpoint, resume, export, and opening it elsewhere.

The last with one family, or with DISTRL_TEST_FAMILIES=all with each of them, which takes ten seconds each.
"""

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

import distrl
from distrl.core.config import Config, config_of, dump_toml
from distrl.core.errors import UserError
from distrl.policies.hf.policy import HfPolicy
from distrl.policies.hf.saving import save_whole
from distrl.runtime.api import Engine, ready_training
from distrl.runtime.asynchronous import JOURNAL
from distrl.runtime.export import export_run
from distrl.runtime.export_model import ExportError
from distrl.runtime.journal import Journal
from distrl.runtime.trained import read_run

from .asking import rngs, situations
from .conftest import MakeModel
from .families import CHOSEN, FAMILIES

pytestmark = pytest.mark.models


def tables(model: Path, **more: dict[str, Any]) -> dict[str, Any]:
    """A run of two devices and short episodes; phones that take their time make it that of a whole fleet."""
    is_text = "llama" in model.name
    hf = {"model": str(model), "max_new_tokens": 4, "num_actions": 2}
    hf |= {"num_screens": 0, "prompt": "numbered"} if is_text else {}
    made: dict[str, Any] = {
        "policy": {
            "kind": "hf",
            "start": "scratch",
            "hf": hf | ({"num_screens": 0, "prompt": "numbered"} if is_text else {}),
        },
        "phone": {"latency": "emulator"},
        "env": {"max_steps": 2},
        "learner": {
            "batch_trajectories": 2,
            "new_steps_per_update": 2,
            "warmup_trajectories": 1,
            "publish_every_updates": 1,
            "imitated_successes": 0,
        },
        "collect": {"num_devices": 2},
        "train": {"num_trajectories": 4},
        "eval": {"every_trajectories": 100, "episodes": 1, "has_sampled": False},
    }
    for table, values in more.items():
        made[table] = made.get(table, {}) | values
    return made


def train(config: Config | dict[str, Any], run: Path) -> Any:
    config = config if isinstance(config, Config) else config_of(config)
    return ready_training(config, run, lambda progress: None, Engine("serial")).run()


def published(run: Path) -> list[int]:
    """The newest version that each life of a run published."""
    with contextlib.closing(Journal(run / JOURNAL)) as journal:
        newest = {epoch: version for version, epoch in journal.versions().items()}
    return [newest[epoch] for epoch in sorted(newest)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_makes_online_updates_on_a_fleet_and_goes_on_after_a_stop(
    model_of: MakeModel, tmp_path: Path, family: str
) -> None:
    run = tmp_path / "run"
    train(tables(model_of(family)), run)
    (newest,) = published(run)
    first = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(first) >= 2
    assert all(row["loss"] is not None and row["rho_mean"] > 0 for row in first)
    before = load_file(run / "weights" / "adapter_model.safetensors")
    assert any(tensor.any() for name, tensor in before.items() if "lora_B" in name)  # they start at zero

    result = train(tables(model_of(family), train={"num_trajectories": 9}), run)
    events = [json.loads(line)["event"] for line in (run / "events.jsonl").read_text().splitlines()]
    assert "resumed" in events
    assert published(run) == [newest, result.policy.version]
    assert result.policy.version > newest > 0
    after = load_file(run / "weights" / "adapter_model.safetensors")
    assert any(not torch.equal(before[name], after[name]) for name in before)

    policy = read_run(run).load_policy()
    said = [p.decide(situations()[:2], rngs(2)) for p in (result.policy, policy)]
    assert [d.tokens for d in said[0]] == [d.tokens for d in said[1]]


def test_only_the_adapter_travels_and_its_bytes_are_told(model_of: MakeModel, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(tables(model_of("llama"), env={"max_steps": 5}), run)
    rows = [json.loads(line) for line in (run / "fleet.jsonl").read_text().splitlines()]
    adapter = (run / "weights" / "adapter_model.safetensors").stat().st_size
    assert 0 < rows[-1]["published_bytes"] <= adapter
    assert adapter < (model_of("llama") / "model.safetensors").stat().st_size


def test_a_run_that_trains_all_weights_is_a_model_of_its_own(model_of: MakeModel, tmp_path: Path) -> None:
    run, config = tmp_path / "run", tables(model_of("llama"))
    config["policy"]["hf"]["adapter"] = "none"
    trained = train(config, run).policy
    assert opened_elsewhere(trained, whole=run / "weights") == [f"{run / 'weights'} {len(trained.loaded.tokenizer)}"]
    export_run(read_run(run), "hf", tmp_path / "out")
    with pytest.raises(UserError, match="--to hf"):
        export_run(read_run(run), "peft", tmp_path / "adapter")


OPENING = """
import json, sys
import peft, torch, transformers
transformers.logging.set_verbosity_error()
base, ids, wanted, directories = json.loads(sys.argv[1])
auto = transformers.{auto}
for where, is_adapter in directories:
    model = auto.from_pretrained(base if is_adapter else where)
    model = peft.PeftModel.from_pretrained(model, where) if is_adapter else model
    with torch.no_grad():
        said = model.eval()(input_ids=torch.tensor([ids])).logits[0, -1].float()
    assert torch.allclose(said, torch.tensor(wanted), atol=1e-4), (where, (said - torch.tensor(wanted)).abs().max())
    if not is_adapter:
        print(where, len(transformers.AutoTokenizer.from_pretrained(where)))
        {eyes}
assert not any(name.partition(".")[0] == "distrl" for name in sys.modules)
"""
EYES = "print(type(transformers.AutoImageProcessor.from_pretrained(where)).__name__)"


def opened_elsewhere(policy: HfPolicy, *, whole: Path, adapters: Sequence[Path] = ()) -> list[str]:
    """What a process that does not import distrl finds in directories, having computed what our policy computes."""
    ids = policy.reader.answer_ids("Task: open the clock")
    with torch.no_grad():
        wanted = policy.network(input_ids=torch.tensor([ids])).logits[0, -1].tolist()
    has_eyes = policy.loaded.has_eyes
    auto = "AutoModelForImageTextToText" if has_eyes else "AutoModelForCausalLM"
    code = OPENING.format(auto=auto, eyes=EYES if has_eyes else "")
    directories = [*((str(path), True) for path in adapters), (str(whole), False)]
    base = str(Path(policy.options.model).resolve())
    arguments = [sys.executable, "-c", code, json.dumps([base, ids, wanted, directories])]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd="/", timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("family", CHOSEN)
def test_checkpoints_and_exports_open_without_us(model_of: MakeModel, tmp_path: Path, family: str) -> None:
    run, adapter, whole = tmp_path / "run", tmp_path / "adapter", tmp_path / "whole"
    trained = train(tables(model_of(family)), run).policy
    export_run(read_run(run), "peft", adapter)
    export_run(read_run(run), "hf", whole)
    newest = max((run / "checkpoints").glob("[0-9]*"))
    found = opened_elsewhere(trained, whole=whole, adapters=[newest, adapter])
    assert found[0] == f"{whole} {len(trained.loaded.tokenizer)}"
    if trained.loaded.has_eyes:
        assert found[1] == type(trained.loaded.processor.image_processor).__name__

    for directory in (adapter, whole):
        policy = distrl.make_policy(directory)
        assert isinstance(policy, HfPolicy)
        said = [p.decide(situations()[:1], None)[0].raw for p in (trained, policy)]
        assert said[0] == said[1]
        assert "distrl" in (directory / "README.md").read_text()


def test_an_adapter_trained_on_16_bits_is_worked_into_32_and_not_rounded_away(
    model_of: MakeModel, tmp_path: Path
) -> None:
    config = tables(model_of("llama"), train={"num_trajectories": 2})
    config["policy"]["hf"]["dtype"] = "bfloat16"
    train(config, tmp_path / "run")
    out = tmp_path / "whole"
    export_run(read_run(tmp_path / "run"), "hf", out)
    assert json.loads((out / "config.json").read_text())["dtype"] == "float32"
    assert json.loads((out / "distrl.json").read_text())["dtype"] == "float32"
    base = AutoModelForCausalLM.from_pretrained(model_of("llama"), dtype=torch.bfloat16).float().state_dict()
    again = AutoModelForCausalLM.from_pretrained(out).state_dict()
    moved = [again[name] - base[name] for name in base if "q_proj" in name]
    assert any(bool((step != 0).any()) for step in moved)
    # What was added is finer than 16 bits are.
    assert any(bool((again[name].bfloat16().float() != again[name]).any()) for name in base if "q_proj" in name)


def test_an_export_that_says_something_else_than_the_run_does_not_appear(
    model_of: MakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tables(model_of("llama"), train={"num_trajectories": 2}), tmp_path / "run")

    def forget(policy: HfPolicy, directory: Path) -> None:
        with torch.no_grad():
            policy.network.get_input_embeddings().weight.mul_(1.5)
        save_whole(policy, directory)

    monkeypatch.setattr("distrl.policies.hf.saving.save_whole", forget)
    with pytest.raises(ExportError, match="more or less likely than the run"):
        export_run(read_run(tmp_path / "run"), "hf", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_line_exports_both_ways_and_refuses_others(model_of: MakeModel, tmp_path: Path) -> None:
    run, config = tmp_path / "run", tables(model_of("llama"), train={"num_trajectories": 2})
    config["policy"]["hf"]["revision"] = "tried"
    train(config, run)

    def export(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "distrl", "export", "--run", str(run), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=100)

    done = export("--to", "peft", str(tmp_path / "adapter"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "adapter" / "adapter_config.json").exists()
    assert 'revision="tried")' in (tmp_path / "adapter" / "README.md").read_text()
    assert export("--to", "onnx", "--out", str(tmp_path / "graph")).returncode == 2
    assert not (tmp_path / "graph").exists()


def refused(config: Path, run: Path, runtime: str) -> str:
    """What `distrl train` says when it ends with 2, having written nothing."""
    command = [sys.executable, "-m", "distrl", "train", "-c", str(config), "--runtime", runtime, "--run-dir", str(run)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert not run.exists()
    return done.stderr


@pytest.mark.parametrize("runtime", ["local", "serial"])
def test_a_bad_model_ends_the_command_with_2_before_anything_is_written(
    model_of: MakeModel, tmp_path: Path, runtime: str
) -> None:
    config, run = tmp_path / "run.toml", tmp_path / "run"
    config.write_text('[policy]\nkind = "hf"\n[policy.hf]\nmodel = "/no/such/model"\n')
    assert "there is no directory /no/such/model" in refused(config, run, runtime)

    model = shutil.copytree(model_of("llama"), tmp_path / "llama")
    (model / "chat_template.jinja").write_text("{{ messages[0]['role'] }}: I do not listen")
    config.write_text(dump_toml(config_of(tables(model))))
    assert "leaves out what it is asked" in refused(config, run, runtime)

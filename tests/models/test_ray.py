"""A model on real processes: two that learn together and a worker beside them, only the adapter between them.

One family here; all of them with DISTRL_TEST_FAMILIES=all, which takes a minute each.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from distrl.core.config import config_of, dump_toml

from .conftest import MakeModel
from .families import FAMILIES
from .test_runs import tables

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(600)]
CHOSEN = tuple(FAMILIES) if os.environ.get("DISTRL_TEST_FAMILIES") == "all" else ("qwen2_5_vl",)


@pytest.mark.parametrize("family", CHOSEN)
def test_a_family_is_trained_by_processes_beside_each_other_and_goes_on(
    model_of: MakeModel, tmp_path: Path, family: str
) -> None:
    run, file = tmp_path / "run", tmp_path / "run.toml"
    for total in (4, 8):
        made = tables(model_of(family), phone={"latency": "instant"}, train={"num_trajectories": total})
        made["learner"]["num_workers"] = 2
        config = config_of(made)
        file.write_text(dump_toml(config))
        command = [sys.executable, "-m", "distrl", "train", "-c", str(file), "--run-dir", str(run), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=290)
        assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(rows) >= 2
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [e["epoch"] for e in events if e["event"] in ("begun", "resumed") and "epoch" in e] == [1, 2]
    assert json.loads(done.stdout)["trajectories"] >= 8
    assert (run / "weights" / "adapter_config.json").is_file()


def test_weights_that_only_the_learner_finds_wanting_end_the_command_with_one_sentence(
    model_of: MakeModel, tmp_path: Path
) -> None:
    model, file = Path(shutil.copytree(model_of("llama"), tmp_path / "llama")), tmp_path / "run.toml"
    tensors = load_file(model / "model.safetensors")
    save_file(dict(list(tensors.items())[1:]), model / "model.safetensors", metadata={"format": "pt"})
    file.write_text(dump_toml(config_of(tables(model, phone={"latency": "instant"}))))
    command = [sys.executable, "-m", "distrl", "train", "-c", str(file), "--run-dir", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=290)
    assert done.returncode == 2, done.stderr
    assert "the weights of" in done.stderr and "are incomplete" in done.stderr
    assert "Traceback" not in done.stderr

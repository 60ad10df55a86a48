"""A model on real processes: two that learn together and a worker beside them, only the adapter between them.

One family here; all of them, and the paper's policy, with DISTRL_TEST_FAMILIES=all, which takes a minute each.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from distrl.core.config import config_of, dump_toml

from . import autoui
from .conftest import MakeModel
from .families import CHOSEN, IS_ALL
from .test_runs import tables

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(600)]


def run_of(family: str, model_of: MakeModel, place: Path) -> dict[str, Any]:
    """The tables of a run by two learner processes."""
    if family == "autoui":
        made = autoui.tables(autoui.make_autoui(place / "models"), 0)
        made["phone"]["latency"] = "instant"
        made["env"] = {"max_steps": 2}
    else:
        made = tables(model_of(family), phone={"latency": "instant"})
    made["learner"]["num_workers"] = 2
    return made


@pytest.mark.parametrize("family", (*CHOSEN, "autoui") if IS_ALL else CHOSEN)
def test_a_family_is_trained_by_processes_beside_each_other_and_goes_on(
    model_of: MakeModel, tmp_path: Path, family: str
) -> None:
    run, file = tmp_path / "run", tmp_path / "run.toml"
    made = run_of(family, model_of, tmp_path)
    for total in (4, 8):
        file.write_text(dump_toml(config_of(made | {"train": {"num_trajectories": total}})))
        command = [sys.executable, "-m", "distrl", "train", "-c", str(file), "--run-dir", str(run), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=290)
        assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(rows) >= 2
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [e["epoch"] for e in events if e["event"] in ("begun", "resumed") and "epoch" in e] == [1, 2]
    assert json.loads(done.stdout)["trajectories"] >= 8
    assert (run / "weights" / ("config.json" if family == "autoui" else "adapter_config.json")).is_file()


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

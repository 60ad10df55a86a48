"""A model on real processes: two that learn together and a worker beside them, only the adapter between them.

One family here; all of them with DISTRL_TEST_FAMILIES=all, which takes a minute each.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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

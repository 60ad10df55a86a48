"""Exports: what others open says what ours says."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import numpy as np
import onnxruntime
import pytest
from safetensors import safe_open
from torch import Tensor

import distrl
from distrl.core.errors import UserError
from distrl.core.types import Situation
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.runtime import export
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange
from distrl.runtime.demonstrations import look
from distrl.runtime.export import AXES, INPUTS, OUTPUTS, ExportError, export_run, largest_difference
from distrl.runtime.tensors import pack_tensors
from distrl.runtime.trained import read_run
from distrl.tasks.book import load_tasks

from .runs import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run(tmp_path / "run")
    return tmp_path / "run"


def situations() -> list[Situation]:
    phone = make_phone(scale=0.1)
    found = []
    for task in load_tasks("system", "test")[:3]:
        arrange(phone, task)
        found.append(Situation(task=task, steps=(), observation=look(phone)))
    return found


def test_an_export_for_the_hub_acts_like_the_run(run: Path, tmp_path: Path) -> None:
    files = export_run(read_run(run), "hf", tmp_path / "hub")
    assert files == ["README.md", "config.json", "model.safetensors"]
    original, exported = distrl.make_policy(run), distrl.make_policy(tmp_path / "hub")
    assert isinstance(original, TinyPolicy)
    assert isinstance(exported, TinyPolicy)
    rngs = [Random(n) for n in range(3)], [Random(n) for n in range(3)]
    assert original.decide(situations(), rngs[0]) == exported.decide(situations(), rngs[1])


def with_a_doubled_head(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    return pack_tensors({n: 2 * t if n == "network.verb.weight" else t for n, t in tensors.items()}, metadata)


def with_an_eye_turned_around(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    return pack_tensors({n: -t if n.startswith("widgets.known") else t for n, t in tensors.items()}, metadata)


def cut_short(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    return pack_tensors(tensors, metadata)[:-4]


@pytest.mark.parametrize(
    ("damaged", "mode", "complaint"),
    [
        (with_a_doubled_head, "text", r"written and the run differ by [\d.e+-]+ in `verb`.*nothing was written"),
        (with_an_eye_turned_around, "pixels", r"written and the run differ by [\d.e+-]+ in .*nothing was written"),
        (cut_short, "text", r"cannot be read again.*model\.safetensors.*damaged.*nothing was written"),
    ],
)
def test_an_export_for_the_hub_that_says_something_else_is_not_written(
    damaged: Callable[..., bytes], mode: Mode, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", mode=mode)
    # What reaches the disk is not what was to be written.
    monkeypatch.setattr(export, "pack_tensors", damaged)
    with pytest.raises(ExportError, match=complaint):
        export_run(read_run(tmp_path / "run"), "hf", tmp_path / "hub")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_config_and_metadata_say_what_it_is(run: Path, tmp_path: Path) -> None:
    export_run(read_run(run), "hf", tmp_path / "hub")
    config = json.loads((tmp_path / "hub" / "config.json").read_text())
    assert (config["mode"], config["policy_version"], config["width"]) == ("text", 7, 64)
    assert config["trained_with"] == {"suite": "system", "algorithm": "a_ride", "seed": 0, "trajectories": 12}
    with safe_open(tmp_path / "hub" / "model.safetensors", framework="pt") as file:
        assert file.metadata()["version"] == "7"
        assert sum(file.get_tensor(name).numel() for name in file.keys()) == config["num_parameters"]  # noqa: SIM118


def test_the_model_card_has_what_was_measured_and_nothing_else(run: Path, tmp_path: Path) -> None:
    export_run(read_run(run), "hf", tmp_path / "hub")
    card = (tmp_path / "hub" / "README.md").read_text()
    assert "| before training | 25.0% (4.6% to 69.9%) | 25.0% |" in card
    assert "| after 12 trajectories | 75.0% (30.1% to 95.4%) | 25.0% |" in card
    (run / "evaluations.jsonl").unlink()
    export_run(read_run(run), "hf", tmp_path / "unmeasured")
    assert "Measured" not in (tmp_path / "unmeasured" / "README.md").read_text()


@pytest.mark.parametrize("mode", ["text", "pixels"])
def test_the_graph_says_the_same_as_torch_for_any_number_of_moments(mode: str, tmp_path: Path) -> None:
    write_run(tmp_path / "run", mode=mode)  # type: ignore[arg-type]
    assert export_run(read_run(tmp_path / "run"), "onnx", tmp_path / "graph") == ["config.json", "model.onnx"]
    about = json.loads((tmp_path / "graph" / "config.json").read_text())["onnx"]
    assert about["largest_difference"] <= 1e-4
    session = onnxruntime.InferenceSession(str(tmp_path / "graph" / "model.onnx"))
    assert [node.name for node in session.get_inputs()] == list(INPUTS)
    shapes = {node.name: node.shape for node in (*session.get_inputs(), *session.get_outputs())}
    assert shapes["alike"] == ["moments", "longest", "longest"]
    assert shapes["tap"] == ["moments", "most_elements"]


def test_every_named_axis_is_of_a_tensor_that_exists() -> None:
    assert set(AXES) <= {*INPUTS, *OUTPUTS}


def test_a_graph_that_differs_is_not_written(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "TOLERANCE", 0.0)
    monkeypatch.setattr(export, "largest_difference", lambda ours, theirs: 0.5)
    with pytest.raises(ExportError, match=r"differ by 0\.5 in `verb`.*nothing was written"):
        export_run(read_run(run), "onnx", tmp_path / "graph")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_differences_count_where_something_is_possible() -> None:
    ours = np.array([-1.0, -2.0, -1e9], np.float32)
    assert largest_difference(ours, np.array([-1.0, -2.5, -1e9 + 300], np.float32)) == 0.5
    assert largest_difference(ours, np.array([-1.0, -2.0, -3.0], np.float32)) == float("inf")
    assert largest_difference(ours, np.array([-1.0, -2.0, float("nan")], np.float32)) == 0.0
    assert largest_difference(ours, np.array([-1.0, -2.0], np.float32)) == float("inf")


def test_what_is_there_is_not_overwritten(run: Path, tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="is there already"):
        export_run(read_run(run), "hf", tmp_path / "hub")
    with pytest.raises(UserError, match="cannot be written"):
        export_run(read_run(run), "hf", run / "config.toml" / "hub")
    with pytest.raises(UserError, match="unknown format 'onx': did you mean onnx"):
        export_run(read_run(run), "onx", tmp_path / "graph")


def test_damaged_weights_are_named(run: Path, tmp_path: Path) -> None:
    weights = run / "weights" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"model\.safetensors: .*damaged"):
        export_run(read_run(run), "hf", tmp_path / "hub")
    assert not (tmp_path / "hub").exists()

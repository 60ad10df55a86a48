"""The Python interface: what `import distrl` offers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import distrl
from distrl.core.config import config_of
from distrl.core.errors import UserError
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.api import TrainResult, new_run_dir

from .runs import tiny, write_run

Rows = list[dict[str, Any]]


def without_time(rows: Rows) -> Rows:
    return [{name: value for name, value in row.items() if name != "wall_s"} for row in rows]


@pytest.fixture(scope="module")
def trained() -> TrainResult:
    return distrl.train(tiny())


@pytest.fixture(scope="module")
def halved(tmp_path_factory: pytest.TempPathFactory) -> TrainResult:
    """The same, stopped half-way and resumed."""
    run_dir = tmp_path_factory.mktemp("runs") / "run"
    first = distrl.train(tiny(train={"num_trajectories": 6}), run_dir=run_dir)
    assert first.curve[-1]["updates"] > 0, "there is something to remember"
    return distrl.train(tiny(), run_dir=run_dir)


def test_training_gives_a_curve_from_the_start_to_the_end_and_writes_nothing_unasked(trained: TrainResult) -> None:
    assert [row["trajectories"] for row in trained.curve] == [0, 6, 12]
    assert trained.curve[-1]["updates"] > 0
    assert trained.run_dir is None


def test_the_start_is_kept_as_it_was(trained: TrainResult) -> None:
    fresh = TinyPolicy("text", seed=0).tensors()
    assert all(bool((tensor == fresh[name]).all()) for name, tensor in trained.start.tensors().items())
    assert any(bool((tensor != fresh[name]).any()) for name, tensor in trained.policy.tensors().items())


def test_training_in_two_parts_has_the_curve_of_training_in_one(trained: TrainResult, halved: TrainResult) -> None:
    assert without_time(halved.curve) == without_time(trained.curve)


def test_training_in_two_parts_is_training_in_one_bit_for_bit(trained: TrainResult, halved: TrainResult) -> None:
    ours, theirs = halved.policy.tensors(), trained.policy.tensors()
    assert all(bool((ours[name] == theirs[name]).all()) for name in theirs)


def test_a_run_that_was_stopped_before_its_first_update_goes_on(tmp_path: Path) -> None:
    untrained = {"warmup_trajectories": 3}
    stopped = distrl.train(tiny(train={"num_trajectories": 2}, learner=untrained), run_dir=tmp_path / "run")
    assert stopped.curve[-1]["updates"] == 0
    result = distrl.train(tiny(train={"num_trajectories": 3}, learner=untrained), run_dir=tmp_path / "run")
    assert [row["trajectories"] for row in result.curve] == [0, 2, 3]


@pytest.mark.parametrize("count", [1, 2])
def test_the_devices_are_shared_out_to_as_many_workers_as_asked_for(tmp_path: Path, count: int) -> None:
    config = tiny(phone={"scale": 0.1, "latency": "emulator"}, train={"num_trajectories": 4})
    distrl.train(config, tmp_path / "run", num_workers=count)
    rows = [json.loads(line) for line in (tmp_path / "run" / "fleet.jsonl").read_text().splitlines()]
    assert {row["workers"] for row in rows} == {count}


def test_a_configuration_may_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"run\.toml:1: sede"):
        (tmp_path / "run.toml").write_text("sede = 1\n")
        distrl.train(tmp_path / "run.toml")


def test_mistakes_in_tables_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown algorithm"):
        distrl.train(tiny(algorithm={"name": "a_rid"}), run_dir=tmp_path / "run")
    with pytest.raises(ValueError, match="did you mean general"):
        distrl.train({"tasks": {"suite": "generl"}}, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_evaluating_twice_gives_the_same_report() -> None:
    first = distrl.evaluate("random", suite="system", episodes=4, seed=3)
    assert first == distrl.evaluate("random", suite="system", episodes=4, seed=3)
    assert first.episodes == 4


def test_the_expert_solves_everything_and_idling_nothing() -> None:
    assert distrl.evaluate("expert", suite="system", episodes=5).success == 1.0
    assert distrl.evaluate("idle", suite="install", episodes=3).success == 0.0


def test_a_policy_of_your_own_is_anything_that_decides(trained: TrainResult) -> None:
    report = distrl.evaluate(trained.policy, suite="system", split="train", episodes=2, is_sampled=True)
    assert report.episodes == 2


def test_a_run_is_evaluated_on_its_own_suite_and_its_policy_decides_alike(tmp_path: Path) -> None:
    _, policy = write_run(tmp_path / "run")
    loaded = distrl.make_policy(tmp_path / "run")
    assert isinstance(loaded, TinyPolicy)
    assert all(bool((tensor == policy.tensors()[name]).all()) for name, tensor in loaded.tensors().items())
    report = distrl.evaluate(tmp_path / "run")
    assert report.episodes == 4, "as configured in the run"
    assert all(name.startswith("system") or "_" in name for name in report.by_template)


def test_which_mode_weights_are_for_is_seen_from_them(tmp_path: Path) -> None:
    write_run(tmp_path / "run", mode="pixels")
    weights = tmp_path / "run" / "weights" / "model.safetensors"
    loaded = distrl.make_policy(weights)
    assert isinstance(loaded, TinyPolicy)
    assert loaded.mode == "pixels"
    with pytest.raises(UserError, match="for pixels mode, not for text"):
        distrl.make_policy(weights, mode="text")


@pytest.mark.parametrize("episodes", [0, -1])
def test_no_episode_is_a_mistake(episodes: int) -> None:
    with pytest.raises(UserError, match="at least one episode"):
        distrl.evaluate("idle", episodes=episodes)


def test_a_name_that_nothing_answers_to_says_what_would() -> None:
    with pytest.raises(UserError, match="expert, random, idle, imitation"):
        distrl.make_policy("exprt")
    with pytest.raises(UserError, match="no network"):
        distrl.make_policy("expert", mode="text")


def test_a_new_run_is_named_for_its_time_and_content_and_never_taken(tmp_path: Path) -> None:
    config = config_of({"seed": 3, "algorithm": {"name": "my.module:Own"}})
    first = new_run_dir(config, now_s=0.0, parent=tmp_path)
    assert first.name.endswith("-general-my-module-Own-s3")
    first.mkdir()
    assert new_run_dir(config, now_s=0.0, parent=tmp_path).name == f"{first.name}-2"


def test_importing_distrl_imports_nothing_heavy() -> None:
    program = "import sys, distrl; print(dir(distrl)); assert not {'torch', 'numpy', 'pydantic'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "'evaluate', 'make_policy', 'train'" in done.stdout


def test_distrl_has_nothing_else() -> None:
    with pytest.raises(AttributeError, match="trian"):
        _ = distrl.trian

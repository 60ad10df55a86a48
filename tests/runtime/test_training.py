"""Training in one thread: what a run does and writes, which weights act, and learning from the warm-up alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from distrl.core.errors import UserError
from distrl.runtime.checkpoints import newest_checkpoint
from distrl.runtime.run_state import Progress
from distrl.runtime.tensors import unpack_tensors
from distrl.runtime.training import Training
from distrl.tasks.book import load_tasks

from .fleet import raises, settings
from .runs import USUAL, evaluations_of, metrics_of, train


def test_steps_become_smaller_towards_the_end_of_a_run_by_its_trajectories(straight: Path) -> None:
    rows, total = metrics_of(straight), settings(1, **USUAL).train.num_trajectories
    expected = [1.5e-3 * (1 - 0.95 * (row["trajectories"] - 1) / total) for row in rows]
    assert [row["learning_rate"] for row in rows] == pytest.approx(expected)
    assert rows[-1]["learning_rate"] < rows[0]["learning_rate"]


def test_or_by_its_time_if_that_ends_it_sooner() -> None:
    training = Training(settings(1, train={"num_trajectories": 1000, "max_minutes": 2.0}))
    training._trained_s, training.learner.num_received = 30.0, 100
    assert training._share_done() == 0.25
    training.learner.num_received = 700
    assert training._share_done() == 0.7


# ---- what is written


def test_a_run_is_evaluated_at_its_start_and_after_every_segment(straight: Path) -> None:
    rows = evaluations_of(straight)
    assert [row["trajectories"] for row in rows] == [0, 8, 16]
    assert all(0.0 <= row["low"] <= row["success"] <= row["high"] <= 1.0 for row in rows)


def test_the_weights_of_a_run_are_those_of_its_newest_checkpoint(straight: Path) -> None:
    files, skipped = newest_checkpoint(straight / "checkpoints")
    assert files is not None
    assert skipped == []
    assert (straight / "weights" / "model.safetensors").read_bytes() == files["weights.safetensors"]
    assert sorted(p.name for p in (straight / "checkpoints").iterdir()) == ["000000008", "000000016"]


OPEN_WITHOUT_US = """
import json, sys
from safetensors.torch import load_file
tensors = load_file(sys.argv[1])
assert not [name for name in sys.modules if name.split(".")[0] == "distrl"]
print(json.dumps({name: [list(t.shape), float(t.double().sum())] for name, t in tensors.items()}))
"""


def test_the_weights_of_a_run_open_in_a_program_that_has_never_heard_of_distrl(straight: Path) -> None:
    # -I: neither this directory nor PYTHONPATH, through which it could come in unseen.
    file = straight / "weights" / "model.safetensors"
    command = [sys.executable, "-I", "-c", OPEN_WITHOUT_US, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    files, _ = newest_checkpoint(straight / "checkpoints")
    assert files is not None
    ours = unpack_tensors(files["weights.safetensors"])
    assert len(ours) > 20
    assert json.loads(done.stdout) == {name: [list(t.shape), float(t.double().sum())] for name, t in ours.items()}


def test_updates_follow_the_steps_that_arrived(straight: Path) -> None:
    config = settings().learner
    for row in metrics_of(straight):
        # No more updates than all steps would allow, and none for the warm-up.
        assert row["update"] <= row["steps"] / config.new_steps_per_update
        assert row["trajectories"] > config.warmup_trajectories


def test_without_a_directory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    training = train(settings(train={"num_trajectories": 4}), None)
    assert [row["trajectories"] for row in training.curve] == [0, 4]
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told_after_every_trajectory_and_evaluation() -> None:
    told: list[Progress] = []
    train(
        settings(train={"num_trajectories": 8}, eval={"every_trajectories": 4, "has_sampled": True}), None, told.append
    )
    assert [p.trajectories for p in told if p.kind == "collecting"] == list(range(1, 9))
    assert [p.trajectories for p in told if p.kind == "evaluated"] == [0, 4, 8]
    assert all(p.report and p.sampled for p in told if p.kind == "evaluated")


@pytest.mark.parametrize(
    ("split", "is_fresh", "is_listed"), [("train", True, False), ("train", False, True), ("test", True, True)]
)
def test_training_tasks_are_new_unless_the_list_is_wanted_or_it_is_the_test(
    split: str, is_fresh: bool, is_listed: bool
) -> None:
    training = Training(settings(tasks={"split": split}, collect={"has_fresh_tasks": is_fresh}))
    drawn = [training.curriculum.next().task for _ in range(5)]
    assert all((task in load_tasks("general", split)) is is_listed for task in drawn)


@pytest.mark.parametrize("has_sampled", [True, False])
def test_sampled_success_is_known_only_if_actions_were_sampled(has_sampled: bool) -> None:
    training = train(settings(train={"max_minutes": 1e-9}, eval={"has_sampled": has_sampled}), None)
    assert (training.curve[0]["sampled_success"] is None) is not has_sampled


def test_a_damaged_start_is_named(tmp_path: Path) -> None:
    (tmp_path / "start.safetensors").write_bytes(b"torn")
    with raises(UserError, "start.safetensors: not a safetensors file"):
        Training(settings(policy={"start": str(tmp_path / "start.safetensors")}))


def test_a_run_without_time_evaluates_and_stops() -> None:
    training = train(settings(train={"max_minutes": 1e-9}), None)
    assert training.learner.num_received == 0
    assert training.curve


# ---- who acts


@pytest.mark.parametrize("lag", [0, 2])
def test_with_a_lag_the_weights_that_act_are_so_many_versions_old(lag: int) -> None:
    versions: list[tuple[int, int]] = []
    config = settings(
        learner={"new_steps_per_update": 6.0, "publish_every_updates": 1},
        collect={"lag_versions": lag, "num_devices": 1},
        train={"num_trajectories": 12},
        eval={"every_trajectories": 12, "episodes": 1},
    )

    def note(progress: Progress) -> None:
        if progress.kind == "collecting":
            learner = training.learner
            newest = learner.replay.get(learner.replay.ids()[-1])
            versions.append((max(newest.policy_versions), learner.policy.version))

    training = Training(config, None, listener=note)
    training.run()
    published = [0, *(version for _, version in versions)]
    # With one device, whatever acts was published before its episode began; some episodes are worth two updates.
    assert [acted for acted, _ in versions] == [max(published[n] - lag, 0) for n in range(12)]
    assert versions[-1][1] > lag + 2


# ---- offline


def test_offline_training_learns_from_the_warm_up_alone() -> None:
    config = settings(train={"mode": "offline", "offline_updates": 5, "num_trajectories": 16})
    training = Training(config, None)
    start = {name: t.clone() for name, t in training.policy.tensors().items()}
    training.run()
    assert training.learner.num_received == config.learner.warmup_trajectories == 4
    assert training.learner.num_updates == 5
    assert any(not torch.equal(t, start[name]) for name, t in training.policy.tensors().items())


def test_offline_training_takes_smaller_steps_towards_its_end_and_keeps_to_its_time(tmp_path: Path) -> None:
    changes = {"mode": "offline", "offline_updates": 4, "num_trajectories": 16}
    training = train(
        settings(train=changes, learner={"learning_rate": 1e-3, "learning_rate_left": 0.0}), tmp_path / "run"
    )
    rates = [row["learning_rate"] for row in metrics_of(tmp_path / "run")]
    assert rates == pytest.approx([1e-3, 0.75e-3, 0.5e-3, 0.25e-3])
    assert evaluations_of(tmp_path / "run")[-1]["updates"] == 4
    assert training.curve[-1]["wall_s"] > 0.0
    late = Training(settings(train=changes | {"max_minutes": 1e-9}), None)
    late.run()
    assert late.learner.num_updates == 0


def test_offline_to_online_learns_from_the_warm_up_first_and_then_goes_on(tmp_path: Path) -> None:
    config = settings(train={"mode": "offline-to-online", "offline_updates": 5, "num_trajectories": 12})
    training = train(config, tmp_path / "run")
    rows = metrics_of(tmp_path / "run")
    assert [row["trajectories"] for row in rows[:5]] == [4] * 5
    assert all(row["trajectories"] > 4 for row in rows[5:])
    assert training.learner.num_received == 12
    assert training.learner.num_updates == len(rows) > 5

"""Training: the same seed gives the same run, and a run that was stopped goes on."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tensorboardX.proto.event_pb2 import Event

from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.runtime.checkpoints import newest_checkpoint
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Listener, Progress
from distrl.runtime.tensors import unpack_tensors
from distrl.runtime.training import Training
from distrl.tasks.book import load_tasks

from .fleet import raises, settings
from .runs import as_options, tiny

GOLDEN = Path(__file__).parent / "golden" / "loss_curve.json"
NO_TIES = {"options": {"trajectory_filter": False}}
"""Without the filter no trajectory is kept or not for the last digit of a number."""
STEADY = {"demonstrations": 1, "learning_rate_left": 1.0}
"""A learner whose steps do not tell how long its run is to be."""
USUAL = {"algorithm": NO_TIES, "learner": {"demonstrations": 1}, "policy": {"start": "imitation"}}


def train(config: Config, path: Path | None, listener: Listener = lambda progress: None) -> Training:
    run = None if path is None else RunDirectory(path)
    training = Training(config, run, listener=listener)
    if run is not None:
        run.open(config)
    try:
        training.run()
    finally:
        if run is not None:
            run.close()
    return training


def metrics_of(path: Path) -> list[dict[str, Any]]:
    return RunDirectory(path).read("metrics")


def evaluations_of(path: Path) -> list[dict[str, Any]]:
    """All but the time that training took, which is never the same."""
    return [{k: v for k, v in row.items() if k != "wall_s"} for row in RunDirectory(path).read("evaluations")]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run of seed 1 from the start to the end."""
    path = tmp_path_factory.mktemp("straight") / "run"
    train(settings(1, **USUAL), path)
    yield path


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


# ---- the same again


def test_the_same_seed_gives_the_same_run_bit_for_bit_and_another_seed_another(straight: Path, tmp_path: Path) -> None:
    train(settings(1, **USUAL), tmp_path / "same")
    train(settings(2, **USUAL), tmp_path / "other")
    lines = {path: (path / "metrics.jsonl").read_bytes() for path in (straight, tmp_path / "same", tmp_path / "other")}
    assert lines[straight] == lines[tmp_path / "same"] != lines[tmp_path / "other"]
    assert lines[straight].count(b"\n") >= 3
    assert evaluations_of(straight) == evaluations_of(tmp_path / "same")


def test_a_run_that_is_made_longer_goes_on_as_if_it_had_been_as_long_from_the_start(tmp_path: Path) -> None:
    for path, totals in ((tmp_path / "straight", (16,)), (tmp_path / "run", (8, 16))):
        for total in totals:
            train(settings(1, **USUAL | {"learner": STEADY}, train={"num_trajectories": total}), path)
    assert_same_run(tmp_path / "run", tmp_path / "straight")
    (event,) = RunDirectory(tmp_path / "run").read("events")
    assert (event["event"], event["trajectories"]) == ("resumed", 8)


class LightsOutError(Exception):
    """The process is gone."""


def test_a_run_that_was_killed_in_a_segment_does_that_segment_again(straight: Path, tmp_path: Path) -> None:
    def kill(progress: Progress) -> None:
        if progress.trajectories == 13:
            raise LightsOutError

    with raises(LightsOutError):
        train(settings(1, **USUAL), tmp_path / "run", kill)
    assert metrics_of(tmp_path / "run")[-1]["trajectories"] > 8
    train(settings(1, **USUAL), tmp_path / "run")
    assert_same_run(tmp_path / "run", straight)


def test_a_damaged_checkpoint_is_named_and_the_one_before_goes_on(straight: Path, tmp_path: Path) -> None:
    train(settings(1, **USUAL), tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "000000016" / "replay.bin").write_bytes(b"?")
    train(settings(1, **USUAL), tmp_path / "run")
    assert_same_run(tmp_path / "run", straight)
    skipped, resumed = RunDirectory(tmp_path / "run").read("events")
    assert skipped["event"] == "checkpoint skipped"
    assert "000000016 is damaged: replay.bin" in skipped["reason"]
    assert (resumed["event"], resumed["trajectories"]) == ("resumed", 8)


def test_a_finished_run_has_nothing_left_to_do(straight: Path) -> None:
    before = metrics_of(straight), evaluations_of(straight)
    training = train(settings(1, **USUAL), straight)
    assert (metrics_of(straight), evaluations_of(straight)) == before
    assert training.curve == RunDirectory(straight).read("evaluations")


def assert_same_run(path: Path, straight: Path) -> None:
    """The same updates after the same trajectories, and no line twice; numbers alike to four digits."""
    one, other = metrics_of(path), metrics_of(straight)
    assert [row["update"] for row in one] == list(range(1, len(other) + 1))
    for row, expected in zip(one, other, strict=True):
        assert row == pytest.approx(expected, rel=1e-3, abs=1e-4)
    assert evaluations_of(path) == evaluations_of(straight)


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


def test_a_resumed_run_takes_back_what_tensorboard_was_told_after_its_checkpoint(tmp_path: Path) -> None:
    train(settings(1, train={"num_trajectories": 8}), tmp_path / "run")
    made = len(metrics_of(tmp_path / "run"))
    train(settings(1, train={"num_trajectories": 16}), tmp_path / "run")
    starts = [
        event.step
        for file in sorted((tmp_path / "run" / "tensorboard").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for event in tensorboard_events(file)
        if event.HasField("session_log")
    ]
    assert starts == [1, made + 1]


def tensorboard_events(path: Path) -> Iterator[Any]:
    """Each event is framed by its length and two checksums."""
    data, place = path.read_bytes(), 0
    while place < len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        yield Event.FromString(data[place + 12 : place + 12 + length])
        place += 16 + length


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


def test_two_processes_with_the_same_seed_write_the_same_numbers(tmp_path: Path) -> None:
    tables = tiny(tasks={"suite": "general"}, policy={"start": "imitation"}, learner={"learning_rate_left": 0.05})
    program = "from distrl.cli.main import main; main()"
    for name, threads in (("a", "1"), ("b", "4")):
        command = ["train", "--runtime", "serial", "--run-dir", str(tmp_path / name), *as_options(tables)]
        env = {**os.environ, "PYTHONHASHSEED": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
    assert metrics_of(tmp_path / "a") == metrics_of(tmp_path / "b") != []
    assert evaluations_of(tmp_path / "a") == evaluations_of(tmp_path / "b")
    a, b = (load_file(tmp_path / name / "weights" / "model.safetensors") for name in "ab")
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


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


def test_a_restored_run_acts_with_the_old_weights_it_acted_with(tmp_path: Path) -> None:
    config = settings(collect={"lag_versions": 2}, learner={"publish_every_updates": 1}, train={"num_trajectories": 8})
    train(config, tmp_path / "run")
    files, _ = newest_checkpoint(tmp_path / "run" / "checkpoints")
    assert files is not None
    kept = sorted(name for name in files if name.startswith("acting-"))
    state = json.loads(files["state.json"])
    assert kept == [f"acting-{version}.safetensors" for version in state["snapshots"]]
    newest, now = unpack_tensors(files[kept[-1]]), unpack_tensors(files["weights.safetensors"])
    assert all(torch.equal(t, now[f"network.{name}"]) for name, t in newest.items())
    assert state["snapshots"][-1] == state["learner"]["version"]


# ---- golden


def test_the_loss_curve_is_the_golden_one(
    tmp_path: Path, is_updating_golden: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    train(settings(7, algorithm=NO_TIES, train={"num_trajectories": 24}), tmp_path / "run")
    curve = {f"{row['update']}": row["loss"] for row in metrics_of(tmp_path / "run")}
    if not is_updating_golden:
        hint = "update: (golden, now); if this is meant: pytest tests/runtime --update-golden"
        assert difference_from(GOLDEN, curve) == {}, hint
        return
    # Past pytest, which keeps to itself what a test that passes prints.
    with capsys.disabled():
        update_golden(GOLDEN, curve, print)


def difference_from(golden: Path, curve: Mapping[str, float]) -> dict[str, tuple[float | None, float | None]]:
    """What stands there and what is now, by update, where they differ by more than rounding; a new file has nothing."""
    old = json.loads(golden.read_text()) if golden.exists() else {}
    return {
        update: (old.get(update), curve.get(update))
        for update in sorted({*old, *curve}, key=int)
        if curve.get(update) != pytest.approx(old.get(update, -1.0), rel=1e-4)
    }


def update_golden(golden: Path, curve: Mapping[str, float], say: Callable[[str], None]) -> None:
    """Say what becomes different, then write it: afterwards nobody could tell."""
    difference = difference_from(golden, curve)
    say(f"\n{golden.name}: {len(difference)} of {len(curve)} updates are different (golden -> now)")
    for update, (old, new) in difference.items():
        say(f"  update {update}: {old} -> {new}")
    golden.parent.mkdir(exist_ok=True)
    golden.write_text(json.dumps(curve, indent=2) + "\n")


def test_an_update_of_the_golden_curve_says_what_changes_before_it_is_written(tmp_path: Path) -> None:
    golden, said = tmp_path / "curve.json", list[str]()
    golden.write_text('{"1": 0.5, "2": 0.25, "3": 1.0}')

    def say(line: str) -> None:
        assert json.loads(golden.read_text()) == {"1": 0.5, "2": 0.25, "3": 1.0}
        said.append(line.strip())

    # 0.50004 is 0.5 but for rounding (1e-4 of it); the third update is gone, and the tenth, which is new, comes last.
    curve = {"1": 0.50004, "2": 0.75, "10": 0.125}
    update_golden(golden, curve, say)
    assert said == [
        "curve.json: 3 of 3 updates are different (golden -> now)",
        "update 2: 0.25 -> 0.75",
        "update 3: 1.0 -> None",
        "update 10: None -> 0.125",
    ]
    assert json.loads(golden.read_text()) == curve
    assert difference_from(golden, curve) == {}
    assert difference_from(tmp_path / "none.json", {"1": 0.5}) == {"1": (None, 0.5)}

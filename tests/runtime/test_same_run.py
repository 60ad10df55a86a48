"""The same seed gives the same run: in one go or several, in another process, and as the golden curve says."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from distrl.runtime.checkpoints import newest_checkpoint
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Progress
from distrl.runtime.tensors import unpack_tensors

from .fleet import raises, settings
from .runs import NO_TIES, STEADY, USUAL, as_options, evaluations_of, metrics_of, tensorboard_events, tiny, train

GOLDEN = Path(__file__).parent / "golden" / "loss_curve.json"


def test_the_same_seed_gives_the_same_run_bit_for_bit_and_another_seed_another(straight: Path, tmp_path: Path) -> None:
    train(settings(1, **USUAL), tmp_path / "same")
    train(settings(2, **USUAL), tmp_path / "other")
    lines = {path: (path / "metrics.jsonl").read_bytes() for path in (straight, tmp_path / "same", tmp_path / "other")}
    assert lines[straight] == lines[tmp_path / "same"] != lines[tmp_path / "other"]
    assert lines[straight].count(b"\n") >= 3
    assert evaluations_of(straight) == evaluations_of(tmp_path / "same")


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


# ---- in several goes


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

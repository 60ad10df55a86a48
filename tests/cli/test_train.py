"""`distrl train`: it trains, resumes, stops when asked, and says what is wrong before it writes anything."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ..runtime.runs import as_options, tiny
from .command import contents, distrl

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "from distrl.cli.main import main; main()"
ONE = tiny(train={"num_trajectories": 1}, eval={"episodes": 1})


def train(run_dir: Path, *more: str, **changes: dict[str, Any]) -> list[str]:
    """The arguments of a training in one thread that takes seconds."""
    return ["train", "--runtime", "serial", "--run-dir", str(run_dir), *as_options(tiny(**changes)), *more]


def rows(run_dir: Path, kind: str) -> list[dict[str, Any]]:
    lines = (run_dir / f"{kind}.jsonl").read_text().splitlines()
    return [{name: value for name, value in json.loads(line).items() if name != "wall_s"} for line in lines]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from its start to its end."""
    run_dir = tmp_path_factory.mktemp("runs") / "run"
    done = distrl(*train(run_dir))
    assert done.status == 0, done.err
    (run_dir / "said.json").write_text(json.dumps({"out": done.out, "err": done.err}))
    return run_dir


def test_a_run_leaves_weights_curve_films_and_summary(uninterrupted: Path) -> None:
    names = {path.name for path in uninterrupted.iterdir()}
    assert {"config.toml", "metrics.jsonl", "evaluations.jsonl", "tensorboard", "checkpoints", "weights"} <= names
    for name in ("learning_curve.png", "before.webp", "after.webp"):
        with Image.open(uninterrupted / name) as image:
            assert image.width > 200
    summary = json.loads((uninterrupted / "summary.json").read_text())
    assert summary["trajectories"] == 12
    assert 0.0 <= summary["start"]["low"] <= summary["start"]["success"] <= summary["start"]["high"] <= 1.0


def test_the_result_is_on_stdout_and_the_progress_on_stderr(uninterrupted: Path) -> None:
    said = json.loads((uninterrupted / "said.json").read_text())
    assert re.search(r"start +\d+\.\d% \(.*% to .*%\) +sampled", said["out"])
    assert "steps/s" in said["out"]
    assert str(uninterrupted) in said["out"]
    assert "held-out success at the start" in said["err"]
    assert "held-out success after 12 trajectories" in said["err"]


def test_training_in_two_parts_writes_the_same_evaluations_and_metrics(uninterrupted: Path, tmp_path: Path) -> None:
    distrl(*train(tmp_path / "run", train={"num_trajectories": 6}))
    done = distrl("-q", *train(tmp_path / "run", "--json"))
    assert done.err == "", "-q is silent"
    assert json.loads(done.out)["run_dir"] == str(tmp_path / "run")
    assert rows(tmp_path / "run", "evaluations") == rows(uninterrupted, "evaluations")
    assert rows(tmp_path / "run", "metrics") == rows(uninterrupted, "metrics")


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_going_on_is_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    long = {"num_trajectories": 36}  # so that it does not end before it is interrupted
    assert distrl("-q", *train(Path("uninterrupted"), train=long)).status == 0
    heard = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {PROGRAM}"  # even from a job
    command_line = [sys.executable, "-c", heard, *train(Path("run"), train=long)]
    process = subprocess.Popen(command_line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not any(Path("run/checkpoints").glob("0*")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in said
    assert re.search(r"interrupted; the run is in run, saved up to trajectory \d+\.", said)
    command = said.rstrip().splitlines()[-1].strip()
    again = distrl(*shlex.split(command)[1:])
    assert again.status == 0, again.err
    assert rows(Path("run"), "evaluations") == rows(Path("uninterrupted"), "evaluations")


def test_every_metric_is_in_the_glossary(uninterrupted: Path) -> None:
    glossary = (ROOT / "docs" / "training.md").read_text()
    explained = {name for cell in re.findall(r"^\| (`.*?) \|", glossary, re.M) for name in re.findall(r"`(\w+)`", cell)}
    logged = {name for kind in ("metrics", "evaluations") for row in rows(uninterrupted, kind) for name in row}
    assert logged - explained == set()


def test_a_new_run_gets_a_directory_named_for_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = distrl("-q", "train", "--runtime", "serial", *as_options(ONE), "--seed", "4")
    assert done.status == 0, done.err
    (run_dir,) = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"\d{8}-\d{6}-system-a_ride-s4", run_dir.name)


def test_an_algorithm_of_your_own_trains_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    own = ("--algorithm", "examples.reinforce_baseline:Reinforce", "--set", "algorithm.options.gamma=0.9")
    done = distrl(*train(tmp_path / "run", *own, train={"num_trajectories": 6}))
    assert done.status == 0, done.err
    metrics = rows(tmp_path / "run", "metrics")
    assert len(metrics) >= 2
    assert all(row["entropy"] > 0 for row in metrics)


# ---------------------------------------------------------------- what can be wrong


@pytest.mark.parametrize(
    ("arguments", "hints"),
    [
        (["--preset", "quik"], ["--preset", "did you mean quick?"]),
        (["--suite", "generl"], ["--suite generl", "did you mean general?"]),
        (["--algorithm", "a_rid"], ["unknown algorithm 'a_rid'", "a_ride"]),
        (["--algorithm", "no.such.module:Own"], ["'no.such.module:Own' cannot be imported"]),
        (["--set", "algorithm.options.gama=0.5"], ["gama: unknown option", "did you mean gamma?"]),
        (["--set", "algorithm.options.gamma=2"], ["gamma", "<= 1"]),
        (["--set", "algorithm.options.gamma=nan"], ["algorithm.options.gamma", "finite"]),
        (["--set", "learner.learning_rate=nan"], ["learner.learning_rate", "finite"]),
        (["--mode", "pixel"], ["--mode pixel", "did you mean pixels?"]),
        (["--minutes", "0"], ["--minutes 0.0", "greater than 0"]),
        (["--minutes", "nan"], ["--minutes nan", "finite"]),
        (["--minutes", "soon"], ["--minutes", "valid number"]),
        (["--seed", "-1"], ["--seed -1", "greater than or equal to 0"]),
        (["--runtime", "cluster"], ["unknown runtime 'cluster'", "serial"]),
        (["--runtime", "serial", "--address", "auto"], ["--address is for --runtime local"]),
        (["--address", "ray://127.0.0.1:10001"], ["ray://127.0.0.1:10001", "--address auto"]),
        (["--config", "nothing.toml"], ["nothing.toml", "cannot be read"]),
        (["--set", "policy.start=nothing.safetensors"], ["nothing.safetensors", "No such file"]),
        (["--set", "policy.start=damaged.safetensors"], ["damaged"]),
        (["--run-dir", "damaged.safetensors"], ["damaged.safetensors"]),
        (["--run-dir", "."], ["is not empty and not a run", "--run-dir"]),
    ],
)
def test_mistakes_exit_with_2_one_message_and_nothing_written(
    arguments: list[str], hints: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("damaged.safetensors").write_bytes(b"not weights")
    before = contents(tmp_path)
    done = distrl("train", *as_options(ONE), *arguments)
    assert (done.status, done.out) == (2, "")
    assert all(hint in done.err for hint in hints), done.err
    assert len(re.findall(r"^e?E?rror: ", done.err, re.M)) == 1
    assert contents(tmp_path) == before
    assert not Path("runs").exists()


def test_all_mistakes_are_told_at_once() -> None:
    done = distrl("train", "--preset", "quik", "--suite", "generl", "--minutes", "0", "--set", "trian.mode=online")
    assert done.status == 2
    assert done.err.startswith("error: 4 mistakes in the configuration\n")


def test_a_run_with_another_configuration_is_refused_and_left_alone(uninterrupted: Path) -> None:
    before = contents(uninterrupted)
    done = distrl(*train(uninterrupted, "--set", "learner.learning_rate=0.5"))
    assert done.status == 2
    assert "there: learner.learning_rate = 0.0015" in done.err
    assert "now:   learner.learning_rate = 0.5" in done.err
    assert contents(uninterrupted) == before


def test_a_finished_run_is_reported_again_and_not_trained_again(uninterrupted: Path) -> None:
    before = rows(uninterrupted, "evaluations")
    done = distrl(*train(uninterrupted))
    assert done.status == 0
    assert f"going on in {uninterrupted}" in done.err
    assert rows(uninterrupted, "evaluations") == before


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = distrl("train")
    assert done.status == 2
    assert 'pip install "distrl[train]"' in done.err


def test_options_are_variables_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "DISTRL_TRAIN_SUITE", "generl")
    assert "--suite generl" in distrl("train").err

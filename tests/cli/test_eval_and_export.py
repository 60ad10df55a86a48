"""`distrl eval`, `export`, `pretrain` and `imitate`, as a user calls them."""

import functools
import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file

from distrl.policies.tiny import pretrain, widgets
from distrl.policies.tiny.encoder import WordEncoder
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime import chosen_tasks, critic
from distrl.tasks import book

from ..runtime.runs import write_run
from .command import contents, distrl

REPORT = {"success", "low", "high", "episodes", "by_difficulty", "by_template", "by_tag", "mean_steps_to_success"}
ABOUT = {"policy", "suite", "split", "seed"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    write_run(path)
    return path


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of our own in the directory we stand in."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


# ---------------------------------------------------------------- eval


def test_a_run_is_evaluated_as_json_and_again_alike(run: Path) -> None:
    first, second = distrl("eval", "--run", "run", "--json"), distrl("eval", "--run", "run", "--json")
    assert (first.status, first.err) == (0, "")
    assert first.out == second.out
    report = json.loads(first.out)
    assert set(report) == REPORT | ABOUT
    assert (report["policy"], report["suite"], report["split"], report["episodes"]) == ("run", "system", "test", 4)


def test_another_seed_is_other_episodes(run: Path) -> None:
    arguments = ("eval", "--policy", "idle", "--suite", "system", "--episodes", "4", "--json", "--seed")
    first, second = (json.loads(distrl(*arguments, seed).out) for seed in ("1", "2"))
    assert (first["seed"], second["seed"]) == (1, 2)
    assert set(first["by_template"]) != set(second["by_template"])


def test_the_expert_is_evaluated_with_its_eyes_on_the_phone() -> None:
    done = distrl("eval", "--policy", "expert", "--suite", "install", "--split", "train", "--episodes", "4", "--json")
    report = json.loads(done.out)
    assert (report["success"], report["policy"]) == (1.0, "expert")
    assert report["mean_steps_to_success"] > 1


def test_the_shipped_imitation_solves_some_tasks_and_not_all() -> None:
    # The start is made to solve about two of five held-out tasks; a network without its weights solves none of these.
    arguments = ("--policy", "imitation", "--suite", "general", "--mode", "text", "--episodes", "12", "--json")
    done = distrl("eval", *arguments)
    assert (done.status, done.err) == (0, "")
    report = json.loads(done.out)
    assert set(report) == REPORT | ABOUT
    assert [report[name] for name in ("policy", "suite", "split", "episodes")] == ["imitation", "general", "test", 12]
    assert 1 / 12 <= report["success"] <= 11 / 12
    assert report["low"] < report["success"] < report["high"]
    assert report["mean_steps_to_success"] > 1


def test_people_get_a_table() -> None:
    done = distrl("eval", "--policy", "random", "--suite", "system", "--episodes", "3")
    assert done.status == 0
    assert "random on system/test: 3 episodes" in done.out
    assert "95 % interval" in done.out


def test_sampled_actions_are_another_evaluation(run: Path) -> None:
    done = distrl("eval", "--run", "run", "--sampled", "--episodes", "2", "--json")
    assert json.loads(done.out)["episodes"] == 2


def without_weights(run: Path) -> None:
    shutil.rmtree(run / "weights")


def with_damaged_weights(run: Path) -> None:
    weights = run / "weights" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def with_empty_weights(run: Path) -> None:
    (run / "weights" / "model.safetensors").write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")


def with_other_weights(run: Path) -> None:
    write_run(run.with_name("other"), mode="pixels")
    shutil.copy(run.with_name("other") / "weights" / "model.safetensors", run / "weights")


def with_a_wrong_configuration(run: Path) -> None:
    (run / "config.toml").write_text("[tasks]\nsuit = 1\n")


@pytest.mark.parametrize("verb", [["eval"], ["export", "--to", "hf", "--out", "hub"]])
@pytest.mark.parametrize(
    ("damage", "hints"),
    [
        (shutil.rmtree, ["run is not a run", "distrl train"]),
        (without_weights, ["run has no weights yet"]),
        (with_damaged_weights, ["model.safetensors: ", "damaged"]),
        (with_empty_weights, ["model.safetensors: ", "not the weights of a tiny policy"]),
        (with_other_weights, ["model.safetensors: ", "for pixels mode, not for text mode"]),
        (with_a_wrong_configuration, ["config.toml:2: tasks.suit", "did you mean tasks.suite?"]),
    ],
)
def test_a_run_that_cannot_be_read_is_explained(verb: list[str], damage: object, hints: list[str], run: Path) -> None:
    assert callable(damage)
    damage(run)
    before = contents(run.parent)
    done = distrl(*verb, "--run", "run")
    assert (done.status, done.out) == (2, "")
    assert all(hint in done.err for hint in hints), done.err
    assert contents(run.parent) == before


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "either --run DIR or --policy NAME"),
        (["--run", "run", "--policy", "expert"], "one of the two"),
        (["--policy", "exprt"], "did you mean expert"),
        (["--policy", "expert", "--suite", "generl"], "general"),
        (["--policy", "expert", "--split", "tset"], "test"),
        (["--policy", "expert", "--sampled"], "no network"),
        (["--policy", "imitation", "--mode", "pixel"], "pixels"),
        (["--policy", "idle", "--episodes", "0"], "--episodes"),
        (["--policy", "idle", "--episodes", "nan"], "--episodes"),
        (["--policy", "idle", "--seed", "-1"], "--seed"),
        (["--run", "run", "--mode", "pixels"], "trained in text mode"),
        (["--run", "run", "--suite", "sistem"], "system"),
    ],
)
def test_mistakes_in_evaluations_exit_with_2_and_a_hint(arguments: list[str], hint: str, run: Path) -> None:
    done = distrl("eval", *arguments)
    assert (done.status, done.out) == (2, "")
    assert hint in done.err


def test_a_variable_with_a_mistake_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISTRL_TASKS__SUITE", "generl")
    done = distrl("eval", "--policy", "idle")
    assert done.status == 2
    assert "DISTRL_TASKS__SUITE" in done.err


# ---------------------------------------------------------------- export


def test_an_export_says_what_it_wrote(run: Path) -> None:
    done = distrl("export", "--run", "run", "--to", "hf", "--out", "a/hub", "--json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out) == {"out": "a/hub", "files": ["README.md", "config.json", "model.safetensors"]}
    assert distrl("export", "--run", "run", "--to", "onnx", "--out", "graph").out == "graph: config.json, model.onnx\n"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--run", "run", "--to", "onx", "--out", "x"], "did you mean onnx"),
        (["--run", "run", "--to", "hf", "--out", "run"], "is there already"),
        (["--run", "run", "--to", "hf", "--out", "run/config.toml"], "is there already"),
        (["--run", "nothing", "--to", "hf", "--out", "x"], "nothing is not a run"),
        (["--run", "run", "--to", "hf"], "--out"),
    ],
)
def test_mistakes_in_exports_exit_with_2_and_write_nothing(arguments: list[str], hint: str, run: Path) -> None:
    before = contents(run.parent)
    done = distrl("export", *arguments)
    assert done.status == 2
    assert hint in done.err
    assert contents(run.parent) == before


# ---------------------------------------------------------------- pretrain and imitate


def test_pretraining_writes_an_encoder_and_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrain, "PretrainOptions", functools.partial(pretrain.PretrainOptions, batch_words=8))
    done = distrl("pretrain", "--out", str(tmp_path / "eye" / "encoder.safetensors"), "--updates", "10", "--seed", "1")
    assert done.status == 0, done.err
    WordEncoder().load_state_dict(load_file(tmp_path / "eye" / "encoder.safetensors"))
    log = json.loads((tmp_path / "eye" / "encoder.json").read_text())
    assert [row["update"] for row in log["log"]] == list(range(1, 11))
    assert set(log["log"][0]) == {"update", "loss", "matched"}


@pytest.mark.slow
def test_pretraining_the_eye_for_widgets_writes_it_and_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets, "WidgetOptions", functools.partial(widgets.WidgetOptions, epochs=3))
    out = tmp_path / "widgets.safetensors"
    done = distrl("pretrain", "--eye", "widgets", "--out", str(out), "--per-template", "1")
    assert done.status == 0, done.err
    widgets.WidgetEye().load_state_dict(load_file(out))
    log = json.loads(out.with_suffix(".json").read_text())
    assert [row["epoch"] for row in log["log"]] == [1, 2, 3]
    assert log["options"]["num_shown"] > 1000
    assert log["log"][-1]["loss"] < log["log"][0]["loss"]


def test_imitation_writes_a_network_and_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(critic, "CriticOptions", functools.partial(critic.CriticOptions, epochs=1))
    tasks = book.load_tasks("system", "train")[:6]
    monkeypatch.setattr(chosen_tasks, "load_tasks", lambda suite, split: tasks)
    monkeypatch.setenv("DISTRL_PHONE__SCALE", "0.1")
    out = tmp_path / "start.safetensors"
    arguments = ("--suite", "system", "--mode", "text", "--out", str(out), "--per-template", "1", "--max-epochs", "2")
    done = distrl("imitate", *arguments, "--target", "1", "--checks", "1", "--critic-rounds", "1")
    assert done.status == 0, done.err
    assert "after 2 epochs" in done.out
    assert "was not reached" in done.err
    tensors = load_file(out)
    assert all(name.startswith("network.") for name in tensors)
    TinyPolicy("text").load_tensors(tensors)
    log = json.loads(out.with_suffix(".json").read_text())
    assert (log["suite"], log["mode"], log["log"][-1]["epoch"]) == ("system", "text", 2)


@pytest.mark.parametrize(
    ("arguments", "hints"),
    [
        (["pretrain", "--out", "encoder.pt"], [".safetensors"]),
        (["pretrain", "--out", "x.safetensors", "--updates", "0"], ["--updates"]),
        (["pretrain", "--out", "x.safetensors", "--eye", "widget"], ["did you mean widgets"]),
        (["pretrain", "--out", "file/x.safetensors"], ["cannot write below"]),
        (["imitate", "--out", "x.safetensors", "--suite", "sistem"], ["--suite sistem", "did you mean system?"]),
        (["imitate", "--out", "x.safetensors", "--mode", "txt"], ["--mode txt", "did you mean text?"]),
        (["imitate", "--out", "x.safetensors", "--noise", "nan", "--target", "2"], ["--noise", "--target"]),
        (["imitate", "--out", "x.safetensors", "--max-epochs", "0"], ["--max-epochs"]),
        (["imitate", "--out", "x.safetensors", "--seed", "-1"], ["--seed"]),
    ],
)
def test_mistakes_before_long_work_are_told_before_it(
    arguments: list[str], hints: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("a file, not a directory")
    done = distrl(*arguments)
    assert (done.status, done.out) == (2, "")
    assert all(hint in done.err for hint in hints), done.err
    assert list(contents(tmp_path)) == ["file"]

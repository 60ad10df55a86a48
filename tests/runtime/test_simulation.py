"""A fleet in virtual time: the same run every time, and computing that is charged for."""

import json
from pathlib import Path
from typing import Any

import pytest

import distrl
from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.runtime.local import LocalTraining
from distrl.runtime.simulation import is_simulated

from ..cli.command import contents
from .fleet import settings


def slow(**tables: dict[str, Any]) -> Config:
    return settings(**{"phone": {"latency": "emulator"}, **tables})


def rows(path: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / f"{kind}.jsonl").read_text().splitlines()]


def virtual_s(path: Path, config: Config) -> float:
    """How long the fleet takes for all its trajectories."""
    distrl.train(config, path)
    return float(rows(path, "evaluations")[-1]["wall_s"])


def test_a_run_with_latencies_in_one_thread_is_that_of_a_fleet_and_the_same_every_time(tmp_path: Path) -> None:
    results = [distrl.train(slow(), tmp_path / name) for name in ("one", "two")]
    assert rows(tmp_path / "one", "metrics") == rows(tmp_path / "two", "metrics") != []
    assert rows(tmp_path / "one", "fleet") == rows(tmp_path / "two", "fleet") != []
    assert results[0].curve == results[1].curve
    assert results[0].curve[-1]["wall_s"] > 60, "minutes of a fleet pass in a moment"


def test_without_a_directory_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert distrl.train(slow()).run_dir is None
    assert list(tmp_path.iterdir()) == []


def test_updates_and_decisions_take_the_time_they_are_said_to_take(tmp_path: Path) -> None:
    free = virtual_s(tmp_path / "free", slow())
    learning = virtual_s(tmp_path / "learning", slow(simulation={"update_s": 600.0}))
    acting = virtual_s(tmp_path / "acting", slow(simulation={"batch_s": 5.0, "decision_s": 10.0}))
    updates = len(rows(tmp_path / "learning", "metrics"))
    assert learning > max(2 * free, 500.0 * updates)
    assert acting > 2 * free
    shares = [row["inference_share"] for row in rows(tmp_path / "acting", "fleet") if "inference_share" in row]
    assert sum(shares) / len(shares) > 0.4


def test_instant_phones_and_models_are_plain_training() -> None:
    assert not is_simulated(settings())
    assert is_simulated(slow())
    assert is_simulated(settings(simulation={"update_s": 1.0}))


@pytest.mark.parametrize(
    ("tables", "complaint"),
    [({"train": {"mode": "offline"}}, "train.mode"), ({"collect": {"lag_versions": 2}}, "collect.lag_versions")],
)
def test_what_only_plain_training_can_do_is_refused(tmp_path: Path, tables: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        distrl.train(slow(**tables), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_costs_are_refused_where_time_is_real(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="serial"):
        LocalTraining(settings(simulation={"update_s": 1.0}), tmp_path / "run", lambda progress: None)
    assert not (tmp_path / "run").exists()


def test_a_run_with_a_journal_is_not_gone_on_with_in_segments(tmp_path: Path) -> None:
    distrl.train(slow(), tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(UserError, match="asynchronous run"):
        distrl.train(settings(), tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_without_workers_and_without_a_cluster_nobody_would_work(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--workers 0"):
        LocalTraining(settings(), tmp_path / "run", lambda progress: None, num_workers=0)

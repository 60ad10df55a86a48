"""The comparison of algorithms: what is measured does not depend on how it is measured, and nothing is mixed up."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FLEET: dict[str, dict[str, Any]] = {
    "tasks": {"suite": "general"},
    "phone": {"latency": "emulator", "scale": 0.1},
    "policy": {"mode": "text"},
    "collect": {"num_devices": 6, "swap_weights_at": "episode"},
    "learner": {"warmup_trajectories": 4, "new_steps_per_update": 12.0, "demonstrations": 0},
    "train": {"num_trajectories": 14},
    "eval": {"episodes": 1, "has_sampled": False, "every_trajectories": 10**6},
}


@pytest.fixture(autouse=True)
def beside_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "learning.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.slow
def test_how_much_a_fleet_is_evaluated_changes_nothing_of_what_it_learns() -> None:
    from outside import curve_of

    told: list[tuple[int, float, float]] = []
    often = curve_of(FLEET, split="test", episodes=3, looks=(5, 9), tell=lambda *numbers: told.append(numbers))
    seldom = curve_of(FLEET, split="test", episodes=2, looks=(), tell=lambda *numbers: None)
    assert [row["trajectories"] for row in often] == [number for number, _, _ in told] == [0, 5, 9, 14]
    assert [row["trajectories"] for row in seldom] == [0, 14]
    for name in ("trajectories", "updates", "wall_s"):
        assert often[-1][name] == seldom[-1][name] > 0


def test_a_run_that_was_made_with_other_settings_is_not_taken_for_what_is_asked_for(tmp_path: Path) -> None:
    from learning import SELDOM

    kept = tmp_path / "x.json.runs" / "general-text-scarce-lag0-a_ride-s3.json"
    kept.parent.mkdir()
    kept.write_text(json.dumps({"config": {"seed": 3, "eval": SELDOM}, "curve": []}))
    words = ("--mode", "text", "--regime", "scarce", "--seeds", "3", "--json", str(tmp_path / "x.json"))
    refused = run(*words)
    assert refused.returncode == 1
    assert "was made with other settings (how it is evaluated, tasks, policy" in refused.stderr
    assert kept.exists()
    assert not (tmp_path / "x.json").exists()


@pytest.mark.slow
def test_rows_of_other_settings_stay_beside_each_other_and_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    sets = [
        "learner.demonstrations=0",
        "train.num_trajectories=6",
        "learner.warmup_trajectories=4",
        "collect.num_devices=4",
    ]
    words = ["--mode", "text", "--regime", "scarce", "--seeds", "0", "--json", str(path)]
    first = run(*words, "--algorithms", "vtrace", "--episodes", "2", "--set", *sets)
    assert first.returncode == 0, first.stderr
    second = run(*words, "--algorithms", "digirl", "--episodes", "3", "--set", *sets)
    assert second.returncode == 0, second.stderr
    again = run(*words, "--algorithms", "vtrace", "--episodes", "2", "--set", *sets)
    assert "1 of 1 runs are done already" in again.stderr
    rows = json.loads(path.read_text())["results"]
    assert [(row["algorithm"], row["episodes"], row["trajectories"]) for row in rows] == [
        ("digirl", 3, [6]),
        ("vtrace", 2, [6]),
    ]
    assert all(row["set"] == " ".join(sorted(sets)) and row["by"][0]["commit"] for row in rows)


def test_numbers_of_time_are_for_runs_that_time_ends() -> None:
    told = run("--regime", "scarce", "--minutes", "3", "--json", "unused.json")
    assert told.returncode == 2
    assert "--minutes and --every are for --regime fresh" in told.stderr

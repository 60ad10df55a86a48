"""The report of a run: its numbers, its figure, its films."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from PIL import Image

from distrl.core.config import config_of
from distrl.core.types import Decision, Situation, Task, Wait
from distrl.runtime.api import TrainResult
from distrl.runtime.build import KNOWN_NAMES
from distrl.runtime.demonstrations import demonstrate
from distrl.runtime.evaluation import Scripted, choose_episodes
from distrl.runtime.report import choose_film_task, draw_curve, film_progress, score_of, summarise_run, write_report
from distrl.runtime.run_state import EVALUATION_SEED
from distrl.tasks.book import load_tasks

from .runs import CURVE, tiny, write_run

CONFIG = config_of(tiny(eval={"episodes": 4}), KNOWN_NAMES)
ROWS = [row | {"sampled_success": 0.25} for row in CURVE]


class Knowing:
    """Does what the expert did at some tasks, and waits at all others."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._known = {shown.task.id: shown.steps for shown in demonstrate(tasks, noise=0.0, seed=0)}

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
    ) -> list[Decision]:
        return [self._decision(s) for s in situations]

    def _decision(self, situation: Situation) -> Decision:
        steps = self._known.get(situation.task.id, ())
        return steps[len(situation.steps)].decision if len(situation.steps) < len(steps) else Decision(action=Wait())


def held_out() -> list[Task]:
    return choose_episodes(load_tasks("system", "test"), 4, EVALUATION_SEED)


IDLE = Scripted(lambda situation: Wait())


def test_the_summary_goes_from_the_first_row_to_the_last() -> None:
    summary = summarise_run(ROWS, CONFIG)
    assert (summary.start.success, summary.end.success) == (0.25, 0.75)
    assert (summary.trajectories, summary.steps, summary.updates) == (12, 120, 5)
    assert summary.steps_per_s == 10.0, "120 steps in 12 seconds"


def test_a_run_of_no_time_has_no_speed() -> None:
    assert summarise_run(ROWS[:1], CONFIG).steps_per_s == 0.0


def test_the_interval_of_sampled_success_is_wilsons() -> None:
    score = score_of(ROWS[0], CONFIG)
    assert (score.sampled_low, score.sampled_high) == (0.0456, 0.6994), "one of four"


def test_what_was_not_sampled_has_no_number() -> None:
    greedy_only = config_of(tiny(eval={"has_sampled": False}), KNOWN_NAMES)
    assert score_of(ROWS[0], greedy_only).sampled_success is None


@pytest.mark.parametrize("count", [1, 3])
def test_a_curve_of_any_length_is_drawn(count: int, tmp_path: Path) -> None:
    draw_curve(ROWS[:count], CONFIG, tmp_path / "curve.png")
    with Image.open(tmp_path / "curve.png") as image:
        assert image.size == (1650, 660)


def test_the_filmed_task_is_one_that_only_the_end_solves() -> None:
    tasks = held_out()
    assert choose_film_task(Knowing(tasks[:2]), Knowing(tasks[1:3]), CONFIG) == tasks[2]
    assert choose_film_task(Knowing(tasks[:2]), Knowing(tasks[:1]), CONFIG) == tasks[0], "solved before as well"
    assert choose_film_task(IDLE, IDLE, CONFIG) == tasks[0], "if nothing is solved, any"


def test_the_films_show_the_failure_and_the_success(tmp_path: Path) -> None:
    ticks: list[int] = []
    films = film_progress(IDLE, Knowing(held_out()[:1]), CONFIG, tmp_path, tick=lambda: ticks.append(1))
    assert (films.is_solved_before, films.is_solved_after) == (False, True)
    assert films.task == held_out()[0].id
    assert len(ticks) >= 4, "progress is told"
    with Image.open(tmp_path / "after.webp") as film:
        assert film.size == (432, 960 + 128)
        assert getattr(film, "n_frames", 1) >= 2


def test_the_report_is_in_the_run_directory_and_lists_its_files(tmp_path: Path) -> None:
    config, policy = write_run(tmp_path)
    result = TrainResult(curve=ROWS, policy=policy, start=policy, run_dir=tmp_path, config=config)
    summary = write_report(result)
    assert all((tmp_path / name).is_file() for name in summary.files)
    written = json.loads((tmp_path / "summary.json").read_text())
    assert written["end"]["success"] == 0.75
    assert written["films"]["task"] == held_out()[0].id

"""What a person sees of a training: the time left, lines in a log, a bar on a terminal."""

import io
import sys
from typing import Any

import msgspec
import pytest
from rich.console import Console

from distrl.cli.output import Output
from distrl.cli.training_display import Forecast, TrainingDisplay, in_words, share_done
from distrl.core.config import Config, config_of
from distrl.runtime.evaluation import summarise
from distrl.runtime.run_state import Progress

CONFIG = config_of({"train": {"num_trajectories": 1000}, "eval": {"every_trajectories": 100}})


def at(trajectories: int, **more: Any) -> Progress:
    values = {"steps": 0, "updates": 0, "recent_success": 0.25, "wall_s": 0.0} | more
    return Progress(kind="collecting", trajectories=trajectories, total=1000, **values)


def evaluated(trajectories: int, success: float) -> Progress:
    report = msgspec.structs.replace(summarise([]), success=success, low=0.1, high=0.9)
    return Progress(
        kind="evaluated",
        trajectories=trajectories,
        total=1000,
        steps=0,
        updates=0,
        recent_success=0.0,
        wall_s=90.0,
        report=report,
        sampled=report,
    )


class FakeClock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("tables", "progress", "share"),
    [
        ({}, at(250), 0.25),
        ({"max_minutes": 2.0}, at(250, wall_s=60.0), 0.5),
        ({"max_minutes": 2.0}, at(250, wall_s=6.0), 0.25),
        ({"mode": "offline", "offline_updates": 72}, at(128, updates=36), 0.82),
        ({"mode": "offline-to-online", "offline_updates": 1000}, at(500, updates=3000), 0.75),
        ({}, at(1500), 1.0),
    ],
)
def test_what_is_done_is_work_or_time_whichever_ends_first(
    tables: dict[str, Any], progress: Progress, share: float
) -> None:
    config = config_of({"train": {"num_trajectories": 1000} | tables})
    assert share_done(progress, config) == pytest.approx(share)


def test_the_time_left_is_judged_by_what_this_process_did() -> None:
    forecast = Forecast()
    assert forecast.left_s(0.5, now_s=100.0) is None, "resumed half-way: nothing is known yet"
    assert forecast.left_s(0.6, now_s=120.0) == pytest.approx(80.0), "20 seconds for a tenth, four tenths are left"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min"), (200, "3 min 20 s"), (1234, "21 min"), (3599, "1 h 0 min")],
)
def test_durations_read_as_people_say_them(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def shown(config: Config, output: Output) -> str:
    """What a log gets of a run that takes a second for every ten trajectories."""
    clock, err = FakeClock(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stderr", err)
        with TrainingDisplay(output, config, now=clock) as display:
            display.show(evaluated(0, 0.0))
            for count in range(1, 1001):
                clock.now_s = count / 10
                display.show(at(count))
                if count == 500:
                    display.show(evaluated(500, 0.5))
    return err.getvalue()


def test_a_log_gets_a_line_every_ten_seconds_and_one_for_each_evaluation() -> None:
    lines = shown(CONFIG, Output()).splitlines()
    assert lines[0] == "held-out success at the start: 0.0% (10.0% to 90.0%), sampled 0.0%; 1 min 30 s of training"
    assert lines[1] == "evaluating: 100 of 1,000 trajectories, 25% solved lately, updates: 0, 10%, 1 min 30 s left"
    assert any(line.startswith("held-out success after 500 trajectories: 50.0%") for line in lines)
    assert len(lines) == 12, "ten of progress, two of evaluations"


def test_the_last_evaluation_is_called_so_and_not_said_to_be_over_soon(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    config = config_of({"train": {"num_trajectories": 1000, "max_minutes": 10.0}})
    with TrainingDisplay(Output(), config, now=clock) as display:
        for wall_s, is_ending in ((100.0, False), (599.0, False), (599.0, True)):
            clock.now_s += 100.0
            display.show(at(50, wall_s=wall_s, is_ending=is_ending))
    training, last = capsys.readouterr().err.splitlines()[1:]
    assert training.startswith("training: ")
    assert training.endswith("left")
    assert last == "evaluating: 50 of 1,000 trajectories, 25% solved lately, updates: 0"


def test_quiet_is_silent() -> None:
    assert shown(CONFIG, Output(is_quiet=True)) == ""


def test_a_terminal_has_a_bar_with_success_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    clock = FakeClock()
    with TrainingDisplay(Output(), CONFIG, now=clock) as display:
        display.show(evaluated(0, 0.125))
        display.show(at(10))
        clock.now_s = 60.0
        display.show(at(50, updates=7))
        console = Console(file=io.StringIO(), width=80)
        console.print(display._render())
        drawn = console.file.getvalue()  # type: ignore[attr-defined]
    assert "training" in drawn
    assert "5%" in drawn
    assert "24 min left" in drawn, "a minute for 4 %, 95 % are left: 23 min 45 s"
    assert "50 of 1,000 trajectories, updates: 7" in drawn
    assert "solved lately 25%, held out 12% (sampled 12%)" in drawn
    assert all(len(line) <= 80 for line in drawn.splitlines())
    assert "held-out success at the start: 12.5%" in terminal.getvalue()


@pytest.mark.judge
def test_a_pause_of_judging_its_end_and_an_alert_are_said_once_each(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    with TrainingDisplay(Output(is_json=False), CONFIG, now=clock) as display:
        for progress in (
            at(1, judging="judging: 3 wait"),
            at(1, judging="judging: 4 wait", judging_paused="the spend limit of 5 is reached"),
            at(1, judging="judging: 5 wait", judging_paused="the spend limit of 5 is reached"),
            evaluated(1, 0.5),
            at(2, judging="judging: 0 wait"),
            at(3, judging="judging: 0 wait", judging_alert="false more and more often: shop"),
            at(4, judging="judging: 0 wait", judging_alert="false more and more often: shop"),
        ):
            clock.now_s += 6.0
            display.show(progress)
    told = capsys.readouterr().err
    assert told.count("judging is paused") == 1
    assert "the spend limit of 5 is reached" in told
    assert told.count("judging goes on") == 1
    assert told.count("look at the judge: false more and more often: shop") == 1
    assert "judging: 4 wait" in told, "the figures are in the lines of a log"

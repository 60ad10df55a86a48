"""What verbs say, and where."""

import json
import sys

import pytest

from distrl.cli import output
from distrl.cli.output import Output


def test_results_go_to_stdout_and_notes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    Output().write("result")
    Output().note("remark")
    assert capsys.readouterr() == ("result\n", "remark\n")


def test_quiet_silences_notes_and_not_results(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = Output(is_quiet=True)
    quiet.write("result")
    quiet.note("remark")
    quiet.console().print("table")
    assert capsys.readouterr() == ("result\n", "")


def test_json_keeps_letters_readable(capsys: pytest.CaptureFixture[str]) -> None:
    Output().write_json({"name": "Zoë"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"name": "Zoë"}
    assert "Zoë" in printed


@pytest.mark.parametrize(
    ("settings", "is_terminal", "patience_s", "is_drawn"),
    [
        (Output(), True, 0.0, True),
        (Output(), True, 2.0, False),
        (Output(), False, 0.0, False),
        (Output(is_json=True), True, 0.0, False),
        (Output(is_quiet=True), True, 0.0, False),
    ],
)
def test_a_bar_is_drawn_only_for_a_person_who_has_waited(
    settings: Output,
    is_terminal: bool,
    patience_s: float,
    is_drawn: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(output, "PATIENCE_S", patience_s)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with settings.progress("working", total=2) as advance:
        advance(1)
        advance(1)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert ("working" in printed.err) == is_drawn


@pytest.mark.parametrize(
    ("settings", "every_s", "told"),
    [
        (Output(), 0.0, "working: 1 of 2, about 0 min left\n"),
        (Output(), 30.0, ""),
        (Output(is_json=True), 0.0, ""),
        (Output(is_quiet=True), 0.0, ""),
    ],
)
def test_a_log_file_is_told_now_and_then_how_far_long_work_is(
    settings: Output,
    every_s: float,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(output, "LINE_EVERY_S", every_s)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with settings.progress("working", total=2) as advance:
        advance(1)
        advance(1)
    assert capsys.readouterr() == ("", told)

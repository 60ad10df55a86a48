"""The run directory: belongs to one configuration, and its files can be read at any moment."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.config import load_config
from distrl.core.errors import UserError
from distrl.runtime.run_directory import RunDirectory

from . import fleet

plain = st.dictionaries(
    st.text(st.characters(codec="ascii"), max_size=8),
    st.one_of(
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec="ascii")),
        st.none(),
    ),
    max_size=4,
)


def opened(path: Path, **tables: dict[str, object]) -> RunDirectory:
    run = RunDirectory(path)
    run.open(fleet.settings(**tables))
    run.close()
    return run


def test_the_configuration_is_written_down_and_reads_back_equal(tmp_path: Path) -> None:
    opened(tmp_path / "run", phone={"variations": ("dark",), "faults": {"freeze": 0.1}})
    expected = fleet.settings(phone={"variations": ("dark",), "faults": {"freeze": 0.1}})
    assert load_config(tmp_path / "run" / "config.toml") == expected


def test_the_same_configuration_may_go_on(tmp_path: Path) -> None:
    opened(tmp_path / "run").log("metrics", {"update": 1})
    assert opened(tmp_path / "run").read("metrics") == [{"update": 1}]


@pytest.mark.parametrize("train", [{"num_trajectories": 999}, {"max_minutes": 3.5}])
def test_a_run_may_be_made_longer(tmp_path: Path, train: dict[str, object]) -> None:
    opened(tmp_path / "run")
    opened(tmp_path / "run", train=train)
    assert load_config(tmp_path / "run" / "config.toml") == fleet.settings(train=train)
    opened(tmp_path / "run")


def test_another_configuration_is_refused_with_the_difference(tmp_path: Path) -> None:
    opened(tmp_path / "run")
    with pytest.raises(UserError) as refused:
        opened(tmp_path / "run", learner={"learning_rate": 0.01}, algorithm={"options": {"gamma": 0.9}})
    lines = str(refused.value).splitlines()
    assert "another configuration" in lines[0]
    assert sorted(lines[1:]) == [
        "  now:   algorithm.options = { gamma = 0.9 }",
        "  now:   learner.learning_rate = 0.01",
        "  there: algorithm.options = {}",
        "  there: learner.learning_rate = 0.0015",
    ]
    assert load_config(tmp_path / "run" / "config.toml") == fleet.settings()


def test_a_setting_that_was_absent_is_a_difference(tmp_path: Path) -> None:
    opened(tmp_path / "run")
    with pytest.raises(UserError, match=r"now:   env\.max_episode_s = 9\.0"):
        opened(tmp_path / "run", env={"max_episode_s": 9.0})


def test_another_seed_is_another_configuration(tmp_path: Path) -> None:
    opened(tmp_path / "run")
    with pytest.raises(UserError, match="there: seed = 0"):
        RunDirectory(tmp_path / "run").open(fleet.settings(seed=1))


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("all of it")
    with pytest.raises(UserError, match="not empty and not a run"):
        opened(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_place_where_nothing_can_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write to the run directory"):
        opened(tmp_path / "file")
    with pytest.raises(UserError, match="cannot write to the run directory"):
        opened(tmp_path / "file" / "below")


@settings(deadline=None, max_examples=40)
@given(st.lists(plain, max_size=5))
def test_lines_come_back_as_they_were_logged(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, object]]
) -> None:
    run = RunDirectory(tmp_path_factory.mktemp("run"))
    for line in lines:
        run.log("metrics", line)
    assert run.read("metrics") == lines


def test_events_carry_the_time_of_day_and_others_do_not(tmp_path: Path) -> None:
    run = opened(tmp_path / "run")
    run.log("events", {"event": "resumed"})
    run.log("metrics", {"update": 1})
    assert run.read("events")[0].keys() == {"time", "event"}
    assert run.read("metrics") == [{"update": 1}]


def test_a_line_cut_off_anywhere_is_left_out(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    for update in range(3):
        run.log("metrics", {"update": update, "loss": -0.5, "name": "a\\b"})
    whole = (tmp_path / "metrics.jsonl").read_bytes()
    second = whole.rstrip().rfind(b"\n") + 1
    for length in range(second, len(whole) - 1):
        (tmp_path / "metrics.jsonl").write_bytes(whole[:length])
        assert [line["update"] for line in run.read("metrics")] == [0, 1]


def test_nothing_was_logged_yet(tmp_path: Path) -> None:
    assert RunDirectory(tmp_path).read("metrics") == []


def test_lines_can_be_written_anew_and_a_torn_one_is_gone(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    for n in range(6):
        run.log("metrics", {"trajectories": 4 * n})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"trajector')
    run.rewrite("metrics", [line for line in run.read("metrics") if line["trajectories"] <= 8])
    assert run.read("metrics") == [{"trajectories": n} for n in (0, 4, 8)]
    run.log("metrics", {"trajectories": 9})
    assert (tmp_path / "metrics.jsonl").read_text().count("\n") == 4


def test_numbers_are_plotted_for_tensorboard(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.plot({"loss": 1.0}, step=1)  # before it is open nothing happens
    run.open(fleet.settings())
    run.start_board(step=0)
    run.plot({"loss": 1.0}, step=1)
    run.close()
    run.close()
    (events,) = (tmp_path / "run" / "tensorboard").glob("events*")
    assert b"loss" in events.read_bytes()


def test_the_log_is_json_that_anybody_can_read(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.log("events", {"event": "Grüße", "value": 0.1})
    (line,) = (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["event"] == "Grüße"


def test_one_process_at_a_time_trains_in_a_directory(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path / "run")
    first.open(fleet.settings())
    with pytest.raises(UserError, match=r"another process trains in .*run; wait"):
        opened(tmp_path / "run")
    first.close()
    opened(tmp_path / "run")


def test_a_configuration_that_is_not_text_is_another_one(tmp_path: Path) -> None:
    opened(tmp_path / "run")
    (tmp_path / "run" / "config.toml").write_bytes(b"seed = \xff\xfe")
    with pytest.raises(UserError, match="another configuration"):
        opened(tmp_path / "run")
    assert (tmp_path / "run" / "config.toml").read_bytes() == b"seed = \xff\xfe"

"""Task lists that users bring: what is taken, and how everything that is wrong with one is said at once."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distrl.core.errors import UserError
from distrl.core.types import Task
from distrl.tasks import importers
from distrl.tasks.importers import NO_GROUND_TRUTH, import_tasks


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def mistakes_of(path: Path) -> list[str]:
    with pytest.raises(UserError) as caught:
        import_tasks(path)
    return str(caught.value).replace(f"{path}:", "").split("\n")


def test_a_text_file_gives_a_task_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, "chores.txt", "# my chores\n\nSet an alarm for 7:00\r\n  # later\n  Buy milk, bread  \n")
    assert import_tasks(path) == (
        Task(id="chores-0003", suite="chores", split="train", instruction="Set an alarm for 7:00", max_steps=15),
        Task(id="chores-0005", suite="chores", split="train", instruction="Buy milk, bread", max_steps=15),
    )


def test_jsonl_takes_what_is_given_and_fills_in_the_rest(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "mine.jsonl",
        '{"instruction": "a", "id": "A-1", "max_steps": 30, "split": "test", "tags": ["x", " y "], "other": 1}\n'
        '{"goal": "b", "task": "NameOfB", "id": 7}\n\n{"task": "c", "tags": "x; y"}\n',
    )
    first, second, third = import_tasks(path, suite="s", max_steps=9)
    assert first == Task(id="A-1", suite="s", split="test", instruction="a", max_steps=30, tags=("x", "y"))
    assert second == Task(id="7", suite="s", split="train", instruction="b", max_steps=9)
    assert third == Task(id="s-0004", suite="s", split="train", instruction="c", max_steps=9, tags=("x", "y"))


def test_csv_may_have_a_byte_order_mark_and_newlines_in_quotes(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "mine.csv",
        '\ufeffID,Instruction,max_steps,tags,note\r\n,"write ""a, b""\nand send it",20,"x,y",n\r\n'
        "k2,second\r\n\r\n,third\r\n",
    )
    assert import_tasks(path) == (
        Task(
            id="mine-0002",
            suite="mine",
            split="train",
            instruction='write "a, b"\nand send it',
            max_steps=20,
            tags=("x", "y"),
        ),
        Task(id="k2", suite="mine", split="train", instruction="second", max_steps=15),
        Task(id="mine-0006", suite="mine", split="train", instruction="third", max_steps=15),
    )


def test_imported_tasks_have_no_ground_truth_and_there_is_a_sentence_that_says_so(tmp_path: Path) -> None:
    (task,) = import_tasks(write(tmp_path, "a.txt", "do it"))
    assert not task.has_ground_truth
    assert "judge" in NO_GROUND_TRUTH


def test_the_same_file_gives_the_same_ids(tmp_path: Path) -> None:
    path = write(tmp_path, "my list (1).txt", "a\nb\n")
    assert [task.id for task in import_tasks(path)] == ["my-list-1--0001", "my-list-1--0002"]
    assert import_tasks(path) == import_tasks(path)


def test_all_mistakes_of_a_text_file_come_at_once(tmp_path: Path) -> None:
    content = b"good\ngood\n\xff\xfe bad\n" + b"x" * 2001 + b"\nnul \x00\n" + b"x" * 2000 + b"\n"
    assert mistakes_of(write(tmp_path, "a.txt", content)) == [
        "2: the same instruction as line 1",
        "3: not UTF-8 (byte 0xff at position 0)",
        "4: the instruction has 2,001 characters; at most 2,000",
        "5: the instruction has a control character or half a surrogate pair",
    ]


def test_all_mistakes_of_a_jsonl_file_come_at_once(tmp_path: Path) -> None:
    lines = [
        '{"instruction": "a", "id": "1"}',
        '{"instruction": " ", "id": "1"}',
        "not json",
        "[1]",
        '{"text": "x"}',
        '{"goal": 5}',
        '{"goal": "b", "max_steps": 0, "split": "a b", "tags": {"x": 1}}',
        '{"goal": "c", "max_steps": true}',
        '{"goal": "d", "id": "../../etc"}',
        '{"goal": "\\ud800"}',
    ]
    assert mistakes_of(write(tmp_path, "a.jsonl", "\n".join(lines))) == [
        "2: the instruction is empty",
        "2: the same id as line 1: '1'",
        "3: not JSON: Expecting value: line 1 column 1 (char 0)",
        "4: a JSON object was expected, not list",
        "5: no instruction (under instruction, goal or task)",
        "6: the instruction is not text",
        "7: max_steps must be a whole number in [1, 1000], got '0'",
        "7: tags must be a list of words",
        "7: the split must be a word like train or test, got 'a b'",
        "8: max_steps must be a whole number in [1, 1000], got 'True'",
        "9: the id must be up to 200 characters without spaces and slashes",
        "10: the instruction has a control character or half a surrogate pair",
    ]


def test_all_mistakes_of_a_csv_file_come_at_once(tmp_path: Path) -> None:
    content = 'id,goal,max_steps\n1,"two\nlines",many\n2,,\n3,buy milk, bread,5\n1,again,5\n4,"never closed\n'
    assert mistakes_of(write(tmp_path, "a.csv", content)) == [
        "2: max_steps must be a whole number in [1, 1000], got 'many'",
        "4: the instruction is empty",
        "5: 4 fields under 3 columns: is a comma not quoted?",
        "6: the same id as line 2: '1'",
        "7: not CSV: unexpected end of data",
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "name,steps\nx,1\n", "1: no column is called instruction, goal or task"),
        ("a.txt", "# only a comment\n", "1: no tasks"),
        ("a.csv", "", "1: no tasks"),
        ("a.jsonl", "[" * 100_000, "1: not JSON"),
        ("a.txt", "a\n".encode("utf-16"), "1: the file is UTF-16; save it as UTF-8"),
        ("a.xlsx", "a", "use .txt, .jsonl or .csv"),
        ("a", "a", "use .txt, .jsonl or .csv"),
    ],
)
def test_a_file_of_the_wrong_kind_says_what_is_wrong(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    (mistake,) = mistakes_of(write(tmp_path, name, content))
    assert message in mistake


def test_a_missing_file_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        import_tasks(tmp_path / "gone.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        import_tasks(tmp_path / "folder.txt")


@pytest.mark.parametrize("suite", ["a/b", "..\\x", "a b"])
def test_a_suite_is_a_plain_name(tmp_path: Path, suite: str) -> None:
    with pytest.raises(UserError, match="a suite is named"):
        import_tasks(write(tmp_path, "a.txt", "x"), suite=suite)


def test_max_steps_has_bounds(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="max_steps must lie in"):
        import_tasks(write(tmp_path, "a.txt", "x"), max_steps=0)


def test_a_list_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "MAX_TASKS", 3)
    assert len(import_tasks(write(tmp_path, "three.txt", "a\nb\nc\n"))) == 3
    assert mistakes_of(write(tmp_path, "four.txt", "a\nb\nc\nd\n")) == ["4: more than 3 tasks"]


def test_a_hopeless_file_is_not_listed_to_the_end(tmp_path: Path) -> None:
    mistakes = mistakes_of(write(tmp_path, "a.jsonl", "x\n" * 1000))
    assert len(mistakes) == 101
    assert mistakes[-1] == "... and 900 more mistakes"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(content=st.binary(max_size=300), suffix=st.sampled_from([".txt", ".jsonl", ".csv"]))
def test_any_bytes_give_tasks_or_one_user_error(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = write(tmp_path, f"any{suffix}", content)
    try:
        tasks = import_tasks(path)
    except UserError as error:
        assert str(path) in str(error)
    else:
        assert len({task.id for task in tasks}) == len(tasks) > 0

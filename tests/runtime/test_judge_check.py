"""`distrl judge check`: what it counts, what it costs, what it shows, and what it says to mistakes."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import distrl as library
from distrl.core.types import Outcome, Ruling, Trajectory, Verdict
from distrl.runtime.asynchronous import JOURNAL
from distrl.runtime.journal import Entry, Journal
from distrl.runtime.wire import encode

from ..cli.command import distrl
from ..replay.episodes import episode, screen
from ..tasks.judges.episodes import KEY
from ..tasks.judges.servers import Line, Server, error, rules, says, serving
from .runs import tiny

pytestmark = pytest.mark.judge


def recorded(name: str, *, is_solved: bool, suite: str = "general", judge: str = "rule") -> Trajectory:
    """An episode whose screens are its own, with the verdict of the rule."""
    made = episode(name, screens=[screen(sum(name.encode())), screen(sum(name.encode()) + 500)])
    return msgspec.structs.replace(
        made,
        task=msgspec.structs.replace(made.task, id=f"task-{name}", suite=suite, instruction=f"Do <b>{name}</b>."),
        outcome=Outcome.SUCCEEDED if is_solved else Outcome.FAILED,
        verdict=Verdict(ruling=Ruling.SUCCESS if is_solved else Ruling.FAILURE, judge=judge),
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Six trajectories of two suites, the first three solved; one that nobody judged, and one that was let go of."""
    path = tmp_path / "run"
    path.mkdir()
    (path / "config.toml").write_text("")
    made = [recorded(f"t{n}", is_solved=n < 3, suite="general" if n % 2 else "system") for n in range(6)]
    made.append(recorded("t6", is_solved=False, judge=""))
    parcels = [(t.id, encode(t)) for t in made] + [("gone", b"")]
    with closing(Journal(path / JOURNAL)) as journal:
        life = journal.begin_epoch()
        entries = [Entry(id=name, worker="w", versions=(0,), data=data) for name, data in parcels]
        journal.accept(entries, epoch=life.epoch)
    return path


def check(run: Path, judge: str, *more: str | Path) -> dict[str, Any]:
    done = distrl("judge", "check", "--run", str(run), "--judge", judge, "--json", *map(str, more))
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


@contextmanager
def server_beside(*script: Line) -> Iterator[Server]:
    """The scripted server in a thread, since a command has an event loop of its own."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    found: list[Server] = []
    ended = asyncio.Event()

    async def serve() -> None:
        async with serving(*script) as server:
            found.append(server)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def to_server(server: Server, **settings: Any) -> list[str]:
    values = {"url": server.url, "model": "seer", "prompt_price": 2.0, "completion_price": 10.0} | settings
    return [word for key, value in values.items() for word in ("--set", f"judge.{key}={value}")]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


# ---------------------------------------------------------------- numbers


def test_the_shares_of_a_scripted_judge_are_those_one_can_count(run: Path) -> None:
    script = 'judge.script=["success", "failure", "unknown", "success", "failure", "error"]'
    found = check(run, "script", "--set", script)
    # Solved: right, wrong, unknown. Not solved: wrong, right, no answer.
    assert found["n"] == 6
    assert found["accuracy"] == pytest.approx(2 / 6)
    assert found["false_success"] == pytest.approx(1 / 6)
    assert found["false_failure"] == pytest.approx(1 / 6)
    assert found["unknown"] == pytest.approx(2 / 6)
    assert found["cost"] == 0.0
    assert found["skipped"] == 2
    assert found["by_suite"]["system"] == {
        "success": {"success": 1, "failure": 0, "unknown": 1},
        "failure": {"success": 0, "failure": 1, "unknown": 0},
    }
    assert sum(sum(said.values()) for table in found["by_suite"].values() for said in table.values()) == 6


def test_a_judge_that_always_says_success_has_the_accuracy_of_the_share_that_was(run: Path) -> None:
    found = check(run, "script", "--set", 'judge.script=["success"]')
    assert (found["accuracy"], found["false_success"], found["unknown"]) == (0.5, 0.5, 0.0)


def test_people_can_be_the_truth_and_the_rule_the_judge(run: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("id,who,verdict\nt0,me,success\nt1,me,failure\nt3,me, Failure \ngone,me,success\n")
    found = check(run, "rule", "--labels", labels)
    assert (found["n"], found["skipped"]) == (3, 5)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["false_success"] == pytest.approx(1 / 3)


def test_a_limit_judges_only_so_many(run: Path) -> None:
    assert check(run, "script", "--limit", "2")["n"] == 2


def test_a_damaged_trajectory_is_skipped_and_counted(run: Path) -> None:
    damaged = bytearray(encode(recorded("t9", is_solved=True)))
    damaged[-1] ^= 1
    with closing(Journal(run / JOURNAL)) as journal:
        journal.accept([Entry(id="t9", worker="w", versions=(0,), data=bytes(damaged))], epoch=1)
    found = check(run, "script")
    assert (found["n"], found["skipped"]) == (6, 3)


def test_without_json_a_person_can_read_it(run: Path) -> None:
    done = distrl("judge", "check", "--run", str(run), "--judge", "script")
    assert (done.status, done.out.splitlines()[0]) == (0, "script: 6 trajectories (2 of the run skipped)")
    assert "system, known success: judged 0 success, 2 failure, 0 unknown" in done.out


# ---------------------------------------------------------------- a model


def test_a_model_is_checked_once_asked_about_each_and_paid_for_once(run: Path) -> None:
    with server_beside(says("Red."), rules("success")) as server:
        first = check(run, "vlm", *to_server(server))
        assert server.num_calls == 7
        second = check(run, "vlm", *to_server(server))
        assert server.num_calls == 8
    assert (first["accuracy"], first["false_success"]) == (0.5, 0.5)
    assert first["cost"] == pytest.approx(7 * 0.0021)
    assert second["cost"] == pytest.approx(0.0021)
    rows = [json.loads(line) for line in (run / "judgements.jsonl").read_text().splitlines()]
    assert [row["is_cached"] for row in rows] == [False] * 6 + [True] * 6
    assert KEY not in (run / "judgements.jsonl").read_text()


def test_a_vote_of_samples_asks_each_time(run: Path) -> None:
    with server_beside(says("Red."), rules("failure")) as server:
        found = check(run, "vote", *to_server(server, samples=3), "--limit", "2")
        assert (found["n"], server.num_calls) == (2, 7)


def test_an_outage_in_the_middle_is_unknown_with_its_reason(run: Path) -> None:
    with server_beside(says("Red."), rules("success"), error(402, "pay")) as server:
        found = check(run, "vlm", *to_server(server, max_concurrent=1))
    assert (found["n"], found["accuracy"], found["unknown"]) == (6, pytest.approx(1 / 6), pytest.approx(5 / 6))
    assert any("no credit" in reason for reason in found["unknown_reasons"])


# ---------------------------------------------------------------- the page


def test_the_page_shows_every_disagreement_with_its_screens_and_runs_nothing(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    check(run, "script", "--set", 'judge.script=["success"]', "--set", "judge.num_screens=2", "--page", page)
    text = page.read_text()
    assert text.count("<article>") == 3
    assert text.count('src="data:image/png;base64,') == 6
    assert "Do &lt;b&gt;t3&lt;/b&gt;." in text
    assert "<b>t3" not in text
    assert "default-src 'none'" in text


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--judge", "vml"], "did you mean vlm"),
        (["--judge", "vlm"], "judge.model is not set"),
        (["--judge", "vlm", "--set", "judge.url=ftp://x"], "is no address"),
        (["--judge", "vlm", "--set", "judge.url=nonsense"], "is no address"),
        (["--judge", "vlm", "--set", "judge.url=http://me:secret@x/v1"], "a key belongs into a variable"),
        (["--judge", "vlm", "--set", "judge.model=m", "--set", "judge.key_variable=NOT_THERE"], "variable NOT_THERE"),
        (["--judge", "vlm", "--set", "judge.model=m", "--set", "judge.spend_limit=1.0"], "needs prices"),
        (["--judge", "vlm", "--set", "judge.model=m", "--set", "judge.examples=/nowhere"], "/nowhere is not a folder"),
        (["--judge", "vlm", "--set", "judge.num_screens=0"], "judge.num_screens"),
        (["--judge", "vlm", "--set", "judge.modle=m"], "did you mean judge.model"),
        (["--judge", "script", "--set", 'judge.script=["maybe"]'], "judge.script"),
        (["--judge", "script", "--labels", "/nowhere.csv"], "cannot be read as labels"),
        (["--judge", "script", "--page", "/nowhere/page.html"], "--page"),
        (["--judge", "script", "--config", "/nowhere.toml"], "/nowhere.toml"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes_exit_with_2_one_message_and_no_traceback(run: Path, arguments: list[str], hint: str) -> None:
    model = ["--set", "judge.model=m"] if any("judge.url" in word for word in arguments) else []
    done = distrl("judge", "check", "--run", str(run), *arguments, *model)
    assert (done.status, done.out) == (2, "")
    assert hint in done.err
    assert "Traceback" not in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize(
    "line", [error(401, "no"), error(404, "no such model"), error(400, "no image input")], ids=["401", "404", "400"]
)
def test_a_judge_that_cannot_be_used_exits_with_2_before_anything_is_judged(run: Path, line: Line) -> None:
    with server_beside(line) as server:
        done = distrl("judge", "check", "--run", str(run), "--judge", "vlm", *to_server(server))
        assert server.num_calls == 1
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: the ")
    assert done.err.count("\n") == 1
    assert KEY not in done.err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "the columns id and verdict"),
        ("name,said\na,b\n", "the columns id and verdict"),
        ("id,verdict\nt0,maybe\nt1,success\nt1,failure\n", "2 bad labels"),
        ("id,verdict\nt0,unknown\n", "success or failure is wanted"),
        ("id,verdict\nt0\n", "success or failure is wanted"),
        ("id,verdict\nnobody,success\n", "nothing to check"),
    ],
)
def test_bad_labels_are_named(run: Path, tmp_path: Path, text: str, hint: str) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(text)
    done = distrl("judge", "check", "--run", str(run), "--judge", "script", "--labels", str(labels))
    assert (done.status, done.out) == (2, "")
    assert hint in done.err


def test_a_run_that_is_none_one_that_recorded_nothing_and_a_torn_journal_are_named(run: Path, tmp_path: Path) -> None:
    def says_of(path: Path) -> str:
        done = distrl("judge", "check", "--run", str(path), "--judge", "script")
        assert done.status == 2
        return done.err

    assert "is not the directory of a run" in says_of(tmp_path / "nowhere")
    serial = tmp_path / "serial"
    serial.mkdir()
    (serial / "config.toml").write_text("")
    assert "has recorded nothing" in says_of(serial)
    (serial / JOURNAL).write_bytes(b"what is this" * 100)
    assert "cannot be read" in says_of(serial)


def test_a_plain_run_keeps_what_a_judge_can_be_checked_on(tmp_path: Path) -> None:
    path = tmp_path / "run"
    library.train(tiny(train={"num_trajectories": 17}, eval={"episodes": 1}), path)
    found = check(path, "script", "--set", 'judge.script=["failure"]')
    # Every eighth of 17, and an untrained policy solves hardly anything.
    assert found["n"] == 3
    assert found["accuracy"] + found["false_failure"] == 1.0

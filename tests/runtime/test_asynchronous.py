"""The asynchronous run: the same worker, hub and learner in one process and in virtual time, without Ray."""

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.config import Config
from distrl.runtime import run_state
from distrl.runtime.asynchronous import JOURNAL, AsyncTraining, in_thread, limit_of
from distrl.runtime.audit import Audit, audit_run
from distrl.runtime.journal import Journal
from distrl.runtime.members import SUMS
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Progress
from distrl.runtime.safe_file import CannotWriteError
from distrl.runtime.simulation import Simulation, at_once

from .fleet import settings

DOCS = Path(__file__).resolve().parents[2] / "docs"


def run_fleet(
    config: Config, path: Path, *, during: Callable[[AsyncTraining], Awaitable[None]] | None = None, workers: int = 1
) -> AsyncTraining:
    """A whole run in virtual time."""
    run = RunDirectory(path)
    run.open(config)
    simulation = Simulation(config, run, num_workers=workers)
    try:
        simulation.run(during)
    finally:
        run.close()
    return simulation.training


def slow(**tables: dict[str, Any]) -> Config:
    """A fleet of emulators, minutes of which take a moment."""
    return settings(phone={"latency": "emulator"}, **tables)


def lines(path: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / f"{kind}.jsonl").read_text().splitlines()]


def sound(path: Path) -> Audit:
    found = audit_run(path)
    assert found.is_sound, found
    return found


def test_a_run_collects_learns_publishes_and_evaluates(tmp_path: Path) -> None:
    training = run_fleet(slow(), tmp_path / "run")
    assert training.learner.num_received == 16
    assert training.learner.num_updates > 4
    # A checkpoint says how far it has learned: what is behind that would be learned again, also if replay forgot it.
    assert training._plain_state()["journal_position"] == 16
    assert training.hub.success == training.curriculum.success != {}
    assert training.curve[0]["trajectories"] == 0
    assert training.curve[-1]["updates"] == training.learner.num_updates
    found = sound(tmp_path / "run")
    assert found.stored >= 16
    assert found.acknowledged == found.stored
    assert found.versions > 2


def test_a_run_that_ends_before_its_first_update_is_summed_up_as_of_its_end(tmp_path: Path) -> None:
    training = run_fleet(slow(learner={"warmup_trajectories": 100}, train={"num_trajectories": 4}), tmp_path / "run")
    assert training.learner.num_updates == 0
    assert [row["trajectories"] for row in training.curve] == [0, 4]


def test_all_computing_is_done_by_one_thread_so_that_memory_is_used_again() -> None:
    async def compute() -> set[int]:
        return {await in_thread(threading.get_ident) for _ in range(8)}

    threads = asyncio.run(compute()) | asyncio.run(compute())
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_listeners_hear_that_only_the_last_evaluation_is_left(tmp_path: Path) -> None:
    heard: list[Progress] = []
    run, config = RunDirectory(tmp_path / "run"), slow()
    run.open(config)
    Simulation(config, run, listener=heard.append).run()
    run.close()
    first = next(i for i, progress in enumerate(heard) if progress.is_ending)
    assert not any(progress.kind == "collecting" for progress in heard[first + 1 :])
    assert heard[-1].kind == "evaluated"


def test_several_workers_share_a_run_and_no_evaluation_is_played_twice(tmp_path: Path) -> None:
    config = slow(eval={"episodes": 6, "has_sampled": True}, collect={"num_devices": 6})
    training = run_fleet(config, tmp_path / "run", workers=3)
    assert len(training.hub.members) == 3
    assert len({row["updates"] for row in training.curve}) == len(training.curve)
    sound(tmp_path / "run")


def test_a_run_goes_on_from_its_checkpoint_and_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_fleet(slow(train={"num_trajectories": 8}), path)
    again = run_fleet(slow(train={"num_trajectories": 24}), path)
    assert again.hub.life.epoch == 2
    assert again.learner.num_received >= 24
    found = sound(path)
    assert found.epochs == 2
    assert found.versions_monotone
    # What arrived after the first checkpoint was not learned then; it is not lost, and not counted twice.
    assert found.stored >= 24


def test_what_was_acknowledged_after_the_checkpoint_is_learned_by_the_next_life(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_fleet(slow(train={"num_trajectories": 8}), path)
    with_tail = audit_run(path).stored
    run = RunDirectory(path)
    config = slow(train={"num_trajectories": 8})
    run.open(config)
    training = AsyncTraining(config, run, clock=LoopClock(), compute=at_once)

    async def reopen() -> None:
        training.open()

    run_virtual(reopen())
    assert training.learner.num_received == with_tail
    run.close()


def test_draining_keeps_everything_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    async def stop_early(training: AsyncTraining) -> None:
        while training.learner.num_received < 5:
            await asyncio.sleep(1.0)
        await training.drain()

    path = tmp_path / "run"
    training = run_fleet(slow(train={"num_trajectories": 1000}), path, during=stop_early)
    assert 5 <= training.learner.num_received < 100
    assert list((path / "checkpoints").glob("[0-9]*"))
    sound(path)


def test_with_a_lag_of_zero_every_device_makes_one_episode_a_version(tmp_path: Path) -> None:
    path = tmp_path / "run"
    training = run_fleet(slow(collect={"num_devices": 3, "max_policy_lag": 0}, train={"num_trajectories": 12}), path)
    assert training.loop.counters["dropped_stale"] == 0
    journal = Journal(path / JOURNAL)
    by_version: dict[int, int] = {}
    for _, _, versions, _ in journal.read():
        assert len(versions) == 1
        by_version[versions[0]] = by_version.get(versions[0], 0) + 1
    journal.close()
    counts = [by_version[version] for version in sorted(by_version)]
    assert counts[:-1] == [3] * (len(counts) - 1)
    assert len(counts) >= 4


def test_what_is_older_than_the_bound_is_dropped_and_counted(tmp_path: Path) -> None:
    bound = {"num_devices": 8, "max_policy_lag": 1, "swap_weights_at": "episode"}
    eager = {"new_steps_per_update": 1.0, "publish_every_updates": 1}
    training = run_fleet(slow(collect=bound, learner=eager, train={"num_trajectories": 12}), tmp_path / "run")
    assert training.loop.counters["dropped_stale"] > 0
    assert training.learner.num_received >= 12
    sound(tmp_path / "run")


def test_every_metric_of_a_run_is_in_the_glossary(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_fleet(slow(), path)
    known = set(re.findall(r"`(\w+)`", (DOCS / "metrics.md").read_text()))
    assert known >= SUMS  # which only runs with a policy's server write
    for kind in ("metrics", "evaluations", "fleet"):
        written = {name for row in lines(path, kind) for name in row}
        assert written, kind
        assert written <= known, kind


@pytest.mark.parametrize(
    ("row", "limit"),
    [
        ({"learner_idle_share": 0.0, "send_share": 0.6, "device_share": 0.3}, "learner"),
        ({"learner_idle_share": 0.8, "device_share": 0.9, "inference_share": 0.1}, "device"),
        ({"learner_idle_share": 0.5, "device_share": 0.1, "inference_share": 0.9}, "inference"),
        ({"learner_idle_share": 0.5, "device_share": 0.1, "inference_share": 0.2, "judge_share": 0.7}, "judge"),
    ],
)
def test_the_verdict_names_what_is_waited_for(row: dict[str, float], limit: str) -> None:
    assert limit_of(row) == limit


def test_an_audit_finds_what_is_lost_damaged_and_unpublished(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_fleet(slow(), path)
    journal = Journal(path / JOURNAL)
    database = journal._file.database
    rows = database.execute("SELECT seq FROM trajectories ORDER BY seq").fetchall()
    database.execute("DELETE FROM trajectories WHERE seq = ?", rows[0])
    database.execute("UPDATE trajectories SET data = x'00' WHERE seq = ?", rows[1])
    database.execute("DELETE FROM versions WHERE version = 0")
    journal.close()
    found = audit_run(path)
    assert found.lost >= 2
    assert found.unpublished_versions == 1
    assert not found.is_sound


def test_what_both_checkpoints_have_learned_from_is_let_go_and_still_recognised(tmp_path: Path) -> None:
    path = tmp_path / "run"
    config = slow(train={"num_trajectories": 32})
    training = run_fleet(config, path)
    found = sound(path)
    positions = sorted(training._saved.values())
    assert found.let_go == positions[0] > 8
    assert positions[-1] >= 32
    assert found.stored >= 32
    journal = Journal(path / JOURNAL)
    kept = [position for position, _ in journal.after(0)]
    assert kept == list(range(positions[0] + 1, found.stored + 1))
    journal.close()
    # The newest checkpoint may be damaged: what the one before it has not learned from must still be there.
    (sorted((path / "checkpoints").glob("[0-9]*"))[-1] / "weights.safetensors").write_bytes(b"")
    again = run_fleet(slow(train={"num_trajectories": 33}), path)
    assert again.learner.num_received >= 33
    assert sound(path).stored >= 33


def test_a_checkpoint_that_cannot_be_written_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    failures = iter([OSError(28, "No space left on device")] * 2)
    save = run_state.save_checkpoint

    def saving(*args: Any) -> Any:
        if (error := next(failures, None)) is not None:
            raise error
        return save(*args)

    monkeypatch.setattr(run_state, "save_checkpoint", saving)
    training = run_fleet(slow(train={"num_trajectories": 24}), path)
    assert training.loop.counters["checkpoint_failures"] == 2
    told = [row for row in lines(path, "events") if row["event"] == "checkpoint not written"]
    assert len(told) == 2
    assert "No space left" in told[0]["reason"]
    assert list((path / "checkpoints").glob("[0-9]*"))
    sound(path)


def test_draining_during_the_last_evaluation_does_not_wait_for_it(tmp_path: Path) -> None:
    drained_s: list[float] = []

    async def stop_late(training: AsyncTraining) -> None:
        while training.learner.num_received < 4 or len(training.curve) < 1:
            await asyncio.sleep(1.0)
        await asyncio.sleep(2.0)
        drained_s.append(asyncio.get_running_loop().time())
        await training.drain()

    path = tmp_path / "run"
    config = slow(train={"num_trajectories": 4}, eval={"episodes": 12, "every_trajectories": 100})
    ended_s: list[float] = []

    async def note_the_end(training: AsyncTraining) -> None:
        await stop_late(training)
        while not training.hub.is_over:
            await asyncio.sleep(0.1)
        ended_s.append(asyncio.get_running_loop().time())

    training = run_fleet(config, path, during=note_the_end)
    assert ended_s[0] - drained_s[0] < 1.0
    assert len(training.curve) == 1
    assert list((path / "checkpoints").glob("[0-9]*"))
    sound(path)


def test_a_first_version_that_cannot_be_written_down_delays_the_first_evaluation_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([CannotWriteError("no room")] * 2)
    note = Journal.note_version

    def noting(self: Journal, *args: Any, **more: Any) -> None:
        if (error := next(failures, None)) is not None:
            raise error
        note(self, *args, **more)

    monkeypatch.setattr(Journal, "note_version", noting)
    training = run_fleet(slow(), tmp_path / "run")
    assert [row["event"] for row in lines(tmp_path / "run", "events")].count("version not published") == 2
    assert training.curve[0]["trajectories"] == 0
    sound(tmp_path / "run")

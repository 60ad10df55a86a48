"""The asynchronous run: the same worker, hub and learner in one process and in virtual time, without Ray."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.config import Config
from distrl.runtime.asynchronous import JOURNAL, AsyncTraining, limit_of, spool_path
from distrl.runtime.audit import Audit, audit_run
from distrl.runtime.fleet_worker import FleetWorker, FleetWorkerOptions
from distrl.runtime.hub import Hub, Published
from distrl.runtime.journal import Journal
from distrl.runtime.run_directory import RunDirectory

from .fleet import settings

DOCS = Path(__file__).resolve().parents[2] / "docs"


class DirectLink:
    """A hub in the same process."""

    def __init__(self, hub: Hub) -> None:
        self.join, self.news, self.weights = hub.join, hub.news, hub.weights
        self.deliver, self.report = hub.deliver, hub.report

    async def fetch(self, published: Published) -> bytes:
        return bytes(published.data)


async def at_once(work: Callable[[], Any]) -> Any:
    """Computing takes no virtual time."""
    return work()


def run_fleet(
    config: Config, path: Path, *, during: Callable[[AsyncTraining], Awaitable[None]] | None = None, workers: int = 1
) -> AsyncTraining:
    """A whole run in virtual time."""

    async def main() -> AsyncTraining:
        run = RunDirectory(path)
        run.open(config)
        training = AsyncTraining(config, run, clock=LoopClock(), compute=at_once)
        hub = training.open()
        fleet = [
            FleetWorker(
                config,
                DirectLink(hub),
                FleetWorkerOptions(
                    name=f"worker-{n}",
                    spool=spool_path(path, f"worker-{n}"),
                    num_devices=config.collect.num_devices,
                    first_device=n * config.collect.num_devices,
                ),
                ticket=f"life-{hub.life.epoch}",
            )
            for n in range(workers)
        ]
        beside = [] if during is None else [during(training)]
        await asyncio.gather(training.run(), *(worker.run() for worker in fleet), *beside)
        training.journal.close()
        run.close()
        return training

    return run_virtual(main())


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


def test_several_workers_share_a_run_and_no_evaluation_is_played_twice(tmp_path: Path) -> None:
    config = slow(eval={"episodes": 6, "has_sampled": True})
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
    assert training.counters["dropped_stale"] == 0
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
    assert training.counters["dropped_stale"] > 0
    assert training.learner.num_received >= 12
    sound(tmp_path / "run")


def test_every_metric_of_a_run_is_in_the_glossary(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_fleet(slow(), path)
    known = set(re.findall(r"`(\w+)`", (DOCS / "metrics.md").read_text()))
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

"""Going on: what a killed run, a power cut or fewer workers than before leave behind is neither lost nor told twice."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.config import Config
from distrl.runtime import simulation
from distrl.runtime.asynchronous import JOURNAL, AsyncTraining, spool_path
from distrl.runtime.checkpoints import kept_checkpoints
from distrl.runtime.hub import Receipt
from distrl.runtime.journal import Entry, Journal
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Progress
from distrl.runtime.simulation import DirectLink, Simulation, at_once
from distrl.runtime.spool import Parcel, Spool
from distrl.runtime.wire import encode

from .fleet import plain_trajectory
from .test_asynchronous import lines, run_fleet, slow, sound


class KilledError(Exception):
    """Nothing after this happens."""


def kill_when(is_time: Callable[[Progress], bool]) -> Callable[[Progress], None]:
    """A listener in which a run dies."""

    def listen(progress: Progress) -> None:
        if is_time(progress):
            raise KilledError

    return listen


@contextmanager
def opened(config: Config, path: Path) -> Iterator[AsyncTraining]:
    """A run that has just gone on, in a loop of its own; nobody works for it yet."""
    run = RunDirectory(path)
    run.open(config)
    training = AsyncTraining(config, run, clock=LoopClock(), compute=at_once)

    async def begin() -> None:
        training.open()

    run_virtual(begin())
    yield training
    training.journal.close()
    run.close()


def entry(name: str, *, version: int = 0) -> Entry:
    made = plain_trajectory(name, version=version)
    return Entry(id=name, worker="w", versions=(version,), data=encode(made))


def cut_off(path: Path, position: int) -> None:
    """Have a journal end at a place, as if the moment after it had not been."""
    with closing(sqlite3.connect(path / JOURNAL)) as database, database:
        database.execute("DELETE FROM trajectories WHERE seq > ?", (position,))
        database.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'trajectories'", (position,))


CONFIG = slow(collect={"max_policy_lag": 20}, train={"num_trajectories": 8})


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two workers that has come to its end."""
    path = tmp_path_factory.mktemp("runs") / "run"
    run_fleet(CONFIG, path, workers=2)
    return path


@pytest.fixture
def path(first_run: Path, tmp_path: Path) -> Path:
    """One of one's own."""
    return Path(shutil.copytree(first_run, tmp_path / "run"))


# ---- what is too old


def test_what_is_too_old_when_a_run_goes_on_is_dropped_and_counted(path: Path) -> None:
    with opened(CONFIG, path) as training:
        training._checkpoint()
        before, newest = training.learner.num_received, training.journal.newest_version()
        for version in range(newest + 1, newest + 30):
            training.journal.note_version(version, "", epoch=1)
        versions = {"old": newest + 8, "at-the-bound": newest + 10, "new": newest + 29}
        training.journal.accept([entry(name, version=version) for name, version in versions.items()], epoch=1)
    with opened(CONFIG, path) as training:  # its version is one more than the newest: 22, 20 and 1 behind it
        assert training.learner.num_received == before + 2
        assert training.loop.counters["dropped_stale"] == 1
        assert training.loop.position == max(position for position, *_ in training.journal.read())


# ---- a round


class DamagingLink(DirectLink):
    """A way on which every third parcel is damaged."""

    def __init__(self, hub: Any) -> None:
        super().__init__(hub)
        self._deliver, self._count = hub.deliver, 0
        self.deliver = self._damage

    async def _damage(self, worker: str, ticket: str, parcels: list[bytes]) -> list[Receipt]:
        for number in range(len(parcels)):
            self._count += 1
            if self._count % 3 == 0:
                parcels[number] = parcels[number][:-1]
        receipts: list[Receipt] = await self._deliver(worker, ticket, parcels)
        return receipts


def test_with_a_lag_of_zero_nobody_waits_for_what_was_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "DirectLink", DamagingLink)
    config = slow(collect={"num_devices": 3, "max_policy_lag": 0}, train={"num_trajectories": 12, "max_minutes": 60.0})
    training = run_fleet(config, tmp_path / "run")
    assert training.hub.counters["refused"] >= 4
    assert training.learner.num_received == 12
    sound(tmp_path / "run")


# ---- checkpoints and the journal


def test_what_the_sound_checkpoints_have_not_learned_from_is_not_let_go(path: Path) -> None:
    def checkpoint(training: AsyncTraining) -> Path:
        """One more trajectory, and a checkpoint."""
        more = entry(f"more-{training.learner.num_received}", version=training.version)
        (position,) = training.journal.accept([more], epoch=1)
        assert position is not None
        training._recover(position, more.data)
        training._checkpoint()
        return training._run.checkpoints / f"{training.learner.num_received:09d}"

    with opened(CONFIG, path) as training:
        first = checkpoint(training)
        learned = training.loop.position
        (checkpoint(training) / "weights.safetensors").write_bytes(b"torn while the run goes on")
        last = checkpoint(training)
        assert sorted(path for path in training._run.checkpoints.iterdir()) == [first, last]
        assert [position for position, _ in training.journal.after(0)] == [learned + 1, learned + 2]
    (last / "state.json").write_bytes(b"torn too")
    with opened(CONFIG, path) as training:
        assert training._resumed_at == learned
        assert training.loop.position == learned + 2


def test_what_arrives_after_a_power_cut_is_not_passed_over(path: Path) -> None:
    with opened(CONFIG, path) as training:
        learned = training._resumed_at
    cut_off(path, learned - 3)
    for life in range(3):
        with opened(CONFIG, path) as training:
            assert training.learner.num_received == 8 + life
            (position,) = training.journal.accept([entry(f"late-{life}", version=training.version)], epoch=1)
            assert position == learned + life + 1


def test_a_journal_without_a_row_begins_behind_the_checkpoint_too(tmp_path: Path) -> None:
    with closing(Journal(tmp_path / JOURNAL)) as journal:
        journal.skip_to(7)
        journal.skip_to(3)
        assert journal.accept([entry("a"), entry("b")], epoch=1) == [8, 9]
        journal.skip_to(5)
        assert journal.accept([entry("c")], epoch=1) == [10]


# ---- lines


def test_a_run_killed_after_its_last_evaluation_has_it_once_and_does_not_repeat_it(tmp_path: Path) -> None:
    path, config = tmp_path / "run", slow(train={"num_trajectories": 16})
    run = RunDirectory(path)
    run.open(config)
    is_last = kill_when(lambda progress: progress.kind == "evaluated" and progress.trajectories == 16)
    with pytest.raises(KilledError):
        Simulation(config, run, listener=is_last).run()
    run.close()
    cut_off(path, 16)
    before = lines(path, "evaluations")
    assert [row["trajectories"] for row in before] == [0, 8, 16]
    training = run_fleet(config, path)
    assert training.learner.num_received == 16
    assert lines(path, "evaluations") == training.curve == before


def test_lines_about_what_is_done_again_go_and_all_others_are_there_once(path: Path) -> None:
    first, *rest = lines(path, "evaluations")
    received, updates = rest[-1]["trajectories"], rest[-1]["updates"]
    later = rest[-1] | {"success": 9.0}
    beyond = [later | {"trajectories": received + 1}, later | {"updates": updates + 1}]
    twice_and_beyond = [*rest, rest[-1], *beyond]  # the first is in the checkpoint only
    (path / "evaluations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in twice_and_beyond))
    with (path / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(lines(path, "metrics")[-1] | {"update": updates + 1}) + "\n")
    with opened(CONFIG, path) as training:
        assert training.curve == lines(path, "evaluations") == [first, *rest]
        assert [row["update"] for row in lines(path, "metrics")] == list(range(1, updates + 1))


# ---- spools


def spool_of(path: Path, worker: str, *parcels: tuple[str, bytes]) -> None:
    """What a worker left behind."""
    with closing(Spool(spool_path(path, worker), max_bytes=2**20)) as spool:
        for name, data in parcels:
            spool.put(Parcel(id=name, data=data), version=0)


def test_with_fewer_workers_than_before_what_the_others_had_spooled_is_learned_from(path: Path) -> None:
    with closing(Journal(path / JOURNAL)) as journal:
        run = journal.run
    left = [(f"left-{n}", encode(plain_trajectory(f"left-{n}"), run=run)) for n in range(12)]
    of_another = ("foreign", encode(plain_trajectory("foreign"), run="another"))
    spool_of(path, "worker-1", *left[:9], of_another, *left[9:])
    again = run_fleet(CONFIG, path)
    assert again.learner.num_received >= 8 + 12
    found = sound(path)
    assert found.waiting == 0
    assert found.acknowledged == found.stored
    with closing(Journal(path / JOURNAL)) as journal:
        assert all(name in journal for name, _ in left)
        assert "foreign" not in journal
    with closing(Spool(spool_path(path, "worker-1"), max_bytes=1)) as spool:
        assert {name for name, _ in left} <= set(spool.acknowledged())
        assert spool.counter("refused") == 1
    assert ("spool taken over", 12) in [(row["event"], row.get("trajectories")) for row in lines(path, "events")]


def test_a_spool_is_taken_over_beside_a_worker_that_delivers_it_and_nothing_is_learned_twice(path: Path) -> None:
    with opened(CONFIG, path) as training:
        before, run = training.learner.num_received, training.journal.run
    parcels = [encode(plain_trajectory(f"left-{n}"), run=run) for n in range(3)]
    spool_of(path, "worker-0", *((f"left-{n}", data) for n, data in enumerate(parcels)))
    with opened(CONFIG, path) as training:
        assert training.learner.num_received == before + 3

        async def deliver() -> list[str]:
            await training.hub.join("worker-0", "t", "here", 1)
            return [receipt.kind for receipt in await training.hub.deliver("worker-0", "t", parcels)]

        assert run_virtual(deliver()) == ["duplicate"] * 3
        assert training.hub.depth == 0


def test_a_spool_that_is_none_is_told_and_no_reason_not_to_go_on(path: Path) -> None:
    spool_path(path, "worker-9").write_bytes(b"my shopping list" * 100)
    with opened(CONFIG, path) as training:
        assert training.learner.num_received >= 8
    (told,) = [row for row in lines(path, "events") if row["event"] == "spool not taken over"]
    assert "worker-9.sqlite cannot be read as a spool" in told["reason"]


def test_a_spool_that_can_be_read_in_part_is_taken_over_as_far_as_that_goes(path: Path) -> None:
    with closing(Journal(path / JOURNAL)) as journal:
        run = journal.run
    left = [(f"left-{n}", encode(plain_trajectory(f"left-{n}"), run=run)) for n in range(40)]
    spool_of(path, "worker-9", *left)
    file = spool_path(path, "worker-9")
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = [
            page for (page,) in database.execute("SELECT pageno FROM dbstat WHERE name = 'parcels' ORDER BY pageno")
        ]
        (size,) = database.execute("PRAGMA page_size").fetchone()
    data = bytearray(file.read_bytes())
    data[(pages[-1] - 1) * size : pages[-1] * size] = b"\xff" * size
    file.write_bytes(data)
    with opened(CONFIG, path) as training:
        assert training.learner.num_received > 8
    (told,) = [row for row in lines(path, "events") if row["event"] == "spool not taken over"]
    assert 0 < told["trajectories"] < 40
    assert "worker-9.sqlite" in told["reason"]


# ---- what the last life had not learned from


OFTEN = slow(learner={"new_steps_per_update": 2.0, "warmup_trajectories": 1}, train={"num_trajectories": 2})


async def have_wait(training: AsyncTraining, count: int) -> None:
    """Let so many trajectories wait for the learner."""
    made = [plain_trajectory(f"waiting-{n}") for n in range(count)]
    await training.hub.join("w", "t", "here", 1)
    await training.hub.deliver("w", "t", [encode(each, run=training.journal.run) for each in made])
    assert training.hub.depth == count


def test_every_update_is_made_up_for_however_much_waits(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_fleet(OFTEN, path)
    with opened(OFTEN, path) as training:
        training._checkpoint()
        more = [entry(f"more-{n}", version=training.version) for n in range(6)]
        training.journal.accept(more, epoch=training.hub.life.epoch)
    with opened(OFTEN, path) as training:
        before, owed = training.learner.num_updates, training.learner.num_due
        assert owed >= 6

        async def go_on() -> list[int]:
            await have_wait(training, 4)
            left = []
            for _ in range(owed + 2):
                await training.update()
                left.append(training.learner.num_due)
            return left

        left = run_virtual(go_on())
    assert left[: owed - 1] == list(range(owed - 1, 0, -1)), "one by one, although others wait"
    assert training.learner.num_updates == before + owed + 2


def test_what_was_recovered_is_saved_before_anything_new_arrives(tmp_path: Path) -> None:
    path, longer = tmp_path / "run", OFTEN.model_copy(update={"train": slow(train={"num_trajectories": 30}).train})
    run_fleet(OFTEN, path)
    with opened(OFTEN, path) as training:
        before = training.learner.num_received
        more = [entry(f"more-{n}", version=training.version) for n in range(3)]
        training.journal.accept(more, epoch=training.hub.life.epoch)
    run = RunDirectory(path)
    run.open(longer)
    with pytest.raises(KilledError):
        Simulation(longer, run, listener=kill_when(lambda progress: progress.trajectories > before + 3)).run()
    run.close()
    assert kept_checkpoints(run.checkpoints)[0] == before + 3


def test_who_is_behind_makes_one_update_for_all_and_who_is_not_makes_each(tmp_path: Path) -> None:
    with opened(OFTEN, tmp_path / "run") as training:
        training._num_owed = 0
        for number in range(6):
            training.learner.receive(plain_trajectory(f"new-{number}", num_steps=4))
        due = training.learner.num_due
        assert due >= 6

        async def go_on() -> list[int]:
            await training.update()
            left = [training.learner.num_due]
            await have_wait(training, 1)
            await training.update()
            return [*left, training.learner.num_due]

        assert run_virtual(go_on()) == [due - 1, 0]


def test_demonstrations_are_looked_at_again_by_the_next_life(tmp_path: Path) -> None:
    def config(total: int) -> Config:
        return slow(
            learner={"demonstrations": 1, "imitated_successes": 2},
            policy={"start": "imitation"},
            train={"num_trajectories": total},
        )

    first = run_fleet(config(8), tmp_path / "run")
    shown = first.learner.plain_state()["num_shown"]
    assert shown >= 4 * 8
    with opened(config(12), tmp_path / "run") as training:
        assert training.learner.plain_state()["num_shown"] >= shown
    again = run_fleet(config(12), tmp_path / "run")
    assert again.learner.plain_state()["num_shown"] > shown
    assert all(row["imitation_loss"] > 0.0 for row in lines(tmp_path / "run", "metrics"))
    sound(tmp_path / "run")

"""Runs that are stopped, killed, torn or told something twice: nothing is lost, and nothing is there twice."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from distrl.core.clock import VirtualLoop
from distrl.core.types import Decision, Outcome, Situation, Wait
from distrl.runtime.checkpoints import newest_checkpoint, save_checkpoint
from distrl.runtime.curriculum import Curriculum, FixedTasks
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Progress

from .fleet import CountingPolicy, FakeEnvironment, make_worker, plain_trajectory, raises, settings, task, tasks, work
from .learners import FakeAlgorithm, in_group, make_learner
from .runs import STEADY, evaluations_of, metrics_of, train
from .test_checkpoints import PowerCutError, files, power_cut


def test_a_resumed_run_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    train(settings(1, train={"num_trajectories": 24}, learner=STEADY), tmp_path / "straight")
    for total in (8, 16, 24):
        train(settings(1, train={"num_trajectories": total}, learner=STEADY), tmp_path / "stopped")
    assert metrics_of(tmp_path / "stopped") == metrics_of(tmp_path / "straight")
    assert evaluations_of(tmp_path / "stopped") == evaluations_of(tmp_path / "straight")


def test_offline_training_is_evaluated_and_kept(tmp_path: Path) -> None:
    config = settings(train={"mode": "offline", "offline_updates": 5, "num_trajectories": 16})
    training = train(config, tmp_path / "run")
    assert [row["updates"] for row in evaluations_of(tmp_path / "run")] == [0, 5]
    assert newest_checkpoint(tmp_path / "run" / "checkpoints")[0] is not None
    state = msgspec.json.decode((newest_checkpoint(tmp_path / "run" / "checkpoints")[0] or {})["state.json"])
    assert state["learner"]["num_updates"] == training.learner.num_updates == 5


def test_the_error_of_a_policy_is_raised_as_itself() -> None:
    class Broken:
        def decide(
            self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
        ) -> list[Decision]:
            raise ArithmeticError("broken")

    with pytest.raises(ArithmeticError):
        work({"d": FakeEnvironment()}, Broken(), FixedTasks(tasks(2)))


@pytest.mark.timeout(20)
def test_a_policy_with_too_few_answers_stops_the_worker() -> None:
    class Short:
        def decide(
            self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
        ) -> list[Decision]:
            return [Decision(action=Wait())] * (len(situations) - 1)

    with raises(Exception):
        work({f"d{n}": FakeEnvironment() for n in range(3)}, Short(), FixedTasks(tasks(3)))


def test_an_error_of_one_device_leaves_no_error_in_a_callback_behind() -> None:
    noise: list[dict[str, Any]] = []

    async def send(trajectory: object) -> None:
        pass

    class Broken(FakeEnvironment):
        async def reset(self, task: Any, setup: Any) -> Any:
            await asyncio.sleep(1.0)
            raise ValueError("gone")

    class Late(FakeEnvironment):
        async def reset(self, task: Any, setup: Any) -> Any:
            await asyncio.sleep(1.0)
            return await super().reset(task, setup)

    worker = make_worker({"good": Late(), "bad": Broken()}, CountingPolicy(), send, max_wait_s=2.0)

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: noise.append(context))
        with raises(Exception, "gone"):
            await worker.run(FixedTasks(tasks(5)))
        await asyncio.sleep(5.0)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())
    assert noise == []


def test_a_trajectory_that_is_sent_twice_counts_once() -> None:
    learner = make_learner(FakeAlgorithm())
    for trajectory in (in_group("a", "1", Outcome.SUCCEEDED), in_group("b", "1", Outcome.FAILED)):
        learner.receive(trajectory)
    learner.receive(in_group("b", "1", Outcome.FAILED))
    batch, _ = learner.evaluate(["a"], [1.0])
    assert batch.group_mean_b.tolist() == [0.5]


def test_groups_of_which_nothing_is_left_are_forgotten() -> None:
    learner = make_learner(FakeAlgorithm(), capacity_steps=10)
    for n in range(100):
        learner.receive(in_group(f"{n}", f"{n}", Outcome.FAILED))
    assert len(learner.plain_state()["groups"]) <= 10


def test_a_state_stays_what_it_was() -> None:
    curriculum = Curriculum([task()], Random(0))
    curriculum.record(plain_trajectory("a"), is_success=True)
    state = curriculum.state()
    before = msgspec.json.encode(state)
    curriculum.record(plain_trajectory("b"), is_success=True)
    assert msgspec.json.encode(state) == before


def test_saving_again_never_loses_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at_operation in range(60):
        directory = tmp_path / f"{at_operation}"
        save_checkpoint(directory, 1, files(1))
        try:
            with power_cut(monkeypatch, at_operation):
                save_checkpoint(directory, 1, files(2))
            return
        except PowerCutError:
            assert newest_checkpoint(directory)[0] in (files(1), files(2)), at_operation


def test_a_run_killed_while_its_configuration_was_written_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(descriptor: int) -> None:
        raise PowerCutError

    with monkeypatch.context() as patch, pytest.raises(PowerCutError):
        patch.setattr(os, "fsync", cut)
        RunDirectory(tmp_path / "run").open(settings())
    run = RunDirectory(tmp_path / "run")
    run.open(settings())
    run.close()


@pytest.mark.parametrize("text", ["a\u2028b", "a\u2029b", "a\x85b"])
def test_any_text_comes_back(tmp_path: Path, text: str) -> None:
    run = RunDirectory(tmp_path)
    run.log("metrics", {"text": text})
    assert run.read("metrics") == [{"text": text}]


def test_a_line_cut_within_a_character_is_left_out(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.log("events", {"event": "first"})
    run.log("events", {"reason": "Grüße"})
    whole = (tmp_path / "events.jsonl").read_bytes()
    (tmp_path / "events.jsonl").write_bytes(whole[: whole.index(b"\xc3") + 1])
    assert [line["event"] for line in run.read("events")] == ["first"]


def test_what_is_logged_after_a_torn_line_is_read(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.log("events", {"event": "first"})
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"event": "to')
    run.log("events", {"event": "second"})
    assert [line["event"] for line in run.read("events")] == ["first", "second"]


def test_a_run_killed_before_its_first_checkpoint_has_no_line_twice(tmp_path: Path) -> None:
    def kill(progress: Progress) -> None:
        if progress.kind == "evaluated":
            raise KeyboardInterrupt

    config = settings(train={"num_trajectories": 4})
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "run", kill)
    train(config, tmp_path / "run")
    assert [row["trajectories"] for row in evaluations_of(tmp_path / "run")] == [0, 4]


def test_a_run_whose_checkpoints_are_all_damaged_has_no_line_twice(tmp_path: Path) -> None:
    config = settings(train={"num_trajectories": 8})
    train(config, tmp_path / "run")
    for file in (tmp_path / "run" / "checkpoints").glob("*/state.json"):
        file.write_bytes(b"?")
    train(config, tmp_path / "run")
    assert [row["trajectories"] for row in evaluations_of(tmp_path / "run")] == [0, 8]
    updates = [row["update"] for row in metrics_of(tmp_path / "run")]
    assert updates == sorted(set(updates))


def test_the_weights_of_a_run_killed_after_its_last_checkpoint_are_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(train={"num_trajectories": 8})
    train(config, tmp_path / "run")
    model = tmp_path / "run" / "weights" / "model.safetensors"
    right = model.read_bytes()
    model.write_bytes(b"those of the start")
    train(config, tmp_path / "run")
    assert model.read_bytes() == right


def test_a_bad_update_is_logged_as_json(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.log("metrics", {"loss": float("nan")})
    msgspec.json.decode((tmp_path / "metrics.jsonl").read_bytes())

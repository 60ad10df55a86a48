"""The worker: devices that never wait for each other, decisions made together, and whole trajectories."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from distrl.core.clock import run_virtual
from distrl.core.types import Decision, Observation, Outcome, Situation
from distrl.runtime.build import make_environment, make_sim_device
from distrl.runtime.curriculum import Assignment, FixedTasks
from distrl.runtime.worker import RESET_TRIES, Batcher, WorkerOptions
from distrl.tasks.book import load_tasks

from .fleet import (
    CountingPolicy,
    FakeEnvironment,
    FakeWeights,
    make_worker,
    raises,
    screen_number,
    settings,
    task,
    tasks,
    work,
)


def fleet(count: int, **options: Any) -> dict[str, FakeEnvironment]:
    return {f"d{n}": FakeEnvironment(**options) for n in range(count)}


# ---- batches


def test_all_devices_are_decided_for_at_once() -> None:
    policy = CountingPolicy()
    _, worker, _ = work(fleet(4), policy, FixedTasks(tasks(4)))
    assert [len(batch) for batch in policy.batches] == [4] * 5
    assert (worker.batcher.num_batches, worker.batcher.num_decisions) == (5, 20)


def test_no_batch_is_larger_than_allowed() -> None:
    policy = CountingPolicy()
    work(fleet(5), policy, FixedTasks(tasks(5)), max_batch=2)
    assert max(len(batch) for batch in policy.batches) == 2
    assert sum(len(batch) for batch in policy.batches) == 25


def test_a_batch_waits_for_others_no_longer_than_configured() -> None:
    async def run(delay_s: float) -> list[int]:
        policy = CountingPolicy()
        batcher = Batcher(policy, WorkerOptions(max_wait_s=0.010))

        async def ask(after_s: float) -> None:
            await asyncio.sleep(after_s)
            situation = Situation(task=task(), steps=(), observation=screen_number(0))
            await batcher.decide(situation, Random(0), FakeWeights)

        await asyncio.gather(ask(1.0), ask(1.0 + delay_s))
        return [len(batch) for batch in policy.batches]

    assert run_virtual(run(0.009)) == [2]
    assert run_virtual(run(0.011)) == [1, 1]


def test_a_large_model_computes_beside_the_event_loop_and_who_comes_meanwhile_is_in_its_next_batch() -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    class SlowPolicy(CountingPolicy):
        def decide(self, *given: Any) -> list[Decision]:
            is_asked.set()
            assert may_answer.wait(60)
            return super().decide(*given)

    async def run() -> list[int]:
        policy = SlowPolicy()
        batcher = Batcher(policy, WorkerOptions(is_beside=True))

        async def ask() -> None:
            situation = Situation(task=task(), steps=(), observation=screen_number(0))
            await batcher.decide(situation, Random(0), FakeWeights)

        first = asyncio.create_task(ask())
        while not is_asked.is_set():  # the loop goes on although nothing is answered
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(ask()) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert not first.done()
        may_answer.set()
        await asyncio.gather(first, *others)
        return [len(batch) for batch in policy.batches]

    assert asyncio.run(run()) == [1, 3]


def test_what_goes_wrong_beside_the_event_loop_reaches_whoever_waits() -> None:
    class BrokenPolicy:
        def decide(self, *given: Any) -> list[Decision]:
            raise ValueError("no such token")

    async def run() -> None:
        batcher = Batcher(BrokenPolicy(), WorkerOptions(is_beside=True))
        situation = Situation(task=task(), steps=(), observation=screen_number(0))
        await batcher.decide(situation, Random(0), FakeWeights)

    with pytest.raises(ValueError, match="no such token"):
        asyncio.run(run())


def test_a_slow_device_does_not_hold_up_the_others() -> None:
    environments = {"slow": FakeEnvironment(step_s=10.0), "quick": FakeEnvironment(step_s=1.0)}
    sent, _, seconds = work(environments, CountingPolicy(), FixedTasks(tasks(11)))
    # Five steps an episode: 50 s for the slow one, and ten episodes of 5 s for the other in the meantime.
    assert Counter(t.device for t in sent) == {"slow": 1, "quick": 10}
    assert seconds == pytest.approx(50.0, abs=0.1)


def test_emulated_phones_with_their_own_latencies_share_the_work() -> None:
    config = settings(phone={"latency": "emulator"}, collect={"num_devices": 3})
    environments = {f"d{n}": make_environment(config, make_sim_device(config, n)) for n in range(3)}
    chosen = load_tasks("general", "train")[:9]
    sent, worker, seconds = work(environments, CountingPolicy(), FixedTasks(chosen))
    assert Counter(t.task.id for t in sent) == Counter(t.id for t in chosen)
    assert {t.device for t in sent} == {"d0", "d1", "d2"}
    # One after another they would take three times as long.
    steps = sum(len(t.steps) for t in sent)
    assert seconds < 0.6 * steps * 4.4
    assert worker.batcher.num_decisions == steps


# ---- weights


@pytest.mark.parametrize(
    ("swap_weights_at", "versions"),
    [("step", [(0, 1, 2, 3, 4), (5, 6, 7, 8, 9)]), ("episode", [(0,) * 5, (5,) * 5])],
)
def test_new_weights_are_taken_up_at_each_step_or_when_an_episode_begins(
    swap_weights_at: str, versions: list[tuple[int, ...]]
) -> None:
    published = [0]

    def publish() -> None:
        published[0] += 1

    environments = {"d": FakeEnvironment(on_step=publish)}
    sent, *_ = work(
        environments,
        CountingPolicy(),
        FixedTasks(tasks(2)),
        weights=lambda: FakeWeights(published[0]),
        swap_weights_at=swap_weights_at,
    )
    assert [t.policy_versions for t in sent] == versions


def test_requests_with_different_weights_are_answered_by_their_own() -> None:
    published = iter(range(100))
    policy = CountingPolicy()
    sent, *_ = work(
        fleet(3), policy, FixedTasks(tasks(3)), weights=lambda: FakeWeights(next(published)), swap_weights_at="episode"
    )
    assert sorted(t.policy_versions for t in sent) == [(0,) * 5, (1,) * 5, (2,) * 5]
    assert [len(batch) for batch in policy.batches] == [1] * 15


# ---- what is sent


def test_every_task_is_tried_once_and_numbered_in_order() -> None:
    sent, worker, _ = work(fleet(3), CountingPolicy(), FixedTasks(tasks(10)), name="w7")
    by_id = {t.id: t.task.id for t in sent}
    assert by_id == {f"w7-{n:07d}": f"t{n}" for n in range(10)}
    assert worker.num_episodes == 10


def test_a_trajectory_has_all_that_happened() -> None:
    class TwoInOneGroup:
        def __init__(self) -> None:
            self._left = [
                Assignment(task=task("b", max_steps=3), group="g"),
                Assignment(task=task("a", max_steps=2), group="g"),
            ]

        async def next(self, loop: int) -> Assignment | None:
            return self._left.pop() if self._left else None

    sent, *_ = work({"phone-3": FakeEnvironment()}, CountingPolicy(), TwoInOneGroup(), weights=lambda: FakeWeights(9))
    first, second = sent
    assert [s.observation.time_s for s in second.steps] == [0.0, 1.0, 2.0]
    assert second.final.time_s == 3.0
    assert [s.rewards for s in second.steps] == [{"number": 1.0}, {"number": 2.0}, {"number": 3.0}]
    assert all(s.observation.activity == "b" for s in second.steps)
    assert (first.outcome, second.outcome) == (Outcome.SUCCEEDED, Outcome.TRUNCATED_STEPS)
    assert second.policy_versions == (9, 9, 9)
    assert (second.device, second.worker, second.group, second.verdict.judge) == ("phone-3", "worker-0", "g", "fake")
    assert first.id != second.id


def test_a_decision_is_made_on_all_that_happened_before() -> None:
    class Looking(CountingPolicy):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[tuple[list[float], float]] = []

        def decide(
            self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
        ) -> list[Decision]:
            for s in situations:
                self.seen.append(([step.observation.time_s for step in s.steps], s.observation.time_s))
            return super().decide(situations, rngs, snapshot)

    policy = Looking()
    work(fleet(1), policy, FixedTasks([task(max_steps=3)]))
    assert policy.seen == [([], 0.0), ([0.0], 1.0), ([0.0, 1.0], 2.0)]


def test_every_decision_of_an_attempt_may_depart_as_the_attempt_may() -> None:
    class Given:
        def __init__(self) -> None:
            self._left = [Assignment(task=task(f"t{n}"), departures=n / 10) for n in range(2)]

        async def next(self, loop: int) -> Assignment | None:
            return self._left.pop() if self._left else None

    class Asked(CountingPolicy):
        def decide(self, situations: Sequence[Situation], *more: Any) -> list[Decision]:
            asked.extend((s.task.id, s.departures) for s in situations)
            return super().decide(situations, *more)

    asked: list[tuple[str, float]] = []
    work(fleet(1), Asked(), Given())
    assert asked == [("t1", 0.1)] * 5 + [("t0", 0.0)] * 5


def test_random_numbers_belong_to_the_episode_and_not_to_the_device() -> None:
    def draws(num_devices: int, **options: Any) -> dict[str, list[str]]:
        sent, *_ = work(fleet(num_devices), CountingPolicy(), FixedTasks(tasks(6)), **options)
        return {t.id: [s.decision.raw for s in t.steps] for t in sent}

    alone = draws(1)
    assert draws(4) == alone
    assert draws(4, seed=1) != alone
    assert len({draw for episode in alone.values() for draw in episode}) == 30


def test_greedy_decisions_get_no_random_numbers() -> None:
    for is_greedy in (True, False):
        policy = CountingPolicy()
        work(fleet(2), policy, FixedTasks(tasks(2)), is_greedy=is_greedy)
        assert policy.had_random_numbers == {not is_greedy}


# ---- what goes wrong


class Broken:
    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
    ) -> list[Decision]:
        raise ArithmeticError("the network is broken")


def test_a_policy_that_raises_stops_the_worker_with_its_error() -> None:
    with raises(ArithmeticError, "the network is broken"):
        work(fleet(3), Broken(), FixedTasks(tasks(9)))


def test_a_device_whose_reset_fails_twice_is_asked_a_third_time() -> None:
    environment = FakeEnvironment(failing_resets=2)
    sent, *_ = work({"d": environment}, CountingPolicy(), FixedTasks(tasks(2)))
    assert len(sent) == 2
    assert environment.num_resets == RESET_TRIES + 1 == 4


def test_the_tasks_of_a_device_that_never_resets_are_done_by_others() -> None:
    environments = {"good": FakeEnvironment(step_s=1.0), "bad": FakeEnvironment(failing_resets=99)}
    sent, *_ = work(environments, CountingPolicy(), FixedTasks(tasks(5)))
    assert sorted(t.task.id for t in sent) == [f"t{n}" for n in range(5)]
    assert {t.device for t in sent} == {"good"}


def test_a_real_device_in_a_reboot_loop_comes_back() -> None:
    config = settings()
    # Operation 3 is the second step's action; it ends the episode, and the next two resets fail.
    device = make_sim_device(config, script={3: "reboot_loop"})
    chosen = load_tasks("general", "train")[:2]
    sent, *_ = work({"d": make_environment(config, device)}, CountingPolicy(), FixedTasks(chosen))
    assert [t.outcome for t in sent] == [Outcome.ABORTED_DEVICE, Outcome.TRUNCATED_STEPS]
    assert len(sent[0].steps) == 2
    assert sent[0].final == sent[0].steps[-1].observation


def test_an_error_while_sending_stops_the_worker() -> None:
    async def refuse(trajectory: object) -> None:
        raise ConnectionError("the learner is gone")

    worker = make_worker(fleet(2), CountingPolicy(), refuse)
    with raises(ConnectionError, "the learner is gone"):
        run_virtual(worker.run(FixedTasks(tasks(4))))


def test_the_first_screen_is_that_of_the_task() -> None:
    config = settings()
    chosen = load_tasks("general", "train")[3]
    shown: list[Observation] = []

    class Looking(CountingPolicy):
        def decide(
            self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
        ) -> list[Decision]:
            shown.extend(s.observation for s in situations)
            return super().decide(situations, rngs, snapshot)

    work({"d": make_environment(config, make_sim_device(config))}, Looking(), FixedTasks([chosen]))
    assert shown[0].activity == "launcher/home"
    assert len(shown) == chosen.max_steps


def test_a_batch_that_is_charged_for_keeps_the_next_one_waiting() -> None:
    policy = CountingPolicy()
    environments = {f"d{n}": FakeEnvironment() for n in range(6)}
    source = FixedTasks(tasks(6, max_steps=1))
    _, _, seconds = work(environments, policy, source, max_batch=4, max_wait_s=0.5, batch_s=2.0, decision_s=1.0)
    # Four at once: 2 s + 4 x 1 s. The other two wait for them: 2 s + 2 x 1 s.
    assert [len(batch) for batch in policy.batches] == [4, 2]
    assert seconds == pytest.approx(10.0)

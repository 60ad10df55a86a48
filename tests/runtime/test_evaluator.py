"""Evaluation on the fleet: every order counts once, what failed or is lost is played again, whoever plays it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.types import Outcome, Trajectory
from distrl.runtime.evaluation import Report
from distrl.runtime.evaluator import REORDER_S, evaluate_on_fleet
from distrl.runtime.hub import Hub, Known, News
from distrl.runtime.orders import Order
from distrl.runtime.wire import encode

from .fleet import task
from .hubs import Learner, evaluated, running

TASKS = [task(f"t{n}", template=template) for n, template in enumerate(["easy", "easy", "hard", "hard"])]
PLAY_S = 5.0
Play = Callable[[Order, int], list[Outcome] | None]


class Players:
    """A worker that plays every order as `play` says: what comes of the n-th attempt at it.

    If nothing comes of it the worker has it for ever; if it is None then it is lost.
    """

    def __init__(self, hub: Hub, play: Play, *, name: str = "w") -> None:
        self._hub = hub
        self._play = play
        self._name = name
        self.attempts: Counter[str] = Counter()
        self.orders: list[Order] = []
        self._held: set[str] = set()

    async def run(self) -> None:
        await self._hub.join(self._name, "t", "here", 4)
        while True:
            known = Known(version=99, is_collecting=True, orders=frozenset(self._held))
            news = await self._hub.news(self._name, "t", known, {})
            assert isinstance(news, News)
            self.orders += news.orders
            self._held |= {order.id for order in news.orders}
            if news.orders:
                await asyncio.sleep(PLAY_S)
            for order in news.orders:
                await self._deliver(order)

    async def _deliver(self, order: Order) -> None:
        self.attempts[order.id] += 1
        outcomes = self._play(order, self.attempts[order.id])
        if outcomes != []:
            self._held.remove(order.id)
        for n, outcome in enumerate(outcomes or []):
            played: Trajectory = evaluated(order.id, f"{self._name}-{order.id}-{self.attempts[order.id]}-{n}", outcome)
            data = encode(Trajectory(**{**_fields(played), "task": order.task}))
            await self._hub.report(self._name, "t", data)


def _fields(trajectory: Trajectory) -> dict[str, Any]:
    return {name: getattr(trajectory, name) for name in trajectory.__struct_fields__}


def succeed(order: Order, attempt: int) -> list[Outcome]:
    return [Outcome.SUCCEEDED]


async def evaluate(hub: Hub, *, has_sampled: bool = False) -> tuple[float, list[Report]]:
    """The virtual seconds that it takes, and the reports."""
    began_s = LoopClock().now()
    reports = await evaluate_on_fleet(hub, LoopClock(), TASKS, name="e", version=3, has_sampled=has_sampled)
    return LoopClock().now() - began_s, reports


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Learner(tmp_path).begin()


def on_fleet(hub: Hub, play: Play, *, has_sampled: bool = False) -> tuple[float, list[Report], Players]:
    async def run() -> tuple[float, list[Report], Players]:
        players = Players(hub, play)
        async with running(players.run()):
            return *await evaluate(hub, has_sampled=has_sampled), players

    return run_virtual(run())


def test_the_reports_are_over_all_tasks_first_greedy_then_sampled(hub: Hub) -> None:
    def play(order: Order, attempt: int) -> list[Outcome]:
        is_solved = order.is_greedy or order.task.template == "easy"
        return [Outcome.SUCCEEDED if is_solved else Outcome.FAILED]

    _, (greedy, sampled), players = on_fleet(hub, play, has_sampled=True)
    assert (greedy.success, greedy.episodes, greedy.by_template) == (1.0, 4, {"easy": 1.0, "hard": 1.0})
    assert (sampled.success, sampled.episodes, sampled.by_template) == (0.5, 4, {"easy": 1.0, "hard": 0.0})
    assert set(players.attempts.values()) == {1}
    assert [order.task for order in players.orders] == TASKS * 2
    assert {order.version for order in players.orders} == {3}
    assert [order.is_greedy for order in players.orders] == [True] * 4 + [False] * 4


def test_without_sampling_there_is_one_report(hub: Hub) -> None:
    _, reports, players = on_fleet(hub, succeed)
    assert [report.episodes for report in reports] == [4]
    assert all(order.is_greedy for order in players.orders)


def test_an_order_that_comes_back_twice_counts_once(hub: Hub) -> None:
    def play(order: Order, attempt: int) -> list[Outcome]:
        return [Outcome.SUCCEEDED, Outcome.FAILED]

    _, (report,), players = on_fleet(hub, play)
    assert (report.episodes, report.success) == (4, 1.0)
    assert set(players.attempts.values()) == {1}


def test_an_order_that_was_aborted_is_played_again_without_delay(hub: Hub) -> None:
    def play(order: Order, attempt: int) -> list[Outcome]:
        is_aborted = order.id == "e-greedy-1" and attempt <= 2
        return [Outcome.ABORTED_DEVICE if is_aborted else Outcome.SUCCEEDED]

    seconds, (report,), players = on_fleet(hub, play)
    assert (report.episodes, report.success) == (4, 1.0)
    assert players.attempts == {"e-greedy-0": 1, "e-greedy-1": 3, "e-greedy-2": 1, "e-greedy-3": 1}
    assert seconds < REORDER_S / 2


def test_an_aborted_attempt_at_what_is_finished_changes_nothing(hub: Hub) -> None:
    def play(order: Order, attempt: int) -> list[Outcome]:
        return [Outcome.SUCCEEDED, Outcome.ABORTED_DEVICE, Outcome.ABORTED_DEVICE]

    _, (report,), players = on_fleet(hub, play)
    assert (report.episodes, report.success) == (4, 1.0)
    assert set(players.attempts.values()) == {1}


def test_an_order_that_its_worker_has_lost_is_played_again_without_delay(hub: Hub) -> None:
    def play(order: Order, attempt: int) -> list[Outcome] | None:
        return None if order.id == "e-greedy-2" and attempt <= 2 else [Outcome.SUCCEEDED]

    seconds, (report,), players = on_fleet(hub, play)
    assert (report.episodes, report.success) == (4, 1.0)
    assert players.attempts == {"e-greedy-0": 1, "e-greedy-1": 1, "e-greedy-2": 3, "e-greedy-3": 1}
    assert seconds < 5 * PLAY_S


def test_an_order_that_never_comes_back_is_ordered_again_after_a_while(hub: Hub) -> None:
    def play(order: Order, attempt: int) -> list[Outcome]:
        return [] if order.id == "e-greedy-2" and attempt == 1 else [Outcome.SUCCEEDED]

    seconds, (report,), players = on_fleet(hub, play)
    assert (report.episodes, report.success) == (4, 1.0)
    assert players.attempts == {"e-greedy-0": 1, "e-greedy-1": 1, "e-greedy-2": 2, "e-greedy-3": 1}
    # Two rounds of two, the wait, and the lost one again.
    assert REORDER_S < seconds - 3 * PLAY_S < REORDER_S + 5.0


def test_what_a_dead_worker_was_given_is_played_by_another(hub: Hub) -> None:
    async def run() -> tuple[list[Report], Players]:
        await hub.join("dead", "t", "there", 4)
        evaluation = asyncio.ensure_future(evaluate(hub))
        await asyncio.sleep(1.0)
        taken = await hub.news("dead", "t", 99, {})
        assert isinstance(taken, News)
        assert len(taken.orders) == 2
        players = Players(hub, succeed)
        async with running(players.run()):
            _, reports = await evaluation
        return reports, players

    (report,), players = run_virtual(run())
    assert (report.episodes, report.success) == (4, 1.0)
    assert set(players.attempts.values()) == {1}
    assert len(players.attempts) == 4


def test_a_fleet_that_comes_late_plays_each_order_once(hub: Hub) -> None:
    async def run() -> tuple[list[Report], Players]:
        evaluation = asyncio.ensure_future(evaluate(hub))
        await asyncio.sleep(10 * REORDER_S)
        players = Players(hub, succeed)
        async with running(players.run()):
            _, reports = await evaluation
            await asyncio.sleep(10 * REORDER_S)
        return reports, players

    (report,), players = run_virtual(run())
    assert report.episodes == 4
    assert list(players.attempts.values()) == [1] * 4


def test_what_belongs_to_another_evaluation_is_ignored(hub: Hub) -> None:
    async def run() -> list[Report]:
        players = Players(hub, succeed)
        await hub.join("late", "t", "there", 1)
        for n in range(4):
            await hub.report("late", "t", encode(evaluated(f"old-greedy-{n}", f"late-{n}", Outcome.FAILED)))
        async with running(players.run()):
            _, reports = await evaluate(hub)
        return reports

    (report,) = run_virtual(run())
    assert (report.episodes, report.success) == (4, 1.0)

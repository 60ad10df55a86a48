"""Fleets whose judge is a model, over real HTTP: outages, restarts and spend limits in a run that goes on."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from distrl.core.config import Config
from distrl.runtime.asynchronous import AsyncTraining
from distrl.runtime.audit import audit_run
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Progress
from distrl.runtime.simulation import Simulation

from ..tasks.judges.episodes import KEY
from ..tasks.judges.servers import Line, Server, error, rules, says, serving
from .fleet import settings
from .test_asynchronous import lines

pytestmark = pytest.mark.judge


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def with_model(server: Server, *, more: dict[str, Any] | None = None, **tables: dict[str, Any]) -> Config:
    judge = {
        "kind": "vlm",
        "url": server.url,
        "model": "seer",
        "max_tries": 2,
        "first_backoff_s": 0.01,
        "max_backoff_s": 0.02,
        "breaker_pause_s": 0.05,
        "prompt_price": 1000.0,
    }
    # Each step is judged: an untrained policy hardly ever says that it is done.
    quick = {"num_devices": 2, "kept_trajectories": 64}
    return settings(judge=judge | (more or {}), collect=quick, **tables)


async def live(
    config: Config,
    path: Path,
    *,
    during: Callable[[AsyncTraining], Awaitable[None]] | None = None,
    listener: Callable[[Progress], None] = lambda progress: None,
) -> AsyncTraining:
    """A whole fleet in this process, in real time."""
    run = RunDirectory(path)
    run.open(config)
    try:
        simulation = Simulation(config, run, listener=listener)
        await simulation._run(during)
    finally:
        run.close()
    return simulation.training


def served(*script: Line, play: Callable[[Server], Awaitable[None]]) -> Server:
    async def story() -> Server:
        async with serving(*script) as server:
            await play(server)
            return server

    return asyncio.run(story())


def test_a_fleet_goes_on_through_an_outage_and_every_reward_comes_from_the_model(tmp_path: Path) -> None:
    path = tmp_path / "run"
    outage = [*[error(503, "overloaded")] * 8, error(401, f"Incorrect API key {KEY}"), error(402, "no credit left")]

    async def play(server: Server) -> None:
        await live(with_model(server, train={"num_trajectories": 6}), path)

    served(*outage, rules("failure"), rules("success"), play=play)
    found = audit_run(path)
    assert found.is_sound, found
    assert found.unjudged_rewards == 0
    events = [event["event"] for event in lines(path, "events")]
    assert events.index("judging paused") < events.index("judging goes on")
    verdicts = lines(path, "verdicts")
    assert {v["judge"] for v in verdicts} == {"vlm:seer"}
    assert KEY not in (path / "verdicts.jsonl").read_text() + (path / "events.jsonl").read_text()
    for what in ("503", "the key is wrong", "there is no credit left"):
        assert any(v["ruling"] == "unknown" and what in v["reason"] for v in verdicts), "an outage is written down"


def test_a_spend_limit_pauses_judging_says_so_and_a_higher_one_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "run"
    told: list[Progress] = []

    async def stop_when_paused(training: AsyncTraining) -> None:
        while not (training.desk and training.desk.paused and len(training.desk) > 2):
            await asyncio.sleep(0.02)
        training._log_fleet(1.0)
        await training.drain()

    async def play(server: Server) -> None:
        # A question costs 1: a thousand tokens at a thousand a million.
        limited = with_model(server, more={"spend_limit": 3.0})
        await live(limited, path, during=stop_when_paused, listener=told.append)
        assert 3 <= server.num_calls <= 3 + limited.judge.max_concurrent, "calls under way are still paid for"
        row = lines(path, "fleet")[-1]
        assert "spend limit" in row["judge_paused"]
        assert row["judge_cost"] == pytest.approx(server.num_calls)
        assert row["limit"] == "judge"
        assert "spend limit of 3 is reached" in told[-1].judging
        waiting, before = audit_run(path).pending, server.num_calls
        assert waiting > 2
        # The same limit again is used up already; a higher one may be given to the same run.
        await live(limited, path, during=stop_when_paused)
        assert server.num_calls == before
        await live(with_model(server, more={"spend_limit": 500.0}, train={"num_trajectories": 6}), path)
        assert audit_run(path).is_sound

    served(rules("success"), play=play)


def test_a_judge_that_cannot_be_understood_teaches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run"
    trained: list[AsyncTraining] = []

    async def play(server: Server) -> None:
        config = with_model(server, more={"max_reasks": 0}, train={"num_trajectories": 4}, env={"judge": "each_step"})
        trained.append(await live(config, path))

    served(says("The task was unsuccessful. Status: success"), play=play)
    (training,) = trained
    assert training.learner.num_untrainable == training.learner.num_received >= 4
    assert training.learner.num_updates == 0
    fleet = training.desk.row() if training.desk else {}
    assert fleet["num_judged_unknown"] >= 4


def test_a_run_with_a_model_can_be_checked_against_ground_truth(tmp_path: Path) -> None:
    from .test_judge_check import check

    path = tmp_path / "run"

    async def play(server: Server) -> None:
        await live(with_model(server, train={"num_trajectories": 9}), path)

    served(rules("success"), play=play)
    # It praises everything at the first step, and an untrained policy has solved nothing then.
    found = check(path, "script", "--set", 'judge.script=["success"]')
    assert found["n"] >= 1
    assert found["false_success"] == 1.0
    assert json.dumps(found)

"""Judging beside collection: nobody waits for a judge, nothing is lost or invented, and what it costs is said."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from distrl.core.calls.limits import Spending
from distrl.core.clock import LoopClock, run_virtual
from distrl.core.errors import JudgeError
from distrl.core.types import (
    PENDING,
    Claim,
    Finish,
    Observation,
    Outcome,
    Ruling,
    Step,
    Task,
    Trajectory,
    Verdict,
)
from distrl.runtime.asynchronous import JOURNAL
from distrl.runtime.audit import audit_run
from distrl.runtime.hub import Arrival
from distrl.runtime.journal import Journal
from distrl.runtime.judging import MAX_TRIES, Desk, DeskOptions
from distrl.runtime.probe import Probe
from distrl.runtime.verdicts import judged, judged_by_truth
from distrl.runtime.wire import encode

from .fleet import plain_trajectory
from .hubs import Learner, joined
from .test_asynchronous import lines, run_fleet, slow, sound

pytestmark = pytest.mark.judge


def pending(name: str, *, num_steps: int = 2, truths: tuple[bool, ...] = (), version: int = 0) -> Trajectory:
    """An episode that nobody has judged."""
    verdict = Verdict(ruling=Ruling.UNKNOWN, judge=PENDING, truths=truths)
    made = plain_trajectory(name, num_steps=num_steps, version=version, outcome=Outcome.ABORTED_JUDGE)
    return msgspec.structs.replace(made, verdict=verdict)


class Oracle:
    """A judge that takes its time, fails while it is away, and says what it is told to of a number of steps."""

    name = "oracle"

    def __init__(self, say: Callable[[int], Ruling] = lambda n: Ruling.FAILURE, *, takes_s: float = 1.0) -> None:
        self._say = say
        self._takes_s = takes_s
        self.is_away = False
        self.asked: list[int] = []
        self.refused: set[str] = set()

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        await asyncio.sleep(self._takes_s)
        if self.is_away or task.id in self.refused:
            raise JudgeError("nobody is there")
        self.asked.append(len(steps))
        ruling = self._say(len(steps))
        return Verdict(ruling=ruling, judge=self.name, score=float(ruling is Ruling.SUCCESS), reason="seen")


def make_desk(learner: Learner, judge: Any, **more: Any) -> Desk:
    options = {"is_each_step": False, "reward": 1.0, "num_at_once": 2, "max_bytes": 2**30}
    told = {key: more.pop(key) for key in list(more) if key in options}
    return Desk(
        judge,
        learner.lives[-1],
        learner.journal,
        DeskOptions(**(options | told)),
        clock=LoopClock(),
        spending=more.pop("spending", Spending),
        on_event=lambda kind, values: learner.events.append((kind, values)),
        **more,
    )


async def deliver(learner: Learner, *trajectories: Trajectory) -> list[str]:
    receipts = await learner.lives[-1].deliver("w", "t", [encode(t) for t in trajectories])
    return [receipt.kind for receipt in receipts]


async def arrivals(learner: Learner, wait_s: float = 0.0) -> list[Arrival]:
    await asyncio.sleep(wait_s)
    return await learner.lives[-1].take(1000, timeout_s=0.0)


# ---------------------------------------------------------------- one episode


def test_each_step_judged_afterwards_ends_where_it_would_have_ended_on_the_phone() -> None:
    episode = pending("a", num_steps=4, truths=(False, True, True, False))
    oracle = Oracle(lambda n: Ruling.SUCCESS if n >= 2 else Ruling.UNKNOWN)
    done = run_virtual(judged(episode, oracle, is_each_step=True, reward=0.5))
    assert oracle.asked == [1, 2], "nobody pays for what comes after a success"
    assert (len(done.steps), done.outcome, done.verdict.truth) == (2, Outcome.SUCCEEDED, True)
    assert done.final == episode.steps[2].observation
    assert [step.rewards.get("success") for step in done.steps] == [None, 0.5]


@pytest.mark.parametrize(
    ("ruling", "outcome"), [(Ruling.FAILURE, Outcome.TRUNCATED_TIME), (Ruling.UNKNOWN, Outcome.ABORTED_JUDGE)]
)
def test_the_end_alone_is_judged_at_finish_and_what_is_no_success_earns_nothing(
    ruling: Ruling, outcome: Outcome
) -> None:
    episode = pending("a", num_steps=3, truths=(True,))
    oracle = Oracle(lambda n: ruling)
    done = run_virtual(judged(episode, oracle, is_each_step=False, reward=1.0))
    assert oracle.asked == [3]
    assert (done.outcome, len(done.steps), done.verdict.truth) == (outcome, 3, True)
    assert all("success" not in step.rewards for step in done.steps)


def test_how_an_episode_ended_is_said_as_its_environment_would_have() -> None:
    ends = pending("a")
    last = ends.steps[-1]
    finished = msgspec.structs.replace(last.decision, action=Finish(claim=Claim.COMPLETE))
    said = msgspec.structs.replace(ends, steps=(*ends.steps[:-1], msgspec.structs.replace(last, decision=finished)))
    long = pending("b", num_steps=ends.task.max_steps)
    outcomes = [run_virtual(judged(t, Oracle(), is_each_step=False, reward=1.0)).outcome for t in (said, long)]
    assert outcomes == [Outcome.FAILED, Outcome.TRUNCATED_STEPS]


def test_an_evaluation_is_judged_by_truth_and_cut_where_the_truth_was_reached() -> None:
    episode = pending("a", num_steps=4, truths=(False, False, True, False))
    done = run_virtual(judged_by_truth(episode, is_each_step=True, reward=1.0))
    assert (done.outcome, len(done.steps), done.verdict.judge) == (Outcome.SUCCEEDED, 3, "rule")


# ---------------------------------------------------------------- the desk


def test_what_is_judged_arrives_once_with_its_reward_and_places_go_up(learner: Learner) -> None:
    async def story() -> None:
        await joined(learner)
        desk = make_desk(learner, Oracle(lambda n: Ruling.SUCCESS))
        async with desk.working():
            assert await deliver(learner, pending("a"), pending("b"), pending("a")) == [
                "accepted",
                "accepted",
                "duplicate",
            ]
            assert await arrivals(learner) == [], "nothing is invented before the judge has spoken"
            came = await arrivals(learner, 2.0)
            assert await deliver(learner, pending("a")) == ["duplicate"], "also after it was judged"
        assert sorted(a.trajectory.id for a in came) == ["a", "b"]
        assert [a.position for a in came] == [1, 2]
        assert all(a.trajectory.outcome is Outcome.SUCCEEDED for a in came)
        assert len(desk) == 0

    run_virtual(story())


def test_an_outage_of_ten_minutes_delays_rewards_invents_none_and_stops_nobody(learner: Learner) -> None:
    async def story() -> None:
        hub = await joined(learner)
        oracle = Oracle(lambda n: Ruling.SUCCESS)
        desk = make_desk(learner, oracle)
        async with desk.working():
            oracle.is_away = True
            for number in range(60):  # an episode every ten seconds: deliveries do not wait for the judge
                began_s = LoopClock().now()
                assert await deliver(learner, pending(f"p{number}")) == ["accepted"]
                assert LoopClock().now() - began_s < 0.1
                await asyncio.sleep(10.0)
            judged_elsewhere = encode(plain_trajectory("ready"))
            await hub.deliver("w", "t", [judged_elsewhere])
            assert [a.trajectory.id for a in await arrivals(learner)] == ["ready"], (
                "training goes on with what there is"
            )
            assert len(desk) == 60
            assert desk.row()["judge_paused"] == "nobody is there"
            oracle.is_away = False
            came = []
            for _ in range(40):
                came += await arrivals(learner, 5.0)
        assert sorted(a.trajectory.id for a in came) == sorted(f"p{n}" for n in range(60))
        kinds = [kind for kind, _ in learner.events if kind.startswith("judging")]
        assert kinds == ["judging paused", "judging goes on", "judging ended"]

    run_virtual(story())


def test_pending_verdicts_survive_a_restart_and_are_asked_for_by_the_next_life(learner: Learner) -> None:
    async def first() -> None:
        await joined(learner)
        oracle = Oracle()
        oracle.is_away = True
        async with make_desk(learner, oracle).working():
            await deliver(learner, pending("a"), pending("b"), pending("c"))
            await asyncio.sleep(5.0)

    async def second() -> None:
        await joined(learner)
        desk = make_desk(learner, Oracle(lambda n: Ruling.SUCCESS))
        assert len(desk) == 3
        async with desk.working():
            assert await deliver(learner, pending("b")) == ["duplicate"], "it waits already"
            came = await arrivals(learner, 10.0)
        assert sorted(a.trajectory.id for a in came) == ["a", "b", "c"]

    run_virtual(first())
    run_virtual(second())
    assert learner.journal.pending() == {}


def test_unknown_is_an_answer_and_not_trained_on(learner: Learner) -> None:
    async def story() -> None:
        await joined(learner)
        desk = make_desk(learner, Oracle(lambda n: Ruling.UNKNOWN))
        async with desk.working():
            await deliver(learner, pending("a"))
            (arrival,) = await arrivals(learner, 3.0)
        assert arrival.trajectory.outcome is Outcome.ABORTED_JUDGE
        assert not arrival.trajectory.outcome.is_trainable
        assert desk.row()["num_judged_unknown"] == 1

    run_virtual(story())


@pytest.mark.parametrize("about_question", [True, False])
def test_an_episode_that_cannot_be_judged_blocks_no_other_and_is_given_up(
    learner: Learner, about_question: bool
) -> None:
    async def story() -> None:
        await joined(learner)
        oracle = Oracle()
        oracle.refused = {pending("bad").task.id}
        good = msgspec.structs.replace(pending("bad").task, id="other")
        desk = make_desk(learner, oracle, num_at_once=1)
        async with desk.working():
            await deliver(learner, pending("bad"))
            came: list[Arrival] = []
            for number in range(3 * MAX_TRIES):
                await deliver(learner, msgspec.structs.replace(pending(f"g{number}"), task=good))
                came += await arrivals(learner, 20.0)
        found = {a.trajectory.id: a.trajectory.outcome for a in came}
        assert found.pop("bad") is Outcome.ABORTED_JUDGE
        assert len(found) == 3 * MAX_TRIES

    run_virtual(story())


def test_beyond_its_room_the_oldest_go_unjudged_are_counted_and_still_known(learner: Learner) -> None:
    async def story() -> None:
        await joined(learner)
        oracle = Oracle()
        oracle.is_away = True
        size = len(encode(pending("p0")))
        desk = make_desk(learner, oracle, max_bytes=4 * size + 50)
        async with desk.working():
            for number in range(8):
                await deliver(learner, pending(f"p{number}"))
            assert await deliver(learner, pending("p1")) == ["duplicate"]
        assert desk.row()["num_dropped_unjudged"] == 4
        assert set(learner.journal.pending()) == {"p4", "p5", "p6", "p7"}
        assert learner.lives[-1].take_refused() == 4, "who waits for a round does not wait for these"

    run_virtual(story())


def test_nobody_pays_for_what_would_be_dropped_as_too_old(learner: Learner) -> None:
    async def story() -> None:
        await joined(learner)
        oracle = Oracle()
        desk = make_desk(learner, oracle, is_stale=lambda t: min(t.policy_versions) < 5)
        async with desk.working():
            await deliver(learner, pending("old", version=1), pending("new", version=7))
            came = await arrivals(learner, 5.0)
        assert [a.trajectory.id for a in came] == ["new"]
        assert (len(oracle.asked), desk.row()["num_stale_unjudged"]) == (1, 1)

    run_virtual(story())


def test_calls_and_cost_per_hour_are_those_of_the_last_hour(learner: Learner) -> None:
    async def story() -> None:
        await joined(learner)
        spent = [Spending(calls=7, cost=3.0)]
        desk = make_desk(learner, Oracle(), spending=lambda: spent[0])
        for _ in range(90):  # a call a minute, for one and a half hours, after what an earlier life spent
            await asyncio.sleep(60.0)
            spent[0] = Spending(calls=spent[0].calls + 1, cost=spent[0].cost + 0.5)
            row = desk.row()
        assert row["judge_calls_per_hour"] == pytest.approx(60, abs=1.5)
        assert row["judge_cost_per_hour"] == pytest.approx(30, abs=1)
        assert row["judge_cost"] == pytest.approx(48.0)
        assert desk.words().startswith("judging: 0 wait, 60 calls/h, cost 48")

    run_virtual(story())


def test_false_successes_reach_the_probe(learner: Learner) -> None:
    async def story() -> None:
        await joined(learner)
        probe = Probe()
        desk = make_desk(learner, Oracle(lambda n: Ruling.SUCCESS), probe=probe)
        async with desk.working():
            await deliver(learner, pending("a", truths=(False,)), pending("b", truths=(True,)))
            await arrivals(learner, 3.0)
        assert probe.share == 0.5
        assert desk.row()["false_success_share"] == 0.5

    run_virtual(story())


# ---------------------------------------------------------------- whole runs in virtual time


def judged_run(*script: str, **tables: Any) -> Any:
    return slow(judge={"kind": "script", "script": list(script)}, **tables)


def test_a_run_whose_judge_stands_beside_it_learns_and_every_reward_has_a_judge(tmp_path: Path) -> None:
    path = tmp_path / "run"
    config = judged_run("success", "failure", "unknown", train={"num_trajectories": 10})
    training = run_fleet(config, path)
    assert training.learner.num_received == 10
    assert training.learner.num_untrainable > 0, "unknown is excluded, and counted"
    found = sound(path)
    assert (found.unjudged_rewards, found.acknowledged) == (0, found.stored)
    row = lines(path, "fleet")[-1]
    assert row["num_judged_success"] > 0
    known = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    assert [name for name in row if f"`{name}`" not in known] == []


def test_evaluations_are_judged_by_truth_whatever_the_judge_says(tmp_path: Path) -> None:
    path = tmp_path / "run"
    config = judged_run("success", train={"num_trajectories": 4}, eval={"episodes": 2})
    training = run_fleet(config, path)
    assert training.curve[0]["success"] == 0.0, "an untrained policy solves nothing, and this judge praises everything"
    assert training._recent[-1], "training has the judge's word"


def test_what_waits_at_the_end_of_a_run_is_audited_and_judged_by_the_next_life(tmp_path: Path) -> None:
    path = tmp_path / "run"
    silent = judged_run("error", train={"max_minutes": 5.0})
    run_fleet(silent, path)
    before = sound(path)
    assert before.pending > 0
    assert before.acknowledged == before.stored
    assert any(e["event"] == "judging paused" for e in lines(path, "events"))
    # The script is a part of the configuration, so the judge recovers by another file; only how long may differ.
    text = (path / "config.toml").read_text().replace('script = ["error"]', 'script = ["failure"]')
    (path / "config.toml").write_text(text)
    training = run_fleet(judged_run("failure", train={"max_minutes": 10.0}), path)
    assert training.learner.num_received >= before.pending
    assert sound(path).lost == 0


def test_an_audit_finds_a_reward_that_no_judge_gave(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_fleet(slow(train={"num_trajectories": 4}), path)
    bad = plain_trajectory("bad", outcome=Outcome.SUCCEEDED)
    bad = msgspec.structs.replace(bad, verdict=Verdict(ruling=Ruling.FAILURE, judge=""))
    journal = Journal(path / JOURNAL)
    journal._database.execute("UPDATE trajectories SET data = ? WHERE seq = 1", (encode(bad),))
    journal.close()
    found = audit_run(path)
    assert (found.unjudged_rewards, found.is_sound) == (1, False)
    json.dumps(msgspec.to_builtins(found))

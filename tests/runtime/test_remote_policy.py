"""A policy behind a server in a worker: what an outage costs."""

from random import Random
from typing import Any

import pytest

from distrl.core.clock import run_virtual
from distrl.core.config import config_of
from distrl.core.errors import RefusedError, ServerError
from distrl.core.types import Claim, Decision, Finish, Situation, Trajectory, Wait
from distrl.runtime.evaluation import evaluate
from distrl.tasks.book import load_tasks

pytestmark = pytest.mark.models
CONFIG = config_of({"phone": {"scale": 0.1}, "collect": {"num_devices": 2}})
TASKS = load_tasks("general", "train")[:4]


class Remote:
    """Waits once and finishes; fails when its script says so."""

    def __init__(self, *errors: ServerError | None) -> None:
        self.errors = list(errors)
        self.num_calls = 0

    async def decide_one(self, situation: Situation, rng: Random | None, snapshot: Any = None) -> Decision:
        self.num_calls += 1
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return Decision(action=Finish(claim=Claim.COMPLETE) if situation.steps else Wait(), policy_version=3)


def played(remote: Remote) -> list[Trajectory]:
    return run_virtual(evaluate(remote, TASKS, CONFIG))


def test_a_remote_policy_decides_for_each_device_by_itself() -> None:
    remote = Remote()
    trajectories = played(remote)
    assert [len(t.steps) for t in trajectories] == [2] * 4
    assert {t.policy_versions for t in trajectories} == {(3, 3)}
    assert remote.num_calls == 8


def test_an_outage_begins_the_episode_anew_and_records_nothing_of_it() -> None:
    gone = ServerError("gone")
    remote = Remote(None, None, gone, gone, gone)
    trajectories = played(remote)
    assert [t.task.id for t in trajectories] == [task.id for task in TASKS]
    assert [len(t.steps) for t in trajectories] == [2] * 4
    assert remote.num_calls > 8


def test_an_outage_that_does_not_end_is_an_error() -> None:
    remote = Remote(*[ServerError("gone")] * 100)
    with pytest.raises(ServerError, match="gone"):
        played(remote)
    assert 5 <= remote.num_calls <= 10


def test_a_refusal_that_lasts_is_not_sat_out() -> None:
    remote = Remote(*[RefusedError(401, "the key is wrong")] * 100)
    with pytest.raises(RefusedError, match="the key is wrong"):
        played(remote)
    assert remote.num_calls <= 2

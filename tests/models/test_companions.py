"""Several learner processes make the same update as one, and have the same weights after it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from distrl.core.config import config_of
from distrl.core.errors import UserError
from distrl.runtime import companions
from distrl.runtime.api import Engine, ready_training
from distrl.runtime.companions import NotSharedError, SharedPolicy, gather
from distrl.runtime.policies import load_start
from distrl.runtime.ray_engine import connected

from .conftest import MakeModel
from .learning import make_learner, played

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def _ray() -> Iterator[None]:
    from distrl.runtime import ray_private

    ray_private.prepare(None)
    with connected(None):
        yield


def table(model: Path) -> dict[str, Any]:
    hf = {"model": str(model), "num_screens": 0, "prompt": "numbered", "max_new_tokens": 6}
    return {"policy": {"kind": "hf", "start": "scratch", "hf": hf}, "learner": {"num_workers": 2}}


@pytest.mark.usefixtures("_ray")
def test_two_processes_make_the_update_of_one_with_the_whole_batch(
    model_of: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(table(model_of("llama")))
    alone, together = load_start(config), load_start(config)
    arrived = played(alone)
    one = make_learner(alone, arrived)
    shared = gather(config, together)
    try:
        assert isinstance(shared, SharedPolicy)
        shared.share_weights()  # compares the weights of all processes
        two = make_learner(shared, arrived)
        start = [parameter.detach().clone() for parameter in alone.parameters()]
        for _ in range(2):
            told = [learner.update() for learner in (one, two)]
            assert told[0]["loss"] == pytest.approx(told[1]["loss"], abs=1e-4)
            assert told[0]["gradient_norm"] == pytest.approx(told[1]["gradient_norm"], rel=1e-3)
        pairs = zip(alone.parameters(), together.parameters(), start, strict=True)
        for ours, theirs, before in pairs:
            # Adam divides by the size of gradients: where one is nearly zero, rounding decides its sign.
            apart, moved = ((ours - other).detach().abs().mean() for other in (theirs, before))
            assert float(apart) < 0.02 * float(moved) + 1e-7
        assert any(not torch.equal(p, b) for p, b in zip(together.parameters(), start, strict=True))

        monkeypatch.setattr(companions, "digest_of", lambda parameters: "what the other process does not have")
        with pytest.raises(NotSharedError):
            shared.share_weights()
    finally:
        dist.destroy_process_group()


def test_a_run_in_one_thread_has_no_companions(model_of: MakeModel) -> None:
    with pytest.raises(UserError, match=r"learner\.num_workers"):
        ready_training(config_of(table(model_of("llama"))), None, lambda progress: None, Engine("serial"))

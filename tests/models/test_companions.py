"""Several learner processes make the same update as one, and have the same weights after it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from distrl.core.config import config_of
from distrl.core.errors import UserError
from distrl.runtime.api import Engine, ready_training
from distrl.runtime.companions import gpus_of

from .conftest import MakeModel

pytestmark = pytest.mark.models


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_two_processes_make_the_update_of_one_with_the_whole_batch(model_of: MakeModel) -> None:
    command = [sys.executable, "-m", "models.two_learners", str(model_of("llama"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=390, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for alone, together in found["told"]:
        assert alone["loss"] == pytest.approx(together["loss"], abs=1e-4)
        assert alone["gradient_norm"] == pytest.approx(together["gradient_norm"], rel=1e-3)
        assert alone["imitation_loss"] == pytest.approx(together["imitation_loss"], rel=1e-4)
    # Adam divides by the size of gradients: where one is nearly zero, rounding decides its sign.
    assert found["moved"] > 0
    assert found["apart"] < 0.01 * found["moved"]
    assert found["is_found_out"]
    assert "gone" in found["gone"]
    assert "the same command goes on" in found["gone"]


def test_a_run_in_one_thread_has_no_companions(model_of: MakeModel) -> None:
    hf = {"model": str(model_of("llama")), "num_screens": 0, "prompt": "numbered"}
    config = config_of({"policy": {"kind": "hf", "hf": hf}, "learner": {"num_workers": 2}})
    with pytest.raises(UserError, match=r"learner\.num_workers"):
        ready_training(config, None, lambda progress: None, Engine("serial"))


@pytest.mark.parametrize("kind", ["hf", "autoui"])
def test_a_model_of_either_kind_gets_the_gpus_of_its_own_table(kind: str) -> None:
    other = {"hf": "autoui", "autoui": "hf"}[kind]
    policy = {"kind": kind, kind: {"learner_gpus": 1.0, "worker_gpus": 0.25}, other: {"learner_gpus": 3.0}}
    tables = config_of({"policy": policy}).model_dump(exclude_none=True)
    assert gpus_of(tables, "learner_gpus") == 1.0
    assert gpus_of(tables, "worker_gpus") == 0.25


def test_who_acts_through_a_server_leaves_the_gpus_to_it_and_to_the_learner() -> None:
    hf = {"learner_gpus": 1.0, "worker_gpus": 0.5}
    tables = config_of({"policy": {"kind": "hf", "acts_through": "endpoint", "hf": hf}}).model_dump(exclude_none=True)
    assert gpus_of(tables, "worker_gpus") == 0.0
    assert gpus_of(tables, "learner_gpus") == 1.0


@pytest.mark.parametrize("kind", ["tiny", "endpoint"])
def test_who_needs_no_gpu_asks_for_none(kind: str) -> None:
    policy = {"kind": kind, "hf": {"learner_gpus": 1.0}, "autoui": {"learner_gpus": 1.0}}
    assert gpus_of(config_of({"policy": policy}).model_dump(exclude_none=True), "learner_gpus") == 0.0

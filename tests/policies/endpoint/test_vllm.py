"""The endpoint policy and a real vLLM: pictures, exact log-probabilities, adapters that are swapped while it runs.

`make vllm-test` builds an environment for it and runs this; DISTRL_VLLM_PYTHON names the interpreter of that.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
import torch

from distrl.core.calls.endpoint import Endpoint, Patience
from distrl.core.config import config_of
from distrl.core.config_model import HfConfig
from distrl.core.errors import ServerError
from distrl.core.types import Decision, Outcome, Ruling, Step, Trajectory, Verdict
from distrl.policies.endpoint import Adapters, EndpointOptions, Served
from distrl.policies.endpoint.adapters import digest_of
from distrl.policies.hf.policy import HfPolicy
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.simulation import Simulation

from ...models import families
from .asking import SITUATION, make_endpoint, make_policy

pytestmark = [
    pytest.mark.models,
    pytest.mark.vllm,
    pytest.mark.timeout(1800),
    pytest.mark.skipif("DISTRL_VLLM_PYTHON" not in os.environ, reason="opt-in: make vllm-test"),
]
START_S = 600.0
PATIENT = Patience(deadline_s=600.0, attempt_s=300.0, max_tries=2)
"""Its first answer takes long: it compiles then."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # vLLM's attention on CPUs has no heads of 16.
    with patch.dict(families._TEXT, {"head_dim": 32}):
        return families.make_model("idefics3", tmp_path_factory.mktemp("vllm") / "tiny")


@pytest.fixture(scope="module")
def url(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """vLLM for CPU with the tiny model, which may take adapters while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [os.environ["DISTRL_VLLM_PYTHON"], "-m", "vllm.entrypoints.openai.api_server"]
    options = {
        "model": str(model),
        "served-model-name": "tiny",
        "host": "127.0.0.1",
        "port": str(port),
        "dtype": "float32",
        "max-model-len": "4096",
        "max-lora-rank": "16",
        "generation-config": "vllm",
        # Of the distribution that is sampled from: after temperature, and after what is never said.
        "logprobs-mode": "processed_logprobs",
    }
    command += [word for name, value in options.items() for word in (f"--{name}", value)]
    environ = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    log = tmp_path_factory.mktemp("log") / "vllm.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--enable-lora", "--enforce-eager"],
            env=os.environ | environ,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def _wait_for(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    ends_s = time.monotonic() + START_S
    while time.monotonic() < ends_s and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(1.0)
    raise AssertionError(f"vLLM did not start:\n{log.read_text(errors='replace')[-3000:]}")


def recomputed(policy: HfPolicy, decision: Decision) -> float:
    step = Step(observation=SITUATION.observation, decision=decision, rewards={})
    trajectory = Trajectory(
        id="x",
        task=SITUATION.task,
        steps=(step,),
        final=SITUATION.observation,
        outcome=Outcome.FAILED,
        verdict=Verdict(ruling=Ruling.FAILURE, judge="rule"),
        worker="w",
        device="d",
    )
    prepared = policy.prepare(trajectory)
    with torch.no_grad():
        return float(policy.judge(prepared.moments[:1], prepared.choices).log_prob[0])


def write_adapter(model: Path, directory: Path, seed: int) -> HfPolicy:
    """A policy with a random adapter, which `peft` writes to the directory."""
    policy = HfPolicy(HfConfig(model=str(model), max_new_tokens=8))
    generator = torch.Generator().manual_seed(seed)
    tensors = policy.snapshot().parameters
    policy.load_tensors({n: t + 0.2 * torch.randn(t.shape, generator=generator) for n, t in tensors.items()})
    assert policy.adapter is not None
    policy.adapter.save_pretrained(directory)
    return policy


async def _check_the_end(url: str, endpoint: Endpoint, policy: HfPolicy, served: Served) -> None:
    """The token that ends an answer is one of its tokens, also with a temperature."""
    end = policy.loaded.stop_ids[0]
    policy.options = policy.options.model_copy(update={"temperature": 0.5})
    likely = {str(end): 2.0} | {str(i): -100 for i in policy.loaded.never_said}
    remote = make_policy(
        url,
        endpoint=endpoint,
        model="tiny",
        needs_log_probs=True,
        max_answer_tokens=64,
        temperature=0.5,
        extra={"logit_bias": likely},
    )
    answers = [await remote.decide_one(SITUATION, Random(seed), served) for seed in range(6)]
    ended = [decision for decision in answers if decision.tokens[-1] == end]
    print(f"{len(ended)} of {len(answers)} answers ended by themselves, after {[len(d.tokens) for d in ended]} tokens")
    assert ended
    remote.options = EndpointOptions(
        model="tiny",
        needs_log_probs=True,
        max_answer_tokens=8,
        temperature=0.5,
        extra={"logit_bias": {str(i): -100 for i in policy.loaded.never_said}},
    )
    decision = await remote.decide_one(SITUATION, Random(1), served)
    assert abs(recomputed(policy, decision) - decision.log_prob) < 1e-3


def test_pictures_log_probabilities_and_adapters_that_are_swapped(url: str, model: Path, tmp_path: Path) -> None:
    policies = {n: write_adapter(model, tmp_path / str(n), n) for n in (1, 2, 3)}
    never_said = {str(i): -100 for i in policies[1].loaded.never_said}

    async def run() -> None:
        endpoint = make_endpoint(url, patience=PATIENT)
        remote = make_policy(
            url,
            endpoint=endpoint,
            model="tiny",
            needs_log_probs=True,
            max_answer_tokens=8,
            extra={"logit_bias": never_said},
        )
        able = await remote.check()
        assert (able.has_log_probs, able.has_token_ids, able.models) == (True, True, ("tiny",))
        adapters = Adapters(endpoint, "tiny")
        base = await remote.decide_one(SITUATION, Random(1))
        said = [base.log_prob]
        for version, policy in policies.items():
            served = await adapters.load(tmp_path / str(version), version)
            decision = await remote.decide_one(SITUATION, Random(1), served)
            assert decision.policy_version == version
            difference = abs(recomputed(policy, decision) - decision.log_prob)
            print(
                f"version {version}: {len(decision.tokens)} tokens, log-probability {decision.log_prob:.4f}, "
                f"recomputed within {difference:.1e}"
            )
            assert difference < 1e-3
            said.append(decision.log_prob)
        assert len({round(number, 3) for number in said}) == 4
        await _check_the_end(url, endpoint, policies[3], served)
        # The first is unloaded by now: acting with it is an error, and never the base model.
        gone = Served(version=1, model=f"distrl-1-{digest_of(tmp_path / '1')}")
        with pytest.raises(ServerError, match="404"):
            await make_policy(url, model="tiny").decide_one(SITUATION, None, gone)
        broken = tmp_path / "broken"
        broken.mkdir()
        (broken / "adapter_config.json").write_text("{}")
        (broken / "adapter_model.safetensors").write_bytes(b"no weights")
        with pytest.raises(ServerError, match=r"not loaded|no answer"):
            await adapters.load(broken, 4)
        await adapters.close()

    asyncio.run(run())


def test_a_run_whose_workers_act_through_it_learns_and_swaps_adapters(url: str, model: Path, tmp_path: Path) -> None:
    endpoint = {"url": url, "model": "tiny", "key_variable": "", "adapter_dir": str(tmp_path / "adapters")}
    config = config_of(
        {
            "policy": {
                "kind": "hf",
                "start": "scratch",
                "acts_through": "endpoint",
                "hf": {"model": str(model), "max_new_tokens": 8},
                "endpoint": endpoint | {"deadline_s": 600.0, "attempt_s": 300.0},
            },
            "phone": {"scale": 0.1},
            "env": {"max_episode_s": 10.0},
            "learner": {
                "batch_trajectories": 2,
                "new_steps_per_update": 2,
                "warmup_trajectories": 1,
                "publish_every_updates": 1,
                "imitated_successes": 0,
                "learning_rate": 1e-2,
            },
            "collect": {"num_devices": 2},
            "train": {"num_trajectories": 5},
            "eval": {"every_trajectories": 100, "episodes": 1, "has_sampled": False},
        }
    )
    run = RunDirectory(tmp_path / "run")
    simulation = Simulation(config, run)
    run.open(config)
    try:
        asyncio.run(simulation._run(None))  # the same fleet, in real time
    finally:
        run.close()
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    versions = sorted(int(path.name.split("-")[0]) for path in (tmp_path / "adapters").iterdir())
    print(f"{len(rows)} updates, rho_mean {[round(row['rho_mean'], 4) for row in rows[:4]]}, versions {versions}")
    assert len(rows) >= 2
    assert abs(rows[0]["rho_mean"] - 1.0) < 0.01  # vLLM's probabilities are those of the learner
    assert len(versions) >= 2

"""`distrl serve`: a model behind real HTTP, asked by our own endpoint policy."""

import asyncio
import base64
import contextlib
import io
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
import uvicorn
from PIL import Image
from safetensors.torch import load_file, save_file
from starlette.testclient import TestClient

from distrl.cli.chat_server import ChatServer
from distrl.core.config_model import HfConfig
from distrl.core.errors import UserError
from distrl.core.types import Decision, Outcome, Ruling, Step, Trajectory, Verdict
from distrl.policies.hf.policy import HfPolicy
from distrl.runtime.chat_model import ChatModel
from distrl.runtime.saved_weights import weight_files, write_weights

from ..models.families import make_model
from ..models.test_loading import with_own_code
from ..policies.endpoint.asking import SITUATION, make_policy
from .command import distrl

pytestmark = [pytest.mark.models, pytest.mark.slow]
TOKEN = "canary-token-5512"


@pytest.fixture(scope="module", autouse=True)
def _no_proxy() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            patch.delenv(name, raising=False)
            patch.delenv(name.upper(), raising=False)
        yield


@pytest.fixture(scope="module")
def seer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain directory of transformers, with eyes."""
    return make_model("idefics3", tmp_path_factory.mktemp("models") / "seer")


@pytest.fixture(scope="module")
def adapted(seer: Path) -> Path:
    """An adapter of it that makes a difference, as a run leaves it."""
    policy = HfPolicy(HfConfig(model=str(seer), prompt="json", max_new_tokens=8))
    generator = torch.Generator().manual_seed(3)
    tensors = policy.snapshot().parameters
    policy.load_tensors({n: t + 0.2 * torch.randn(t.shape, generator=generator) for n, t in tensors.items()})
    assert policy.adapter is not None
    policy.adapter.save_pretrained(seer.parent / "run" / "weights")
    return seer.parent / "run" / "weights"


@contextlib.contextmanager
def threaded(directory: Path) -> Iterator[str]:
    """The address of a server in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        app = ChatServer(ChatModel(directory), directory.name, hosts=frozenset({place})).app()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://{place}/v1"
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def served(directory: Path) -> Iterator[str]:
    """The address of `distrl serve` in a process of its own."""
    command = [sys.executable, "-m", "distrl", "serve", "--checkpoint", str(directory), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"at (http://127\.0\.0\.1:\d+/v1)", said)
        assert found, said
        yield found[1]
    finally:
        process.terminate()
        assert process.wait(30) in (0, -15)


def recomputed(policy: HfPolicy, decision: Decision) -> float:
    """What the learner says about a decision that was made in the situation."""
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


@pytest.mark.timeout(300)
def test_what_is_served_is_what_the_learner_recomputes_for_a_model_and_for_its_adapter(
    seer: Path, adapted: Path
) -> None:
    whole = HfPolicy(HfConfig(model=str(seer), adapter="none", max_new_tokens=8))
    lora = HfPolicy(HfConfig(model=str(seer), max_new_tokens=8))
    lora.load_tensors(load_file(adapted / "adapter_model.safetensors"))
    raws = []
    for directory, policy, serve in ((seer, whole, threaded), (adapted.parent, lora, served)):
        with serve(directory) as url:
            remote = make_policy(url, model=directory.name, needs_log_probs=True, max_answer_tokens=8, temperature=1.0)
            able = asyncio.run(remote.check())
            assert (able.has_log_probs, able.has_token_ids, able.models) == (True, True, (directory.name,))
            decisions = [asyncio.run(remote.decide_one(SITUATION, Random(seed))) for seed in (1, 1, 2)]
        assert decisions[0] == decisions[1] != decisions[2]
        for decision in decisions:
            assert recomputed(policy, decision) == pytest.approx(decision.log_prob, abs=1e-4)
        raws.append(decisions[0].tokens)
    assert raws[0] != raws[1]


# ---------------------------------------------------------------- what it refuses


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ChatModel:
    return ChatModel(make_model("llama", tmp_path_factory.mktemp("models") / "reader"))


def client_of(model: ChatModel, *, token: str = "") -> TestClient:
    server = ChatServer(model, "reader", hosts=frozenset({"127.0.0.1:8000"}), token=token)
    return TestClient(server.app(), base_url="http://127.0.0.1:8000")


def question(**more: Any) -> dict[str, Any]:
    return {"model": "reader", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 3} | more


def picture(size: tuple[int, int] = (2, 2), format: str = "PNG") -> list[dict[str, Any]]:
    file = io.BytesIO()
    Image.new("RGB", size).save(file, format)
    url = f"data:image/{format.lower()};base64,{base64.b64encode(file.getvalue()).decode()}"
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


def test_an_answer_has_what_was_asked_for_and_nothing_else(reader: ChatModel) -> None:
    client = client_of(reader)
    plain = client.post("/v1/chat/completions", json=question(temperature=0)).json()
    assert (plain["model"], plain["object"]) == ("reader", "chat.completion")
    assert set(plain["choices"][0]) == {"index", "message", "finish_reason"}
    told = client.post(
        "/v1/chat/completions", json=question(temperature=0, logprobs=True, return_token_ids=True)
    ).json()
    (choice,) = told["choices"]
    assert choice["message"] == plain["choices"][0]["message"]
    assert len(choice["token_ids"]) == len(choice["logprobs"]["content"]) == told["usage"]["completion_tokens"] <= 3
    assert choice["finish_reason"] == ("length" if len(choice["token_ids"]) == 3 else "stop")
    assert client.get("/v1/models").json()["data"][0]["id"] == "reader"


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"{", 400, "not a chat"),
        (b"[" * 100_000, 400, "not a chat"),
        (question(messages=[]), 400, "not a chat"),
        (question(temperature=-1), 400, "not a chat"),
        (question(max_tokens=10**9), 400, "not a chat"),
        (question(model="gpt-9"), 404, "there is no model 'gpt-9'; this is 'reader'"),
        (question(stream=True), 400, "stream = True is not supported here"),
        (question(n=2), 400, "n = 2 is not supported"),
        (question(top_p=0.5), 400, "top_p = 0.5 is not supported"),
        (question(tools=[{}]), 400, "tools = "),
        (question(messages=picture()), 400, "image input is not supported"),
        (question(messages=[{"role": "user", "content": "a " * 20_000}]), 400, "the model has 8192"),
        (b" " * (32 * 2**20 + 1), 413, "more than 33,554,432 bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_answered_as_it_is_meant_is_refused(
    reader: ChatModel, body: Any, status: int, reason: str
) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body)
    response = client_of(reader).post("/v1/chat/completions", content=data)
    assert (response.status_code, reason in response.json()["error"]["message"]) == (status, True), response.text


@pytest.mark.parametrize("url", ["http://10.0.0.1/x.png", "file:///etc/passwd", "data:image/png;base64,AAAA", ""])
def test_a_picture_is_never_fetched_and_has_to_be_one(reader: ChatModel, url: str) -> None:
    content = [{"type": "image_url", "image_url": {"url": url}}]
    response = client_of(reader).post(
        "/v1/chat/completions", json=question(messages=[{"role": "user", "content": content}])
    )
    assert response.status_code == 400
    assert "a picture" in response.json()["error"]["message"]


def test_without_a_token_only_this_machine_is_let_in_and_with_one_only_who_has_it(reader: ChatModel) -> None:
    client = client_of(reader)
    assert client.get("/v1/models").status_code == 200
    assert client.get("/v1/models", headers={"Host": "evil.example"}).status_code == 403
    assert client.get("/v1/models", headers={"Origin": "http://evil.example"}).status_code == 403
    client = client_of(reader, token=TOKEN)
    for path in ("/v1/models", "/health"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"Authorization": f"Bearer {TOKEN}x"}).status_code == 401
        assert client.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.post("/v1/chat/completions", json=question()).status_code == 401


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--checkpoint", "nowhere"], "nowhere holds no model: config.json or adapter_config.json is wanted"),
        (["--checkpoint", "tiny"], "reads no chats"),
        (["--checkpoint", "foreign"], "cannot be loaded"),
        (["--checkpoint", "autoui"], "holds an AutoUI policy, which reads no chats"),
        (["--checkpoint", "adapter"], "does not say which model it adapts"),
        (["--checkpoint", "foreign", "--host", "0.0.0.0"], "set the variable DISTRL_SERVE_TOKEN"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_cannot_be_served_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISTRL_SERVE_TOKEN", raising=False)
    for name, file in (("tiny", "config.toml"), ("foreign", "config.json"), ("adapter", "adapter_config.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("{}")
    shutil.copytree(tmp_path / "foreign", tmp_path / "autoui")
    (tmp_path / "autoui" / "distrl.json").write_text('{"vision": "a/b"}')
    done = distrl("serve", *options, "--port", "0")
    assert done.status == 2
    assert reason in done.err


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = distrl("serve", "--checkpoint", str(tmp_path), "--port", str(taken.getsockname()[1]))
    assert done.status == 2
    assert "cannot be used" in done.err


def test_a_model_is_served_in_the_numbers_it_was_trained_with(seer: Path, tmp_path: Path) -> None:
    policy = HfPolicy(HfConfig(model=str(seer), dtype="bfloat16"))
    write_weights(tmp_path, weight_files(policy))
    assert ChatModel(tmp_path).loaded.network.dtype == torch.bfloat16
    (tmp_path / "distrl.json").unlink()  # somebody else's adapter says nothing of it
    assert ChatModel(tmp_path).loaded.network.dtype == torch.float32


def test_code_that_comes_with_a_model_is_served_if_asked_for_and_never_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda *asked: "y")  # whoever asks is told yes
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    model = with_own_code(make_model("llama", tmp_path / "own"), tmp_path / "ran")
    with pytest.raises(UserError, match="cannot be loaded"):
        ChatModel(model)
    assert not (tmp_path / "ran").exists()
    assert ChatModel(model, trust_remote_code=True).loaded.stop_ids
    assert (tmp_path / "ran").exists()


def test_an_incomplete_adapter_is_refused_and_not_half_loaded(adapted: Path, tmp_path: Path) -> None:
    tensors = load_file(adapted / "adapter_model.safetensors")
    tensors.pop(min(tensors))
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    (tmp_path / "adapter_config.json").write_bytes((adapted / "adapter_config.json").read_bytes())
    with pytest.warns(UserWarning, match="missing"), pytest.raises(UserError, match="is incomplete: 1 missing"):
        ChatModel(tmp_path)

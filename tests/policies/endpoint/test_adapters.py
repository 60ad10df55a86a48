"""Adapters on a server: a version acts only after the server has shown that it has it (faults 23 to 25)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from distrl.core.errors import ServerError, UserError
from distrl.core.types import Tap
from distrl.policies.endpoint import Adapters, Served
from distrl.policies.endpoint.adapters import digest_of

from ...tasks.judges.episodes import JumpingClock
from ...tasks.judges.servers import error, serving, status
from .asking import SITUATION, answer, make_endpoint, make_policy

pytestmark = pytest.mark.models
TAP = '{"type":"Tap","x":0.5,"y":0.25}'


class Vllm:
    """A server that loads adapters as vLLM does, or says that it did and does not."""

    def __init__(self, *, acts_as: str = "") -> None:
        self.loaded: dict[str, str] = {}
        self.lies = False
        self.load_status = 200
        self.acts_as = acts_as

    async def line(self, writer: asyncio.StreamWriter, body: dict[str, Any]) -> None:
        names = ["m", *self.loaded]
        if "messages" in body:
            said = status(200, answer(TAP, model=self.acts_as or body["model"]))
            said = said if body["model"] in names else error(404, "no such model")
        elif "lora_path" in body:
            if self.load_status == 200 and not self.lies:
                self.loaded[body["lora_name"]] = body["lora_path"]
            said = status(self.load_status, "Success: LoRA adapter added successfully")
        elif "lora_name" in body:
            said = status(200, "Success") if self.loaded.pop(body["lora_name"], None) else error(404, "not found")
        else:
            said = status(200, json.dumps({"data": [{"id": name} for name in names]}))
        await said(writer, body)


def write_adapter(directory: Path, content: str) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "adapter_config.json").write_text("{}")
    (directory / "adapter_model.safetensors").write_text(content)
    return directory


async def with_adapters(vllm: Vllm, use: Any) -> Any:
    async with serving(vllm.line) as server:
        endpoint = make_endpoint(server.url, clock=JumpingClock())
        return await use(Adapters(endpoint, "m"), make_policy(server.url, endpoint=endpoint))


def test_a_version_acts_under_a_name_of_its_own_and_is_recorded(tmp_path: Path) -> None:
    folder = write_adapter(tmp_path / "a", "one")
    vllm = Vllm()

    async def use(adapters: Adapters, policy: Any) -> None:
        served = await adapters.load(folder, 7)
        assert served == Served(version=7, model=f"distrl-7-{digest_of(folder)}")
        assert vllm.loaded == {served.model: str(folder)}
        decision = await policy.decide_one(SITUATION, None, served)
        assert (decision.policy_version, decision.action) == (7, Tap(x=0.5, y=0.25))
        assert await adapters.load(folder, 7) == served

    asyncio.run(with_adapters(vllm, use))


def test_other_weights_of_the_same_number_have_another_name(tmp_path: Path) -> None:
    """After a learner's restore a version may come again, with other content."""
    first = digest_of(write_adapter(tmp_path / "a", "one"))
    assert digest_of(write_adapter(tmp_path / "a", "two")) != first


@pytest.mark.parametrize(
    ("then", "problem"),
    [
        ({"lies": True}, "said that it loaded the adapter distrl-7-.*and does not list it"),
        ({"load_status": 404}, "start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"),
        ({"load_status": 400}, "the adapter was not loaded"),
        ({"load_status": 500}, "no answer from"),
    ],
    ids=str,
)
def test_an_adapter_that_did_not_load_never_acts_and_the_old_one_stays(
    tmp_path: Path, then: dict[str, Any], problem: str
) -> None:
    vllm = Vllm()

    async def use(adapters: Adapters, policy: Any) -> None:
        old = await adapters.load(write_adapter(tmp_path / "a", "one"), 6)
        vars(vllm).update(then)
        with pytest.raises(ServerError, match=problem):
            await adapters.load(write_adapter(tmp_path / "b", "two"), 7)
        assert list(vllm.loaded) == [old.model]
        assert (await policy.decide_one(SITUATION, None, old)).policy_version == 6

    asyncio.run(with_adapters(vllm, use))


def test_an_answer_of_the_base_model_in_the_adapters_place_is_an_error(tmp_path: Path) -> None:
    async def use(adapters: Adapters, policy: Any) -> None:
        served = await adapters.load(write_adapter(tmp_path / "a", "one"), 1)
        with pytest.raises(ServerError, match="answered as the model 'm', and 'distrl-1-"):
            await policy.decide_one(SITUATION, None, served)

    asyncio.run(with_adapters(Vllm(acts_as="m"), use))


def test_an_adapter_that_the_server_lost_is_an_error_and_not_the_base_model(tmp_path: Path) -> None:
    vllm = Vllm()

    async def use(adapters: Adapters, policy: Any) -> None:
        served = await adapters.load(write_adapter(tmp_path / "a", "one"), 1)
        vllm.loaded.clear()
        with pytest.raises(ServerError, match="the address or the model is wrong"):
            await policy.decide_one(SITUATION, None, served)

    asyncio.run(with_adapters(vllm, use))


def test_the_last_two_versions_stay_loaded_for_calls_that_are_under_way(tmp_path: Path) -> None:
    vllm = Vllm()

    async def use(adapters: Adapters, policy: Any) -> None:
        names = [(await adapters.load(write_adapter(tmp_path / "a", str(n)), n)).model for n in range(4)]
        assert list(vllm.loaded) == names[2:]
        await adapters.close()
        assert not vllm.loaded

    asyncio.run(with_adapters(vllm, use))


def test_a_directory_without_an_adapter_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is no adapter: adapter_config.json and adapter_model.safetensors"):
        digest_of(tmp_path)

"""Who acts in a worker: the policy itself, or a server that is given its adapters.

With `policy.acts_through = "endpoint"` a worker needs no weights of the model: what the learner publishes is written
down as an adapter of `peft`, which the server loads under the name of its version. Nobody acts with it before the
server has shown that it has it.
"""

import asyncio
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from distrl.core.config import Config
from distrl.core.config_model import HfConfig
from distrl.core.errors import RefusedError, ServerError, UserError
from distrl.core.interfaces import Decider, RemoteDecider
from distrl.core.types import Decision, Situation
from distrl.runtime.build_endpoint import TABLE, make_endpoint_policy
from distrl.runtime.checkpoints import write_safely
from distrl.runtime.policies import load_start, require_models
from distrl.runtime.tensors import unpack_tensors
from distrl.runtime.worker import Snapshot

if TYPE_CHECKING:
    from distrl.policies.endpoint import Adapters, EndpointOptions, EndpointPolicy, Served
    from distrl.policies.hf.loading import Loaded

ADAPTER, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"
KEPT_ADAPTERS = 16
"""Versions on disk, those used last: one that an evaluation still needs is loaded again with every new version."""
_VERSION = re.compile(r"\d+-[0-9a-f]{12}")
Load = Callable[[int, bytes], Snapshot | Awaitable[Snapshot]]
"""Published weights as something to act with."""


def make_acting(config: Config) -> tuple[Decider | RemoteDecider, Load]:
    """What decides, and what makes published weights into something to decide with."""
    if config.policy.acts_through == "endpoint":
        actor = make_remote_actor(config)
        return actor, actor.load
    policy = load_start(config)
    return policy, lambda version, data: policy.snapshot_of(version, unpack_tensors(data))


class RemoteActor:
    """A server that acts with the adapters it is given."""

    def __init__(self, policy: "EndpointPolicy", adapters: "Adapters", folder: Path, adapter_config: bytes) -> None:
        self.policy = policy
        self._adapters = adapters
        self._folder = folder
        self._adapter_config = adapter_config

    def spending(self) -> dict[str, float]:
        """What this worker has asked of the server so far; the fleet's are sums (members.py)."""
        policy = self.policy
        return {
            "policy_calls": float(policy.num_calls),
            "policy_tokens": float(policy.num_tokens),
            "policy_cost": policy.spent,
        }

    async def load(self, version: int, data: bytes) -> "Served":
        """Write an adapter down and have the server load it; `ServerError` unless it did."""
        directory = self._folder / f"{version}-{hashlib.blake2b(data, digest_size=6).hexdigest()}"
        try:
            await asyncio.to_thread(self._write, directory, data)
        except OSError as error:
            raise ServerError(f"the adapter cannot be written to {self._folder}: {error.strerror}") from error
        return await self._adapters.load(directory, version)

    def _write(self, directory: Path, data: bytes) -> None:
        """Have it there, whole or not at all, however many workers do so at once; let go of the oldest."""
        if not directory.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".", dir=self._folder) as aside:
                made = Path(aside) / directory.name
                made.mkdir()
                write_safely(made / ADAPTER_CONFIG, self._adapter_config)
                write_safely(made / ADAPTER, data)
                try:
                    made.rename(directory)
                except OSError:
                    if not directory.exists():  # else another worker was faster
                        raise
        os.utime(directory)
        found = [path for path in self._folder.iterdir() if _VERSION.fullmatch(path.name)]
        for path in sorted(found, key=_used_s)[:-KEPT_ADAPTERS]:
            shutil.rmtree(path, ignore_errors=True)

    async def decide_one(self, situation: Situation, rng: Random | None, snapshot: Any = None) -> Decision:
        """The server's decision with the adapter of this version; another worker may have unloaded it meanwhile."""
        try:
            return await self.policy.decide_one(situation, rng, snapshot)
        except RefusedError as error:
            if error.status != 404:
                raise
            self.policy.endpoint.limits.breaker.forgive()
            if not await self._adapters.load_again(snapshot):
                raise
        return await self.policy.decide_one(situation, rng, snapshot)


def _used_s(path: Path) -> float:
    """When it was used last; long ago if another worker has just removed it."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def make_remote_actor(config: Config) -> RemoteActor:
    """The server of `[policy.endpoint]` for the model of `[policy.hf]`, asked with its prompt and temperature."""
    from distrl.policies.endpoint import Adapters, EndpointPolicy
    from distrl.policies.hf.loading import load_outline
    from distrl.policies.hf.plain import PlainTexts

    hf = config.policy.hf
    table = config.policy.endpoint.model_copy(update={**_said_by_hf(hf), "log_probs": True})
    asked, loaded = make_endpoint_policy(table), load_outline(hf)
    options = _as_learned(asked.options, loaded)
    policy = EndpointPolicy(asked.endpoint, asked.prompt, options, plain=PlainTexts(loaded).message)
    folder = Path(config.policy.endpoint.adapter_dir)
    return RemoteActor(policy, Adapters(policy.endpoint, table.model), folder, _adapter_config(hf, loaded))


def _said_by_hf(hf: HfConfig) -> dict[str, Any]:
    """What the learner's model is asked and how, in the keys of a server: acting and learning have to agree."""
    return {
        "prompt": hf.prompt,
        "num_screens": hf.num_screens,
        "num_actions": hf.num_actions,
        "temperature": hf.temperature,
        "max_answer_tokens": hf.max_new_tokens,
    }


def _as_learned(options: "EndpointOptions", loaded: "Loaded") -> "EndpointOptions":
    """Have the server draw from the distribution that the learner computes, and from no part of it alone."""
    from distrl.policies.endpoint import Vocabulary

    size = loaded.network.config.get_text_config().vocab_size
    never_said = {str(token): -100 for token in loaded.never_said}
    # A server that was told nothing of generation knows one end of an answer; the learner may know more.
    whole = {"top_p": 1.0, "top_k": -1, "min_p": 0.0, "stop_token_ids": list(loaded.stop_ids)}
    return msgspec.structs.replace(
        options.with_extra(whole | ({"logit_bias": never_said} if never_said else {})),
        vocabulary=Vocabulary(size=size, never_said=frozenset(loaded.never_said)),
    )


def check_acting(config: Config) -> None:
    """Whether the server can act in training, before anything depends on it; `UserError` says all that is wrong."""
    require_models()
    problems = []
    if config.policy.kind != "hf" or config.policy.hf.adapter != "lora":
        problems.append(
            'policy.acts_through = "endpoint" is for adapters: policy.kind = "hf", policy.hf.adapter = "lora"'
        )
    if not config.policy.endpoint.adapter_dir:
        problems.append(f"{TABLE}.adapter_dir is not set: a directory that the server sees too is wanted")
    endpoint = config.policy.endpoint
    for key, value in _said_by_hf(config.policy.hf).items():
        if getattr(endpoint, key) not in (value, type(endpoint).model_fields[key].default):
            problems.append(
                f"{TABLE}.{key} is not what [policy.hf] says ({value!r}), which counts in training: leave it out"
            )
    if problems:
        raise UserError("\n".join(problems))
    able = asyncio.run(make_remote_actor(config).policy.check())
    if not able.has_token_ids:
        raise UserError(
            "the policy's server gives log-probabilities but not the tokens they belong to (return_token_ids): it can "
            "be evaluated (distrl eval --policy endpoint), not trained with"
        )


def _adapter_config(hf: HfConfig, loaded: "Loaded") -> bytes:
    from distrl.policies.hf.adapter import lora_config
    from distrl.policies.hf.saving import base_of

    made = lora_config(loaded.network, hf)
    made.base_model_name_or_path, made.inference_mode = base_of(hf), True
    made.revision = hf.revision or None
    with tempfile.TemporaryDirectory() as name:
        made.save_pretrained(name)
        return (Path(name) / ADAPTER_CONFIG).read_bytes()

"""Adapters on a server: a directory that `peft` wrote in, the name of a model that acts with it out.

vLLM loads and unloads adapters while it runs (`/v1/load_lora_adapter`). Each version gets a name of its own, made of
its number and its content, so that a name never stands for other weights: what the server lists afterwards, and the
name in every answer, show which version acted. An adapter that is not listed was not loaded, whatever the server said.
"""

import contextlib
import hashlib
import os
from pathlib import Path

import msgspec

from distrl.core.calls.endpoint import Endpoint
from distrl.core.errors import RefusedError, ServerError, UserError

KEPT = 2
"""Versions that stay loaded: calls that are under way may still use the last one."""
CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the policy as the server knows it."""

    version: int
    model: str


class Adapters:
    """The adapters that were loaded through this object."""

    def __init__(self, endpoint: Endpoint, model: str, *, prefix: str = "distrl") -> None:
        self._endpoint = endpoint
        self._model = model
        self._prefix = prefix
        self._loaded: list[str] = []
        self._known: dict[str, Path] = {}

    async def load(self, directory: Path, version: int) -> Served:
        """Let the server load it; `ServerError`, and nothing changes, unless it is there afterwards.

        The directory has to be where the server sees it, under the same path.
        """
        name = f"{self._prefix}-{version}-{digest_of(directory)}"
        if name not in self._loaded:
            await self._load(name, directory)
            self._known[name] = directory
        return Served(version=version, model=name)

    async def load_again(self, served: object) -> bool:
        """Have the server load what it lost or was told to unload; whether this is an adapter that was loaded here."""
        if not isinstance(served, Served) or served.model not in self._known:
            return False
        if served.model in self._loaded:
            self._loaded.remove(served.model)
        directory = self._known[served.model]
        with contextlib.suppress(OSError):
            os.utime(directory)  # it is still in use, which counts when old ones are let go
        await self._load(served.model, directory)
        return True

    async def _load(self, name: str, directory: Path) -> None:
        body = {"lora_name": name, "lora_path": str(directory.resolve())}
        try:
            await self._endpoint.fetch("/load_lora_adapter", body, ends_s=self._endpoint.deadline_s())
        except RefusedError as error:
            if name not in await models_of(self._endpoint):
                raise ServerError(_advice(error)) from error
        if name not in await models_of(self._endpoint):
            raise ServerError(f"the server said that it loaded the adapter {name}, and does not list it")
        self._loaded.append(name)
        await self._unload_old()

    async def close(self) -> None:
        """Unload all that was loaded."""
        await self._unload_old(kept=0)

    async def _unload_old(self, kept: int = KEPT) -> None:
        while len(self._loaded) > kept:
            name = self._loaded.pop(0)
            try:
                body = {"lora_name": name}
                await self._endpoint.fetch("/unload_lora_adapter", body, ends_s=self._endpoint.deadline_s())
            except RefusedError:
                continue  # it is gone already: the server was started anew, or somebody else unloaded it


async def models_of(endpoint: Endpoint) -> tuple[str, ...]:
    """The names that the server lists."""
    data = await endpoint.fetch("/models", ends_s=endpoint.deadline_s())
    try:
        return tuple(model.id for model in _LISTS.decode(data).data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ServerError("the server's list of models cannot be read") from error


def digest_of(directory: Path) -> str:
    """The name of an adapter's content; `UserError` if the directory holds none."""
    try:
        parts = [(directory / name).read_bytes() for name in (CONFIG, WEIGHTS)]
    except OSError as error:
        raise UserError(f"{directory} is no adapter: {CONFIG} and {WEIGHTS} are wanted ({error.strerror})") from error
    return hashlib.blake2b(b"".join(parts), digest_size=6).hexdigest()


def _advice(error: RefusedError) -> str:
    if error.status in (404, 405):
        how = "start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
        return f"the server cannot load adapters: {how} ({error})"
    return f"the adapter was not loaded: {error}"


class _Model(msgspec.Struct, frozen=True):
    id: str


class _List(msgspec.Struct, frozen=True):
    data: tuple[_Model, ...] = ()


_LISTS = msgspec.json.Decoder(_List)

"""A model of `transformers` that answers chats: a directory in; text, tokens and their log-probabilities out.

The directory is what `distrl export` or a run wrote, or any other that `transformers` or `peft` open. The probability
of a token is that of the policy itself: softmax(logits / temperature) over everything that may be said.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from distrl.core.config_model import HfConfig
from distrl.core.errors import UserError
from distrl.policies.prompts import Message, make_prompt

if TYPE_CHECKING:
    from distrl.policies.hf.loading import Loaded

ADAPTER_CONFIG, ADAPTER = "adapter_config.json", "adapter_model.safetensors"


class TooLongError(ValueError):
    """The chat and its answer do not fit into what the model can read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the model said: the text, and each token with its number and log-probability; the end is one of them."""

    text: str
    words: tuple[str, ...]
    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    num_prompt_tokens: int
    is_complete: bool


class ChatModel:
    """One model, which answers one chat at a time."""

    def __init__(self, directory: Path, *, device: str = "auto", trust_remote_code: bool = False) -> None:
        import torch

        from distrl.policies.hf.loading import device_of
        from distrl.policies.hf.reader import Reader

        options = _options_of(directory, device, trust_remote_code=trust_remote_code)
        self.loaded = _loaded(directory, options)
        self.has_eyes = self.loaded.has_eyes
        prompt = make_prompt("json" if self.has_eyes else "numbered", num_screens=1 if self.has_eyes else 0)
        self._reader = Reader(self.loaded, prompt, device=device_of(options))
        self._never_said = torch.tensor(self.loaded.never_said, dtype=torch.long, device=device_of(options))
        positions = getattr(self.loaded.network.config.get_text_config(), "max_position_embeddings", None)
        self.max_tokens: int | None = positions
        self._lock = threading.Lock()

    def answer(
        self, messages: Sequence[Message], rng: Random | None, *, temperature: float, max_new_tokens: int
    ) -> Answer:
        """The answer to a chat, the likeliest words if there are no random numbers; raises `TooLongError`."""
        import torch

        from distrl.policies.hf.sampling import Sampler, sample

        encoded = self._reader.encode(self._reader.moment_of(messages))
        length = len(encoded.ids)
        if self.max_tokens is not None and length + max_new_tokens > self.max_tokens:
            raise TooLongError(f"{length} tokens and {max_new_tokens} of an answer; the model has {self.max_tokens}")
        sampler = Sampler(
            None if rng is None else [rng],
            never_said=self._never_said,
            stop_ids=self.loaded.stop_ids,
            temperature=temperature,
        )
        batch = self._reader.rows([encoded], [torch.zeros(0, dtype=torch.long)])
        with self._lock:
            sample(self.loaded.network, batch.inputs, sampler, max_new_tokens=max_new_tokens)
        ids = tuple(sampler.answers[0])
        return Answer(
            text=self._reader.answer_text(ids),
            words=tuple(self.loaded.tokenizer.decode([i]) for i in ids),
            ids=ids,
            log_probs=tuple(sampler.log_probs[0]),
            num_prompt_tokens=length,
            is_complete=ids[-1] in self.loaded.stop_ids,
        )


def _options_of(directory: Path, device: str, *, trust_remote_code: bool) -> HfConfig:
    """Where the model itself is, in the directory or where its adapter says; in the numbers it was trained with."""
    from transformers import AutoConfig

    from distrl.policies.hf.processor import has_eyes
    from distrl.policies.hf.saving import read_about

    trained = read_about(directory) or HfConfig()
    source, revision = str(directory), ""
    if (directory / ADAPTER_CONFIG).is_file():
        try:
            adapted = json.loads((directory / ADAPTER_CONFIG).read_text(encoding="utf-8"))
            source, revision = adapted["base_model_name_or_path"], adapted.get("revision") or ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{directory / ADAPTER_CONFIG} does not say which model it adapts") from error
    elif not (directory / "config.json").is_file():
        raise UserError(f"{directory} holds neither config.json nor {ADAPTER_CONFIG}: no model that can be served")
    try:
        found = AutoConfig.from_pretrained(source, revision=revision or None, trust_remote_code=trust_remote_code)
        is_seeing = has_eyes(found)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{directory}: the model {source!r} cannot be loaded: {str(error).splitlines()[0]}") from error
    return HfConfig(
        model=source,
        revision=revision,
        num_screens=int(is_seeing),
        device=device,
        dtype=trained.dtype,
        trust_remote_code=trust_remote_code,
    )


def _loaded(directory: Path, options: HfConfig) -> "Loaded":
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import SafetensorError, safe_open

    from distrl.policies.hf.loading import load

    loaded = load(options)
    if not (directory / ADAPTER_CONFIG).is_file():
        return loaded
    try:
        with safe_open(directory / ADAPTER, framework="pt") as file:
            given = set(file.keys())
        adapted = PeftModel.from_pretrained(loaded.network, directory)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise UserError(f"{directory}: the adapter cannot be loaded: {str(error).splitlines()[0]}") from error
    missing = set(get_peft_model_state_dict(adapted)) - given  # which peft leaves as they are, without a word
    if missing:
        raise UserError(f"{directory}: the adapter is incomplete: {len(missing)} missing ({min(missing)} ...)")
    return loaded

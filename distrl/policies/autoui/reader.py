"""Situations as the networks are given them: what is frozen is computed here, once for each screen and each text."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from distrl.core.types import Observation, Screen, Situation
from distrl.policies.autoui.loading import Loaded
from distrl.policies.prompts import Prompt, as_image, text_of

Floats = npt.NDArray[np.float32]
MAX_REMEMBERED = 4096
"""Features of screens and texts that are remembered: 23 MB of screens with BLIP-2."""
MAX_TEXT_TOKENS = 512


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One situation in numbers: T5's tokens, features of the last two screens, of the question, of the instruction."""

    ids: npt.NDArray[np.int64]
    screens: Floats
    state: Floats
    instruction: Floats


class Reader:
    """Reads with the frozen models of one policy."""

    def __init__(self, loaded: Loaded, prompt: Prompt, *, device: torch.device) -> None:
        self._loaded = loaded
        for tokenizer in (loaded.tokenizer, loaded.text_tokenizer):
            tokenizer.truncation_side = "left"  # the goal stands at the end of a question, and is what matters
        self._prompt = prompt
        self._device = device
        self._seen: OrderedDict[bytes, Floats] = OrderedDict()
        self._read: OrderedDict[bytes, Floats] = OrderedDict()

    def ids(self, situation: Situation) -> npt.NDArray[np.int64]:
        """The question in T5's tokens."""
        made = self._loaded.tokenizer(self._question(situation), truncation=True, max_length=MAX_TEXT_TOKENS)
        return np.array(made["input_ids"], np.int64)

    def take(self, observations: Sequence[Observation], data: bytes) -> None:
        """Believe what others saw in these screens, so as not to look; what cannot be features is not taken."""
        width = self._loaded.eyes.feature_dim
        if len(data) != 4 * width * len(observations):
            return
        features = np.frombuffer(data, np.float32).reshape(len(observations), width)
        if np.isfinite(features).all():
            for observation, feature in zip(observations, features, strict=True):
                self._seen.setdefault(_digest(observation.screen), feature)

    def moments(self, situations: Sequence[Situation]) -> tuple[Moment, ...]:
        """Everything that acting and learning need."""
        before = [s.steps[-1].observation if s.steps else s.observation for s in situations]
        now, past = self.see([s.observation for s in situations]), self.see(before)
        states = self._understand([self._question(s) for s in situations])
        instructions = self._understand([s.task.instruction for s in situations])
        return tuple(
            Moment(
                ids=self.ids(s), screens=np.concatenate([past[i], now[i]]), state=states[i], instruction=instructions[i]
            )
            for i, s in enumerate(situations)
        )

    def _question(self, situation: Situation) -> str:
        return text_of(self._prompt.messages(situation)[-1])

    def see(self, observations: Sequence[Observation]) -> list[Floats]:
        """Features of these screens, as many as are new at once."""
        screens = {_digest(o.screen): o.screen for o in observations}

        def look(keys: Sequence[bytes]) -> Tensor:
            return self._loaded.eyes.look([as_image(screens[key]) for key in keys])

        return self._remembered(self._seen, [_digest(o.screen) for o in observations], look)

    def _understand(self, texts: Sequence[str]) -> list[Floats]:
        by_key = {text.encode(): text for text in texts}

        def read(keys: Sequence[bytes]) -> Tensor:
            words = [by_key[key] for key in keys]
            made = self._loaded.text_tokenizer(
                words, padding=True, truncation=True, max_length=self._max_text_tokens, return_tensors="pt"
            )
            output: Any = self._loaded.text(
                input_ids=made["input_ids"].to(self._device), attention_mask=made["attention_mask"].to(self._device)
            )
            return _tensor(output.last_hidden_state[:, 0])

        return self._remembered(self._read, [text.encode() for text in texts], read)

    @property
    def _max_text_tokens(self) -> int:
        return int(min(MAX_TEXT_TOKENS, self._loaded.text.config.max_position_embeddings - 2))

    def _remembered(
        self, known: "OrderedDict[bytes, Floats]", keys: Sequence[bytes], make: Callable[[Sequence[bytes]], Tensor]
    ) -> list[Floats]:
        new = [key for key in dict.fromkeys(keys) if key not in known]
        if new:
            with torch.no_grad():
                known.update(zip(new, make(new).float().cpu().numpy(), strict=True))
        for key in keys:
            known.move_to_end(key)
        found = [known[key] for key in keys]
        while len(known) > MAX_REMEMBERED:
            known.popitem(last=False)
        return found


def _digest(screen: Screen) -> bytes:
    return hashlib.blake2b(screen.data, digest_size=16, key=f"{screen.width}x{screen.height}".encode()).digest()


def _tensor(value: Any) -> Tensor:
    assert isinstance(value, Tensor)
    return value

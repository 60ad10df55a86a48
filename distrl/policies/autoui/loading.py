"""The three models found and loaded: `[policy.autoui]` in, networks and tokenizers out, or one `UserError`.

`HF_HOME`, `HF_TOKEN` and `HF_HUB_OFFLINE` are read by `transformers`; code that comes with a model is never run.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from PIL.Image import Image
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModel,
    AutoTokenizer,
    Blip2Model,
    Blip2VisionConfig,
    Blip2VisionModel,
    GenerationConfig,
    T5Config,
)
from transformers.utils import logging

from distrl.core.config_autoui import AutoUIConfig
from distrl.core.errors import UserError
from distrl.policies.autoui.network import ADDED, AutoUIModel

_PART = "blip_2_vision_model"
NO_CODE = {"trust_remote_code": False}
"""Without it `transformers` asks on the terminal whether to run what comes with a model."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What learns, and what is frozen."""

    network: AutoUIModel
    tokenizer: Any
    eyes: "Eyes"
    text: Any
    text_tokenizer: Any
    text_dim: int


class Eyes:
    """Pictures in, a frozen feature of each out.

    The model is loaded when it first looks: a learner may never have to, since features travel with trajectories.
    """

    def __init__(self, source: str, device: torch.device) -> None:
        self._source = source
        self._device = device
        self._kind, self.feature_dim = _kind_and_width(source)
        self._processor = AutoImageProcessor.from_pretrained(source, **NO_CODE)

    @cached_property
    def network(self) -> Any:
        """The vision model alone: BLIP-2's, cut out of the whole if need be, or any other that pools."""
        with _told("vision", self._source):
            if self._kind == _PART:
                network = Blip2VisionModel.from_pretrained(self._source)
            elif self._kind == "blip-2":
                network = Blip2Model.from_pretrained(self._source).vision_model
            else:
                whole = AutoModel.from_pretrained(self._source, **NO_CODE)
                network = getattr(whole, "vision_model", whole)
        return network.to(self._device).eval().requires_grad_(False)

    def look(self, pictures: Sequence[Image]) -> Tensor:
        """[N, feature_dim]."""
        made = self._processor(images=list(pictures), return_tensors="pt")
        features = self.network(pixel_values=made["pixel_values"].to(self._device)).pooler_output
        assert isinstance(features, Tensor)
        return features


def _kind_and_width(source: str) -> tuple[str, int]:
    """What a vision model is, and how many numbers it makes; `AutoConfig` knows whole models only, and no parts."""
    try:
        config = AutoConfig.from_pretrained(source, **NO_CODE)
    except ValueError:
        return _PART, Blip2VisionConfig.from_pretrained(source).hidden_size
    return config.model_type, getattr(config, "vision_config", config).hidden_size


def load(options: AutoUIConfig, device: torch.device) -> Loaded:
    """All three, on the device."""
    missing = [f"policy.autoui.{key}" for key in ("model", "vision", "text") if not getattr(options, key)]
    if missing:
        raise UserError(f"{', '.join(missing)}: say which models: directories, or names on the Hugging Face hub")
    with _told("vision", options.vision):
        eyes = Eyes(options.vision, device)
    with _told("text", options.text):
        text = AutoModel.from_pretrained(options.text, **NO_CODE)
        text_tokenizer = AutoTokenizer.from_pretrained(options.text, **NO_CODE)
    with _told("model", options.model):
        network = _load_network(options.model, eyes.feature_dim)
        tokenizer = AutoTokenizer.from_pretrained(options.model, **NO_CODE)
    return Loaded(
        network=network.to(device).eval(),
        tokenizer=tokenizer,
        eyes=eyes,
        text=text.to(device).eval().requires_grad_(False),
        text_tokenizer=text_tokenizer,
        text_dim=text.config.hidden_size,
    )


def _load_network(source: str, feature_dim: int) -> AutoUIModel:
    config = T5Config.from_pretrained(source)
    config.feature_dim = feature_dim
    # A policy that acts and one that learns have to say the same.
    config.dropout_rate = 0.0
    network, told = AutoUIModel.from_pretrained(source, config=config, output_loading_info=True)
    wrong = sorted({*map(str, told["missing_keys"]), *(str(key) for key in told.get("mismatched_keys", ()))})
    foreign = [key for key in wrong if not key.startswith(ADDED)]
    if foreign:
        raise UserError(
            f"policy.autoui.model: the weights of {source} are incomplete: {len(foreign)} missing or of another shape "
            f"({', '.join(foreign[:3])}{' ...' if len(foreign) > 3 else ''})"
        )
    if wrong:  # plain T5: the gate has to be learned
        network.reset_added()
    network.generation_config = GenerationConfig(
        pad_token_id=config.pad_token_id,
        eos_token_id=config.eos_token_id,
        decoder_start_token_id=config.decoder_start_token_id,
    )
    return network  # type: ignore[no-any-return]


@contextmanager
def _told(key: str, source: str) -> Iterator[None]:
    """What goes wrong within becomes one clear error; nothing is said on the terminal, which belongs to the caller."""
    verbosity, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # of many libraries, for many reasons
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise UserError(f"policy.autoui.{key}: cannot load {source!r}: {lines[0][:300]}") from error
    finally:
        logging.set_verbosity(verbosity)
        if has_bars:
            logging.enable_progress_bar()

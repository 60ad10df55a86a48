"""A pre-trained model found and loaded: `[policy.hf]` in, network, processor and the facts about both out.

A directory or a name on the hub; `HF_HOME`, `HF_TOKEN`, `HF_HUB_OFFLINE` and the like are read by `transformers`. What
is wrong is one `UserError` that says where to look, before anything is trained.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, GenerationConfig

from distrl.core.config_autoui import AutoUIConfig
from distrl.core.config_model import HfConfig
from distrl.core.errors import UserError
from distrl.policies.hf.processor import has_eyes, load_processor, own_classes, tokenizer_of

_NEVER_SAID = re.compile(r"(image|video|vision|audio|boi|eoi|boa|eoa).*token.*(id|index)$|pad_token_id$")
"""Entries of a configuration that name tokens which stand for something that is not text."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A model and what has to be known of it."""

    network: Any
    processor: Any
    tokenizer: Any
    has_eyes: bool
    stop_ids: tuple[int, ...]
    """Any of these ends an answer."""
    never_said: tuple[int, ...]
    """Tokens that stand for pictures and padding: an answer with one of them could not be evaluated again."""
    hidden_size: int


def load(options: HfConfig) -> Loaded:
    """Everything, on the device; `UserError` if something of it cannot be had."""
    config, processor = load_light(options)
    device = device_of(options)
    kind = AutoModelForImageTextToText if has_eyes(config) else AutoModelForCausalLM
    dtype = getattr(torch, options.dtype)
    with _told(options):
        network, told = kind.from_pretrained(
            options.model, config=config, dtype=dtype, output_loading_info=True, **_where(options)
        )
    _refuse_incomplete(options.model, told)
    return _described(options, network.to(device).eval(), config, processor)


def load_outline(options: HfConfig) -> Loaded:
    """The same with a network that has names and shapes and no numbers: enough to read with, in no time."""
    config, processor = load_light(options)
    return _described(options, outline(options), config, processor)


def _described(options: HfConfig, network: Any, config: Any, processor: Any) -> Loaded:
    tokenizer = tokenizer_of(processor)
    stop_ids = _stop_ids(options, config, tokenizer)
    # What a model's makers recommend (top-k, penalties) would make other probabilities than those that are learned.
    network.generation_config = GenerationConfig(pad_token_id=_pad_id(tokenizer), eos_token_id=list(stop_ids))
    _without_dropout(network)
    return Loaded(
        network=network.requires_grad_(False),
        processor=processor,
        tokenizer=tokenizer,
        has_eyes=has_eyes(config),
        stop_ids=stop_ids,
        never_said=_never_said(config, stop_ids),
        hidden_size=config.get_text_config().hidden_size,
    )


def load_light(options: HfConfig) -> tuple[Any, Any]:
    """The configuration and the processor, without the weights: what is wrong with a name mostly shows here."""
    if not options.model:
        raise UserError("policy.hf.model: say which model: a directory, or a name on the Hugging Face hub")
    path = Path(options.model)
    if path.exists() and not (path / "config.json").is_file():
        raise UserError(f"policy.hf.model: {path} has no config.json, so it is no model of transformers")
    if not path.exists() and (path.is_absolute() or options.model.startswith((".", "~"))):
        raise UserError(f"policy.hf.model: there is no directory {path}")
    with _told(options):
        config = AutoConfig.from_pretrained(options.model, **_where(options))
        if options.num_screens and not has_eyes(config):
            raise UserError(
                f"policy.hf.num_screens: {options.model} ({config.model_type}) cannot look at pictures; set it to 0 "
                'and policy.hf.prompt to "numbered", which tells a screen in words'
            )
        processor = load_processor(options.model, config, **_where(options))
    return config, processor


def outline(options: HfConfig) -> Any:
    """The network without numbers: names and shapes, in no time and no memory."""
    config, _ = load_light(options)
    kind = AutoModelForImageTextToText if has_eyes(config) else AutoModelForCausalLM
    with _told(options), torch.device("meta"):
        return kind.from_config(config, **_own_code(options, config, kind.__name__))


def device_of(options: HfConfig | AutoUIConfig) -> torch.device:
    """Where to compute; `UserError` if that is not there."""
    try:
        name = options.device
        device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        kind = "hf" if isinstance(options, HfConfig) else "autoui"
        raise UserError(f"policy.{kind}.device: {options.device}: {str(error).splitlines()[0]}") from error
    return device


@contextmanager
def _told(options: HfConfig) -> Iterator[None]:
    """What goes wrong within becomes one clear error; nothing is said on the terminal, which belongs to the caller."""
    verbosity, has_bars = transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # of many libraries, for many reasons
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        hint = "" if options.trust_remote_code else "; code that comes with a model is not run"
        raise UserError(
            f"policy.hf.model: cannot load {options.model!r}: {lines[0][:300]} (it has to be a directory with "
            f"config.json, weights and tokenizer, or the name of one on the hub, which HF_HUB_OFFLINE forbids{hint})"
        ) from error
    finally:
        transformers.logging.set_verbosity(verbosity)
        if has_bars:
            transformers.logging.enable_progress_bar()


def _where(options: HfConfig) -> dict[str, Any]:
    where: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    return where | ({"revision": options.revision} if options.revision else {})


def _own_code(options: HfConfig, config: Any, kind: str) -> dict[str, Any]:
    """What `from_config` has to be told of code that comes with a model; it asks on the terminal if it is not told."""
    told: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    # It looks for code in the newest revision, and passes this on to a network that has none of its own.
    is_here = options.trust_remote_code and "--" not in own_classes(config).get(kind, "--")
    return told | ({"code_revision": options.revision} if is_here and options.revision else {})


def _refuse_incomplete(model: str, told: Any) -> None:
    """`transformers` fills what a file lacks with random numbers and only warns."""
    wrong = sorted({*map(str, told["missing_keys"]), *(str(key) for key in told.get("mismatched_keys", ()))})
    if wrong:
        raise UserError(
            f"policy.hf.model: the weights of {model} are incomplete: {len(wrong)} missing or of another shape "
            f"({', '.join(wrong[:3])}{' ...' if len(wrong) > 3 else ''})"
        )


def _stop_ids(options: HfConfig, config: Any, tokenizer: Any) -> tuple[int, ...]:
    """Not as the network says it: one without weights was never told what is in the model's files."""
    with _told(options):
        try:
            said = GenerationConfig.from_pretrained(options.model, revision=options.revision or "main").eos_token_id
        except OSError:  # not every model has this file
            said = GenerationConfig.from_model_config(config).eos_token_id
    ids = {*([said] if isinstance(said, int) else said or ()), tokenizer.eos_token_id} - {None}
    if not ids:
        raise UserError("policy.hf.model: neither the model nor its tokenizer says which token ends an answer")
    return tuple(sorted(ids))


def _pad_id(tokenizer: Any) -> int:
    return int(tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id)


def _never_said(config: Any, stop_ids: tuple[int, ...]) -> tuple[int, ...]:
    named = {**config.to_dict(), **{f"text_{key}": value for key, value in config.get_text_config().to_dict().items()}}
    ids = {value for key, value in named.items() if _NEVER_SAID.search(key) and isinstance(value, int) and value >= 0}
    size = config.get_text_config().vocab_size
    return tuple(sorted(i for i in ids - set(stop_ids) if i < size))


def _without_dropout(network: Any) -> None:
    """What is learned is what acted, also while layers are computed twice, for which a network has to be training."""
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name in ("attention_dropout", "dropout", "hidden_dropout", "activation_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)

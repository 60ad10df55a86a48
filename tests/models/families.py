"""Tiny random models of every tested family, made from configurations: a directory in, a model that loads from it out.

What a model's own repository holds is there: config.json, weights, tokenizer with chat template, image processor. Only
sizes differ, so that a forward pass takes milliseconds.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3ImageProcessorPil,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessorPil,
    InternVLConfig,
    InternVLForConditionalGeneration,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLImageProcessorPil,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
    SmolVLMImageProcessorPil,
)
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

from distrl.policies.prompts import PROMPT_NAMES, make_prompt

TEXTS = (
    "You operate a phone. Task: open the clock and set an alarm for 7:30.",
    '{"action":"tap","x":0.5,"y":0.25} {"action":"swipe"} {"action":"type","text":"hello"}',
    "1 Settings 2 Clock 3 Contacts 4 Mail 5 Store tap hold type swipe back home enter done",
    "Screen: what is on it, element by element. Answer with one action. Done so far: nothing.",
)
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}@IMAGE@{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TEXT = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 8192,
}


@cache
def _trained(special: tuple[str, ...]) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1024, special_tokens=list(special), initial_alphabet=alphabet)
    systems = [make_prompt(name).system for name in PROMPT_NAMES]  # said in every prompt, so it shall be few tokens
    tokenizer.train_from_iterator((*TEXTS, *systems * 3), trainer)
    return tokenizer.to_str()


def make_tokenizer(*special: str, image: str = "", **named: str) -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on the spot, which can write anything, with a chat template."""
    words = ("<|pad|>", "<|im_start|>", "<|im_end|>", *special)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_trained(words)),
        pad_token="<|pad|>",
        eos_token="<|im_end|>",
        bos_token="<|im_start|>",
        extra_special_tokens=named,
    )
    tokenizer.chat_template = CHATML.replace("@IMAGE@", image)
    return tokenizer


def _ids(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    eos = tokenizer.eos_token_id
    return {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": eos, "bos_token_id": tokenizer.bos_token_id}


def _qwen(config: Any, model: Any, *, interleaved: bool) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        words = ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>")
        tokenizer = make_tokenizer(*words, image="<|vision_start|><|image_pad|><|vision_end|>")
        rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
        vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64}
        ids = {
            "image_token_id": tokenizer.convert_tokens_to_ids("<|image_pad|>"),
            "video_token_id": tokenizer.convert_tokens_to_ids("<|video_pad|>"),
            "vision_start_token_id": tokenizer.convert_tokens_to_ids("<|vision_start|>"),
            "vision_end_token_id": tokenizer.convert_tokens_to_ids("<|vision_end|>"),
        }
        if interleaved:
            rope["mrope_interleaved"] = True
            vision |= {"num_position_embeddings": 256, "deepstack_visual_indexes": [0]}
        else:
            vision |= {"window_size": 56, "fullatt_block_indexes": [1]}
        vision |= {"patch_size": 16 if interleaved else 14}
        text = _TEXT | {"vocab_size": len(tokenizer), "rope_parameters": rope} | _ids(tokenizer)
        made = config(text_config=text, vision_config=vision, **ids, tie_word_embeddings=False)
        _save(path, model(made), tokenizer)
        patch = vision["patch_size"]
        size = {"shortest_edge": 4 * (2 * patch) ** 2, "longest_edge": 24 * (2 * patch) ** 2}
        Qwen2VLImageProcessorPil(patch_size=patch, size=size).save_pretrained(path)

    return make


def _idefics(config: Any, model: Any, processor: Any) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        places = tuple(f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4))
        words = ("<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>", *places)
        tokenizer = make_tokenizer(
            *words,
            image="<image>",
            image_token="<image>",
            fake_image_token="<fake_token_around_image>",
            global_image_token="<global-img>",
            end_of_utterance_token="<end_of_utterance>",
        )
        vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
        vision |= {"image_size": 64, "patch_size": 16}
        text = _TEXT | {"model_type": "llama", "vocab_size": len(tokenizer)} | _ids(tokenizer)
        image_id = tokenizer.convert_tokens_to_ids("<image>")
        made = config(
            text_config=text, vision_config=vision, image_token_id=image_id, scale_factor=2, **_ids(tokenizer)
        )
        _save(path, model(made), tokenizer)
        sizes = {"size": {"longest_edge": 128}, "max_image_size": {"longest_edge": 64}}
        processor(do_image_splitting=True, **sizes).save_pretrained(path)
        _write(path / "processor_config.json", {"image_seq_len": 4})

    return make


def _internvl(path: Path) -> None:
    words = ("<img>", "</img>", "<IMG_CONTEXT>", "<video>")
    tokenizer = make_tokenizer(
        *words,
        image="<IMG_CONTEXT>\n",
        start_image_token="<img>",
        end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>",
        video_token="<video>",
    )
    vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision |= {"image_size": [56, 56], "patch_size": [14, 14]}
    text = _TEXT | {"model_type": "qwen2", "vocab_size": len(tokenizer)} | _ids(tokenizer)
    made = InternVLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    _save(path, InternVLForConditionalGeneration(made), tokenizer)
    size = {"height": 56, "width": 56}
    GotOcr2ImageProcessorPil(size=size, crop_to_patches=True, min_patches=1, max_patches=3).save_pretrained(path)
    _write(path / "processor_config.json", {"image_seq_length": 4})


def _gemma(path: Path) -> None:
    words = ("<start_of_image>", "<image_soft_token>", "<end_of_image>")
    tokenizer = make_tokenizer(
        *words,
        image="<start_of_image>",
        boi_token="<start_of_image>",
        image_token="<image_soft_token>",
        eoi_token="<end_of_image>",
    )
    vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision |= {"image_size": 56, "patch_size": 14}
    # As in the models there are, some layers see a part of the prompt only, which is longer than this in every test.
    layers = ["sliding_attention", "full_attention"]
    text = _TEXT | {"vocab_size": len(tokenizer), "sliding_window": 32, "layer_types": layers}
    made = Gemma3Config(
        text_config=text | _ids(tokenizer),
        vision_config=vision,
        mm_tokens_per_image=4,
        boi_token_index=tokenizer.convert_tokens_to_ids("<start_of_image>"),
        eoi_token_index=tokenizer.convert_tokens_to_ids("<end_of_image>"),
        image_token_index=tokenizer.convert_tokens_to_ids("<image_soft_token>"),
    )
    _save(path, Gemma3ForConditionalGeneration(made), tokenizer)
    Gemma3ImageProcessorPil(size={"height": 56, "width": 56}, image_seq_length=4).save_pretrained(path)
    _write(path / "processor_config.json", {"image_seq_length": 4, "processor_class": "Gemma3Processor"})


def _llama(path: Path) -> None:
    tokenizer = make_tokenizer()
    text = _TEXT | {"vocab_size": len(tokenizer), "tie_word_embeddings": True} | _ids(tokenizer)
    _save(path, LlamaForCausalLM(LlamaConfig(**text)), tokenizer)


def _write(path: Path, table: dict[str, Any]) -> None:
    import json

    path.write_text(json.dumps(table), encoding="utf-8")


def _save(path: Path, model: Any, tokenizer: PreTrainedTokenizerFast) -> None:
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)


FAMILIES: Mapping[str, Callable[[Path], None]] = {
    "qwen2_5_vl": _qwen(Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, interleaved=False),
    "qwen3_vl": _qwen(Qwen3VLConfig, Qwen3VLForConditionalGeneration, interleaved=True),
    "idefics3": _idefics(Idefics3Config, Idefics3ForConditionalGeneration, Idefics3ImageProcessorPil),
    "smolvlm": _idefics(SmolVLMConfig, SmolVLMForConditionalGeneration, SmolVLMImageProcessorPil),
    "internvl": _internvl,
    "gemma3": _gemma,
    "llama": _llama,
}
"""The tested families by name; `llama` is a language model without eyes."""
VISUAL = tuple(name for name in FAMILIES if name != "llama")
IS_ALL = os.environ.get("DISTRL_TEST_FAMILIES") == "all"
CHOSEN = tuple(FAMILIES) if IS_ALL else ("qwen2_5_vl",)
"""Those that the longest tests are made with: one, unless all are asked for."""


def make_model(family: str, path: Path) -> Path:
    """A tiny random model of a family in a new directory."""
    path.mkdir(parents=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        FAMILIES[family](path)
    return path

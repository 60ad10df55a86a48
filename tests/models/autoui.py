"""The three models of the paper's policy, made from configurations, and a run with them."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    Blip2VisionConfig,
    Blip2VisionModel,
    BlipImageProcessorPil,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
)

from .families import make_tokenizer

FEATURES = 48


def make_autoui(place: Path) -> dict[str, str]:
    """T5, a vision model of BLIP-2 and RoBERTa, each tiny, random and in a directory of its own."""
    tokenizer = make_tokenizer()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        ids = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
        t5 = T5Config(
            vocab_size=len(tokenizer),
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
            decoder_start_token_id=tokenizer.pad_token_id,
            **ids,
        )
        T5ForConditionalGeneration(t5).save_pretrained(place / "t5")
        tokenizer.save_pretrained(place / "t5")
        roberta = RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=130,
            pad_token_id=tokenizer.pad_token_id,
        )
        RobertaModel(roberta).save_pretrained(place / "roberta")
        tokenizer.save_pretrained(place / "roberta")
        vision = Blip2VisionConfig(
            hidden_size=FEATURES,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=32,
            patch_size=16,
        )
        eyes = Blip2VisionModel(vision)
        for parameter in eyes.parameters():  # as they are made, they see next to nothing
            torch.nn.init.normal_(parameter, std=0.3)
        eyes.save_pretrained(place / "vision")
        BlipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(place / "vision")
    return {"model": str(place / "t5"), "text": str(place / "roberta"), "vision": str(place / "vision")}


def tables(models: dict[str, str], trajectories: int) -> dict[str, Any]:
    """A run of two devices and short episodes."""
    return {
        "policy": {"kind": "autoui", "start": "scratch", "autoui": models | {"max_new_tokens": 8}},
        "phone": {"latency": "emulator", "scale": 0.1},
        "env": {"max_episode_s": 5.0},
        "learner": {
            "batch_trajectories": 2,
            "new_steps_per_update": 2,
            "warmup_trajectories": 1,
            "publish_every_updates": 1,
            "imitated_successes": 0,
        },
        "collect": {"num_devices": 2},
        "train": {"num_trajectories": trajectories},
        "eval": {"every_trajectories": 100, "episodes": 1, "has_sampled": False},
    }

"""What of a model is trained: an adapter (LoRA) on its language layers, or all weights; and heads that value states.

Names of an adapter's tensors are those of `peft`, names of a whole model's are those of `transformers`: what is
published and saved is what those libraries read.
"""

import re
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from torch import Tensor, nn

from distrl.core.config_model import HfConfig
from distrl.core.errors import UserError
from distrl.policies.hf.loading import Loaded

_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_HEAD_WIDTH = 256


class ValueHeads(nn.Module):
    """Two values of a state and one of the task, from what the model thinks where its answer begins."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.value = nn.ModuleList(_head(hidden_size) for _ in range(2))
        self.trajectory_value = _head(hidden_size)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [2, N] of V and [N] of V_traj."""
        return torch.stack([head(hidden)[:, 0] for head in self.value]), self.trajectory_value(hidden)[:, 0]


def _head(hidden_size: int) -> nn.Sequential:
    last = nn.Linear(_HEAD_WIDTH, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.LayerNorm(hidden_size), nn.Linear(hidden_size, _HEAD_WIDTH), nn.GELU(), last)


def adapt(loaded: Loaded, options: HfConfig) -> PeftModel | None:
    """Put an adapter into a network that changes nothing yet, or, without one, have all of its weights trained."""
    if options.adapter == "none":
        loaded.network.requires_grad_(True)
        return None
    return get_peft_model(loaded.network, lora_config(loaded.network, options))


def lora_config(network: Any, options: HfConfig) -> LoraConfig:
    """What `peft` has to know of the adapter; of the network only the names of its layers matter."""
    return LoraConfig(
        r=options.lora_rank,
        lora_alpha=options.lora_alpha,
        lora_dropout=0.0,
        target_modules=targets(network, options.lora_layers),
        task_type="CAUSAL_LM",
    )


def targets(network: Any, num_layers: int | None) -> str:
    """A regular expression for the projections of the language model, those of its last layers if so many are given.

    `all-linear` would adapt the eyes as well, whose layers have the same names in some families.
    """
    decoder = network.get_decoder()
    (prefix,) = (name for name, module in network.named_modules() if module is decoder)
    inside = [name for name, module in decoder.named_modules() if isinstance(module, nn.Linear)]
    leaves = sorted({name.rpartition(".")[2] for name in inside})
    chosen = [leaf for leaf in leaves if leaf in _PROJECTIONS] or leaves
    layers = sorted({int(number) for name in inside for number in re.findall(r"layers\.(\d+)\.", name)})
    if not chosen or not layers:
        raise UserError('policy.hf.adapter: this model has no layers that an adapter fits; set it to "none"')
    kept = layers if num_layers is None else layers[-num_layers:]
    # Alternatives are sorted by length, so that 1 is not found in 12: each has to be followed by a dot in any case.
    return rf"{re.escape(prefix)}\.layers\.({'|'.join(map(str, kept))})\.(?:.*\.)?({'|'.join(chosen)})"


def acting_tensors(network: Any, wrapped: PeftModel | None) -> dict[str, nn.Parameter]:
    """The parameters that learn and that acting depends on, by the name that others know them by."""
    if wrapped is None:
        return {name: p for name, p in network.named_parameters() if p.requires_grad}
    names = get_peft_model_state_dict(wrapped)
    own = {p.data_ptr(): p for p in wrapped.parameters() if p.requires_grad}
    return {name: own[tensor.data_ptr()] for name, tensor in names.items()}

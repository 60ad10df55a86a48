"""The networks that learn: T5 with gated cross-attention on one feature vector, and the critics.

    h' = (1 - g) * h + g * a,    a = attention(h, W f, W f),    g = sigmoid(G [h; a])

h is what T5's encoder makes of the text, f the frozen feature of the screen. Names of the three added modules are those
of the authors (image_dense, mha_layer, gate_dense), so that their weights load as they are.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import T5Config, T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

FEATURE_DIM = 1408
"""Numbers of BLIP-2's vision model for one screen."""
ADDED = ("image_dense.", "mha_layer.", "gate_dense.")
_HEAD_WIDTH = 256


class AutoUIModel(T5ForConditionalGeneration):  # type: ignore[misc]
    """T5 that looks at the screen between its encoder and its decoder."""

    def __init__(self, config: T5Config) -> None:
        super().__init__(config)
        self.image_dense = nn.Linear(getattr(config, "feature_dim", FEATURE_DIM), config.d_model)
        self.mha_layer = nn.MultiheadAttention(config.d_model, num_heads=1, batch_first=True)
        self.gate_dense = nn.Linear(2 * config.d_model, config.d_model)

    def reset_added(self) -> None:
        """Begin anew with what plain T5 does not have."""
        self.image_dense.reset_parameters()
        self.gate_dense.reset_parameters()
        self.mha_layer._reset_parameters()

    def look(self, ids: Tensor, mask: Tensor, features: Tensor) -> BaseModelOutput:
        """What the decoder is given: the text [B, L], with the screens [B, F] let in."""
        text = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        screen = self.image_dense(features)[:, None]
        attended, _ = self.mha_layer(text, screen, screen, need_weights=False)
        gate = torch.sigmoid(self.gate_dense(torch.cat([text, attended], dim=-1)))
        return BaseModelOutput(last_hidden_state=(1 - gate) * text + gate * attended)

    def answer_logits(self, seen: BaseModelOutput, mask: Tensor, answers: Tensor) -> Tensor:
        """[B, N, V]: what the decoder would have said in each place of these answers."""
        start = torch.full_like(answers[:, :1], self.config.decoder_start_token_id)
        given = torch.cat([start, answers[:, :-1]], dim=1)
        output: Any = self(encoder_outputs=seen, attention_mask=mask, decoder_input_ids=given, use_cache=False)
        return cast("Tensor", output.logits)


class Critics(nn.Module):
    """Two values of a state, from its text and its last two screens; one of the instruction, from its text alone."""

    def __init__(self, text_dim: int, feature_dim: int) -> None:
        super().__init__()
        self.value = nn.ModuleList(_head(text_dim + 2 * feature_dim) for _ in range(2))
        self.trajectory_value = _head(text_dim)

    def forward(self, state: Tensor, screens: Tensor, instruction: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [2, N] of V and [N] of V_traj."""
        seen = torch.cat([state, screens], dim=-1)
        return torch.stack([head(seen)[:, 0] for head in self.value]), self.trajectory_value(instruction)[:, 0]


def _head(size: int) -> nn.Sequential:
    last = nn.Linear(_HEAD_WIDTH, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.LayerNorm(size), nn.Linear(size, _HEAD_WIDTH), nn.ReLU(), last)

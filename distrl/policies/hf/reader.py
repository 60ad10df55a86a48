"""Situations as a model reads them: a prompt's messages in, tensors out; the same way for acting and for learning.

A `Moment` is the text of a chat with the screens that belong into it: small, and kept as long as its trajectory. It
becomes tensors only when it is computed with. Rows of a batch are padded so that all prompts end in the same column:

    . . p p p p | a a a .        p prompt, a answer, . nothing
    p p p p p p | a a . .
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from distrl.core.errors import UserError
from distrl.core.types import Observation, Screen, Situation, Task
from distrl.policies.hf.loading import Loaded
from distrl.policies.hf.plain import PlainTexts
from distrl.policies.hf.prefix import common_prefix
from distrl.policies.prompts import Message, Prompt, as_image, text_of

_PIXELS_PER_ROW = 5
"""Pixels of a family that keeps those of each row apart have so many axes: row, picture, colour, height, width."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A chat that ends where the answer begins, with its screens."""

    text: str
    screens: tuple[Screen, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """A moment in tensors: token ids, what kind each token is (by name), and the pixels."""

    ids: Tensor
    kinds: dict[str, Tensor]
    pixels: dict[str, Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """What a network is given: its inputs, the answers in columns, and which of those columns are one."""

    inputs: dict[str, Any]
    answers: Tensor
    is_answer: Tensor


class Reader:
    """Reads for one model in one prompt."""

    def __init__(self, loaded: Loaded, prompt: Prompt, *, device: torch.device) -> None:
        self._loaded = loaded
        self._prompt = prompt
        self._device = device
        self._template = _template_of(loaded)
        self._plain = PlainTexts(loaded)
        self._pad_id = loaded.network.generation_config.pad_token_id
        # Families that count positions in three directions do it themselves, from the kinds of tokens.
        self._has_positions = not hasattr(loaded.network.model, "get_rope_index")
        self._check()

    def moment(self, situation: Situation, *, is_packed: bool = False) -> Moment:
        """The chat of a situation; packed if it is kept for long."""
        return self.moment_of(self._prompt.messages(situation), is_packed=is_packed)

    def moment_of(self, messages: Sequence[Message], *, is_packed: bool = False) -> Moment:
        """Any chat as the model reads it."""
        screens = [part for message in messages for part in message.parts if isinstance(part, Screen)]
        return Moment(text=self._render(messages), screens=tuple(_packed(s) if is_packed else s for s in screens))

    def encode(self, moment: Moment) -> Encoded:
        """A moment in tensors, those of its pictures included."""
        if not self._loaded.has_eyes:
            ids = self._loaded.tokenizer(moment.text, add_special_tokens=False)["input_ids"]
            return Encoded(ids=torch.tensor(ids), kinds={}, pixels={})
        pictures = [[as_image(screen) for screen in moment.screens]] if moment.screens else None
        made = dict(
            self._loaded.processor(text=[moment.text], images=pictures, return_tensors="pt", add_special_tokens=False)
        )
        ids = made.pop("input_ids")
        del made["attention_mask"]
        kinds = {name: tensor[0] for name, tensor in made.items() if tensor.shape == ids.shape}
        pixels = {name: tensor for name, tensor in made.items() if name not in kinds}
        return Encoded(ids=ids[0], kinds=kinds, pixels=pixels)

    def answer_ids(self, text: str) -> list[int]:
        """What a model would say to have said this text, its end included."""
        ids = self._loaded.tokenizer(self._plain.text(text), add_special_tokens=False)["input_ids"]
        end = self._loaded.tokenizer.eos_token_id
        return [*ids, self._loaded.stop_ids[0] if end is None else end]

    def answer_text(self, ids: Sequence[int]) -> str:
        """What was said, without its end."""
        text: str = self._loaded.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def rows(self, encoded: Sequence[Encoded], answers: Sequence[Tensor], *, known: Sequence[int] = ()) -> Rows:
        """A batch: prompts end in one column, answers begin in the next.

        Of each row as many of the first tokens as are known already are left out; the mask and the positions count
        them, in columns before all others.
        """
        known = known or [0] * len(encoded)
        new = [e.ids[count:] for e, count in zip(encoded, known, strict=True)]
        ids = joined(new, answers, self._pad_id)
        mask = joined([torch.ones_like(row) for row in new], [torch.ones_like(a) for a in answers], 0)
        num_known = max(known)
        is_known = torch.arange(num_known) >= num_known - torch.tensor(known)[:, None]
        mask = torch.cat([is_known.long(), mask], dim=1)
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
        for name in encoded[0].kinds:
            # Said tokens are text, whose kind is 0.
            inputs[name] = joined([e.kinds[name] for e in encoded], [torch.zeros_like(a) for a in answers], 0)
        if self._has_positions:
            inputs["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, num_known:]
        inputs |= _pixels([e.pixels for e in encoded])
        width = max((len(a) for a in answers), default=0)
        return Rows(
            inputs={name: self._moved(value) for name, value in inputs.items()},
            answers=ids[:, ids.shape[1] - width :].to(self._device),
            is_answer=mask[:, mask.shape[1] - width :].bool().to(self._device),
        )

    def _moved(self, value: Tensor) -> Tensor:
        dtype = self._loaded.network.dtype
        return value.to(self._device, dtype if value.is_floating_point() else None)

    def _render(self, messages: Sequence[Message]) -> str:
        chat = [{"role": message.role, "content": self._content(self._plain.message(message))} for message in messages]
        text: str = self._loaded.tokenizer.apply_chat_template(
            chat, chat_template=self._template, tokenize=False, add_generation_prompt=True
        )
        return text

    def _content(self, message: Message) -> Any:
        if not self._loaded.has_eyes:
            return text_of(message)
        return [
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in message.parts
        ]

    def common_beginning(self) -> Tensor:
        """The tokens that all prompts begin with; none if the model has eyes."""
        if self._loaded.has_eyes:
            return torch.zeros(0, dtype=torch.long)
        first, second = (self.encode(self.moment(_probe(text))).ids for text in ("7 foxes", "Some dogs"))
        return common_prefix(first, second)

    def _check(self) -> None:
        """Ask a question that is none, to find out now whether the template can hold one."""
        probe = "the 7 quick foxes"
        try:
            moment = self.moment(_probe(probe))
            encoded = self.encode(moment)
        except Exception as error:  # templates are programs of others and fail in their own ways
            raise UserError(f"the chat template of this model cannot hold our prompt: {error}") from error
        if probe not in moment.text:
            raise UserError("the chat template of this model leaves out what it is asked: the instruction is not in it")
        if moment.screens and not set(encoded.ids.tolist()) & set(self._loaded.never_said):
            raise UserError("the chat template of this model leaves out pictures; set policy.hf.num_screens to 0")


def _probe(instruction: str) -> Situation:
    """A question that is none."""
    screen = Screen(data=bytes(3 * 64 * 64), width=64, height=64)
    task = Task(id="probe", suite="", split="", instruction=instruction, max_steps=1)
    return Situation(task=task, steps=(), observation=Observation(screen=screen, activity="", time_s=0.0))


def _template_of(loaded: Loaded) -> str:
    template = getattr(loaded.processor, "chat_template", None) or loaded.tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default")
    if not template:
        raise UserError(
            "policy.hf.model: it has no chat template, so it was not made to be asked; take its instruction-tuned "
            "version, or put a chat_template.jinja beside its tokenizer"
        )
    return str(template)


def _packed(screen: Screen) -> Screen:
    """The same pixels in fewer bytes."""
    if screen.encoding != "raw":
        return screen
    buffer = io.BytesIO()
    as_image(screen).save(buffer, "PNG", compress_level=1)
    return Screen(data=buffer.getvalue(), width=screen.width, height=screen.height, encoding="png")


def joined(before: Sequence[Tensor], after: Sequence[Tensor], filler: int) -> Tensor:
    """Rows that meet in one column, filled up at both ends."""
    left, right = max(len(row) for row in before), max((len(row) for row in after), default=0)
    made = before[0].new_full((len(before), left + right, *before[0].shape[1:]), filler)
    for row, (first, second) in enumerate(zip(before, after, strict=True)):
        made[row, left - len(first) : left] = first
        made[row, left : left + len(second)] = second
    return made


def _pixels(each: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Pixels of all rows: one behind the other, or, in families that keep rows apart, filled up with empty pictures."""
    names = dict.fromkeys(name for pixels in each for name in pixels)
    is_apart = any(p["pixel_values"].ndim == _PIXELS_PER_ROW for p in each if "pixel_values" in p)
    made = {}
    for name in names:
        tensors = [pixels[name] for pixels in each if name in pixels]
        made[name] = torch.cat(_same_size(tensors) if is_apart else tensors)
    return made


def _same_size(tensors: Sequence[Tensor]) -> list[Tensor]:
    sizes = [max(t.shape[axis] for t in tensors) for axis in range(tensors[0].ndim)]

    def filled(tensor: Tensor) -> Tensor:
        missing: Iterable[int] = (
            number for axis in reversed(range(1, tensor.ndim)) for number in (0, sizes[axis] - tensor.shape[axis])
        )
        return nn.functional.pad(tensor, tuple(missing))

    return [filled(tensor) for tensor in tensors]

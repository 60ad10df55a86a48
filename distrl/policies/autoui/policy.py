"""The paper's policy: situations in, decisions out; for the learner, trajectories in, probabilities and values out.

Both ways give the same network the same tokens and the same frozen features, so that what the learner recomputes is
what acted. All of T5 is trained, with the gate and the critics; the models that make features are not.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from distrl.core.config_autoui import AutoUIConfig
from distrl.core.errors import UserError
from distrl.core.types import Decision, Observation, Situation, Step, Trajectory
from distrl.policies.autoui.loading import load
from distrl.policies.autoui.network import Critics
from distrl.policies.autoui.reader import Floats, Moment, Reader
from distrl.policies.hf.loading import device_of
from distrl.policies.hf.sampling import Sampler, log_distribution, sample
from distrl.policies.learned import LearnedWeights
from distrl.policies.prompts import make_prompt
from distrl.policies.trainable import Judgement, Snapshot

Choices = npt.NDArray[np.int64]


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory as it is learned from: T + 1 moments, and T answers as token ids plus one; 0 is no token."""

    moments: tuple[Moment, ...]
    choices: Choices


class AutoUIPolicy(LearnedWeights):
    """T5 with a gate, and critics. `version` is that of its weights."""

    adapter = None
    """There is none: all of T5 is trained."""

    def __init__(self, options: AutoUIConfig, *, seed: int = 0) -> None:
        self.options = options
        self.version = 0
        self._name = options.model
        self.device = device_of(options)
        self.prompt = make_prompt("autoui", num_screens=0, num_actions=options.num_actions)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.loaded = load(options, self.device)
            self.heads = Critics(self.loaded.text_dim, self.loaded.eyes.feature_dim).to(self.device)
        self.network = self.loaded.network
        self.reader = Reader(self.loaded, self.prompt, device=self.device)
        self._acting = dict(self.network.named_parameters())
        pad = self.network.config.pad_token_id
        self._never_said = torch.tensor([pad], device=self.device)
        self._stop_ids = (self.network.config.eos_token_id,)

    # ---- acting

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Snapshot | None = None
    ) -> list[Decision]:
        """One decision each, drawn with the random numbers of each situation; the likeliest words without."""
        version = self.version if snapshot is None else snapshot.version
        ids, features = [self.reader.ids(s) for s in situations], self.reader.see([s.observation for s in situations])
        decisions: list[Decision] = []
        with self._with(snapshot):
            for start in range(0, len(situations), self.options.batch_rows):
                rows = slice(start, start + self.options.batch_rows)
                sampler = self._sampler(None if rngs is None else rngs[rows])
                with torch.no_grad():
                    seen, mask = self._look(ids[rows], features[rows])
                    inputs = {"encoder_outputs": seen, "attention_mask": mask}
                    sample(self.network, inputs, sampler, max_new_tokens=self.options.max_new_tokens)
                answers = zip(situations[rows], sampler.answers, sampler.log_probs, strict=True)
                decisions += [self._decision(*answer, version) for answer in answers]
        return decisions

    def _sampler(self, rngs: Sequence[Random] | None) -> Sampler:
        return Sampler(rngs, never_said=self._never_said, stop_ids=self._stop_ids, temperature=self.options.temperature)

    def _look(self, ids: Sequence[Choices], features: Sequence[Floats]) -> tuple[Any, Tensor]:
        """What the decoder is given, and where there is text."""
        pad = self.network.config.pad_token_id
        rows = nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in ids], batch_first=True, padding_value=pad)
        lengths = torch.tensor([len(row) for row in ids])
        mask = (torch.arange(rows.shape[1]) < lengths[:, None]).long().to(self.device)
        seen = self.network.look(rows.to(self.device), mask, torch.from_numpy(np.stack(features)).to(self.device))
        return seen, mask

    def _decision(self, situation: Situation, answer: list[int], logs: list[float], version: int) -> Decision:
        text = self.loaded.tokenizer.decode(answer, skip_special_tokens=True)
        return Decision(
            action=self.prompt.read(text, situation.observation),
            raw=text,
            tokens=tuple(answer),
            token_log_probs=tuple(logs),
            log_prob=sum(logs),
            policy_version=version,
        )

    def with_features(self, trajectory: Trajectory) -> Trajectory:
        """A trajectory with what was seen in its screens, each of which is looked at once."""
        features = np.stack(self.reader.see(_seen_in(trajectory))).astype(np.float32)
        return msgspec.structs.replace(trajectory, features=features.tobytes())

    # ---- learning

    def prepare(self, trajectory: Trajectory) -> Prepared:
        """A trajectory as it is learned from; what an expert did without words is put into words."""
        steps, seen = trajectory.steps, _seen_in(trajectory)
        if trajectory.features:
            self.reader.take(seen, trajectory.features)
        situations = [Situation(task=trajectory.task, steps=steps[:t], observation=now) for t, now in enumerate(seen)]
        choices = np.zeros((len(steps), self.options.max_new_tokens), np.int64)
        for row, step in zip(choices, steps, strict=True):
            ids = self._answer(step)
            row[: len(ids)] = ids + 1
        return Prepared(moments=self.reader.moments(situations), choices=choices)

    def _answer(self, step: Step) -> Choices:
        decision = step.decision
        ids = decision.tokens
        if not ids:
            written = self.prompt.write(decision.action, step.observation)
            ids = (*self.loaded.tokenizer(written, add_special_tokens=False)["input_ids"], *self._stop_ids)
        if len(ids) > self.options.max_new_tokens:
            raise UserError(
                f"policy.autoui.max_new_tokens: an answer of {len(ids)} tokens is to be learned, and "
                f"{self.options.max_new_tokens} are allowed"
            )
        return np.array(ids, np.int64)

    def judge(self, moments: Sequence[Moment], choices: Choices) -> Judgement:
        """What the networks say now about these moments and the answers given in them, with gradients."""
        rows = self.options.batch_rows
        parts = [self._judge(moments[i : i + rows], choices[i : i + rows]) for i in range(0, len(moments), rows)]
        said = [torch.cat(each, dim=-1).cpu() for each in zip(*parts, strict=True)]
        return Judgement(log_prob=said[0], entropy=said[1], value_logits=said[2], trajectory_value_logit=said[3])

    def _judge(self, moments: Sequence[Moment], choices: Choices) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sums of log-probabilities, mean entropies of a token, and values of these rows."""
        width = max(1, int((choices > 0).sum(axis=1).max(initial=0)))
        given = torch.from_numpy(choices[:, :width]).to(self.device)
        is_answer = given > 0
        answers = torch.where(is_answer, given - 1, self.network.config.pad_token_id)
        frame = self.loaded.eyes.feature_dim
        seen, mask = self._look([m.ids for m in moments], [m.screens[frame:] for m in moments])
        logits = self.network.answer_logits(seen, mask, answers)
        logs = log_distribution(logits, self._never_said, self.options.temperature)
        said = (logs.gather(-1, answers[..., None])[..., 0] * is_answer).sum(dim=1)
        doubt = (-(logs.exp() * logs).sum(dim=-1) * is_answer).sum(dim=1) / is_answer.sum(dim=1).clamp(min=1)
        features = (np.stack([getattr(m, name) for m in moments]) for name in ("state", "screens", "instruction"))
        return said, doubt, *self.heads(*(torch.from_numpy(each).to(self.device) for each in features))


def _seen_in(trajectory: Trajectory) -> list[Observation]:
    """T + 1 of them."""
    return [*(step.observation for step in trajectory.steps), trajectory.final]

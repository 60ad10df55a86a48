"""The tiny policy: situations in, decisions out; and for the learner, recorded trajectories in, probabilities out.

Both ways go through the same features and the same network, so that what the learner recomputes is what acted.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from operator import is_
from random import Random
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.func import functional_call

from distrl.core.errors import UserError
from distrl.core.types import Decision, Situation, Trajectory
from distrl.policies.tiny.actions import action_of, tokens_of, verb_of
from distrl.policies.tiny.batch import collate
from distrl.policies.tiny.choosing import Choices, choose
from distrl.policies.tiny.encoder import WordEncoder
from distrl.policies.tiny.eyes import Eyes, PixelEyes, TextEyes
from distrl.policies.tiny.features import Moment, moments_of
from distrl.policies.tiny.network import Network, entropy_of, log_probs_of
from distrl.policies.tiny.sending import pack, unpack
from distrl.policies.tiny.widgets import WidgetEye
from distrl.policies.tiny.words import words_of
from distrl.policies.trainable import Judgement, Snapshot

Mode = Literal["pixels", "text"]
EYES = ("encoder.", "widgets.")
"""How the names of frozen weights begin."""
_KEPT_MOMENTS = 4096
_ROWS = 128
"""Moments that are evaluated together: more do not fit into a processor's cache, fewer do not make up for each call."""


class TinyModule(nn.Module):
    """All parameters: the network that learns and, in pixels mode, the frozen eyes for words and widgets."""

    def __init__(self, mode: Mode) -> None:
        super().__init__()
        self.network = Network(PixelEyes.look_dim if mode == "pixels" else TextEyes.look_dim)
        self.encoder = WordEncoder().requires_grad_(False) if mode == "pixels" else None
        self.widgets = WidgetEye().requires_grad_(False) if mode == "pixels" else None


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory in numbers: T + 1 moments and T choices."""

    moments: tuple[Moment, ...]
    choices: Choices


class TinyPolicy:
    """A network with eyes. `version` is that of its weights."""

    def __init__(self, mode: Mode, *, seed: int = 0) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.module = TinyModule(mode)
        self.mode = mode
        self.version = 0
        self.eyes = _make_eyes(self.module)
        self._acted: OrderedDict[int, tuple[Situation, Moment]] = OrderedDict()
        """What was decided upon a moment ago, by the number of its observation, which is held and so keeps it."""

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return list(self.module.network.parameters())

    def tensors(self) -> dict[str, Tensor]:
        """All weights by name, those of the eye included."""
        return dict(self.module.state_dict())

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over weights; those of the eye may be left out. Nothing changes if they do not fit."""
        own = self.module.state_dict()
        wanted = {name for name in own if name.startswith("network.") or name in tensors}
        missing, unknown = sorted(wanted - set(tensors)), sorted(set(tensors) - set(own))
        other = sorted(n for n in set(tensors) & set(own) if tensors[n].shape != own[n].shape)
        if missing or unknown or other:
            detail = "; ".join(
                f"{what} {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}"
                for what, names in (("missing:", missing), ("unknown:", unknown), ("of another shape:", other))
                if names
            )
            raise UserError(f"these weights do not fit a tiny policy in {self.mode} mode ({detail})")
        if not all(bool(t.isfinite().all()) for t in tensors.values()):
            raise UserError("these weights contain numbers that are not finite")
        self.module.load_state_dict(own | dict(tensors))
        if any(name.startswith(EYES) for name in tensors):
            self.eyes = _make_eyes(self.module)
            self._acted.clear()

    def snapshot(self) -> Snapshot:
        """A copy of the weights of now."""
        parameters = {name: p.detach().clone() for name, p in self.module.network.named_parameters()}
        return Snapshot(version=self.version, parameters=parameters)

    def snapshot_of(self, version: int, tensors: Mapping[str, Tensor]) -> Snapshot:
        """Weights that came from elsewhere as something to act with; `UserError` unless they are complete."""
        own = {name: tuple(p.shape) for name, p in self.module.network.named_parameters()}
        if {name: tuple(tensor.shape) for name, tensor in tensors.items()} != own:
            raise UserError(f"these weights are not those of a tiny policy in {self.mode} mode")
        return Snapshot(version=version, parameters=dict(tensors))

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Snapshot | None = None
    ) -> list[Decision]:
        """One decision each, drawn with the random numbers of each situation; the likeliest ones without.

        The weights are those of a snapshot, or the policy's own.
        """
        moments = moments_of(situations, self.eyes)
        self._acted |= {id(s.observation): (s, moment) for s, moment in zip(situations, moments, strict=True)}
        while len(self._acted) > _KEPT_MOMENTS:
            self._acted.popitem(last=False)
        choices = np.zeros((len(moments), 3), np.int64)
        token_log_probs = np.zeros((len(moments), 3), np.float32)
        network, version = self.module.network, self.version if snapshot is None else snapshot.version
        for rows in _by_size(moments):
            with torch.inference_mode():
                batch = collate([moments[i] for i in rows], self.eyes)
                output = network(batch) if snapshot is None else functional_call(network, snapshot.parameters, (batch,))
                departures = [situations[i].departures for i in rows]
                choices[rows], token_log_probs[rows] = choose(
                    output, None if rngs is None else [rngs[i] for i in rows], departures
                )
        return [
            self._decision(situation, choice, logs, version)
            for situation, choice, logs in zip(situations, choices, token_log_probs, strict=True)
        ]

    def _decision(self, situation: Situation, choice: Choices, logs: npt.NDArray[np.float32], version: int) -> Decision:
        verb, *arguments = (int(v) for v in choice)
        tokens = tokens_of(verb, arguments)
        token_log_probs = tuple(float(v) for v in logs[: len(tokens)])
        action = action_of(verb, arguments, situation.observation, words_of(situation.task.instruction))
        return Decision(
            action=action,
            tokens=tokens,
            token_log_probs=token_log_probs,
            log_prob=sum(token_log_probs),
            policy_version=version,
        )

    def with_features(self, trajectory: Trajectory) -> Trajectory:
        """The same with what was seen in its screens, if reading them takes long."""
        if self.mode == "text":
            return trajectory
        return msgspec.structs.replace(trajectory, features=pack(self._moments(trajectory), self.eyes))

    def prepare(self, trajectory: Trajectory) -> Prepared:
        """A trajectory in numbers, once, however often it is learned from; what came with it is not read again."""
        told = self._told(trajectory)
        return Prepared(moments=self._moments(trajectory) if told is None else told, choices=_choices(trajectory))

    def recall(self, blind: Trajectory) -> Prepared | None:
        """The same of a trajectory without its screens; None if they have to be looked at."""
        told = self._moments(blind) if self.mode == "text" else self._told(blind)
        return None if told is None else Prepared(moments=told, choices=_choices(blind))

    def _told(self, trajectory: Trajectory) -> tuple[Moment, ...] | None:
        num_words = len(words_of(trajectory.task.instruction))
        return unpack(trajectory.features, num_words=num_words, count=len(trajectory.steps) + 1, eyes=self.eyes)

    def _moments(self, trajectory: Trajectory) -> tuple[Moment, ...]:
        """T + 1 of them. Nobody asks what it looks like after an end, which is worth nothing: the last one again."""
        steps, has_ended = trajectory.steps, trajectory.outcome.is_terminal
        seen = (*(step.observation for step in steps), *(() if has_ended else (trajectory.final,)))
        situations = [Situation(task=trajectory.task, steps=steps[:t], observation=now) for t, now in enumerate(seen)]
        known = [self._decided_upon(situation) for situation in situations]
        new = iter(moments_of([s for s, moment in zip(situations, known, strict=True) if moment is None], self.eyes))
        moments = [next(new) if moment is None else moment for moment in known]
        return (*moments, moments[-1]) if has_ended else tuple(moments)

    def _decided_upon(self, situation: Situation) -> Moment | None:
        """The moment of a situation in which this policy has acted, in this very episode."""
        if id(situation.observation) not in self._acted:
            return None
        acted, moment = self._acted[id(situation.observation)]
        is_it = acted.task == situation.task and len(acted.steps) == len(situation.steps)
        return moment if is_it and all(map(is_, acted.steps, situation.steps)) else None

    def judge(self, moments: Sequence[Moment], choices: Choices) -> Judgement:
        """What the network says now about these moments and the choices made in them, with gradients."""
        groups = _by_size(moments)
        parts = [self._judge([moments[i] for i in rows], choices[rows]) for rows in groups]
        back = torch.from_numpy(np.argsort(np.concatenate(groups)))
        return Judgement(
            log_prob=torch.cat([p.log_prob for p in parts])[back],
            entropy=torch.cat([p.entropy for p in parts])[back],
            value_logits=torch.cat([p.value_logits for p in parts], dim=1)[:, back],
            trajectory_value_logit=torch.cat([p.trajectory_value_logit for p in parts])[back],
        )

    def _judge(self, moments: Sequence[Moment], choices: Choices) -> Judgement:
        batch = collate(moments, self.eyes)
        output = self.module.network(batch)
        return Judgement(
            log_prob=torch.stack(log_probs_of(output, torch.from_numpy(choices))).sum(dim=0),
            entropy=entropy_of(output),
            value_logits=output.value_logits,
            trajectory_value_logit=output.trajectory_value_logit,
        )


def _choices(trajectory: Trajectory) -> Choices:
    """(verb, first argument, second argument) of each step."""
    choices = np.zeros((len(trajectory.steps), 3), np.int64)
    for t, step in enumerate(trajectory.steps):
        verb, arguments = verb_of(step.decision)
        choices[t, : 1 + len(arguments)] = (verb, *arguments)
    return choices


def _by_size(moments: Sequence[Moment]) -> list[npt.NDArray[np.int64]]:
    """Moments to evaluate together: alike in size, or the attention of each would cost as much as the longest's."""
    order = np.argsort([len(m.words) + len(m.elements) for m in moments], kind="stable")
    return np.array_split(order, math.ceil(len(order) / _ROWS)) if moments else []


def _make_eyes(module: TinyModule) -> Eyes:
    """Eyes that have seen nothing yet: what they remember holds for one encoder only."""
    if module.encoder is None or module.widgets is None:
        return TextEyes()
    return PixelEyes(module.encoder, module.widgets)

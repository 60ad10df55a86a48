"""The policy of a pre-trained model: situations in, decisions out; for the learner, trajectories in, probabilities out.

Both ways read a situation with the same reader and compute the same distribution, so that what the learner recomputes
is what acted. What learns is small (an adapter and the value heads) unless the whole model is asked for; only what acts
travels to workers.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from distrl.core.config_model import HfConfig
from distrl.core.errors import UserError
from distrl.core.types import Decision, Situation, Step, Trajectory
from distrl.policies.hf.adapter import ValueHeads, acting_tensors, adapt
from distrl.policies.hf.loading import device_of, load
from distrl.policies.hf.prefix import Prefix, is_plain
from distrl.policies.hf.reader import Encoded, Moment, Reader
from distrl.policies.hf.sampling import Sampler, log_distribution, sample
from distrl.policies.prompts import make_prompt
from distrl.policies.trainable import Judgement, Snapshot

Choices = npt.NDArray[np.int64]
HEADS = "heads."
"""How the names of the value heads begin."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory as it is learned from: T + 1 chats, and T answers as token ids plus one; 0 is no token."""

    moments: tuple[Moment, ...]
    choices: Choices


class HfPolicy:
    """A pre-trained model with an adapter and value heads. `version` is that of its weights."""

    def __init__(self, options: HfConfig, *, seed: int = 0) -> None:
        self.options = options
        self.version = 0
        self.device = device_of(options)
        self.prompt = make_prompt(options.prompt, num_screens=options.num_screens, num_actions=options.num_actions)
        self.loaded = load(options)
        self.network = self.loaded.network
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.heads = ValueHeads(self.loaded.hidden_size).to(self.device)
            self.adapter = adapt(self.loaded, options)
        self.reader = Reader(self.loaded, self.prompt, device=self.device)
        beginning = self.reader.common_beginning()
        self.prefix = Prefix(self.network, beginning if len(beginning) and is_plain(self.network) else beginning[:0])
        self._acting = acting_tensors(self.network, self.adapter)
        self._never_said = torch.tensor(self.loaded.never_said, dtype=torch.long, device=self.device)
        if options.gradient_checkpointing:
            self.network.gradient_checkpointing_enable({"use_reentrant": False})

    # ---- what is trained

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return [*self._acting.values(), *self.heads.parameters()]

    def tensors(self) -> dict[str, Tensor]:
        """All that is trained, by name."""
        heads = {f"{HEADS}{name}": tensor for name, tensor in self.heads.state_dict().items()}
        return {name: parameter.detach() for name, parameter in self._acting.items()} | heads

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what was trained; the heads may be left out. Nothing changes if it does not fit."""
        own = self.tensors()
        has_heads = any(name.startswith(HEADS) for name in tensors)
        self._refuse_unfit(tensors, {n: t for n, t in own.items() if has_heads or not n.startswith(HEADS)})
        with torch.no_grad():
            for name, tensor in tensors.items():
                own[name].copy_(tensor)

    def _refuse_unfit(self, tensors: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
        missing, unknown = sorted(set(own) - set(tensors)), sorted(set(tensors) - set(own))
        other = sorted(n for n in set(tensors) & set(own) if tensors[n].shape != own[n].shape)
        wrong = (("missing:", missing), ("unknown:", unknown), ("of another shape:", other))
        if any(names for _, names in wrong):
            detail = "; ".join(
                f"{what} {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}" for what, names in wrong if names
            )
            raise UserError(f"these weights do not fit {self.options.model} with its adapter ({detail})")
        if not all(bool(t.isfinite().all()) for t in tensors.values()):
            raise UserError("these weights contain numbers that are not finite")

    def snapshot(self) -> Snapshot:
        """A copy of the weights of now that act."""
        return Snapshot(version=self.version, parameters={n: p.detach().clone() for n, p in self._acting.items()})

    def snapshot_of(self, version: int, tensors: Mapping[str, Tensor]) -> Snapshot:
        """Weights that came from elsewhere as something to act with; `UserError` unless they are complete."""
        own = {name: parameter.detach() for name, parameter in self._acting.items()}
        self._refuse_unfit(tensors, own)
        return Snapshot(version=version, parameters={n: t.to(own[n].device, own[n].dtype) for n, t in tensors.items()})

    @contextmanager
    def _with(self, snapshot: Snapshot | None) -> Iterator[None]:
        """Act with the weights of a snapshot; nothing is copied."""
        if snapshot is None:
            yield
            return
        assert set(snapshot.parameters) == set(self._acting), "a snapshot is complete"
        own = {name: parameter.data for name, parameter in self._acting.items()}
        try:
            for name, parameter in self._acting.items():
                parameter.data = snapshot.parameters[name]
            yield
        finally:
            for name, parameter in self._acting.items():
                parameter.data = own[name]

    # ---- acting

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Snapshot | None = None
    ) -> list[Decision]:
        """One decision each, drawn with the random numbers of each situation; the likeliest words without."""
        encoded = [self.reader.encode(self.reader.moment(situation)) for situation in situations]
        version = self.version if snapshot is None else snapshot.version
        decisions: dict[int, Decision] = {}
        nothing = torch.zeros(0, dtype=torch.long)
        room = self.options.max_new_tokens
        with self._with(snapshot):
            for rows in self._groups([len(e.ids) + room for e in encoded]):
                sampler = Sampler(
                    None if rngs is None else [rngs[i] for i in rows],
                    never_said=self._never_said,
                    stop_ids=self.loaded.stop_ids,
                    temperature=self.options.temperature,
                )
                given = [encoded[i] for i in rows]
                num_known = self._num_known(given, least=2 if snapshot is None else 1)
                batch = self.reader.rows(given, [nothing] * len(rows), num_known=num_known)
                with torch.no_grad():
                    known = self.prefix.for_acting(len(rows), snapshot) if num_known else None
                sample(self.network, batch.inputs, sampler, max_new_tokens=room, known=known)
                for place, i in enumerate(rows):
                    answer, logs = sampler.answers[place], sampler.log_probs[place]
                    decisions[i] = self._decision(situations[i], answer, logs, version)
        return [decisions[i] for i in range(len(situations))]

    def _decision(self, situation: Situation, answer: list[int], logs: list[float], version: int) -> Decision:
        text = self.reader.answer_text(answer)
        return Decision(
            action=self.prompt.read(text, situation.observation),
            raw=text,
            tokens=tuple(answer),
            token_log_probs=tuple(logs),
            log_prob=sum(logs),
            policy_version=version,
        )

    # ---- learning

    def prepare(self, trajectory: Trajectory) -> Prepared:
        """A trajectory as it is learned from; what an expert did without words is put into words."""
        steps = trajectory.steps
        seen = [*(step.observation for step in steps), trajectory.final]
        moments = tuple(
            self.reader.moment(Situation(task=trajectory.task, steps=steps[:t], observation=now), is_packed=True)
            for t, now in enumerate(seen)
        )
        choices = np.zeros((len(steps), self.options.max_new_tokens), np.int64)
        for row, step in zip(choices, steps, strict=True):
            ids = self._answer(step)
            row[: len(ids)] = ids + 1
        return Prepared(moments=moments, choices=choices)

    def _answer(self, step: Step) -> Choices:
        decision, most = step.decision, self.options.max_new_tokens
        ids = decision.tokens or self.reader.answer_ids(self.prompt.write(decision.action, step.observation))
        if len(ids) > most:
            raise UserError(
                f"policy.hf.max_new_tokens: an answer of {len(ids)} tokens is to be learned, and {most} are allowed"
            )
        return np.array(ids, np.int64)

    def judge(self, moments: Sequence[Moment], choices: Choices) -> Judgement:
        """What the model says now about these moments and the answers given in them, with gradients.

        If not all fits into one computation, parts are computed without being remembered and once more for gradients.
        """
        encoded = [self.reader.encode(moment) for moment in moments]
        answers = [torch.from_numpy(row[row > 0] - 1) for row in choices]
        groups = self._groups([len(e.ids) + len(a) for e, a in zip(encoded, answers, strict=True)])
        is_again = len(groups) > 1 and torch.is_grad_enabled()
        parts: list[tuple[Tensor, ...]] = []
        for rows in groups:
            given = [encoded[i] for i in rows], [answers[i] for i in rows]
            if is_again:
                parts.append(checkpoint(self._judge, *given, use_reentrant=False, preserve_rng_state=False))
            else:
                parts.append(self._judge(*given))
        back = torch.from_numpy(np.argsort(np.concatenate(groups)))
        said = [torch.cat(each, dim=-1).cpu()[..., back] for each in zip(*parts, strict=True)]
        return Judgement(log_prob=said[0], entropy=said[1], value_logits=said[2], trajectory_value_logit=said[3])

    def _judge(self, encoded: Sequence[Encoded], answers: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sums of log-probabilities, mean entropies of a token, and values of these rows."""
        num_known = 0 if self.options.gradient_checkpointing else self._num_known(encoded, least=2)
        rows = self.reader.rows(encoded, answers, num_known=num_known)
        known = {"past_key_values": self.prefix.for_learning(len(encoded)), "use_cache": True} if num_known else {}
        width = rows.answers.shape[1]
        hidden, logits = self._run(rows.inputs | known, width + 1)
        logs = log_distribution(logits[:, :-1], self._never_said, self.options.temperature)
        said = logs.gather(-1, rows.answers[..., None])[..., 0] * rows.is_answer
        doubt = -(logs.exp() * logs).sum(dim=-1) * rows.is_answer
        values = self.heads(hidden[:, 0].float())
        return said.sum(dim=1), doubt.sum(dim=1) / rows.is_answer.sum(dim=1).clamp(min=1), *values

    def _run(self, inputs: Mapping[str, Any], width: int) -> tuple[Tensor, Tensor]:
        """What the last layer says in the last `width` columns, and the logits there; nowhere else are any computed."""
        seen: list[Tensor] = []
        hook = self.network.get_output_embeddings().register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        self.network.train(self.options.gradient_checkpointing and torch.is_grad_enabled())
        try:
            logits = self.network(**{"use_cache": False, **inputs}, logits_to_keep=width).logits
        finally:
            hook.remove()
            self.network.eval()
        return seen[-1][:, -width:], logits[:, -width:]

    def _num_known(self, encoded: Sequence[Encoded], *, least: int) -> int:
        """How many tokens all of these begin with that are computed once, if they are worth it."""
        ids = self.prefix.ids
        is_shared = len(encoded) >= least and all(torch.equal(e.ids[: len(ids)], ids) for e in encoded)
        return len(ids) if is_shared else 0

    def _groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """Rows to compute together: of like lengths, and not more tokens than the memory is for."""
        groups: list[list[int]] = []
        for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
            # The first of a group is its longest, and all are filled up to it.
            if groups and lengths[groups[-1][0]] * (len(groups[-1]) + 1) <= self.options.batch_tokens:
                groups[-1].append(i)
            else:
                groups.append([i])
        return groups

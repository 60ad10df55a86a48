"""The policy of a pre-trained model: situations in, decisions out; for the learner, trajectories in, probabilities out.

Both ways read a situation with the same reader and compute the same distribution, so that what the learner recomputes
is what acted. What learns is small (an adapter and the value heads) unless the whole model is asked for; only what acts
travels to workers.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from distrl.core.config_model import HfConfig
from distrl.core.errors import UserError
from distrl.core.types import Decision, Situation, Step, Trajectory
from distrl.policies.hf.adapter import ValueHeads, acting_tensors, adapt
from distrl.policies.hf.frozen import make_frozen_layers
from distrl.policies.hf.loading import device_of, load
from distrl.policies.hf.prefix import Beginnings, Layers, cache_of, is_plain
from distrl.policies.hf.reader import Encoded, Moment, Reader, Rows, joined
from distrl.policies.hf.sampling import Sampler, log_distribution, sample
from distrl.policies.learned import LearnedWeights
from distrl.policies.prompts import make_prompt
from distrl.policies.trainable import Judgement, Snapshot

Choices = npt.NDArray[np.int64]


LEAST_FULL = 0.875
"""Share of a batch that is not filler, at least: what is shorter is computed apart."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory as it is learned from: T + 1 chats, and T answers as token ids plus one; 0 is no token."""

    moments: tuple[Moment, ...]
    choices: Choices


class HfPolicy(LearnedWeights):
    """A pre-trained model with an adapter and value heads. `version` is that of its weights."""

    def __init__(self, options: HfConfig, *, seed: int = 0) -> None:
        self.options = options
        self.version = 0
        self._name = f"{options.model} with its adapter" if options.adapter == "lora" else options.model
        self.device = device_of(options)
        self.prompt = make_prompt(options.prompt, num_screens=options.num_screens, num_actions=options.num_actions)
        self.loaded = load(options)
        self.network = self.loaded.network
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.heads = ValueHeads(self.loaded.hidden_size).to(self.device)
            self.adapter = adapt(self.loaded, options)
        self.reader = Reader(self.loaded, self.prompt, device=self.device)
        is_text = not self.loaded.has_eyes and is_plain(self.network)
        beginning = self.reader.common_beginning()
        self.beginnings = Beginnings(self.network, beginning if is_text else beginning[:0])
        is_split = is_text and self.adapter is not None and not options.gradient_checkpointing
        self.frozen = make_frozen_layers(self.network, options.lora_layers) if is_split else None
        self._acting = acting_tensors(self.network, self.adapter)
        self._never_said = torch.tensor(self.loaded.never_said, dtype=torch.long, device=self.device)
        if options.gradient_checkpointing:
            self.network.gradient_checkpointing_enable({"use_reentrant": False})

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
                ids = [one.ids for one in given]
                with torch.no_grad():
                    known = self.beginnings.find(ids, snapshot)
                    batch = self.reader.rows(given, [nothing] * len(rows), known=known.counts)
                    sample(self.network, batch.inputs, sampler, max_new_tokens=room, known=known.cache)
                    self.beginnings.keep(ids, known, snapshot)
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
        most = sum(len(rows) * max(len(encoded[i].ids) + len(answers[i]) for i in rows) for rows in groups)
        is_again = most > self.options.batch_tokens and torch.is_grad_enabled()
        beginning = self._shared_beginning(encoded)
        parts: list[tuple[Tensor, ...]] = []
        for rows in groups:
            given = [encoded[i] for i in rows], [answers[i] for i in rows], beginning
            if is_again:
                parts.append(checkpoint(self._judge, *given, use_reentrant=False, preserve_rng_state=False))
            else:
                parts.append(self._judge(*given))
        back = torch.from_numpy(np.argsort(np.concatenate(groups)))
        said = [torch.cat(each, dim=-1).cpu()[..., back] for each in zip(*parts, strict=True)]
        return Judgement(log_prob=said[0], entropy=said[1], value_logits=said[2], trajectory_value_logit=said[3])

    def _judge(
        self, encoded: Sequence[Encoded], answers: Sequence[Tensor], beginning: Layers
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sums of log-probabilities, mean entropies of a token, and values of these rows."""
        rows, inputs = self._inputs(encoded, answers, beginning)
        width = rows.answers.shape[1]
        if self.frozen is None:
            hidden, logits = self._run(inputs, width + 1)
        else:
            del inputs["input_ids"]
            inputs["inputs_embeds"] = self._states(encoded, answers, beginning)
            with self.frozen.skipped():
                hidden, logits = self._run(inputs, width + 1)
        logs = log_distribution(logits[:, :-1], self._never_said, self.options.temperature)
        said = logs.gather(-1, rows.answers[..., None])[..., 0] * rows.is_answer
        doubt = -(logs.exp() * logs).sum(dim=-1) * rows.is_answer
        values = self.heads(hidden[:, 0].float())
        return said.sum(dim=1), doubt.sum(dim=1) / rows.is_answer.sum(dim=1).clamp(min=1), *values

    def _inputs(
        self, encoded: Sequence[Encoded], answers: Sequence[Tensor], beginning: Layers
    ) -> tuple[Rows, dict[str, Any]]:
        """Rows, and all that a network is given of them; `beginning` is what all begin with, if it is computed."""
        count = beginning[0][0].shape[2] if beginning else 0
        rows = self.reader.rows(encoded, answers, known=[count] * len(encoded))
        known = {"past_key_values": cache_of(beginning, len(encoded)), "use_cache": True} if count else {}
        return rows, {"use_cache": False} | rows.inputs | known

    def _states(self, encoded: Sequence[Encoded], answers: Sequence[Tensor], beginning: Layers) -> Tensor:
        """What the frozen layers make of these rows after their beginning, laid out as the rows are."""
        frozen, count = self.frozen, beginning[0][0].shape[2] if beginning else 0
        assert frozen is not None
        ends = [len(one.ids) - count for one in encoded]

        def compute(missing: list[int]) -> list[Tensor]:
            given = [encoded[i] for i in missing], [answers[i] for i in missing]
            rows, inputs = self._inputs(*given, [(keys.detach(), values.detach()) for keys, values in beginning])
            made = frozen.run(inputs).cpu()
            left = made.shape[1] - rows.answers.shape[1]
            return [row[left - ends[i] : left + len(answers[i])].clone() for i, row in zip(missing, made, strict=True)]

        tokens = [torch.cat([one.ids, answer]) for one, answer in zip(encoded, answers, strict=True)]
        states = frozen.states([f"{count} {ids.tolist()}" for ids in tokens], compute)
        pairs = list(zip(states, ends, strict=True))
        return joined([state[:end] for state, end in pairs], [state[end:] for state, end in pairs], 0).to(self.device)

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

    def _shared_beginning(self, encoded: Sequence[Encoded]) -> Layers:
        """Keys and values of what all of these begin with, if that is worth it; nothing if not."""
        ids = self.beginnings.ids
        is_shared = len(encoded) > 1 and len(ids) and not self.options.gradient_checkpointing
        if not is_shared or not all(torch.equal(e.ids[: len(ids)], ids) for e in encoded):
            return []
        return self.beginnings.compute()

    def _groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """Rows to compute together: of like lengths, and not more tokens than the memory is for."""
        groups: list[list[int]] = []
        num_tokens = 0
        for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
            # The first of a group is its longest, and all are filled up to it.
            filled = lengths[groups[-1][0]] * (len(groups[-1]) + 1) if groups else 0
            if groups and filled <= self.options.batch_tokens and num_tokens + lengths[i] >= LEAST_FULL * filled:
                groups[-1].append(i)
                num_tokens += lengths[i]
            else:
                groups.append([i])
                num_tokens = lengths[i]
        return groups

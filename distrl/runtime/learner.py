"""The learner: trajectories in, better weights out.

    receive -> prepare -> replay -> sample -> evaluate -> loss -> step -> re-prioritise -> publish

It owns the network, the optimiser and replay. The algorithm is mathematics that it calls; the policy turns recorded
trajectories into what the network says about them now. A loss, gradient or priority that is not finite changes nothing,
and its batch is handed to `on_bad_batch`; weights that are not finite end the run before anybody can act with them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol, cast, runtime_checkable

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from distrl.algorithms import Algorithm, Batch, Evaluation
from distrl.core.errors import DistrlError, UserError
from distrl.core.interfaces import Replay
from distrl.core.seeds import derive_random
from distrl.core.types import Outcome, Trajectory
from distrl.runtime.curriculum import Curriculum
from distrl.runtime.kept import Deferred, Kept, evaluate, keep
from distrl.runtime.successes import Example, Successes
from distrl.runtime.tensors import pack_tensors

OnBadBatch = Callable[[Mapping[str, Any], bytes], str]
"""Takes the facts about a batch that was refused and its tensors as safetensors; where they are kept, or nothing."""
MAX_BAD_UPDATES = 10
SURPRISE_POWER = 0.5
_COUNTERS = (
    "num_received",
    "num_untrainable",
    "num_updates",
    "num_bad_updates",
    "_bad_in_a_row",
    "_credit",
    "_highest_priority",
)


class Trainable(Protocol):
    """A policy that can be trained: it evaluates what was recorded, with gradients."""

    version: int

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        ...

    def prepare(self, trajectory: Trajectory) -> Any:
        """A trajectory in the policy's own numbers; has `moments` (T + 1) and `choices` (T)."""
        ...

    def judge(self, moments: Sequence[Any], choices: Any) -> Any:
        """log-probabilities, entropies and values of moments in a row."""
        ...


@runtime_checkable
class Shared(Protocol):
    """A policy that several processes compute with."""

    def gather_gradients(self) -> None:
        """The gradients of all of them, after a backward pass."""
        ...

    def share_weights(self) -> None:
        """The weights to all of them, after a step."""
        ...


@runtime_checkable
class Recalling(Protocol):
    """A policy that need not look at screens which somebody has looked at before."""

    def recall(self, blind: Trajectory) -> Any | None:
        """What `prepare` makes of a trajectory, without its screens; None if that takes a look at them."""
        ...


class RestorableReplay(Replay, Protocol):
    """A replay that says what it keeps."""

    def ids(self) -> tuple[str, ...]:
        """All of them, the oldest first."""
        ...

    def get_blind(self, id: str) -> Trajectory:
        """One of them with nothing to see, which is much faster."""
        ...

    def state(self) -> bytes:
        """Everything, to go on from."""
        ...

    def restore(self, data: bytes) -> None:
        """Go on from a state."""
        ...


class DivergedError(DistrlError):
    """Training produced nothing but non-finite numbers for a while."""


class LearnerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the learner learns."""

    learning_rate: float = 3e-4
    learning_rate_left: float = 1.0
    """Share of the learning rate that is left at the end of a run; on the way there it falls evenly."""
    max_gradient_norm: float = 1.0
    batch_trajectories: int = 32
    fresh_share: float = 0.0
    """Share of each batch that is the newest there is, each once, whatever its priority."""
    new_steps_per_update: float = 64.0
    warmup_trajectories: int = 128
    publish_every_updates: int = 4
    imitated_successes: int = 0
    """Solved trajectories that each update imitates beside what the algorithm does."""
    imitation_weight: float = 0.0
    seed: int = 0


class Learner:
    """Trains one policy with one algorithm on what arrives."""

    def __init__(
        self,
        policy: Trainable,
        algorithm: Algorithm,
        replay: RestorableReplay,
        curriculum: Curriculum,
        options: LearnerOptions,
        *,
        demonstrations: Iterable[Example] = (),
        on_bad_batch: OnBadBatch = lambda facts, tensors: "",
    ) -> None:
        self.policy = policy
        self.algorithm = algorithm
        self.replay = replay
        self.options = options
        self.optimiser = torch.optim.Adam(policy.parameters(), lr=options.learning_rate, fused=True)
        self._curriculum = curriculum
        self._on_bad_batch = on_bad_batch
        self._bad_batch = ""
        self._kept: dict[str, Kept] = {}
        self._groups: dict[str, list[bool]] = {}
        self._successes = Successes(demonstrations)
        self.share_done = 0.0
        """How much of the run is over; whoever knows how long it is says so."""
        self.num_received = 0
        self.num_untrainable = 0
        self.num_updates = 0
        self.num_bad_updates = 0
        self._bad_in_a_row = 0
        self._credit = 0.0
        self._highest_priority: float | None = None
        """Of those that the algorithm has said lately; None before it has said any."""
        if not self._has_finite_weights():
            raise UserError("the weights to start from are not all finite numbers")

    # ---- what arrives

    def receive(self, trajectory: Trajectory) -> None:
        """Keep a trajectory, unless its rewards say nothing about the policy."""
        if trajectory.id in self._kept:
            return  # sent twice, which is harmless
        self.num_received += 1
        self._successes.look_at()
        if not trajectory.outcome.is_trainable:
            self.num_untrainable += 1
            return
        is_success = trajectory.outcome is Outcome.SUCCEEDED
        surprise = self._surprise(trajectory.task.template, is_success=is_success)
        self._curriculum.record(trajectory, is_success=is_success)
        gone = self.replay.add(trajectory, (self._highest_priority or 1.0) * surprise)
        self._kept[trajectory.id] = self._keep(trajectory)
        for trajectory_id in gone:
            lost = self._kept.pop(trajectory_id)
            self._successes.remove(trajectory_id, lost.template)
            group = lost.group
            if group and all(kept.group != group for kept in self._kept.values()):
                del self._groups[group]
        if self.num_received > self.options.warmup_trajectories:
            self._credit += len(trajectory.steps) / self.options.new_steps_per_update

    def _keep(self, trajectory: Trajectory) -> Kept:
        """What is known of a trajectory that replay has; the policy looks at it when it is drawn, if it ever is."""
        if trajectory.group:
            self._groups.setdefault(trajectory.group, []).append(trajectory.outcome is Outcome.SUCCEEDED)
        name = trajectory.id
        kept = keep(trajectory, Deferred(lambda: self._prepare(name)))
        if kept.is_success:
            self._successes.add(trajectory.id, kept)
        return kept

    def _prepare(self, name: str) -> Any:
        """A trajectory in the policy's numbers; unpacking its screens is left out if nobody has to see them."""
        told = self.policy.recall(self.replay.get_blind(name)) if isinstance(self.policy, Recalling) else None
        return self.policy.prepare(self.replay.get(name)) if told is None else told

    @property
    def is_due(self) -> bool:
        """Whether enough data has arrived for another update."""
        return self.num_due >= 1

    @property
    def num_due(self) -> int:
        """How many updates the data that arrived allows."""
        return int(self._credit)

    def update_while_due(self) -> Iterator[dict[str, float]]:
        """As many updates as the data that arrived allows; the metrics of each as it is made."""
        while self.is_due:
            yield self.spend()

    def spend(self) -> dict[str, float]:
        """One update, paid for with data that arrived; its metrics."""
        self._credit -= 1.0
        return self.update()

    def spend_all(self) -> dict[str, float]:
        """One update for all that arrived, however much: who cannot keep up does not let the fleet wait for it."""
        self._credit %= 1.0
        return self.update()

    # ---- what is remembered

    def plain_state(self) -> dict[str, Any]:
        """The counters, as plain data."""
        return {name: getattr(self, name) for name in _COUNTERS} | {
            "version": self.policy.version,
            "groups": {group: [bool(v) for v in outcomes] for group, outcomes in self._groups.items()},
            "num_shown": self._successes.num_shown + self._successes.num_missed,
        }

    def optimiser_tensors(self) -> dict[str, Tensor]:
        """What Adam remembers, by number of the parameter."""
        state = self.optimiser.state_dict()["state"]
        return {f"{number}.{name}": value for number, entry in state.items() for name, value in entry.items()}

    def restore(self, plain: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Go on from a state; replay and weights have been restored before."""
        for name in _COUNTERS:
            setattr(self, name, plain[name])
        self.policy.version = plain["version"]
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            number, _, name = key.partition(".")
            state.setdefault(int(number), {})[name] = value
        self.optimiser.load_state_dict(self.optimiser.state_dict() | {"state": state})
        self._kept = {name: self._keep(self.replay.get_blind(name)) for name in self.replay.ids()}
        self._groups = {group: list(outcomes) for group, outcomes in plain["groups"].items()}
        self._successes.num_missed = plain["num_shown"]

    # ---- what is learned

    def update(self) -> dict[str, float]:
        """One optimiser step on sampled trajectories; returns metrics by name."""
        learning_rate = self._set_learning_rate()
        ids, weights = self._sample()
        batch, evaluation = self.evaluate(ids, weights)
        loss, metrics = self.algorithm.loss(batch, evaluation)
        ages = [self.policy.version - self._kept[name].version for name in ids]
        own_loss = self._own_loss()
        loss = loss + self.options.imitation_weight * own_loss
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if isinstance(self.policy, Shared):
            self.policy.gather_gradients()
        norm = nn.utils.clip_grad_norm_(self.policy.parameters(), self.options.max_gradient_norm)
        base = self._base_priorities(batch, evaluation)
        self.num_updates += 1
        if reason := _complaint({"loss": float(loss.detach()), "gradient norm": float(norm), "priority": sum(base)}):
            self._refuse(reason, ids, batch, evaluation)
        else:
            self._bad_in_a_row = 0
            self.optimiser.step()
            self._check_weights()
            if isinstance(self.policy, Shared):
                self.policy.share_weights()
            self._reprioritise(ids, base)
            if self.num_updates % self.options.publish_every_updates == 0:
                self.policy.version += 1
        numbers = {"loss": loss.detach(), "gradient_norm": norm, "imitation_loss": own_loss.detach(), **metrics}
        told = {name: float(number) for name, number in numbers.items()}
        more = {"learning_rate": learning_rate, "age_mean": sum(ages) / len(ages), "age_max": float(max(ages))}
        return told | more

    def _set_learning_rate(self) -> float:
        """Large steps find, small ones settle: what the last batches say by chance counts less and less."""
        left = 1.0 - (1.0 - self.options.learning_rate_left) * min(1.0, self.share_done)
        learning_rate = self.options.learning_rate * left
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate
        return learning_rate

    def _own_loss(self) -> Tensor:
        """Minus the log-probability of demonstrations and own successes; what is good once shall not be forgotten."""
        if not self.options.imitation_weight:
            return torch.zeros(())
        rng = derive_random(self.options.seed, "successes", self.num_updates)
        examples = self._successes.draw(self.options.imitated_successes, rng)
        if not examples:
            return torch.zeros(())
        moments = [moment for example in examples for moment in example.moments]
        said = self.policy.judge(moments, np.concatenate([example.choices for example in examples]))
        return -cast("Tensor", said.log_prob).mean()

    def _refuse(self, reason: str, ids: Sequence[str], batch: Batch, evaluation: Evaluation) -> None:
        """Forget a bad update, but not what it was made of; too many in a row end the run."""
        self.optimiser.zero_grad()
        self.num_bad_updates += 1
        self._bad_in_a_row += 1
        tensors = {f.name: getattr(part, f.name) for part in (batch, evaluation) for f in fields(part)}
        facts = {
            "update": self.num_updates,
            "reason": reason,
            "num_bad_updates": self.num_bad_updates,
            "not_finite": [name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all())],
            "version": self.policy.version,
            "ids": list(ids),
            "versions": [sorted(set(self.replay.get(i).policy_versions)) for i in ids],
        }
        self._bad_batch = self._on_bad_batch(facts, pack_tensors(tensors)) or self._bad_batch
        if self._bad_in_a_row >= MAX_BAD_UPDATES:
            where = f"; a batch of them is kept in {self._bad_batch}" if self._bad_batch else ""
            raise DivergedError(
                f"{MAX_BAD_UPDATES} updates in a row had a loss or gradient that is not a finite number: {reason}; "
                f"the weights are those before them{where}. "
                "Try a lower learning rate, and look at the metrics of the run"
            )

    def _check_weights(self) -> None:
        """After this update nothing may be published or saved if it is not finite; before it all was well."""
        if not self._has_finite_weights():
            raise DivergedError(
                f"update {self.num_updates} made weights that are not finite numbers; nobody acts with them, and the "
                "newest checkpoint is older. Try a lower learning rate, and look at the metrics of the run"
            )

    def _has_finite_weights(self) -> bool:
        return all(bool(torch.isfinite(parameter).all()) for parameter in self.policy.parameters())

    def _sample(self) -> tuple[list[str], list[float]]:
        sampling, count = self.algorithm.sampling, self.options.batch_trajectories
        num_fresh = min(round(count * self.options.fresh_share), len(self.replay))
        samples = self.replay.sample(count - num_fresh, newest=sampling.window_trajectories)
        fresh = self.replay.ids()[-num_fresh:] if num_fresh else ()
        n = min(len(self.replay), sampling.window_trajectories or len(self.replay))
        weights = [(n * s.probability) ** -sampling.correction_beta for s in samples] + [1.0] * len(fresh)
        highest = max(weights)
        return [*(s.id for s in samples), *fresh], [w / highest for w in weights]

    def _base_priorities(self, batch: Batch, evaluation: Evaluation) -> list[float]:
        """What the algorithm says about each trajectory, or 1."""
        if not self.algorithm.sampling.is_prioritised:
            return [1.0] * len(batch.weight_b)
        with torch.no_grad():
            base: list[float] = self.algorithm.priorities(batch, evaluation).tolist()
        return base

    def _surprise(self, template: str, *, is_success: bool) -> float:
        """A factor of a priority that makes P(tau) grow with the root of the surprise, whatever alpha is.

        The curriculum is the run's, not the algorithm's: a comparison would otherwise compare how strong it is.
        """
        alpha = self.algorithm.sampling.alpha
        surprise = self._curriculum.surprise(template, is_success=is_success)
        return float(surprise ** (SURPRISE_POWER / alpha)) if alpha else 1.0

    def _reprioritise(self, ids: Sequence[str], base: Sequence[float]) -> None:
        said = dict(zip(ids, base, strict=True))
        if self._highest_priority is None:
            # What has waited since before the first update knows no scale yet: it counts as the best, like what is new.
            said = dict.fromkeys(self._kept, max(base)) | said
        self._highest_priority = max((self._highest_priority or 0.0) * 0.99, *base)
        priorities = {}
        for name, priority in said.items():
            kept = self._kept[name]
            priorities[name] = priority * self._surprise(kept.template, is_success=kept.is_success)
        self.replay.reprioritise(priorities)

    def evaluate(self, ids: Sequence[str], weights: Sequence[float]) -> tuple[Batch, Evaluation]:
        """The facts about these trajectories, and what the network says about them now."""
        kept = [self._kept[i] for i in ids]
        outcomes = [self._groups.get(k.group) or [k.is_success] for k in kept]
        return evaluate(kept, outcomes, weights, self.policy)


def _complaint(numbers: Mapping[str, float]) -> str:
    """What is not finite among these; nothing if all of it is."""
    return ", ".join(f"the {name} is {value}" for name, value in numbers.items() if not math.isfinite(value))

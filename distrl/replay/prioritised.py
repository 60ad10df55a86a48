"""A replay of whole trajectories: added once, drawn by priority and freshness, let go of when they are the oldest.

    trajectory --pack--> body     (msgpack, compressed)    id --> PackedTrajectory
               --------> screens  (kept once, counted)     number --> PackedScreen
               --------> priority, born version            sampler: who is drawn

It holds no thread and no lock: one owner calls it.
"""

import random
from collections import Counter
from collections.abc import Mapping

from distrl.core.types import Trajectory
from distrl.replay.compression import Compression
from distrl.replay.packing import pack, screens_of, unpack, unpack_blind
from distrl.replay.sampler import Candidate, Sample, Sampler, check_priority
from distrl.replay.screens import ScreenStore
from distrl.replay.state import PackedTrajectory, ReplayState, ReplayStateError, seal, unseal

DEFAULT_PRIORITY = 1.0


class PrioritisedReplay:
    """Keeps at most `capacity_steps` steps and draws P(tau) ~ priority ** alpha * exp(-age_versions / freshness_tau).

    The age is counted from the last policy version that acted in a trajectory; without a `freshness_tau_versions` it
    does not matter. All randomness comes from `rng`, whose state is part of the replay's.
    """

    def __init__(
        self, *, capacity_steps: int, alpha: float, freshness_tau_versions: float | None, rng: random.Random
    ) -> None:
        if capacity_steps < 1:
            raise ValueError(f"capacity_steps must be at least 1, got {capacity_steps}")
        self.capacity_steps = capacity_steps
        self._rng = rng
        self._compression = Compression()
        self._sampler = Sampler(alpha=alpha, freshness_tau_versions=freshness_tau_versions)
        self._screens = ScreenStore(self._compression)
        self._trajectories: dict[str, PackedTrajectory] = {}
        self._num_steps = 0

    def __len__(self) -> int:
        return len(self._trajectories)

    @property
    def num_steps(self) -> int:
        """How many steps are kept."""
        return self._num_steps

    @property
    def num_screens(self) -> int:
        """How many different screens are kept."""
        return len(self._screens)

    @property
    def num_bytes(self) -> int:
        """What trajectories and screens take as they are kept."""
        return self._screens.num_bytes + sum(len(packed.body) for packed in self._trajectories.values())

    def ids(self) -> tuple[str, ...]:
        """The trajectories kept, the oldest first."""
        return self._sampler.ids()

    def add(self, trajectory: Trajectory, priority: float = DEFAULT_PRIORITY) -> tuple[str, ...]:
        """Keep it as the newest; the ids of the oldest, which were let go of to make room.

        One that is kept already is ignored, since senders may send twice. What has no steps, more than fit or a bad
        priority is refused with a `ValueError`, and nothing changes.
        """
        priority = check_priority(priority)
        if trajectory.id in self._trajectories:
            return ()
        num_steps = len(trajectory.steps)
        if not 1 <= num_steps <= self.capacity_steps:
            raise ValueError(
                f"trajectory {trajectory.id!r} has {num_steps} steps; between 1 and {self.capacity_steps} can be kept"
            )
        body = pack(trajectory, self._compression)
        screens = tuple(self._screens.keep(screen) for screen in screens_of(trajectory))
        self._trajectories[trajectory.id] = PackedTrajectory(body=body, screens=screens)
        self._num_steps += num_steps
        born_version = trajectory.policy_versions[-1]
        self._sampler.append(Candidate(id=trajectory.id, priority=priority, born_version=born_version))
        # Only now, so that screens which the new one shares with the old ones are not packed again.
        return self._let_go()

    def sample(self, count: int, *, newest: int | None = None) -> list[Sample]:
        """Independent draws with replacement, among the newest so many if that is given.

        The probabilities are those of this call. If all priorities are 0, all are equally likely.
        """
        if count < 0:
            raise ValueError(f"count must be at least 0, got {count}")
        if newest is not None and newest < 1:
            raise ValueError(f"newest must be at least 1, got {newest}")
        if not self._trajectories:
            raise ValueError("nothing can be sampled: the replay is empty")
        points = [self._rng.random() for _ in range(count)]
        if newest is not None and newest < len(self):
            return self._sampler.draw_newest(points, newest=newest)
        return self._sampler.draw(points)

    def reprioritise(self, priorities: Mapping[str, float]) -> None:
        """New priorities by id. Unknown ids are ignored, since they may be gone; one bad priority refuses them all."""
        self._sampler.reprioritise(priorities)

    def get(self, id: str) -> Trajectory:
        """The trajectory, equal to what was added; a `KeyError` once it has been let go of."""
        packed = self._trajectories[id]
        screens = [self._screens.get(number) for number in packed.screens]
        return unpack(packed.body, screens, self._compression)

    def get_blind(self, id: str) -> Trajectory:
        """The trajectory with this id without its screens, which take most of the time."""
        return unpack_blind(self._trajectories[id].body, self._compression)

    def state(self) -> bytes:
        """Trajectories, priorities, screens and the generator, but no settings: those are the configuration's."""
        numbers = dict.fromkeys(number for packed in self._trajectories.values() for number in packed.screens)
        places = {number: place for place, number in enumerate(numbers)}
        kind, words, gauss_next = self._rng.getstate()
        return seal(
            ReplayState(
                sampler=self._sampler.state(),
                trajectories=tuple(
                    PackedTrajectory(body=packed.body, screens=tuple(places[number] for number in packed.screens))
                    for packed in self._trajectories.values()
                ),
                screens=tuple(self._screens.packed(number) for number in numbers),
                rng=(kind, words, gauss_next),
            )
        )

    def restore(self, data: bytes) -> None:
        """Take over a state in place of everything kept: the next samples are those that would have come.

        With other settings they apply from now on; a smaller capacity lets go of the oldest. A state that cannot be
        used is refused with a `ReplayStateError`, and nothing changes.
        """
        state = unseal(data)
        screens = ScreenStore(self._compression)
        try:
            random.Random(0).setstate(state.rng)
            sampler = self._sampler.with_state(state.sampler)
            trajectories = self._take_over(state, screens)
        except (ValueError, TypeError) as error:
            raise ReplayStateError(f"the state of the replay contradicts itself: {error}") from error
        self._rng.setstate(state.rng)
        self._sampler, self._screens, self._trajectories = sampler, screens, trajectories
        self._num_steps = sum(packed.num_steps for packed in trajectories.values())
        self._let_go()

    def _take_over(self, state: ReplayState, screens: ScreenStore) -> dict[str, PackedTrajectory]:
        """The trajectories of a state by id, after their screens have been kept in the given store."""
        shown = Counter(place for packed in state.trajectories for place in packed.screens)
        if shown.keys() != set(range(len(state.screens))):
            raise ValueError("its screens are not those that its trajectories show")
        if any(packed.num_steps < 1 for packed in state.trajectories):
            raise ValueError("a trajectory has no steps")
        if state.trajectories and state.trajectories[-1].num_steps > self.capacity_steps:
            raise ValueError(f"its newest trajectory does not fit into {self.capacity_steps} steps")
        numbers = [screens.keep_packed(packed, references=shown[place]) for place, packed in enumerate(state.screens)]
        return {
            candidate.id: PackedTrajectory(body=packed.body, screens=tuple(numbers[place] for place in packed.screens))
            for candidate, packed in zip(state.sampler.candidates, state.trajectories, strict=True)
        }

    def _let_go(self) -> tuple[str, ...]:
        """Let go of the oldest until what is left fits; their ids."""
        gone = []
        while self._num_steps > self.capacity_steps:
            id = self._sampler.drop_oldest()
            packed = self._trajectories.pop(id)
            self._num_steps -= packed.num_steps
            for number in packed.screens:
                self._screens.release(number)
            gone.append(id)
        return tuple(gone)

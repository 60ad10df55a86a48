"""What a run is made of and what has to be remembered: a configuration and a run directory in, a resumable state out.

The learner with everything it needs, the curve of evaluations, the counters, and the checkpoint of all of it. How
trajectories come to the learner is the business of its subclasses: in one thread, or from many machines.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, Literal

import msgspec

from distrl.algorithms import make_algorithm
from distrl.core.config import Config
from distrl.core.seeds import derive_random
from distrl.core.types import Outcome, Task, Trajectory
from distrl.policies.trainable import Snapshot
from distrl.replay.prioritised import PrioritisedReplay
from distrl.runtime.checkpoints import newest_checkpoint, save_checkpoint
from distrl.runtime.chosen_tasks import chosen_tasks, episodes_of
from distrl.runtime.curriculum import Curriculum
from distrl.runtime.demonstrations import examples, tasks_like
from distrl.runtime.evaluation import Report
from distrl.runtime.learner import Learner, LearnerOptions
from distrl.runtime.policies import AnyPolicy, load_start
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.sample import DIRECTORY, Sample
from distrl.runtime.saved_weights import load_weight_files, weight_files, write_weights
from distrl.runtime.successes import Example
from distrl.runtime.tensors import pack_tensors, unpack_tensors
from distrl.tasks.fresh import FreshTasks

EVALUATION_SEED = 10_007
RECENT = 200


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands."""

    kind: Literal["collecting", "evaluated"]
    trajectories: int
    total: int
    steps: int
    updates: int
    recent_success: float
    wall_s: float
    is_ending: bool = False
    """Nothing is collected any more; the last evaluation is under way."""
    report: Report | None = None
    sampled: Report | None = None
    judging: str = ""
    """How judging goes, in a line, where it happens beside collection."""
    judging_paused: str = ""
    """Why there are no verdicts at the moment."""
    judging_alert: str = ""
    """What is wrong with the verdicts there are."""


Listener = Callable[[Progress], None]


def held_out_tasks(config: Config) -> list[Task]:
    """The held-out tasks of every evaluation of a run, always the same ones."""
    return episodes_of(config.tasks, "test", config.eval.episodes, EVALUATION_SEED)


def make_curriculum(config: Config, rng: Random, *, group_prefix: str = "") -> Curriculum:
    """Which tasks a run tries, and in what order."""
    is_fresh = config.collect.has_fresh_tasks and config.tasks.split == "train" and not config.tasks.file
    return Curriculum(
        chosen_tasks(config.tasks, config.tasks.split),
        rng,
        fresh=FreshTasks(config.tasks.suite) if is_fresh else None,
        is_adaptive=config.collect.has_curriculum,
        group_size=make_algorithm(config.algorithm.name, config.algorithm.options).sampling.group_size,
        group_prefix=group_prefix,
        departures=config.collect.departures,
    )


def show_expert(config: Config, policy: AnyPolicy) -> Iterator[Example]:
    """The demonstrations of a run, made as they are asked for: the first of those that the shipped starts imitate.

    Who starts from scratch is shown nothing, and nobody is an expert for tasks of the user's own.
    """
    learner = config.learner
    if (
        not config.tasks.file
        and config.policy.start != "scratch"
        and learner.imitated_successes
        and learner.imitation_weight
    ):
        tasks = chosen_tasks(config.tasks, "train")
        shown = tasks_like(tasks, FreshTasks(config.tasks.suite), range(learner.demonstrations))
        yield from examples(policy, shown, scale=config.phone.scale)


class RunState:
    """One run: everything that learns, and everything that has to be remembered."""

    def __init__(self, config: Config, run: RunDirectory | None = None, *, listener: Listener = lambda p: None) -> None:
        self.config = config
        self.run_directory = run
        self.policy: AnyPolicy = load_start(config)
        self.algorithm = make_algorithm(config.algorithm.name, config.algorithm.options)
        sampling = self.algorithm.sampling
        self.curriculum = make_curriculum(config, derive_random(config.seed, "curriculum"))
        replay = PrioritisedReplay(
            capacity_steps=config.replay.capacity_steps,
            alpha=sampling.alpha,
            freshness_tau_versions=sampling.freshness_tau_versions,
            rng=derive_random(config.seed, "replay"),
        )
        self.learner = Learner(
            self.policy,
            self.algorithm,
            replay,
            self.curriculum,
            LearnerOptions(**config.learner.model_dump(exclude={"demonstrations", "num_workers"}), seed=config.seed),
            demonstrations=show_expert(config, self.policy),
            on_bad_batch=run.keep_bad_batch if run else lambda facts, tensors: "",
        )
        kept = config.collect.kept_trajectories
        self._sample = Sample(run.path / DIRECTORY, most=kept) if run is not None and kept else None
        self._listener = listener
        self._snapshots: deque[Snapshot] = deque([self.policy.snapshot()], maxlen=config.collect.lag_versions + 1)
        self._recent: deque[bool] = deque(maxlen=RECENT)
        self._num_steps = 0
        self._trained_s = 0.0
        self.curve: list[dict[str, Any]] = []

    def listen(self, listener: Listener) -> None:
        """Tell somebody about progress from now on."""
        self._listener = listener

    def _is_late(self) -> bool:
        limit = self.config.train.max_minutes
        return limit is not None and self._trained_s >= 60 * limit

    def _share_done(self) -> float:
        """How much of the run is over, by trajectories (offline by updates) or by time."""
        train = self.config.train
        by_time = self._trained_s / (60 * train.max_minutes) if train.max_minutes is not None else 0.0
        if train.mode == "offline":
            return max(self.learner.num_updates / max(train.offline_updates, 1), by_time)
        return max(self.learner.num_received / train.num_trajectories, by_time)

    def _learn_from(self, trajectory: Trajectory) -> None:
        """What every arrival is: counted, and given to the learner."""
        self.learner.share_done = self._share_done()
        self._num_steps += len(trajectory.steps)
        self._recent.append(trajectory.outcome is Outcome.SUCCEEDED)
        number = self.learner.num_received
        self.learner.receive(trajectory)
        if self._sample is not None:
            self._save_sample(partial(self._sample.offer, trajectory, number))

    def _save_sample(self, save: Callable[[], None]) -> None:
        """A sample that cannot be written is no reason to stop."""
        try:
            save()
        except OSError as error:
            assert self.run_directory is not None
            self.run_directory.log("events", {"event": "sample not written", "reason": str(error)})

    # ---- what is written

    def _log_update(self, metrics: Mapping[str, float]) -> None:
        if self.run_directory is None:
            return
        update = self.learner.num_updates
        row = {"update": update, "trajectories": self.learner.num_received, "steps": self._num_steps, **metrics}
        self.run_directory.log("metrics", row)
        self.run_directory.plot({f"learner/{name}": value for name, value in metrics.items()}, step=update)

    def _progress(self) -> Progress:
        return Progress(
            kind="collecting",
            trajectories=self.learner.num_received,
            total=self.config.train.num_trajectories,
            steps=self._num_steps,
            updates=self.learner.num_updates,
            recent_success=sum(self._recent) / max(len(self._recent), 1),
            wall_s=self._trained_s,
        )

    def _note_evaluation(self, reports: Sequence[Report], at: Progress) -> None:
        """A row of the curve: greedy success, then sampled if it was measured, at the point where it was asked for."""
        row: dict[str, Any] = {
            "trajectories": at.trajectories,
            "steps": at.steps,
            "updates": at.updates,
            "wall_s": round(at.wall_s, 1),
            "success": reports[0].success,
            "low": reports[0].low,
            "high": reports[0].high,
            "sampled_success": reports[1].success if self.config.eval.has_sampled else None,
        }
        self.curve.append(row)
        if self.run_directory is not None:
            self.run_directory.log("evaluations", row)
            self.run_directory.plot({"eval/success": row["success"]}, step=at.updates)
        sampled = reports[1] if self.config.eval.has_sampled else None
        self._listener(msgspec.structs.replace(at, kind="evaluated", report=reports[0], sampled=sampled))

    # ---- what is remembered

    def _checkpoint(self) -> None:
        if self.run_directory is None:
            return
        weights = weight_files(self.policy)
        files = weights | {
            "optimiser.safetensors": pack_tensors(self.learner.optimiser_tensors()),
            "replay.bin": self.learner.replay.state(),
            "state.json": msgspec.json.encode(self._plain_state()),
        }
        files |= {f"acting-{s.version}.safetensors": pack_tensors(s.parameters) for s in self._snapshots}
        save_checkpoint(self.run_directory.checkpoints, self.learner.num_received, files)
        write_weights(self.run_directory.weights, weights)
        if self._sample is not None:
            self._save_sample(self._sample.save)

    def _plain_state(self) -> dict[str, Any]:
        return {
            "learner": self.learner.plain_state(),
            "curriculum": self.curriculum.state(),
            "snapshots": [s.version for s in self._snapshots],
            "recent": list(self._recent),
            "num_steps": self._num_steps,
            "trained_s": self._trained_s,
            "curve": self.curve,
        }

    def _resume(self) -> bool:
        """Go on from the newest complete checkpoint; False if there is none."""
        if self.run_directory is None:
            return False
        files, skipped = newest_checkpoint(self.run_directory.checkpoints)
        for reason in skipped:
            self.run_directory.log("events", {"event": "checkpoint skipped", "reason": reason})
        if files is None:
            for kind in ("metrics", "evaluations"):
                self.run_directory.rewrite(kind, [])
            return False
        state = msgspec.json.decode(files["state.json"])
        write_weights(self.run_directory.weights, load_weight_files(self.policy, files))
        self.curriculum.restore(state["curriculum"])
        self.learner.replay.restore(files["replay.bin"])
        self.learner.restore(state["learner"], unpack_tensors(files["optimiser.safetensors"]))
        self._snapshots.clear()
        for version in state["snapshots"]:
            tensors = unpack_tensors(files[f"acting-{version}.safetensors"])
            self._snapshots.append(self.policy.snapshot_of(version, tensors))
        self._restore_plain(state)
        self.learner.share_done = self._share_done()
        self._forget_what_comes_again(self.run_directory)
        self.run_directory.log("events", {"event": "resumed", "trajectories": self.learner.num_received})
        return True

    def _forget_what_comes_again(self, run: RunDirectory) -> None:
        """Lines about what is beyond the checkpoint go, since it is done again; every other one is there, once.

        An evaluation may end after the checkpoint of the point that it is about: then it is in its file only. It may
        also be in the checkpoint only, if there was no room for its line.
        """
        received, updates = self.learner.num_received, self.learner.num_updates
        run.rewrite("metrics", [row for row in run.read("metrics") if row.get("update", 0) <= updates])
        rows = [*run.read("evaluations"), *self.curve]
        found = {(row.get("trajectories", 0), row.get("updates", 0)): row for row in rows}
        self.curve = [found[at] for at in sorted(found) if at[0] <= received and at[1] <= updates]
        run.rewrite("evaluations", self.curve)

    def _restore_plain(self, state: Mapping[str, Any]) -> None:
        """Take over what `_plain_state` said, but for what has an owner of its own."""
        self._recent.extend(state["recent"])
        self._num_steps, self._trained_s, self.curve = state["num_steps"], state["trained_s"], state["curve"]

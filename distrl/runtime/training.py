"""Serial training: a configuration and a run directory in, a trained policy out; one thread, one seed, bit for bit.

    segment:   worker --trajectory--> learner --weights--> worker      until `eval.every_trajectories` have arrived
    between:   evaluate on held-out tasks, checkpoint

All devices stand still between segments, so a checkpoint needs nothing of theirs and a resumed run goes on as if it had
never stopped. Time is virtual: with `instant` phones this is plain training, with `emulator` latencies it is a
simulation of a whole fleet.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from distrl.algorithms import make_algorithm
from distrl.core.clock import run_virtual
from distrl.core.config import Config
from distrl.core.seeds import derive_random
from distrl.core.types import Outcome, Trajectory
from distrl.policies.tiny.policy import Snapshot, TinyPolicy
from distrl.replay.prioritised import PrioritisedReplay
from distrl.runtime.build import make_environment, make_setup, make_sim_device
from distrl.runtime.checkpoints import newest_checkpoint, save_checkpoint, write_safely
from distrl.runtime.curriculum import Assignment, Curriculum
from distrl.runtime.evaluation import Report, choose_episodes, evaluate, summarise
from distrl.runtime.learner import Learner, LearnerOptions
from distrl.runtime.policies import load_start
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.tensors import pack_tensors, unpack_tensors
from distrl.runtime.worker import Worker, WorkerOptions
from distrl.tasks.book import load_tasks
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
    report: Report | None = None
    sampled: Report | None = None


Listener = Callable[[Progress], None]


class Segment:
    """So many attempts out of a curriculum, and none after a deadline."""

    def __init__(self, curriculum: Curriculum, count: int, is_over: Callable[[], bool]) -> None:
        self._curriculum = curriculum
        self._left = count
        self._is_over = is_over

    def next(self) -> Assignment | None:
        """The next attempt, or None when the segment is over."""
        if self._left == 0 or self._is_over():
            return None
        self._left -= 1
        return self._curriculum.next()


class Training:
    """One run: everything that learns, and everything that has to be remembered."""

    def __init__(self, config: Config, run: RunDirectory | None = None, *, listener: Listener = lambda p: None) -> None:
        self.config = config
        self.run_directory = run
        self.policy: TinyPolicy = load_start(config)
        self.algorithm = make_algorithm(config.algorithm.name, config.algorithm.options)
        sampling = self.algorithm.sampling
        is_fresh = config.collect.has_fresh_tasks and config.tasks.split == "train"
        self.curriculum = Curriculum(
            load_tasks(config.tasks.suite, config.tasks.split),
            derive_random(config.seed, "curriculum"),
            fresh=FreshTasks(config.tasks.suite) if is_fresh else None,
            is_adaptive=config.collect.has_curriculum,
            group_size=sampling.group_size,
        )
        replay = PrioritisedReplay(
            capacity_steps=config.replay.capacity_steps,
            alpha=sampling.alpha,
            freshness_tau_versions=sampling.freshness_tau_versions,
            rng=derive_random(config.seed, "replay"),
        )
        options = LearnerOptions(**config.learner.model_dump())
        self.learner = Learner(self.policy, self.algorithm, replay, self.curriculum, options)
        self._listener = listener
        self._snapshots: deque[Snapshot] = deque([self.policy.snapshot()], maxlen=config.collect.lag_versions + 1)
        self._recent: deque[bool] = deque(maxlen=RECENT)
        self._num_steps = 0
        self._trained_s = 0.0
        self.curve: list[dict[str, Any]] = []

    def listen(self, listener: Listener) -> None:
        """Tell somebody about progress from now on."""
        self._listener = listener

    # ---- the run

    def run(self) -> None:
        """Train to the end, from the newest checkpoint if there is one."""
        is_resumed = self._resume()
        if self.run_directory is not None:
            self.run_directory.start_board(step=self.learner.num_updates + 1)
        if not is_resumed:
            self._evaluate()
            self._checkpoint()
        config = self.config.train
        if config.mode != "online" and self.learner.num_updates == 0:
            self._collect(self.config.learner.warmup_trajectories)
            self._learn_offline(config.offline_updates)
            self._evaluate()
            self._checkpoint()
        total = 0 if config.mode == "offline" else config.num_trajectories
        while self.learner.num_received < total and not self._is_late():
            count = min(self.config.eval.every_trajectories, total - self.learner.num_received)
            self._collect(count)
            self._evaluate()
            self._checkpoint()

    def _is_late(self) -> bool:
        limit = self.config.train.max_minutes
        return limit is not None and self._trained_s >= 60 * limit

    def _collect(self, count: int) -> None:
        """One segment."""
        started_s = time.monotonic()
        before_s = self._trained_s

        def is_over() -> bool:
            self._trained_s = before_s + time.monotonic() - started_s
            return self._is_late()

        run_virtual(self._work(Segment(self.curriculum, count, is_over)))
        is_over()

    async def _work(self, segment: Segment) -> None:
        config = self.config
        devices = [make_sim_device(config, n) for n in range(config.collect.num_devices)]
        worker = Worker(
            {d.name: make_environment(config, d) for d in devices},
            self.policy,
            weights=lambda: self._snapshots[0],
            make_setup=lambda task: make_setup(task, more_variations=config.phone.variations),
            send=self._receive,
            options=WorkerOptions(
                name=f"serial-{self.learner.num_received:07d}",
                seed=config.seed,
                swap_weights_at=config.collect.swap_weights_at,
            ),
        )
        await worker.run(segment)

    async def _receive(self, trajectory: Trajectory) -> None:
        """What the learner's loop does for each arrival; collection waits meanwhile, since there is one thread."""
        self._num_steps += len(trajectory.steps)
        self._recent.append(trajectory.outcome is Outcome.SUCCEEDED)
        self.learner.receive(trajectory)
        if self.config.train.mode != "offline":
            for metrics in self.learner.update_while_due():
                self._log_update(metrics)
                self._publish()
        self._listener(self._progress("collecting"))

    def _publish(self) -> None:
        """A new version, once the learner has one."""
        if self.policy.version != self._snapshots[-1].version:
            self._snapshots.append(self.policy.snapshot())

    def _learn_offline(self, count: int) -> None:
        """Updates on what is there, without collecting."""
        for _ in range(count):
            self._log_update(self.learner.update())
            self._publish()
            self._listener(self._progress("collecting"))

    # ---- what is written

    def _log_update(self, metrics: Mapping[str, float]) -> None:
        if self.run_directory is None:
            return
        update = self.learner.num_updates
        row = {"update": update, "trajectories": self.learner.num_received, "steps": self._num_steps, **metrics}
        self.run_directory.log("metrics", row)
        self.run_directory.plot({f"learner/{name}": value for name, value in metrics.items()}, step=update)

    def _progress(
        self, kind: Literal["collecting", "evaluated"], report: Report | None = None, sampled: Report | None = None
    ) -> Progress:
        return Progress(
            kind=kind,
            trajectories=self.learner.num_received,
            total=self.config.train.num_trajectories,
            steps=self._num_steps,
            updates=self.learner.num_updates,
            recent_success=sum(self._recent) / max(len(self._recent), 1),
            wall_s=self._trained_s,
            report=report,
            sampled=sampled,
        )

    def _evaluate(self) -> None:
        """How it does on held-out tasks, always the same ones."""
        config = self.config
        tasks = choose_episodes(load_tasks(config.tasks.suite, "test"), config.eval.episodes, EVALUATION_SEED)
        snapshot = self.policy.snapshot()
        quiet = config.model_copy(update={"seed": EVALUATION_SEED})
        reports = [
            summarise(run_virtual(evaluate(self.policy, tasks, quiet, is_greedy=is_greedy, snapshot=snapshot)))
            for is_greedy in ((True, False) if config.eval.has_sampled else (True,))
        ]
        progress = self._progress("evaluated", *reports)
        row: dict[str, Any] = {
            "trajectories": progress.trajectories,
            "steps": progress.steps,
            "updates": progress.updates,
            "wall_s": round(progress.wall_s, 1),
            "success": reports[0].success,
            "low": reports[0].low,
            "high": reports[0].high,
            "sampled_success": reports[1].success if config.eval.has_sampled else None,
        }
        self.curve.append(row)
        if self.run_directory is not None:
            self.run_directory.log("evaluations", row)
            self.run_directory.plot({"eval/success": row["success"]}, step=progress.updates)
        self._listener(progress)

    # ---- what is remembered

    def _checkpoint(self) -> None:
        if self.run_directory is None:
            return
        weights = pack_tensors(self.policy.tensors(), {"version": str(self.policy.version)})
        files = {
            "weights.safetensors": weights,
            "optimiser.safetensors": pack_tensors(self.learner.optimiser_tensors()),
            "replay.bin": self.learner.replay.state(),
            "state.json": msgspec.json.encode(self._plain_state()),
        }
        files |= {f"acting-{s.version}.safetensors": pack_tensors(s.parameters) for s in self._snapshots}
        save_checkpoint(self.run_directory.checkpoints, self.learner.num_received, files)
        write_safely(self.run_directory.weights / "model.safetensors", weights)

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
                self.run_directory.forget_after(kind, "trajectories", -1)
            return False
        state = msgspec.json.decode(files["state.json"])
        self.policy.load_tensors(unpack_tensors(files["weights.safetensors"]))
        write_safely(self.run_directory.weights / "model.safetensors", files["weights.safetensors"])
        self.curriculum.restore(state["curriculum"])
        self.learner.replay.restore(files["replay.bin"])
        self.learner.restore(state["learner"], unpack_tensors(files["optimiser.safetensors"]))
        self._snapshots.clear()
        for version in state["snapshots"]:
            tensors = unpack_tensors(files[f"acting-{version}.safetensors"])
            self._snapshots.append(Snapshot(version=version, parameters=tensors))
        self._recent.extend(state["recent"])
        self._num_steps, self._trained_s, self.curve = state["num_steps"], state["trained_s"], state["curve"]
        for kind in ("metrics", "evaluations"):
            self.run_directory.forget_after(kind, "trajectories", self.learner.num_received)
        self.run_directory.log("events", {"event": "resumed", "trajectories": self.learner.num_received})
        return True

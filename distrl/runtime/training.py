"""Serial training: a configuration and a run directory in, a trained policy out; one thread, one seed, bit for bit.

    segment:   worker --trajectory--> learner --weights--> worker      until `eval.every_trajectories` have arrived
    between:   evaluate on held-out tasks, checkpoint

All devices stand still between segments, so a checkpoint needs nothing of theirs and a resumed run goes on as if it had
never stopped. Time is virtual: with `instant` phones this is plain training, with `emulator` latencies it is a
simulation of a whole fleet.
"""

import time
from collections.abc import Callable

from distrl.core.clock import run_virtual
from distrl.core.types import Trajectory
from distrl.runtime.build import make_environment, make_pool, make_setup
from distrl.runtime.curriculum import Assignment, Curriculum
from distrl.runtime.evaluation import evaluate, summarise
from distrl.runtime.run_state import EVALUATION_SEED, RunState, held_out_tasks
from distrl.runtime.worker import Worker, WorkerOptions


class Segment:
    """So many attempts out of a curriculum, and none after a deadline."""

    def __init__(self, curriculum: Curriculum, count: int, is_over: Callable[[], bool]) -> None:
        self._curriculum = curriculum
        self._left = count
        self._is_over = is_over

    async def next(self, loop: int) -> Assignment | None:
        """The next attempt, or None when the segment is over."""
        if self._left == 0 or self._is_over():
            return None
        self._left -= 1
        return self._curriculum.next()


class Training(RunState):
    """A run in one thread."""

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
        worker = Worker(
            make_pool(config, config.collect.num_devices),
            self.policy,
            weights=lambda assignment: self._snapshots[0],
            make_environment=lambda device: make_environment(config, device),
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
        self._learn_from(trajectory)
        if self.config.train.mode != "offline":
            for metrics in self.learner.update_while_due():
                self._log_update(metrics)
                self._publish()
        self._listener(self._progress())

    def _publish(self) -> None:
        """A new version, once the learner has one."""
        if self.policy.version != self._snapshots[-1].version:
            self._snapshots.append(self.policy.snapshot())

    def _learn_offline(self, count: int) -> None:
        """Updates on what is there, without collecting, for as long as there is time."""
        started_s, before_s = time.monotonic(), self._trained_s
        for _ in range(count):
            if self._is_late():
                return
            self.learner.share_done = self._share_done()
            self._log_update(self.learner.update())
            self._publish()
            self._trained_s = before_s + time.monotonic() - started_s
            self._listener(self._progress())

    def _evaluate(self) -> None:
        """How it does on held-out tasks; everything else stands still meanwhile."""
        config = self.config.model_copy(update={"seed": EVALUATION_SEED})
        tasks, snapshot = held_out_tasks(self.config), self.policy.snapshot()
        reports = [
            summarise(run_virtual(evaluate(self.policy, tasks, config, is_greedy=is_greedy, snapshot=snapshot)))
            for is_greedy in ((True, False) if config.eval.has_sampled else (True,))
        ]
        self._note_evaluation(reports, self._progress())

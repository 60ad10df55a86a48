"""A worker of a fleet: a configuration and a way to the hub in, trajectories out until the run is over.

It puts together what fleet.py and worker.py offer: devices, a policy, the spool, the courier and the follower. Its name
stays the same over its lives, so that the next one delivers what the last one could not; its ticket never does.
"""

import asyncio
import contextlib
import os
import secrets
import socket
from pathlib import Path

import msgspec

from distrl.core.clock import Clock, LoopClock
from distrl.core.config import Config
from distrl.core.seeds import derive_random
from distrl.runtime.acting import RemoteActor, make_acting
from distrl.runtime.build import make_environment, make_pool, make_setup
from distrl.runtime.curriculum import Curriculum
from distrl.runtime.fleet import Courier, FleetTasks, Follower, HubAwayError, HubLink, Identity, Patience
from distrl.runtime.hub import News
from distrl.runtime.run_state import make_curriculum
from distrl.runtime.spool import Spool
from distrl.runtime.worker import Worker, WorkerOptions

MEASURED_S = 10.0
"""What is measured is averaged over so long at least."""
FLUSH_S = 10.0
"""How long the end of a run waits for what is not delivered; the spool keeps it."""


class FleetWorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is particular to one worker."""

    name: str = "worker-0"
    spool: Path
    num_devices: int
    first_device: int = 0
    is_beside: bool = False
    """Whether the policy computes in a thread of its own."""


class FleetWorker:
    """One worker in one life."""

    def __init__(
        self,
        config: Config,
        link: HubLink,
        options: FleetWorkerOptions,
        *,
        clock: Clock | None = None,
        ticket: str = "",
    ) -> None:
        self._config = config
        self._link = link
        self._clock = clock or LoopClock()
        ticket = ticket or secrets.token_hex(8)
        place = f"{socket.gethostname()}:{os.getpid()}"
        self.identity = Identity(options.name, ticket, place, options.num_devices)
        options.spool.parent.mkdir(parents=True, exist_ok=True)
        self.spool = Spool(options.spool, max_bytes=config.collect.spool_mb * 2**20)
        self.pool = make_pool(config, options.num_devices, first=options.first_device, clock=self._clock)
        life = f"{options.name}-{ticket}"
        self.tasks = FleetTasks(_curriculum(config, life), is_synchronous=config.collect.max_policy_lag == 0)
        rng = derive_random(config.seed, life, "patience")
        self.courier = Courier(self.identity, link, self.spool, patience=Patience(self._clock, rng))
        policy, load = make_acting(config)
        self._spending = policy.spending if isinstance(policy, RemoteActor) else dict[str, float]
        self.follower = Follower(
            self.identity,
            link,
            load=load,
            patience=Patience(self._clock, rng),
            tell=self._hear,
            measure=self._measure,
        )
        self.worker = Worker(
            self.pool,
            policy,
            weights=self.follower.weights,
            make_environment=lambda device: make_environment(config, device, is_judged_beside=True),
            make_setup=lambda task: make_setup(task, more_variations=config.phone.variations),
            send=self.courier.send,
            options=_worker_options(config, life, is_beside=options.is_beside),
        )
        self._measured: dict[str, float] = {}
        self._stats: dict[str, float] = {}
        self._measured_s = self._clock.now()

    async def run(self) -> None:
        """Works until the run is over, another takes its name, or it is cancelled; the spool survives all of these."""
        patience = Patience(self._clock, derive_random(self._config.seed, self.identity.name, "joining"))
        while True:
            try:
                await self.identity.join(self._link)
                break
            except HubAwayError:
                await patience.wait()
        try:
            async with asyncio.TaskGroup() as group:
                background = [group.create_task(loop.run()) for loop in (self.courier, self.follower)]
                await self.worker.run(self.tasks)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(FLUSH_S):
                        await self.courier.flush()
                for task in background:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        finally:
            await self.pool.close()
            self.spool.close()

    async def _hear(self, news: News) -> None:
        await self.tasks.hear(news, self.follower.version)

    def _measure(self) -> dict[str, float]:
        """What it was like lately, and what the policy's server has cost up to this moment."""
        return self._lately() | self._spending()

    def _lately(self) -> dict[str, float]:
        """Shares of the devices' time lately, and mean batch size."""
        now_s, times = self._clock.now(), dict(self.worker.times)
        if self._stats and now_s - self._measured_s < MEASURED_S:
            return self._stats
        spent = {name: seconds - self._measured.get(name, 0.0) for name, seconds in times.items()}
        total = max(1e-9, (now_s - self._measured_s) * max(1, len(self.pool)))
        self._measured, self._measured_s = times, now_s
        batcher = self.worker.batcher
        self._stats = {
            **{f"{name}_share": round(seconds / total, 4) for name, seconds in spent.items()},
            "batch_size": batcher.num_decisions / max(1, batcher.num_batches),
            "spooled": float(len(self.spool)),
            "quarantined": float(self.pool.states()["quarantined"]),
            "cut_short": float(self.worker.num_cut_short),
            "not_loaded": float(self.follower.counters["adapters_not_loaded"]),
            "relaunches": float(self.pool.num_relaunches),
            "skipped_tasks": float(self.worker.num_skipped),
            **{f"failures_{cause}": float(count) for cause, count in self.pool.failures_by_cause.items()},
        }
        return self._stats


def _worker_options(config: Config, life: str, *, is_beside: bool) -> WorkerOptions:
    """How one life of one worker goes about its episodes, as configured."""
    return WorkerOptions(
        name=life,
        seed=config.seed,
        swap_weights_at=config.collect.swap_weights_at,
        batch_s=config.simulation.batch_s,
        decision_s=config.simulation.decision_s,
        is_beside=is_beside,
    )


def _curriculum(config: Config, life: str) -> Curriculum:
    """The tasks of one life of one worker: like the learner's, but drawn by itself."""
    return make_curriculum(config, derive_random(config.seed, life, "curriculum"), group_prefix=f"{life}-")

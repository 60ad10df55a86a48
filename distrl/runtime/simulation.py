"""A whole fleet in virtual time: a configuration in, the run of that fleet out, as fast as one core computes it.

    learner + hub  <-- join, news, deliver --  worker (many), all on one event loop whose clock jumps

The classes are those of a real run; only the clock differs. What a device does takes the time of its latency profile,
what a model computes takes what `[simulation]` says, and everything is charged, not waited for. The same seed gives the
same run. Here lies no rule of its own: this puts together what asynchronous.py and fleet_worker.py offer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.config import Config
from distrl.runtime.asynchronous import AsyncTraining, spool_path
from distrl.runtime.fleet_worker import FleetWorker, FleetWorkerOptions
from distrl.runtime.hub import Hub, Published
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Listener


class DirectLink:
    """A hub in the same process."""

    def __init__(self, hub: Hub) -> None:
        self.join, self.news, self.weights = hub.join, hub.news, hub.weights
        self.deliver, self.report = hub.deliver, hub.report

    async def fetch(self, published: Published) -> bytes:
        """Its bytes are at hand."""
        return bytes(published.data)


async def at_once(work: Callable[[], Any]) -> Any:
    """Computing takes no virtual time, but for what is charged."""
    return work()


def is_simulated(config: Config) -> bool:
    """Whether a run in one thread is that of a fleet whose time passes: its phones or its models are not instant."""
    return config.phone.latency != "instant" or has_costs(config)


def has_costs(config: Config) -> bool:
    """Whether computing is charged for."""
    costs = config.simulation
    return bool(costs.batch_s or costs.decision_s or costs.update_s)


class Simulation:
    """A run in virtual time, in an open directory."""

    def __init__(
        self, config: Config, run: RunDirectory, *, listener: Listener = lambda progress: None, num_workers: int = 1
    ) -> None:
        self._config = config
        self._path: Path = run.path
        self._num_workers = num_workers
        self.training = AsyncTraining(config, run, listener=listener, clock=LoopClock(), compute=at_once)

    def run(self, during: Callable[[AsyncTraining], Awaitable[None]] | None = None) -> None:
        """Train to the end, from the newest checkpoint if there is one; `during` happens at the same time."""
        run_virtual(self._run(during))

    async def _run(self, during: Callable[[AsyncTraining], Awaitable[None]] | None) -> None:
        hub = self.training.open()
        try:
            beside = [] if during is None else [during(self.training)]
            await asyncio.gather(self.training.run(), *(worker.run() for worker in self._fleet(hub)), *beside)
        finally:
            self.training.journal.close()

    def _fleet(self, hub: Hub) -> list[FleetWorker]:
        """The workers. Their tickets are as good as any, and the same in every run."""
        total, count, first = self._config.collect.num_devices, self._num_workers, 0
        fleet = []
        for number in range(count):
            share = total // count + (number < total % count)
            if not share:
                break
            name = f"worker-{number}"
            options = FleetWorkerOptions(
                name=name, spool=spool_path(self._path, name), num_devices=share, first_device=first
            )
            fleet.append(FleetWorker(self._config, DirectLink(hub), options, ticket=f"life-{hub.life.epoch}"))
            first += share
        return fleet

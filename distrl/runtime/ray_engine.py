"""The engine on Ray: a configuration in, a trained run directory out; learner and workers are actors.

    driver (this process) -- starts, watches, drains --> LearnerActor  <-- join, news, deliver -- WorkerActor (many)

One machine gets a private Ray on loopback, with a token that nobody else has, and without dashboard; a cluster is
joined by its address. Ray places the actors, restarts those that die and carries the weights; what must not be lost is
in the journal and the spools, so a restarted actor goes on where the last one was.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import ray
from ray.exceptions import ActorDiedError, RayActorError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from distrl.core.config import Config, config_of
from distrl.runtime import reaper
from distrl.runtime.asynchronous import AsyncTraining, spool_path
from distrl.runtime.fleet import HubAwayError
from distrl.runtime.fleet_worker import FleetWorker, FleetWorkerOptions
from distrl.runtime.hub import News, Published, Receipt
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Progress
from distrl.runtime.signals import first_signal

Handle = Any
"""An actor in another process; Ray makes its methods up as they are called."""
NAMESPACE = "distrl"
DEVICES = "distrl_devices"
"""The resource by which a machine offers devices."""
POLL_S = 0.5
LOOK_S = 2.0
DRAIN_S = 60.0
CALL_S = 60.0


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Ray for the length of a block: a private one on this machine, or the cluster at an address."""
    if address:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        try:
            yield
        finally:
            ray.shutdown()
        return
    directory = Path(tempfile.mkdtemp(prefix="distrl-ray-"))
    os.environ[reaper.SESSION] = str(directory)
    watching = reaper.start(directory)
    try:
        _start_private(directory)
        yield
    finally:
        ray.shutdown()
        watching.communicate()
        del os.environ[reaper.SESSION]


def _start_private(directory: Path) -> None:
    ray.init(
        address="local",
        namespace=NAMESPACE,
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=512 * 2**20,
        log_to_driver=False,
        configure_logging=False,
        _temp_dir=str(directory),
    )


class LearnerActor:
    """The learner and its hub in a process of their own."""

    def __init__(self, tables: dict[str, Any], run: str) -> None:
        import torch

        torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
        self._progress: Progress | None = None
        self._evaluations: list[Progress] = []
        self._config = config_of(tables)
        self._run = RunDirectory(Path(run))
        self._run.open(self._config, is_locked=True)
        self._training = AsyncTraining(self._config, self._run, listener=self._hear, wrap=_put)
        self._hub = self._training.open()

    def _hear(self, progress: Progress) -> None:
        self._progress = progress
        if progress.kind == "evaluated":
            self._evaluations.append(progress)

    async def run(self) -> None:
        """Train to the end, or until drained."""
        try:
            await self._training.run()
        finally:
            self._run.close()

    async def drain(self) -> None:
        """End soon."""
        await self._training.drain()

    async def progress(self, seen: int) -> tuple[Progress | None, list[Progress]]:
        """Where the run stands, and the evaluations after the first `seen`."""
        return self._progress, self._evaluations[seen:]

    async def join(self, worker: str, ticket: str, place: str, num_devices: int) -> int:
        """See `Hub`."""
        return await self._hub.join(worker, ticket, place, num_devices)

    async def news(self, worker: str, ticket: str, have: int, stats: dict[str, float]) -> News | Receipt:
        """See `Hub`."""
        return await self._hub.news(worker, ticket, have, stats)

    async def weights(self, version: int) -> Published | None:
        """See `Hub`."""
        return await self._hub.weights(version)

    async def deliver(self, worker: str, ticket: str, parcels: list[bytes]) -> list[Receipt]:
        """See `Hub`."""
        return await self._hub.deliver(worker, ticket, parcels)

    async def report(self, worker: str, ticket: str, data: bytes) -> Receipt:
        """See `Hub`."""
        return await self._hub.report(worker, ticket, data)


def _put(data: bytes) -> Any:
    """Weights go to the object store once, and from there to every machine once."""
    return [ray.put(data)]


class RayLink:
    """The hub in another process. Whatever goes wrong on the way is a `HubAwayError`."""

    def __init__(self, learner: Handle) -> None:
        self._learner = learner

    async def join(self, worker: str, ticket: str, place: str, num_devices: int) -> int:
        """See `Hub`."""
        return cast("int", await _call(self._learner.join.remote(worker, ticket, place, num_devices)))

    async def news(self, worker: str, ticket: str, have: int, stats: dict[str, float]) -> News | Receipt:
        """See `Hub`."""
        return cast("News | Receipt", await _call(self._learner.news.remote(worker, ticket, have, stats)))

    async def weights(self, version: int) -> Published | None:
        """See `Hub`."""
        return cast("Published | None", await _call(self._learner.weights.remote(version)))

    async def deliver(self, worker: str, ticket: str, parcels: list[bytes]) -> list[Receipt]:
        """See `Hub`."""
        return cast("list[Receipt]", await _call(self._learner.deliver.remote(worker, ticket, parcels)))

    async def report(self, worker: str, ticket: str, data: bytes) -> Receipt:
        """See `Hub`."""
        return cast("Receipt", await _call(self._learner.report.remote(worker, ticket, data)))

    async def fetch(self, published: Published) -> bytes:
        """The bytes of published weights, from the object store."""
        return cast("bytes", await _call(published.data[0]))


async def _call(reference: Any) -> Any:
    """The answer, within a time."""
    try:
        async with asyncio.timeout(CALL_S):
            return await reference
    except (RayError, TimeoutError) as error:
        raise HubAwayError(f"the learner does not answer: {type(error).__name__}") from error


class WorkerActor:
    """A worker in a process of its own."""

    def __init__(self, tables: dict[str, Any], run: str, options: dict[str, Any]) -> None:
        import torch

        torch.set_num_threads(1)
        self._config = config_of(tables)
        self._options = FleetWorkerOptions(spool=spool_path(Path(run), options["name"]), **options)

    async def run(self, learner: Handle) -> None:
        """Work until the run is over."""
        await FleetWorker(self._config, RayLink(learner), self._options).run()


def train_on_ray(
    config: Config,
    run: Path,
    *,
    address: str | None,
    num_workers: int,
    listener: Callable[[Progress], None],
) -> bool:
    """Train to the end; False after an interruption, which drains and leaves a run that can be gone on with.

    The devices of the configuration are shared out to `num_workers` workers on this machine; every machine of the
    cluster that offers `distrl_devices` gets a worker for those, whenever it joins.
    """
    tables, place = config.model_dump(exclude_none=True), str(run.resolve())
    # Ray takes SIGTERM for itself when it is connected, so ours comes after it.
    with connected(address), first_signal() as interrupted:
        learner = (
            ray.remote(LearnerActor)
            .options(
                name=f"learner-{run.resolve().name}",
                max_restarts=-1,
                max_concurrency=1000,
                num_cpus=1,
                scheduling_strategy=_on_node(ray.get_runtime_context().get_node_id()),
            )
            .remote(tables, place)
        )
        fleet = Fleet(tables, place)
        fleet.start_here(config.collect.num_devices, num_workers)
        Watch(learner, fleet, listener, interrupted.is_set).until_the_end()
        return not interrupted.is_set()


def _on_node(node: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def _nodes() -> list[dict[str, Any]]:
    return list(ray.nodes())  # type: ignore[no-untyped-call]


class Fleet:
    """The workers of a run, here and on machines that join."""

    def __init__(self, tables: dict[str, Any], run: str) -> None:
        self._tables = tables
        self._run = run
        self._num_devices = 0
        self.workers: dict[str, Handle] = {}

    def start_here(self, num_devices: int, num_workers: int) -> None:
        """Share devices out to workers on this machine."""
        here = ray.get_runtime_context().get_node_id()
        for number in range(num_workers):
            share = num_devices // num_workers + (number < num_devices % num_workers)
            if share:
                self._start(f"worker-{number}", here, share)

    def look_for_machines(self) -> list[Handle]:
        """Workers for machines that have joined with devices since the last look; those that left are forgotten."""
        alive = {node["NodeID"]: int(node["Resources"].get(DEVICES, 0)) for node in _nodes() if node["Alive"]}
        new = [(node, count) for node, count in alive.items() if count and f"worker-{node[:12]}" not in self.workers]
        return [self._start(f"worker-{node[:12]}", node, count) for node, count in new]

    def _start(self, name: str, node: str, num_devices: int) -> Handle:
        options = {"name": name, "num_devices": num_devices, "first_device": self._num_devices}
        self._num_devices += num_devices
        self.workers[name] = (
            ray.remote(WorkerActor)
            .options(max_restarts=-1, max_concurrency=10, num_cpus=1, scheduling_strategy=_on_node(node))
            .remote(self._tables, self._run, options)
        )
        return self.workers[name]


class Watch:
    """The driver: tells of progress, calls what died back to work, welcomes machines, drains when asked to."""

    def __init__(
        self,
        learner: Handle,
        fleet: Fleet,
        listener: Callable[[Progress], None],
        is_interrupted: Callable[[], bool],
    ) -> None:
        self._learner = learner
        self._fleet = fleet
        self._listener = listener
        self._is_interrupted = is_interrupted
        self._seen = 0
        self._looked_s = 0.0
        self._drain_until_s: float | None = None

    def until_the_end(self) -> None:
        """Returns when the learner has ended; what cannot even be started is an error."""
        learning = self._learner.run.remote()
        working = {worker.run.remote(self._learner): worker for worker in self._fleet.workers.values()}
        while True:
            done, _ = ray.wait([learning, *working], num_returns=1, timeout=POLL_S)
            for reference in done:
                worker = working.pop(reference, None)
                if worker is not None:
                    if not self._has_ended(reference, is_needed=False):
                        working[worker.run.remote(self._learner)] = worker
                elif self._has_ended(reference, is_needed=True):
                    self._tell()
                    return
                else:
                    learning = self._learner.run.remote()
                    self._seen = 0
            if time.monotonic() - self._looked_s > LOOK_S:
                self._looked_s = time.monotonic()
                working |= {worker.run.remote(self._learner): worker for worker in self._fleet.look_for_machines()}
            self._tell()
            self._drain_if_asked()

    def _has_ended(self, reference: Any, *, is_needed: bool) -> bool:
        """Whether a call came back by itself; False if its process died and has been started again.

        A worker whose machine is gone has ended too; a learner that cannot be started is an error.
        """
        try:
            ray.get(reference)
        except ActorDiedError:
            if is_needed:
                raise
        except RayActorError:
            return False
        return True

    def _tell(self) -> None:
        try:
            progress, evaluations = ray.get(self._learner.progress.remote(self._seen), timeout=CALL_S)
        except RayError:
            return
        self._seen += len(evaluations)
        for evaluated in evaluations:
            self._listener(evaluated)
        if progress is not None and progress.kind == "collecting":
            self._listener(progress)

    def _drain_if_asked(self) -> None:
        if self._drain_until_s is None and self._is_interrupted():
            self._learner.drain.remote()
            self._drain_until_s = time.monotonic() + DRAIN_S
        if self._drain_until_s is not None and time.monotonic() > self._drain_until_s:
            raise TimeoutError(f"the learner did not stop within {DRAIN_S:.0f} s; what it acknowledged is safe")

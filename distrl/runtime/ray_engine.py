"""The engine on Ray: a configuration in, a trained run directory out; learner and workers are actors.

    driver (this process) -- starts, watches, drains --> LearnerActor  <-- join, news, deliver -- WorkerActor (many)

One machine gets a private Ray on loopback, with a token that nobody else has, and without dashboard; a cluster is
joined by its address. Ray places the actors, starts the learner again when it dies and carries the weights; workers are
started again by the driver. What must not be lost is in the journal and the spools, so whoever is started again goes on
where the last one was.
"""

import asyncio
import itertools
import logging
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from distrl.core.config import Config, config_of
from distrl.core.errors import UserError
from distrl.runtime import joining, ray_private, reaper
from distrl.runtime.asynchronous import AsyncTraining, spool_path
from distrl.runtime.build_devices import takes_serials
from distrl.runtime.companions import gather, gpus_of
from distrl.runtime.fleet import HubAwayError
from distrl.runtime.fleet_worker import FleetWorker, FleetWorkerOptions
from distrl.runtime.hub import Known, News, Published, Receipt
from distrl.runtime.ray_watch import CALL_S, Handle, Place, Watch
from distrl.runtime.run_directory import RunDirectory
from distrl.runtime.run_state import Progress
from distrl.runtime.signals import first_signal

_log = logging.getLogger(__name__)

NAMESPACE = "distrl"
DEVICES = "distrl_devices"
"""The resource by which a machine offers devices."""
YIELDING = 10
"""Niceness of workers beside the learner: where processors are short, updates go first, and what has arrived bounds
them, so nobody starves."""


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Ray for the length of a block: a private one on this machine, or the cluster at an address."""
    if address:
        with _joined(address):
            yield
        return
    ray_private.allow_open_files()
    directory = ray_private.session_directory()
    os.environ[reaper.SESSION] = str(directory)
    watching = reaper.start(directory)
    try:
        with ray_private.kept(directory) as own, _joined(own):
            yield
    finally:
        watching.communicate()
        del os.environ[reaper.SESSION]


@contextmanager
def _joined(address: str) -> Iterator[None]:
    try:
        try:
            ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        except (RayError, RuntimeError, OSError) as error:
            raise UserError(
                f"cannot join the Ray at {address}: is it running, and are RAY_AUTH_MODE and RAY_AUTH_TOKEN those that "
                "it was started with?"
            ) from error
        yield
    finally:
        ray.shutdown()


class LearnerActor:
    """The learner and its hub in a process of their own."""

    def __init__(self, tables: dict[str, Any], run: str) -> None:
        import torch

        torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
        self._life: asyncio.Future[None] | None = None
        self._mistake: UserError | None = None
        try:
            self._open(tables, run)
        except UserError as error:  # of an actor that cannot be made Ray tells pages; `run` tells the one sentence
            self._mistake = error

    def _open(self, tables: dict[str, Any], run: str) -> None:
        self._progress: Progress | None = None
        self._evaluations: list[Progress] = []
        self._config = config_of(tables)
        self._run = RunDirectory(Path(run))
        self._run.open(self._config, is_locked=True)
        self._training = AsyncTraining(self._config, self._run, listener=self._hear, wrap=_put)
        self._hub = self._training.open()
        shared = gather(self._config, self._training.policy)
        if shared is not None:
            shared.share_weights()
            self._training.learner.policy = shared

    def _hear(self, progress: Progress) -> None:
        self._progress = progress
        if progress.kind == "evaluated":
            self._evaluations.append(progress)

    async def run(self) -> None:
        """Train to the end, or until drained. Called twice, it still trains once."""
        if self._mistake is not None:
            raise self._mistake
        self._life = self._life or asyncio.ensure_future(self._train())
        await asyncio.shield(self._life)

    async def _train(self) -> None:
        try:
            await self._training.run()
        finally:
            self._run.close()

    async def drain(self) -> None:
        """End soon."""
        await self._training.drain()

    async def progress(self, seen: int) -> tuple[Progress | None, list[Progress], dict[str, int]]:
        """Where the run stands, the evaluations after the first `seen`, and how much each worker has delivered."""
        return self._progress, self._evaluations[seen:], dict(self._hub.taken_from)

    async def join(self, worker: str, ticket: str, place: str, num_devices: int) -> int:
        """See `Hub`."""
        return await self._hub.join(worker, ticket, place, num_devices)

    async def news(self, worker: str, ticket: str, have: Known, stats: dict[str, float]) -> News | Receipt:
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

    async def news(self, worker: str, ticket: str, have: Known, stats: dict[str, float]) -> News | Receipt:
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
        if options.pop("is_here"):
            os.nice(YIELDING)  # of this thread, in which everything happens, and of those that it starts
        else:
            self._settle(options)
        self._options = FleetWorkerOptions(
            spool=spool_path(Path(run), options["name"]), is_beside=self._config.policy.kind != "tiny", **options
        )
        self._life: asyncio.Future[None] | None = None

    def _settle(self, options: dict[str, Any]) -> None:
        """On a machine that joined: with the devices that it has itself."""
        try:
            with ThreadPoolExecutor(1) as beside:  # Ray makes us in a running event loop, and this waits in its own
                settling = beside.submit(joining.settle_joined, self._config, options["num_devices"])
            self._config = settling.result()
        except UserError as error:
            joining.refuse(error)
            raise
        options["num_devices"] = self._config.collect.num_devices
        if takes_serials(self._config):
            options["first_device"] = 0

    async def run(self, learner: Handle) -> None:
        """Work until the run is over. Who was out of reach and is called again goes on with what it does."""
        if self._life is None or self._life.done():
            self._life = asyncio.ensure_future(FleetWorker(self._config, RayLink(learner), self._options).run())
        await asyncio.shield(self._life)


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
    with ray_private.own_stdout(), connected(address), first_signal() as interrupted:
        learner = (
            ray.remote(LearnerActor)
            .options(
                name=f"learner-{run.resolve().name}",
                max_restarts=-1,
                max_concurrency=1000,
                num_cpus=0,
                num_gpus=gpus_of(tables, "learner_gpus"),
                scheduling_strategy=_on_node(ray.get_runtime_context().get_node_id()),
            )
            .remote(tables, place)
        )
        fleet = Fleet(tables, place)
        here = fleet.places_here(config.collect.num_devices, num_workers)
        Watch(learner, here, fleet.look_for_machines, listener, interrupted.is_set).until_the_end()
        return not interrupted.is_set()


def _on_node(node: str) -> NodeAffinitySchedulingStrategy:
    """Where an actor has to be. It asks for no CPUs besides: on a small machine it would wait for them for ever."""
    return NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def _nodes() -> list[dict[str, Any]]:
    return list(ray.nodes())  # type: ignore[no-untyped-call]


class Fleet:
    """The workers of a run, here and on machines that join."""

    def __init__(self, tables: dict[str, Any], run: str) -> None:
        self._tables = tables
        self._run = run
        self._num_devices = 0
        self._first_devices: dict[str, int] = {}
        self._machines: dict[str, str] = {}
        """The workers of machines that are there, by node."""
        self._here: list[str] = []

    def places_here(self, num_devices: int, num_workers: int) -> list[Place]:
        """Share devices out to workers on this machine."""
        node = ray.get_runtime_context().get_node_id()
        count = min(num_workers, num_devices)
        self._here = [f"worker-{number}" for number in range(count)]
        shares = [num_devices // count + (number < num_devices % count) for number in range(count)]
        return [self._place(*each, node, is_here=True) for each in zip(self._here, shares, strict=True)]

    def look_for_machines(self) -> list[Place]:
        """Places on machines that have joined with devices since the last look; those that left are forgotten."""
        offers = {node["NodeID"]: node for node in _nodes() if node["Alive"] and node["Resources"].get(DEVICES, 0) >= 1}
        for node in set(self._machines) - set(offers):
            _log.warning("the machine of %s has left; the run goes on without it", self._machines.pop(node))
        joined = []
        for node, offer in offers.items():
            if node not in self._machines:
                self._machines[node] = name = self._free_name(offer["NodeManagerHostname"])
                _log.info("the machine of %s has joined", name)
                joined.append(self._place(name, int(offer["Resources"][DEVICES]), node, is_here=False))
        return joined

    def _free_name(self, host: str) -> str:
        """The name of a machine's worker. A machine that comes back gets the same, so what it has spooled is sent."""
        plain = "worker-" + re.sub(r"[^A-Za-z0-9.-]+", "-", host)
        names = itertools.chain([plain], (f"{plain}-{number}" for number in itertools.count(2)))
        return next(name for name in names if name not in {*self._here, *self._machines.values()})

    def _place(self, name: str, num_devices: int, node: str, *, is_here: bool) -> Place:
        if name not in self._first_devices:
            self._first_devices[name] = self._num_devices
            self._num_devices += num_devices
        first = self._first_devices[name]
        options = {"name": name, "num_devices": num_devices, "first_device": first, "is_here": is_here}
        return Place(name, partial(self._start, node, options), is_here)

    def _start(self, node: str, options: dict[str, Any]) -> Handle | None:
        """A worker's process. Ray does not start it again: it would not tell how often, and has no end to it."""
        if not any(found["NodeID"] == node and found["Alive"] for found in _nodes()):
            return None
        return (
            ray.remote(WorkerActor)
            .options(
                max_restarts=0,
                max_concurrency=10,
                num_cpus=0,
                num_gpus=gpus_of(self._tables, "worker_gpus"),
                scheduling_strategy=_on_node(node),
            )
            .remote(self._tables, self._run, options)
        )

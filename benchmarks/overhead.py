"""What the framework costs around device and model: a simulated phone and the tiny policy in, milliseconds a step out.

    python benchmarks/overhead.py [--json]

Between the moment a device has shown its screen and the moment it is told what to do next lie the environment, the
worker's loop, the batch and the policy; what is not the policy's is overhead. It is measured for every step, waiting
for the rest of a batch included. What a finished episode costs on its way to the learner (encoding, spool, journal,
decoding) is measured as a whole and shared out to its steps.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import torch

from distrl.core.clock import LoopClock
from distrl.core.config import config_of
from distrl.core.types import Trajectory
from distrl.devices.pool import Pool
from distrl.runtime.build import make_environment, make_setup, make_sim_device
from distrl.runtime.curriculum import FixedTasks
from distrl.runtime.fleet import Courier, Identity, Patience
from distrl.runtime.hub import Hub
from distrl.runtime.journal import Journal
from distrl.runtime.policies import load_start
from distrl.runtime.simulation import DirectLink
from distrl.runtime.spool import Spool
from distrl.runtime.worker import Worker, WorkerOptions
from distrl.tasks.book import load_tasks


class Stopwatch:
    """Sums up what is not the framework's between two operations of the device."""

    def __init__(self) -> None:
        self.shown_s = 0.0
        self.decided_s = 0.0
        self.gaps_s: list[float] = []

    def shown(self) -> None:
        """The device has shown its screen."""
        self.shown_s, self.decided_s = time.perf_counter(), 0.0

    def told(self) -> None:
        """The device is told what to do."""
        self.gaps_s.append(time.perf_counter() - self.shown_s - self.decided_s)


class WatchedDevice:
    """A device whose operations are noted; everything else is its own."""

    def __init__(self, device: Any, watch: Stopwatch) -> None:
        self._device = device
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    async def inspect(self, app: str) -> Any:
        """Judging is the judge's time, and it happens between the two moments: not the framework's."""
        began_s = time.perf_counter()
        try:
            return await self._device.inspect(app)
        finally:
            self._watch.decided_s += time.perf_counter() - began_s

    async def observe(self) -> Any:
        """Show the screen."""
        shown = await self._device.observe()
        self._watch.shown()
        return shown

    async def perform(self, action: Any) -> None:
        """Do something."""
        self._watch.told()
        await self._device.perform(action)


class WatchedPolicy:
    """A policy whose time is noted."""

    def __init__(self, policy: Any, watch: Stopwatch) -> None:
        self._policy = policy
        self._watch = watch

    def decide(self, *args: Any) -> Any:
        """Decide."""
        began_s = time.perf_counter()
        try:
            return self._policy.decide(*args)
        finally:
            self._watch.decided_s += time.perf_counter() - began_s


async def play(count: int, mode: str) -> tuple[Stopwatch, list[Trajectory]]:
    """So many episodes on one phone that answers at once."""
    config = config_of({"policy": {"mode": mode}, "phone": {"scale": 0.25}})
    watch = Stopwatch()
    policy = load_start(config)
    snapshot = policy.snapshot()
    done: list[Trajectory] = []

    async def send(trajectory: Trajectory) -> None:
        done.append(trajectory)

    worker = Worker(
        Pool({"sim-0": lambda: WatchedDevice(make_sim_device(config), watch)}, clock=LoopClock()),
        WatchedPolicy(policy, watch),
        weights=lambda assignment: snapshot,
        make_environment=lambda device: make_environment(config, device),
        make_setup=lambda task: make_setup(task),
        send=send,
        options=WorkerOptions(),
    )
    await worker.run(FixedTasks(load_tasks("general", "train")[:count]))
    return watch, done


async def deliver(trajectories: list[Trajectory]) -> float:
    """Milliseconds that a step costs from the end of its episode to the learner's hands."""
    with tempfile.TemporaryDirectory() as directory:
        clock = LoopClock()
        journal = Journal(Path(directory) / "journal.sqlite")
        hub = Hub(journal, journal.begin_epoch(), clock=clock, max_waiting=10**6)
        identity = Identity("worker-0", "0", "here", 1)
        link = DirectLink(hub)
        await identity.join(link)
        spool = Spool(Path(directory) / "spool.sqlite", max_bytes=2**40)
        courier = Courier(identity, link, spool, patience=Patience(clock, Random(0)))
        delivering = asyncio.ensure_future(courier.run())
        began_s = time.process_time()
        for trajectory in trajectories:
            await courier.send(trajectory)
        await courier.flush()
        spent_s = time.process_time() - began_s
        delivering.cancel()
        arrived = await hub.take(10**6, 0.0)
        assert len(arrived) == len(trajectories)
        journal.close()
        spool.close()
    return 1000 * spent_s / sum(len(t.steps) for t in trajectories)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--mode", default="text", choices=("pixels", "text"))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    watch, done = asyncio.run(play(args.episodes, args.mode))
    gaps_ms = sorted(1000 * gap for gap in watch.gaps_s)
    result = {
        "steps": len(gaps_ms),
        "step_ms_median": round(statistics.median(gaps_ms), 3),
        "step_ms_p90": round(gaps_ms[int(0.9 * len(gaps_ms))], 3),
        "delivery_ms_per_step": round(asyncio.run(deliver(done)), 3),
    }
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        print(
            f"{result['step_ms_median']} ms a step at the median (90 %: {result['step_ms_p90']} ms) between screen and "
            f"action without the policy, over {result['steps']} steps; {result['delivery_ms_per_step']} ms a step for "
            "delivery"
        )


if __name__ == "__main__":
    main()

"""How much faster a fleet collects when nobody waits: a fleet in, trajectories per minute with and without barrier out.

    python benchmarks/collection.py --devices 32 --fleet even|lab|rough [--quick] [--real] --json

The same worker, hub and policy collect twice: asynchronously, and synchronously (`collect.max_policy_lag = 0`: one
episode for each device, then all wait for the next version). The *bound* is what devices that never wait would reach,
computed from the time that the asynchronous run's devices spent in operations. Virtual time by default: the latencies
are those of real emulators, and an hour takes a minute. `--real` waits for real, ten times faster.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from distrl.core.clock import Clock, LoopClock, run_virtual
from distrl.core.config import Config, config_of
from distrl.runtime.fleet_worker import FleetWorker, FleetWorkerOptions
from distrl.runtime.hub import Hub
from distrl.runtime.journal import Journal
from distrl.runtime.policies import load_start
from distrl.runtime.simulation import DirectLink
from distrl.runtime.tensors import pack_tensors

FASTER = 10.0


class FastClock:
    """Real time in which every wait is a tenth as long; it says how long it would have been."""

    def now(self) -> float:
        """Seconds as they would have been."""
        return asyncio.get_running_loop().time() * FASTER

    async def sleep(self, seconds: float) -> None:
        """Wait for a tenth of it."""
        if seconds > 0:
            await asyncio.sleep(seconds / FASTER)


class Collected:
    """What a run of the fleet gave."""

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self.lengths: list[int] = []
        self.wall_s = 0.0
        self.device_s = 0.0
        self.inference_s = 0.0
        self.num_decisions = 0
        self.num_batches = 0
        self.num_devices = 0

    def per_minute(self, skip_s: float) -> float:
        """Trajectories a minute after the start, in which every device boots."""
        counted = [at for at in self.times_s if at > skip_s]
        return 60 * len(counted) / max(1e-9, self.wall_s - skip_s)

    def steps_per_s(self, skip_s: float) -> float:
        """Steps a second after the start, of the episodes that ended."""
        counted = [length for at, length in zip(self.times_s, self.lengths, strict=True) if at > skip_s]
        return sum(counted) / max(1e-9, self.wall_s - skip_s)


async def collect(config: Config, seconds: float, clock: Clock) -> Collected:
    """Collect for so long."""
    collected = Collected()
    weights = pack_tensors(load_start(config).snapshot().parameters)
    with tempfile.TemporaryDirectory() as directory:
        journal = Journal(Path(directory) / "journal.sqlite")
        hub = Hub(journal, journal.begin_epoch(), clock=clock, max_waiting=10**6)
        options = FleetWorkerOptions(spool=Path(directory) / "spool.sqlite", num_devices=config.collect.num_devices)
        worker = FleetWorker(config, DirectLink(hub), options, clock=clock, ticket="0")
        working = asyncio.ensure_future(worker.run())
        began_s, loop_began_s = clock.now(), asyncio.get_running_loop().time()
        version = waiting = 0
        await hub.publish(version, weights)
        while clock.now() - began_s < seconds:
            arrivals = await hub.take(10**6, 1.0)
            collected.times_s += [arrival.time_s - began_s for arrival in arrivals]
            collected.lengths += [len(arrival.trajectory.steps) for arrival in arrivals]
            waiting += len(arrivals)
            if config.collect.max_policy_lag == 0 and waiting >= hub.num_devices:
                version, waiting = version + 1, 0
                await hub.publish(version, weights)
        collected.wall_s = clock.now() - began_s
        # A worker measures in seconds of its loop, which may be shorter than those of its clock.
        per_second = collected.wall_s / (asyncio.get_running_loop().time() - loop_began_s)
        collected.device_s = worker.worker.times["device"] * per_second
        collected.inference_s = worker.worker.times["inference"] * per_second
        collected.num_decisions = worker.worker.batcher.num_decisions
        collected.num_batches = worker.worker.batcher.num_batches
        collected.num_devices = config.collect.num_devices
        await hub.end()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        journal.close()
    return collected


def settings(args: argparse.Namespace, *, is_synchronous: bool) -> Config:
    """The same fleet, with or without a barrier."""
    return config_of(
        {
            "seed": args.seed,
            "phone": {"latency": args.fleet, "scale": 0.1},
            "policy": {"mode": "text"},
            "collect": {"num_devices": args.devices, **({"max_policy_lag": 0} if is_synchronous else {})},
        }
    )


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Both ways of collecting, and the bound."""
    seconds = args.minutes * 60
    results: dict[bool, Collected] = {}
    for is_synchronous in (False, True):
        print("synchronous" if is_synchronous else "asynchronous", "...", file=sys.stderr, flush=True)
        config = settings(args, is_synchronous=is_synchronous)
        if args.real:
            results[is_synchronous] = asyncio.run(collect(config, seconds, FastClock()))
        else:
            results[is_synchronous] = run_virtual(collect(config, seconds, LoopClock()))
    free, tied = results[False], results[True]
    skip_s = 60.0
    free_rate, tied_rate = free.per_minute(skip_s), tied.per_minute(skip_s)
    use = free.device_s / (free.wall_s * free.num_devices)
    return {
        "fleet": args.fleet,
        "devices": args.devices,
        "minutes": args.minutes,
        "clock": "real, ten times faster" if args.real else "virtual",
        "ratio": round(free_rate / tied_rate, 3),
        "bound": round(free_rate / use / tied_rate, 3),
        "device_use": round(use, 4),
        "sync_device_use": round(tied.device_s / (tied.wall_s * tied.num_devices), 4),
        "async_per_min": round(free_rate, 2),
        "sync_per_min": round(tied_rate, 2),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=32)
    parser.add_argument("--fleet", default="lab", choices=("even", "lab", "rough"))
    parser.add_argument("--minutes", type=float, help="of the fleet's time; 60, or 10 with --quick")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--real", action="store_true", help="wait for real, ten times faster")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.minutes = args.minutes or (10.0 if args.quick else 60.0)
    torch.set_num_threads(1)
    began_s = time.monotonic()
    result = measure(args) | {"took_s": round(time.monotonic() - began_s, 1)}
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        print(
            f"{args.fleet}: {result['async_per_min']} a minute against {result['sync_per_min']} with a barrier, "
            f"{result['ratio']}x (bound {result['bound']}x), devices busy {result['device_use']:.1%} of the time"
        )


if __name__ == "__main__":
    main()

"""How fast weights reach the workers: sizes in, milliseconds from publication to the first and last worker out.

    python benchmarks/broadcast.py [--workers 8] [--sizes-mb 1,5,50,1000] [--json]

A hub in one process and followers in others, on a private Ray on this machine, as in a run: news, the object store, the
check of the digest. `verified` is when a worker has weights that it may act with, `acting` when it first acts with them
(it decides every millisecond). Two cores hash and copy for all workers here; on a real fleet each machine has its own.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from distrl.core.clock import LoopClock
from distrl.runtime import ray_private
from distrl.runtime.fleet import Follower, Identity, Patience
from distrl.runtime.hub import Hub
from distrl.runtime.journal import Journal

ROUNDS = 5

# Ray must not be imported before its environment is set: what needs it imports it where it runs.


class Source:
    """The learner's side."""

    def __init__(self) -> None:
        journal = Journal(Path(":memory:"))
        self._hub = Hub(journal, journal.begin_epoch(), clock=LoopClock(), max_waiting=16)

    async def join(self, *args: Any) -> Any:
        return await self._hub.join(*args)

    async def news(self, *args: Any) -> Any:
        return await self._hub.news(*args)

    async def publish(self, version: int, num_bytes: int) -> float:
        """When it began."""
        import ray

        data = Random(version).randbytes(1024) * (num_bytes // 1024)
        began_s = time.monotonic()
        await self._hub.publish(version, data, wrap=lambda data: [ray.put(data)])
        return began_s


class Sink:
    """A worker's side."""

    def __init__(self, source: Any, number: int) -> None:
        from distrl.runtime.ray_engine import RayLink

        self._verified: dict[int, float] = {}
        self._acting: dict[int, float] = {}
        name = f"worker-{number}"
        self._identity = Identity(name, name, name, 1)
        self._link = RayLink(source)
        self._follower = Follower(
            self._identity,
            self._link,
            load=self._load,
            patience=Patience(LoopClock(), Random(number)),
            tell=self._hear,
            measure=dict,
        )

    def _load(self, version: int, data: bytes) -> Any:
        self._verified[version] = time.monotonic()
        return type("Weights", (), {"version": version})()

    async def _hear(self, news: Any) -> None:
        pass

    async def start(self) -> None:
        await self._identity.join(self._link)
        self._tasks = [asyncio.ensure_future(self._follower.run()), asyncio.ensure_future(self._act())]

    async def _act(self) -> None:
        while True:
            self._acting.setdefault(self._follower.version, time.monotonic())
            await asyncio.sleep(0.001)

    async def times(self, version: int) -> tuple[float, float]:
        """When this worker had a version, and when it acted with it."""
        while version not in self._acting:
            await asyncio.sleep(0.002)
        return self._verified[version], self._acting[version]


def measure(num_workers: int, sizes_mb: list[int]) -> list[dict[str, Any]]:
    """All sizes, several times each."""
    ray_private.prepare(None)
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=4 * 2**30, log_to_driver=False)
    source: Any = ray.remote(Source).options(num_cpus=0, max_concurrency=100).remote()
    start: Any = ray.remote(Sink).options(num_cpus=0, max_concurrency=10).remote
    sinks = [start(source, number) for number in range(num_workers)]
    ray.get([sink.start.remote() for sink in sinks])
    version, rows = 0, []
    for size in sizes_mb:
        rounds = ROUNDS if size < 500 else 2
        print(f"{size} MB, {rounds} times", file=sys.stderr, flush=True)
        kinds: dict[str, list[float]] = {"first_verified": [], "all_verified": [], "first_acting": [], "all_acting": []}
        for _ in range(rounds + 1):
            began_s = ray.get(source.publish.remote(version, size * 2**20))
            times = ray.get([sink.times.remote(version) for sink in sinks])
            version += 1
            for place, kind in enumerate(("verified", "acting")):
                kinds[f"first_{kind}"].append(1000 * (min(t[place] for t in times) - began_s))
                kinds[f"all_{kind}"].append(1000 * (max(t[place] for t in times) - began_s))
        # The first round warms everything up.
        rows.append({"mb": size} | {f"{k}_ms": round(statistics.median(v[1:]), 1) for k, v in kinds.items()})
    ray.shutdown()
    return rows


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--sizes-mb", type=lambda text: [int(s) for s in text.split(",")], default=[1, 5, 50, 1000])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = measure(args.workers, args.sizes_mb)
    if args.json:
        print(json.dumps({"workers": args.workers, "rows": rows}, indent=2))
        return
    for row in rows:
        print(
            f"{row['mb']:5} MB to {args.workers} workers: first {row['first_verified_ms']} ms, "
            f"all {row['all_verified_ms']} ms; all act with it after {row['all_acting_ms']} ms"
        )


if __name__ == "__main__":
    main()

"""How fast the replay is, and how small. Run: python benchmarks/replay.py [--quick] [--codecs] [--json FILE]

The work of a learner beside the same work done with TorchRL's prioritised buffer, both in this process and in turn; the
time that new and repeated screens take; the bytes that a step takes. Screens are those of the built-in phone while the
expert and random play do tasks of all suites. Processor time is taken, since other programs share the cores.

The same work: a trajectory arrives, a batch is drawn, its trajectories are in hand as they were, with their screens (or
without, which is how a learner reads what workers have described), and get new priorities. Neither side can keep
objects or raw pixels, which would take forty times the memory; so TorchRL's buffer is given our packing and our
store of screens, and all that differs is what keeps and draws. Drawing and re-prioritising alone have their own row.

TorchRL is compared with where it works. Its compiled part loads only with the torch it was built for:

    python3 -m venv /tmp/torchrl && /tmp/torchrl/bin/pip install torchrl==0.14.1 torch==2.14.1 zstandard -e .
    /tmp/torchrl/bin/python benchmarks/replay.py
"""

import argparse
import contextlib
import hashlib
import importlib
import importlib.metadata
import itertools
import json
import platform
import statistics
import sys
import time
import tracemalloc
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import zstandard
from msgspec.structs import replace

from distrl.core.types import Decision, Observation, Outcome, Ruling, Screen, Step, Task, Trajectory, Verdict
from distrl.devices.sim.phone import Phone
from distrl.policies.scripted import RandomPolicy
from distrl.replay.compression import Compression
from distrl.replay.packing import pack, screens_of, unpack, unpack_blind
from distrl.replay.prioritised import PrioritisedReplay
from distrl.replay.screens import ScreenStore
from distrl.replay.state import PackedTrajectory
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange, see
from distrl.tasks.book import expert_for, is_solved, load_tasks

SUITES = ("general", "web_shopping", "install", "system")
NUM_ITEMS = (1_000, 10_000)
BATCH_SIZES = (8, 32)
ALPHA = 0.6
NUM_STEPS = 4
WORK: Mapping[str, Sequence[str]] = {
    "the same work, with screens": ("add", "sample", "read", "update"),
    "the same work, without screens": ("add", "sample", "read_blind", "update"),
    "drawing and re-prioritising alone": ("sample", "update"),
}
BLANK = Screen(data=b"", width=0, height=0)

Row = dict[str, float | str]
Operations = Mapping[str, Callable[[], object]]
"""What is timed, by name, in the order in which it is called again and again."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--codecs", action="store_true", help="compare ways to compress and to find screens as well")
    parser.add_argument("--json", type=Path, help="a file for the figures, which are printed too")
    arguments = parser.parse_args()
    print(f"measuring: about {20 if arguments.quick else 120} s", file=sys.stderr)
    episodes = play(tasks_per_suite=3 if arguments.quick else 12)
    figures = {
        "work": compare(episodes, num_rounds=40 if arguments.quick else 400),
        "memory": [*measure_memory(episodes), *measure_screens(episodes)],
    }
    if arguments.codecs:
        figures["codecs"] = measure_codecs(unique_screens(episodes)[:400])
    print("\n\n".join(map(table, figures.values())))
    if arguments.json:
        about = {"command": " ".join(sys.argv), "versions": versions()}
        arguments.json.write_text(json.dumps(about | figures, indent=2) + "\n")


# ---------------------------------------------------------------- what is replayed


def play(*, tasks_per_suite: int) -> list[Trajectory]:
    """Episodes of all suites, half of them the expert's, half of them random."""
    phone, rng = make_phone(), Random(0)
    tasks = [task for suite in SUITES for task in rng.sample(load_tasks(suite, "train"), tasks_per_suite)]
    return [attempt(phone, task, rng, is_expert=is_expert) for task in tasks for is_expert in (True, False)]


def attempt(phone: Phone, task: Task, rng: Random, *, is_expert: bool) -> Trajectory:
    """One episode, with its screens."""
    arrange(phone, task)
    expert, wanderer = expert_for(task, phone.inspect), RandomPolicy(rng)
    width, height = phone.size
    seen: list[Observation] = []
    steps: list[Step] = []
    while True:
        screen = Screen(data=phone.render(), width=width, height=height)
        seen.append(replace(see(phone), screen=screen))
        if len(steps) == task.max_steps or is_solved(task, phone.inspect):
            break
        action = expert.act(seen[-1]) if is_expert else wanderer.act(task, seen[-1])
        steps.append(Step(observation=seen[-1], decision=Decision(action=action), rewards={"task": 0.0}))
        phone.perform(action)
    return Trajectory(
        id=f"{task.id}-{is_expert}",
        task=task,
        steps=tuple(steps),
        final=seen[-1],
        outcome=Outcome.FAILED,
        verdict=Verdict(ruling=Ruling.FAILURE, judge="none"),
        worker="w0",
        device="sim-0",
    )


def unique_screens(episodes: Sequence[Trajectory]) -> list[Screen]:
    """Every screen that was seen, once."""
    return list(dict.fromkeys(o.screen for e in episodes for o in (*(s.observation for s in e.steps), e.final)))


def copied(screen: Screen) -> Screen:
    """The same pixels in new bytes, as they come from another process."""
    return replace(screen, data=bytes(bytearray(screen.data)))


# ---------------------------------------------------------------- the work of a learner


class Ours:
    """Our replay, full, so that each add lets one go."""

    def __init__(self, items: Sequence[Trajectory], num_items: int, batch_size: int) -> None:
        capacity_steps = num_items * NUM_STEPS
        self.replay = PrioritisedReplay(
            capacity_steps=capacity_steps, alpha=ALPHA, freshness_tau_versions=None, rng=Random(0)
        )
        self.batch_size = batch_size
        self.arriving = arrivals(items)
        self.priorities = [Random(1).random() for _ in range(batch_size)]
        self.drawn: list[str] = []
        for _ in range(num_items):
            self.add()

    def add(self) -> None:
        self.replay.add(next(self.arriving))

    def sample(self) -> None:
        self.drawn = [sample.id for sample in self.replay.sample(self.batch_size)]

    def read(self) -> list[Trajectory]:
        return [self.replay.get(id) for id in self.drawn]

    def read_blind(self) -> list[Trajectory]:
        return [self.replay.get_blind(id) for id in self.drawn]

    def update(self) -> None:
        self.replay.reprioritise(dict(zip(self.drawn, self.priorities, strict=True)))


class TorchRL:
    """TorchRL's buffer with the storage that costs it least, a list, of trajectories packed as ours are."""

    def __init__(self, items: Sequence[Trajectory], num_items: int, batch_size: int) -> None:
        torch: Any = importlib.import_module("torch")
        data: Any = importlib.import_module("torchrl.data")
        torch.set_num_threads(1)
        self.buffer = data.ReplayBuffer(
            storage=data.ListStorage(num_items),
            sampler=data.replay_buffers.samplers.PrioritizedSampler(num_items, alpha=ALPHA, beta=0.4),
            collate_fn=list,
            batch_size=batch_size,
        )
        self.compression = Compression()
        self.screens = ScreenStore(self.compression)
        self.kept: deque[PackedTrajectory] = deque()
        self.num_items = num_items
        self.arriving = arrivals(items)
        self.priorities = torch.rand(batch_size)
        self.drawn: list[PackedTrajectory] = []
        self.index: Any = None
        for _ in range(num_items):
            self.add()

    def add(self) -> None:
        trajectory = next(self.arriving)
        numbers = tuple(self.screens.keep(screen) for screen in screens_of(trajectory))
        packed = PackedTrajectory(body=pack(trajectory, self.compression), screens=numbers)
        self.buffer.add(packed)
        # It overwrites the oldest and says nothing; somebody has to know which screens nobody shows any more.
        self.kept.append(packed)
        if len(self.kept) > self.num_items:
            for number in self.kept.popleft().screens:
                self.screens.release(number)

    def sample(self) -> None:
        self.drawn, info = self.buffer.sample(return_info=True)
        self.index = info["index"]

    def read(self) -> list[Trajectory]:
        screens = self.screens
        return [unpack(p.body, [screens.get(number) for number in p.screens], self.compression) for p in self.drawn]

    def read_blind(self) -> list[Trajectory]:
        return [unpack_blind(packed.body, self.compression) for packed in self.drawn]

    def update(self) -> None:
        self.buffer.update_priority(self.index, self.priorities)


def compare(episodes: Sequence[Trajectory], *, num_rounds: int) -> list[Row]:
    """Median microseconds of the work of a learner by size and batch; the ratio is TorchRL's time over ours."""
    reason = why_not_torchrl()
    if reason:
        print(f"only ours is measured: {reason}", file=sys.stderr)
    # All equally long, so that both keep equally many; of many episodes, since screens differ as they do in a run.
    items = [replace(e, steps=e.steps[:NUM_STEPS], final=e.steps[NUM_STEPS].observation) for e in long_ones(episodes)]
    rows: list[Row] = []
    for num_items, batch_size in itertools.product(NUM_ITEMS, BATCH_SIZES):
        sides: list[Ours | TorchRL] = [Ours(items, num_items, batch_size)]
        sides += [] if reason else [TorchRL(items, num_items, batch_size)]
        for side in sides:
            side.sample()
            check(side.read(), items)
        for name, parts in WORK.items():
            operations = {f"{type(side).__name__} {part}": getattr(side, part) for side in sides for part in parts}
            us = medians_us(operations, num_rounds)
            totals = [sum(us[f"{type(side).__name__} {part}"] for part in parts) for side in sides]
            row: Row = {"items": num_items, "batch": batch_size, "work": name, "ours us": round(totals[0])}
            if not reason:
                row |= {"TorchRL us": round(totals[1]), "ratio": round(totals[1] / totals[0], 2)}
            told = (f"{part} " + " : ".join(f"{us[f'{type(s).__name__} {part}']:.0f}" for s in sides) for part in parts)
            rows.append(row | {"ours : TorchRL by part, us": ", ".join(told)})
    return rows


def long_ones(episodes: Sequence[Trajectory]) -> list[Trajectory]:
    return [episode for episode in episodes if len(episode.steps) > NUM_STEPS]


def arrivals(items: Sequence[Trajectory]) -> Iterator[Trajectory]:
    """These again and again, each time as new ones."""
    return (replace(item, id=f"{number}") for number, item in enumerate(itertools.cycle(items)))


def check(read: Sequence[Trajectory], items: Sequence[Trajectory]) -> None:
    """What is in hand is what arrived, screens included, or the times would be of different work."""
    assert all(trajectory == replace(items[int(trajectory.id) % len(items)], id=trajectory.id) for trajectory in read)


def why_not_torchrl() -> str:
    """What is missing to compare with TorchRL, and how to get it; nothing if nothing is."""
    hint = "see the head of this file for an environment with TorchRL"
    try:
        data: Any = importlib.import_module("torchrl.data")
        data.replay_buffers.samplers.PrioritizedSampler(8, alpha=ALPHA, beta=0.4)
    except ImportError as error:
        return f"TorchRL is not installed ({error}); {hint}"
    except RuntimeError as error:
        return f"TorchRL was built for another torch ({error}); {hint}"
    return ""


def versions() -> dict[str, str]:
    """Of what is compared, and the Python that ran it."""
    found = {"python": platform.python_version()}
    for name in ("torchrl", "torch", "zstandard", "msgspec"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def medians_us(operations: Operations, num_rounds: int) -> dict[str, float]:
    """Microseconds of each operation, all of them in turn, so that whatever slows the machine slows all."""
    times: dict[str, list[float]] = {name: [] for name in operations}
    for _ in range(num_rounds):
        for name, operation in operations.items():
            began = time.process_time()
            operation()
            times[name].append(time.process_time() - began)
    return {name: statistics.median(values) * 1e6 for name, values in times.items()}


# ---------------------------------------------------------------- screens


def measure_memory(episodes: Sequence[Trajectory]) -> list[Row]:
    """Bytes of a step with everything that belongs to it; without its screens; and what those take as objects."""
    replay = PrioritisedReplay(capacity_steps=10**6, alpha=1.0, freshness_tau_versions=None, rng=Random(0))
    for episode in episodes:
        replay.add(episode)
    name = f"bytes per step ({replay.num_steps} steps, {replay.num_screens} different screens)"
    compression = Compression()
    bodies = [pack(episode, compression) for episode in episodes]
    tracemalloc.start()
    # Kept while it is measured; without screens all are blank.
    objects = [
        unpack(body, [BLANK] * (len(e.steps) + 1), compression) for body, e in zip(bodies, episodes, strict=True)
    ]
    traced = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(objects) == len(episodes)
    values = {name: replay.num_bytes, "  without screens": sum(map(len, bodies)), "  these as objects": traced}
    return [{"figure": figure, "value": round(value / replay.num_steps)} for figure, value in values.items()]


def measure_screens(episodes: Sequence[Trajectory]) -> list[Row]:
    """Median milliseconds of keeping and reading one screen, by what is known of it."""
    screens = unique_screens(episodes)
    store, unaided = ScreenStore(Compression()), ScreenStore(Compression(), recent_bytes=0)
    fresh = [copied(screen) for screen in screens]
    numbers = [unaided.keep(screen) for screen in screens]

    def again(screen: Screen, twin: Screen | None) -> float:
        store.keep(screen)
        return timed_ms(store.keep, screen if twin is None else twin)

    rows = {
        "a new screen": [timed_ms(store.keep, screen) for screen in fresh],
        "the same bytes object again": [again(screen, None) for screen in screens],
        "equal bytes again, kept recently": [again(screen, copied(screen)) for screen in screens],
        "equal bytes again, kept long ago": [timed_ms(unaided.keep, copied(screen)) for screen in screens],
        "reading, not used recently": [timed_ms(unaided.get, number) for number in numbers],
    }
    return [{"figure": f"{name}, ms", "value": round(statistics.median(ms), 4)} for name, ms in rows.items()]


def measure_codecs(screens: Sequence[Screen]) -> list[Row]:
    """Ways to compress, and ways to find a screen again: mean milliseconds and bytes."""
    zstd, unzstd = zstandard.ZstdCompressor, zstandard.ZstdDecompressor()
    codecs: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
        "zlib 1": (lambda data: zlib.compress(data, 1), zlib.decompress),
        "zstd -1": (zstd(level=-1).compress, unzstd.decompress),
        "zstd 1": (zstd(level=1).compress, unzstd.decompress),
        "zstd 3": (zstd(level=3).compress, unzstd.decompress),
    }
    try:
        lz4: Any = importlib.import_module("lz4.block")
        codecs["lz4"] = (lz4.compress, lz4.decompress)
    except ImportError:
        print("lz4 is left out: pip install lz4", file=sys.stderr)
    hashes: dict[str, Callable[[bytes], object]] = {
        "hash()": hash,
        "blake2b": lambda data: hashlib.blake2b(data).digest(),
        "sha256": lambda data: hashlib.sha256(data).digest(),
    }
    rows: list[Row] = []
    for name, (compress, decompress) in codecs.items():
        there = [timed_ms(compress, screen.data) for screen in screens]
        packed = [compress(screen.data) for screen in screens]
        back = [timed_ms(decompress, data) for data in packed]
        size = round(statistics.mean(map(len, packed)))
        rows.append({"codec": name, "ms": mean_ms(there), "back ms": mean_ms(back), "bytes": size})
    for name, digest in hashes.items():
        there = [timed_ms(digest, copied(screen).data) for screen in screens]
        rows.append({"codec": name, "ms": mean_ms(there), "back ms": "", "bytes": ""})
    return rows


def timed_ms(function: Callable[[Any], object], argument: object) -> float:
    began = time.process_time()
    function(argument)
    return (time.process_time() - began) * 1e3


def mean_ms(values: Sequence[float]) -> float:
    return round(statistics.mean(values), 3)


def table(rows: Sequence[Row]) -> str:
    """Rows under the names of their columns."""
    cells = [list(rows[0]), *([f"{value}" for value in row.values()] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)


if __name__ == "__main__":
    main()

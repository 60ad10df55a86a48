"""How fast the built-in phone is. Run: python benchmarks/phone.py [--quick] [--json]

Four figures: steps (an action and its picture, 270 x 600, with the ui tree) per second of one core, the time of a
snapshot and its restore, the memory of an idle phone, and the share of one core that 512 phones with the latency of an
emulator use for waiting.
"""

import argparse
import asyncio
import json
import resource
import statistics
import sys
import time
import tracemalloc
from random import Random

from distrl.core.config import Config, PhoneConfig
from distrl.core.types import Finish, Task, Wait
from distrl.devices.sim.apps import builtin_apps
from distrl.devices.sim.phone import Phone
from distrl.policies.scripted import RandomPolicy
from distrl.runtime.build import make_phone, make_sim_device
from distrl.runtime.checking import arrange, see
from distrl.tasks.book import expert_for, is_solved, load_tasks

SUITES = ("general", "web_shopping", "install", "system")


def steps_per_s(seconds: float) -> dict[str, float]:
    """Steps per second of one core while 48 tasks of all suites are done again and again.

    What is timed is the action and its picture; deciding, setting up and judging are not. Processor time is taken,
    since other programs share the core. `steps_per_s` is the expert's after its first round, when what does not change
    has been drawn; `new_screens_steps_per_s` is that first round, and `random_steps_per_s` is random play, which keeps
    finding screens that nobody has seen.
    """
    phone = make_phone()
    rng = Random(0)
    tasks = [task for suite in SUITES for task in rng.sample(load_tasks(suite, "train"), 12)]

    def round_of(*, is_expert: bool) -> list[float]:
        return [t for task in tasks for t in _attempt(phone, task, rng, is_expert=is_expert)]

    new = round_of(is_expert=True)
    known: list[float] = []
    wandering: list[float] = []
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        known += round_of(is_expert=True)
        if len(wandering) < len(known) / 3:
            wandering += round_of(is_expert=False)
            round_of(is_expert=True)
    return {
        "steps_per_s": len(known) / sum(known),
        "new_screens_steps_per_s": len(new) / sum(new),
        "random_steps_per_s": len(wandering) / sum(wandering),
        "step_ms_median": statistics.median(known) * 1e3,
        "step_ms_p99": sorted(known)[int(len(known) * 0.99)] * 1e3,
    }


def _attempt(phone: Phone, task: Task, rng: Random, *, is_expert: bool) -> list[float]:
    """The processor seconds of each step of one episode."""
    arrange(phone, task)
    expert, wanderer = expert_for(task, phone.inspect), RandomPolicy(rng)
    times = []
    for _ in range(task.max_steps):
        observation = see(phone)
        action = expert.act(observation) if is_expert else wanderer.act(task, observation)
        started = time.process_time()
        phone.perform(action)
        phone.render()
        times.append(time.process_time() - started)
        if isinstance(action, Finish) or is_solved(task, phone.inspect):
            break
    return times


def snapshot_restore_ms(rounds: int) -> float:
    """Median milliseconds of a snapshot and its restore."""
    phone = make_phone(seed=1)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        phone.restore(phone.snapshot())
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


def mb_per_phone(count: int) -> float:
    """Memory of a phone that has been used and is idle, beyond what all phones share."""
    phones = [make_phone(seed=seed) for seed in range(8)]
    for phone in phones:
        phone.render()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept: list[Phone] = []
    for seed in range(count):
        phone = Phone(builtin_apps(), seed=seed)
        phone.perform(Wait())
        phone.render()
        kept.append(phone)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return used / count / 1e6


def cpu_share(phones: int, seconds: float) -> float:
    """CPU seconds per second while this many phones with an emulator's latency wait and are looked at, in real time."""
    config = Config(phone=PhoneConfig(latency="emulator"))

    async def operate(number: int, until: float) -> None:
        device = make_sim_device(config, number)
        loop = asyncio.get_running_loop()
        await asyncio.sleep(Random(number).random() * 5)
        while loop.time() < until:
            await device.perform(Wait())
            await device.observe()

    async def run() -> float:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds + 6
        work = [asyncio.create_task(operate(number, until)) for number in range(phones)]
        # Building the phones and drawing their first screens is not waiting: let it pass.
        await asyncio.sleep(6)
        began, used = loop.time(), _cpu_s()
        await asyncio.sleep(seconds)
        share = (_cpu_s() - used) / (loop.time() - began)
        for item in work:
            item.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        return share

    return asyncio.run(run())


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter, within 40 s")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    arguments = parser.parse_args()
    print(f"measuring: about {30 if arguments.quick else 110} s", file=sys.stderr)
    figures: dict[str, float] = steps_per_s(10 if arguments.quick else 60)
    print("steps: done; next: snapshots, memory, 512 phones", file=sys.stderr)
    figures["snapshot_restore_ms"] = snapshot_restore_ms(200)
    figures["mb_per_phone"] = mb_per_phone(32)
    figures["cpu_share_512"] = cpu_share(512, 10 if arguments.quick else 40)
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps(rounded) if arguments.json else "\n".join(f"{k:<22} {v}" for k, v in rounded.items()))


if __name__ == "__main__":
    main()

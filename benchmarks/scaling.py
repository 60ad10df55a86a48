"""How a worker scales with its devices: fleet sizes in, steps per second and their share of linear out.

    python benchmarks/scaling.py [--quick] [--json]

Real time, real latencies of emulators (4.4 s a step), one worker process with the tiny policy: what bends the line is
what one core can decide and simulate. `device_use` says how much of their time the devices worked, `wait_ms` how long a
decision took, batch and all, `core_share` how busy the core was. Beside it, by the planner and in virtual time: what
the same fleet would reach with a barrier (`sync_per_min`), and what was predicted for it without (`planned_per_min`).
"""

import argparse
import asyncio
import json
import sys
import time
from typing import Any

import msgspec
import torch
from collection import collect

from distrl.core.clock import LoopClock, run_virtual
from distrl.core.config import Config, config_of
from distrl.runtime.planner import Fleet, enough_minutes, plan

SKIP_S = 60.0
"""Booting, and episodes that all began at the same time."""
SIZES = (8, 16, 32, 64, 128, 256, 512)


def settings(devices: int) -> Config:
    """A fleet of emulators that are all alike."""
    return config_of(
        {
            "phone": {"latency": "even", "scale": 0.1},
            "policy": {"mode": "text"},
            "collect": {"num_devices": devices},
        }
    )


def usual_lengths() -> tuple[int, ...]:
    """How long episodes are, by a virtual hour of a small fleet: a short run has not seen its long ones end."""
    return tuple(run_virtual(collect(settings(32), 3600.0, LoopClock())).lengths)


def measure(devices: int, seconds: float, lengths: tuple[int, ...]) -> dict[str, Any]:
    """One size."""
    config = settings(devices)
    began_s = time.process_time()
    got = asyncio.run(collect(config, seconds, LoopClock()))
    busy = (time.process_time() - began_s) / got.wall_s
    # The core that decides also simulates and delivers: what a step costs it is what a decision is charged.
    fleet = Fleet(
        devices=devices,
        latency="even",
        steps=lengths,
        decision_s=busy * got.wall_s / got.num_decisions,
        minutes=enough_minutes(devices),
    )
    tied = msgspec.structs.replace(fleet, max_policy_lag=0)
    return {
        "devices": devices,
        "steps_per_s": round(got.steps_per_s(SKIP_S), 3),
        "per_min": round(got.per_minute(SKIP_S), 2),
        "planned_per_min": plan(fleet).trajectories_per_min,
        "sync_per_min": plan(tied).trajectories_per_min,
        "device_use": round(got.device_s / (got.wall_s * devices), 4),
        "wait_ms": round(1000 * got.inference_s / got.num_decisions, 2),
        "batch": round(got.num_decisions / got.num_batches, 2),
        "core_share": round(busy, 3),
    }


def main() -> None:
    """Parse, measure every size, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three sizes, 120 s each")
    parser.add_argument("--seconds", type=float, help="of each size; 300, or 120 with --quick")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    seconds = args.seconds or (120.0 if args.quick else 300.0)
    sizes = SIZES[:5:2] if args.quick else SIZES
    torch.set_num_threads(1)
    print("an hour of 32 devices in virtual time, for the planner", file=sys.stderr, flush=True)
    lengths = usual_lengths()
    rows: list[dict[str, Any]] = []
    for number, devices in enumerate(sizes):
        left = (len(sizes) - number) * seconds
        print(f"{devices} devices; about {left / 60:.1f} min left", file=sys.stderr, flush=True)
        row = measure(devices, seconds, lengths)
        per_device = rows[0]["steps_per_s"] / rows[0]["devices"] if rows else row["steps_per_s"] / devices
        rows.append(row | {"share_of_linear": round(row["steps_per_s"] / (devices * per_device), 4)})
    if args.json:
        print(json.dumps({"rows": rows}, indent=2))
        return
    for row in rows:
        print(
            f"{row['devices']:4} devices  {row['steps_per_s']:8.2f} steps/s  {row['share_of_linear']:7.1%} of linear  "
            f"{row['per_min']:.0f}/min (planned {row['planned_per_min']:.0f}, barrier {row['sync_per_min']:.0f})  "
            f"devices busy {row['device_use']:.1%}  decision {row['wait_ms']:.1f} ms  core {row['core_share']:.0%}"
        )


if __name__ == "__main__":
    main()

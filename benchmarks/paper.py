"""The paper's own experiment in virtual time: four systems in, their curves over 6,000 seconds of a fleet out.

    python benchmarks/paper.py --suite general --json benchmarks/results/paper-general.json

32 emulators, a policy server and a learner about as slow as the paper's, whose asynchronous fleet collected 770
trajectories: 9 s a step on a slow emulator, 2.5 s for a batch of decisions, 0.15 s for each in it, 3 s for an update.
How much each system collects follows from the same latencies, and stands in the result. Held-out success is measured
outside of the fleet's time, with the likeliest actions. As in the paper there is no curriculum; every system imitates
the same demonstrations, and its own successes, beside its algorithm (ADR 0012), so that what differs is what it is
named for.
"""

import argparse
import asyncio
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from jobs import run_all

SECONDS = 6000.0
LOOK_S = 500.0
WINDOW = 32
SYSTEMS: dict[str, dict[str, Any]] = {
    "A-RIDE, asynchronous": {"algorithm": {"name": "a_ride"}, "collect": {"num_devices": 32}},
    "DigiRL, asynchronous": {"algorithm": {"name": "digirl"}, "collect": {"num_devices": 32}},
    "DigiRL, synchronous": {"algorithm": {"name": "digirl"}, "collect": {"num_devices": 32, "max_policy_lag": 0}},
    "DigiRL, 8 devices": {"algorithm": {"name": "digirl"}, "collect": {"num_devices": 8, "max_policy_lag": 0}},
}
COMMON: dict[str, dict[str, Any]] = {
    "phone": {"latency": "slow-emulator", "scale": 0.1},
    "policy": {"mode": "text"},
    "simulation": {"batch_s": 2.5, "decision_s": 0.15, "update_s": 3.0},
    "collect": {"has_curriculum": False},
    "learner": {
        "batch_trajectories": 8,
        "new_steps_per_update": 6.0,
        "publish_every_updates": 8,
        "warmup_trajectories": 32,
    },
    "train": {"num_trajectories": 10**6, "max_minutes": SECONDS / 60},
    "eval": {"episodes": 1, "has_sampled": False, "every_trajectories": 10**6},
}


def tables_of(system: str, suite: str, seed: int) -> dict[str, Any]:
    """The configuration of one run."""
    own = SYSTEMS[system] | {"tasks": {"suite": suite}}
    return {"seed": seed} | {name: COMMON.get(name, {}) | own.get(name, {}) for name in {*COMMON, *own}}


def run_one(system: str, suite: str, seed: int, out: Path, episodes: int) -> None:
    """One run, with its policy evaluated every so often beside the fleet's time."""
    from outside import measure, simulate

    from distrl.core.config import config_of
    from distrl.core.types import Outcome
    from distrl.runtime.asynchronous import AsyncTraining

    tables = tables_of(system, suite, seed)
    config = config_of(tables)
    curve: list[dict[str, float]] = []
    arrivals: list[tuple[float, bool]] = []

    def note(training: AsyncTraining, at_s: float) -> None:
        success = measure(training.policy, config, episodes=episodes).success
        curve.append({"at_s": at_s, "trajectories": training.learner.num_received, "success": success})
        print(f"{out.stem}: {curve[-1]}", file=sys.stderr, flush=True)

    async def look(training: AsyncTraining) -> None:
        learn_from = training.learn_from

        async def noting(trajectory: Any) -> None:
            arrivals.append((asyncio.get_running_loop().time(), trajectory.outcome is Outcome.SUCCEEDED))
            await learn_from(trajectory)

        training.learn_from = noting  # type: ignore[method-assign]
        for number in range(round(SECONDS / LOOK_S)):
            note(training, number * LOOK_S)
            await asyncio.sleep(LOOK_S)

    note(simulate(config, look), SECONDS)
    result = {"system": system, "seed": seed, "curve": curve, "arrivals": arrivals, "config": tables}
    out.write_text(json.dumps(result), encoding="utf-8")


def windows_above(arrivals: list[tuple[float, bool]], threshold: float) -> float:
    """Share of windows of training trajectories, in order of arrival, with more success than this."""
    outcomes = [solved for _, solved in arrivals]
    shares = [statistics.mean(outcomes[i : i + WINDOW]) for i in range(0, len(outcomes) - WINDOW + 1)]
    return round(statistics.mean(share > threshold for share in shares), 4) if shares else 0.0


def summary(system: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One system over its seeds."""
    final = [run["curve"][-1]["success"] for run in runs]
    return {
        "system": system,
        "seeds": [run["seed"] for run in runs],
        "start": round(statistics.mean(run["curve"][0]["success"] for run in runs), 4),
        "success": round(statistics.mean(final), 4),
        "success_by_seed": final,
        "trajectories": [len(run["arrivals"]) for run in runs],
        "windows_above": {
            str(t): round(statistics.mean(windows_above(run["arrivals"], t) for run in runs), 4) for t in (0.6, 0.8)
        },
        "curve": [
            {
                "at_s": points[0]["at_s"],
                "trajectories": round(statistics.mean(p["trajectories"] for p in points)),
                "success": round(statistics.mean(p["success"] for p in points), 4),
                "success_by_seed": [p["success"] for p in points],
            }
            for points in zip(*(run["curve"] for run in runs), strict=True)
        ],
    }


def passes_at(row: dict[str, Any], success: float) -> float | None:
    """When the mean curve of a system first reaches a success."""
    return next((point["at_s"] for point in row["curve"] if point["success"] >= success), None)


def write_results(files: dict[Path, tuple[str, int]], path: Path) -> list[dict[str, Any]]:
    """The table of all runs that are done."""
    done = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]
    rows = [summary(name, runs) for name in SYSTEMS if (runs := [r for r in done if r["system"] == name])]
    by_name = {row["system"]: row for row in rows}
    result: dict[str, Any] = {"command": "python benchmarks/paper.py " + " ".join(sys.argv[1:]), "systems": rows}
    if "DigiRL, synchronous" in by_name and "A-RIDE, asynchronous" in by_name:
        result["a_ride_passes_synchronous_at_s"] = passes_at(
            by_name["A-RIDE, asynchronous"], by_name["DigiRL, synchronous"]["success"]
        )
    path.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return rows


def main() -> None:
    """Parse, run what is not done, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="general", choices=("general", "web_shopping"))
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--episodes", type=int, default=128, help="of each evaluation")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        run_one(args.one[0], args.suite, int(args.one[1]), args.json, args.episodes)
        return
    files: dict[Path, tuple[str, int]] = {}
    for seed in args.seeds:
        for system in SYSTEMS:
            name = "".join(c if c.isalnum() else "_" for c in system)
            files[Path(f"{args.json}.runs") / f"{name}-s{seed}.json"] = (system, seed)
    same = ["--suite", args.suite, "--episodes", str(args.episodes)]
    commands = {
        out: [sys.executable, __file__, "--one", system, str(seed), "--json", str(out), *same]
        for out, (system, seed) in files.items()
    }
    run_all(commands, at_once=args.jobs, on_done=lambda: (write_results(files, args.json), None)[1])
    for row in write_results(files, args.json):
        print(
            f"{row['system']:22} {row['start']:.3f} -> {row['success']:.3f} {row['success_by_seed']}, "
            f"{row['trajectories']} trajectories, windows above 60/80 %: {list(row['windows_above'].values())}"
        )


if __name__ == "__main__":
    main()

"""How well each algorithm learns: suites, algorithms and seeds in, success on held-out tasks over time out.

    python benchmarks/learning.py --suite general --algorithms a_ride --seeds 0,1,2 --minutes 15 --json FILE

Three regimes, since algorithms differ where data is old or scarce:
  fresh   instant phones, newest weights, so many minutes of training
  stale   1,000 trajectories, acting with weights `--lag` versions old
  scarce  32 slow devices in virtual time, weights taken up at an episode's start, 770 trajectories in all

An algorithm may carry options: `a_ride:retrace=false,dper=false`; `--bare` takes away what all of them are given here
and their papers do not have (demonstrations and own successes that every update imitates). `--runtime local` trains on
the asynchronous engine, one run at a time on all cores; otherwise a run is one thread, and two run side by side.

What is done is not done again: every run is written beside FILE as soon as it ends, and the same command goes on where
it stopped. Success is that of the last evaluation, with the likeliest actions, on held-out tasks, by ground truth.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from jobs import run_all

Tables = dict[str, dict[str, Any]]

SCARCE: Tables = {
    "phone": {"latency": "emulator"},
    "collect": {"swap_weights_at": "episode", "num_devices": 32},
    "learner": {"new_steps_per_update": 12.0, "publish_every_updates": 4},
    "train": {"num_trajectories": 770},
    "eval": {"every_trajectories": 257},
}

STALE: Tables = {"train": {"num_trajectories": 1000}, "eval": {"every_trajectories": 500}}

BARE = {"imitated_successes": 0, "demonstrations": 0, "imitation_weight": 0.0}


def parse_algorithm(text: str) -> tuple[str, dict[str, Any]]:
    """`name:key=value,key=value` as a name and options."""
    name, _, rest = text.partition(":")
    pairs = (pair.partition("=") for pair in rest.split(",") if pair)
    return name, {key: json.loads(value) for key, _, value in pairs}


def tables_of(args: argparse.Namespace, algorithm: str, seed: int) -> dict[str, Any]:
    """The configuration of one run."""
    name, options = parse_algorithm(algorithm)
    tables: dict[str, Any] = {
        "seed": seed,
        "tasks": {"suite": args.suite},
        "policy": {"mode": args.mode},
        "algorithm": {"name": name, "options": options},
        "phone": {"scale": 0.25 if args.mode == "pixels" else 0.1},
        "eval": {"episodes": args.episodes, "every_trajectories": args.every},
        "train": {"max_minutes": args.minutes, "num_trajectories": 10**6},
    }
    regimes: dict[str, Tables] = {"fresh": {}, "stale": STALE, "scarce": SCARCE}
    for table, values in regimes[args.regime].items():
        tables[table] = tables.get(table, {}) | values
    if args.lag:
        tables["collect"] = tables.get("collect", {}) | {"lag_versions": args.lag}
    if args.regime != "fresh":
        del tables["train"]["max_minutes"]
    if args.bare:
        tables["learner"] = tables.get("learner", {}) | BARE
    for text in args.set:
        key, _, value = text.partition("=")
        table, _, name = key.partition(".")
        tables[table] = tables.get(table, {}) | {name: json.loads(value)}
    return tables


def run_one(tables: dict[str, Any], out: Path, runtime: str, num_workers: int) -> None:
    """One training run; its curve is written when it ends."""
    started_s = time.monotonic()
    if runtime == "local":
        curve = train_on_ray(tables, out.with_suffix(".run"), num_workers)
    else:
        curve = train_in_one_thread(tables, out.stem)
    result = {"curve": curve, "config": tables, "total_s": round(time.monotonic() - started_s, 1)}
    out.write_text(json.dumps(result, indent=1), encoding="utf-8")


def train_on_ray(tables: dict[str, Any], run_dir: Path, num_workers: int) -> list[dict[str, Any]]:
    """The curve of an asynchronous run, whose directory stays."""
    import distrl

    return distrl.train(tables, run_dir=run_dir, runtime="local", num_workers=num_workers).curve


def train_in_one_thread(tables: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The curve of a serial run; each evaluation is told."""
    import torch

    from distrl.core.config import config_of
    from distrl.runtime.training import Training

    torch.set_num_threads(1)
    training = Training(config_of(tables))

    def report(progress: Any) -> None:
        if progress.kind == "evaluated":
            row = training.curve[-1]
            print(
                f"{name}: {row['trajectories']} trajectories, {row['wall_s'] / 60:.1f} min, "
                f"success {row['success']:.3f} (sampled {row['sampled_success']:.3f})",
                file=sys.stderr,
                flush=True,
            )

    training.listen(report)
    training.run()
    return training.curve


def file_of(args: argparse.Namespace, algorithm: str, seed: int) -> Path:
    """Where the result of one run is kept."""
    how = args.regime + ("-local" if args.runtime == "local" else "") + ("-bare" if args.bare else "")
    what = f"{args.suite}-{args.mode}-{how}-lag{args.lag}-{algorithm}-s{seed}"
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in what)
    return Path(f"{args.json}.runs") / f"{safe}.json"


def command_of(args: argparse.Namespace, algorithm: str, seed: int) -> list[str]:
    """The command of one run."""
    tables = json.dumps(tables_of(args, algorithm, seed))
    out = str(file_of(args, algorithm, seed))
    how = ["--runtime", args.runtime, "--workers", str(args.workers)]
    return [sys.executable, __file__, "--one", tables, *how, "--json", out]


def write_results(args: argparse.Namespace, jobs: list[tuple[str, int]]) -> None:
    """The table of all runs that are done."""
    by_algorithm: dict[str, dict[int, dict[str, Any]]] = {}
    for algorithm, seed in jobs:
        path = file_of(args, algorithm, seed)
        if path.exists():
            by_algorithm.setdefault(algorithm, {})[seed] = json.loads(path.read_text(encoding="utf-8"))
    path = Path(args.json)
    key = ("suite", "mode", "regime", "lag", "runtime", "bare")
    mine = {name: getattr(args, name) for name in key}
    others: list[dict[str, Any]] = []
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))["results"]
        others = [r for r in kept if {n: r[n] for n in key} != mine or r["algorithm"] not in by_algorithm]
    rows = [summary(mine, algorithm, runs) for algorithm, runs in by_algorithm.items()]
    command = "python benchmarks/learning.py " + " ".join(a if " " not in a else repr(a) for a in sys.argv[1:])
    for row in rows:
        row["command"] = command
    path.write_text(json.dumps({"results": others + rows}, indent=1), encoding="utf-8")


def summary(mine: dict[str, Any], algorithm: str, runs: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """One algorithm over its seeds."""
    curves = [runs[seed]["curve"] for seed in sorted(runs)]
    final = [curve[-1]["success"] for curve in curves]
    sampled = [curve[-1]["sampled_success"] for curve in curves]
    length = min(len(curve) for curve in curves)
    return {
        **mine,
        "split": "test",
        "algorithm": algorithm,
        "seeds": sorted(runs),
        "start": round(statistics.mean(curve[0]["success"] for curve in curves), 4),
        "success": round(statistics.mean(final), 4),
        "success_std": round(statistics.stdev(final), 4) if len(final) > 1 else 0.0,
        "success_by_seed": final,
        "sampled_success": round(statistics.mean(sampled), 4),
        "sampled_success_by_seed": sampled,
        "largest_drop": round(max(max(r["success"] for r in c) - c[-1]["success"] for c in curves), 4),
        "trajectories": [curve[-1]["trajectories"] for curve in curves],
        "minutes": [round(curve[-1]["wall_s"] / 60, 2) for curve in curves],
        "curve": [
            {
                "trajectories": round(statistics.mean(c[i]["trajectories"] for c in curves)),
                "minutes": round(statistics.mean(c[i]["wall_s"] for c in curves) / 60, 2),
                "success": round(statistics.mean(c[i]["success"] for c in curves), 4),
                "sampled_success": round(statistics.mean(c[i]["sampled_success"] for c in curves), 4),
            }
            for i in range(length)
        ],
        "curves": curves,
    }


def main() -> None:
    """Parse, run, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--suite", default="general")
    add("--mode", default="pixels", choices=("pixels", "text"))
    add("--regime", default="fresh", choices=("fresh", "stale", "scarce"))
    add("--lag", type=int, default=0, help="versions that the acting weights are behind (stale)")
    add("--algorithms", nargs="+", default=["a_ride"])
    add("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[0, 1, 2])
    add("--minutes", type=float, default=15.0)
    add("--episodes", type=int, default=128, help="of each evaluation")
    add("--every", type=int, default=1000, help="trajectories between evaluations")
    add("--set", nargs="*", default=[], help="table.key=value of the configuration, as JSON")
    add("--runtime", default="serial", choices=("serial", "local"))
    add("--workers", type=int, default=1, help="processes that share the phones, on the asynchronous engine")
    add("--bare", action="store_true", help="without what every update imitates")
    add("--jobs", type=int, help="runs at the same time; 2, or 1 on the asynchronous engine")
    add("--json", required=True)
    add("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        run_one(json.loads(args.one), Path(args.json), args.runtime, args.workers)
        return
    jobs = [(algorithm, seed) for seed in args.seeds for algorithm in args.algorithms]
    commands = {file_of(args, *job): command_of(args, *job) for job in jobs}
    at_once = args.jobs or (1 if args.runtime == "local" else 2)
    run_all(commands, at_once=at_once, on_done=lambda: write_results(args, jobs))
    write_results(args, jobs)
    for row in json.loads(Path(args.json).read_text(encoding="utf-8"))["results"]:
        spread = ", ".join(f"{v:.3f}" for v in row["success_by_seed"])
        print(
            f"{row['suite']:13} {row['mode']:6} {row['regime']:6} lag {row['lag']:2} {row['runtime']:6} "
            f"{'bare ' if row['bare'] else ''}{row['algorithm']:32} "
            f"{row['start']:.3f} -> {row['success']:.3f} [{spread}] sampled {row['sampled_success']:.3f}"
        )


if __name__ == "__main__":
    main()

"""How well each algorithm learns: suites, algorithms and seeds in, success on held-out tasks over time out.

    python benchmarks/learning.py --suite general --algorithms a_ride --seeds 0,1,2 --minutes 15 --json FILE

Three regimes, since algorithms differ where data is old or scarce:
  fresh   instant phones, newest weights, so many minutes of training
  stale   instant phones, 770 trajectories, acting with weights `--lag` versions old
  scarce  a fleet of 32 slow devices in virtual time, weights taken up at an episode's start, 770 trajectories in all

An algorithm may carry options: `a_ride:retrace=false,dper=false`; `--bare` takes away what all of them are given here
and their papers do not have (demonstrations and own successes that every update imitates, the curriculum, departures)
and takes more and smaller steps instead; warm critics, a falling learning rate and an algorithm's own stabilisers stay.
`--preset paper` trains with the numbers of the paper. `--runtime local` trains on the asynchronous engine, one run at a
time on all cores; otherwise a run is what `distrl train --runtime serial` does, one thread, and two run side by side.

What is done is not done again: every run is written beside FILE as soon as it ends, and the same command goes on where
it stopped; a run that was made with other settings is refused. Success is that of the last evaluation, with the
likeliest actions, on held-out tasks, by ground truth. A scarce fleet is evaluated outside of its time. To choose
settings there is `--split train`, which measures start and end on the training list, whose very tasks are not trained.
"""

import argparse
import copy
import json
import platform
import statistics
import subprocess
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jobs import run_all

from distrl.runtime.presets import PRESETS

Tables = dict[str, dict[str, Any]]

SCARCE: Tables = {
    "phone": {"latency": "emulator"},
    "collect": {"swap_weights_at": "episode", "num_devices": 32},
    "learner": {"new_steps_per_update": 12.0, "publish_every_updates": 4},
    "train": {"num_trajectories": 770},
}
LOOKS = (257, 514)
"""Where a scarce run is evaluated, beside its start and its end."""
SELDOM = {"episodes": 1, "has_sampled": False, "every_trajectories": 10**6}
"""As good as no evaluation on the fleet itself."""

STALE: Tables = {"train": {"num_trajectories": 770}, "eval": {"every_trajectories": 385}}
MINUTES, EVERY = 15.0, 1000
KEY = ("suite", "split", "mode", "regime", "lag", "runtime", "bare", "preset", "episodes", "set")
"""What rows have in common that can be compared."""

BARE: Tables = {
    "learner": {
        "imitated_successes": 0,
        "demonstrations": 0,
        "imitation_weight": 0.0,
        "learning_rate": 3e-4,
        "new_steps_per_update": 4.0,
        "publish_every_updates": 12,
    },
    "collect": {"has_curriculum": False, "departures": 0.0},
}
"""Steps of 1.5e-3 need what is imitated to hold them; versions are as many trajectories apart as otherwise."""


def parse_algorithm(text: str) -> tuple[str, dict[str, Any]]:
    """`name:key=value,key=value` as a name and options."""
    name, _, rest = text.partition(":")
    pairs = (pair.partition("=") for pair in rest.split(",") if pair)
    return name, {key: json.loads(value) for key, _, value in pairs}


def tables_of(args: argparse.Namespace, algorithm: str, seed: int) -> dict[str, Any]:
    """The configuration of one run."""
    name, options = parse_algorithm(algorithm)
    tables: dict[str, Any] = copy.deepcopy(dict(PRESETS[args.preset]))
    preset = tables.pop("algorithm", {"name": name})
    is_same = preset["name"] == name  # the preset's options are those of its algorithm
    merge(
        tables,
        {
            "tasks": {"suite": args.suite},
            "policy": {"mode": args.mode},
            "algorithm": {"name": name, "options": (preset.get("options", {}) if is_same else {}) | options},
            "phone": {"scale": 0.25 if args.mode == "pixels" else 0.1},
            "eval": {"episodes": args.episodes, "every_trajectories": args.every or EVERY},
            "train": {"num_trajectories": 10**6},
        },
    )
    regimes: dict[str, Tables] = {
        "fresh": {"train": {"max_minutes": args.minutes or MINUTES}},
        "stale": STALE | {"collect": {"lag_versions": args.lag}},
        "scarce": SCARCE,
    }
    merge(tables, regimes[args.regime])
    if args.bare:
        merge(tables, BARE)
    for text in args.set:
        key, _, value = text.partition("=")
        table, _, name = key.partition(".")
        merge(tables, {table: {name: json.loads(value)}})
    if is_outside(args):
        tables["eval"] = SELDOM
    return {"seed": seed} | tables


def is_outside(args: argparse.Namespace) -> bool:
    """Whether the run does not evaluate itself."""
    return bool(args.regime == "scarce" or args.split == "train")


def asked(args: argparse.Namespace, algorithm: str, seed: int) -> dict[str, Any]:
    """All that decides what comes of a run, as it is read again from a file."""
    tables: dict[str, Any] = {"config": tables_of(args, algorithm, seed)}
    if is_outside(args):
        tables["outside"] = {"split": args.split, "episodes": args.episodes}
    read_again: dict[str, Any] = json.loads(json.dumps(tables))
    return read_again


def merge(tables: dict[str, Any], more: Tables) -> None:
    """What is said later wins."""
    for table, values in more.items():
        tables[table] = tables.get(table, {}) | values


def run_one(wanted: dict[str, Any], out: Path, runtime: str, num_workers: int) -> None:
    """One training run; its curve is written when it ends."""
    import distrl

    def report(progress: Any) -> None:
        if progress.kind == "evaluated":
            tell(out, progress.trajectories, progress.report.success, progress.sampled.success)

    tables, by, started_s = wanted["config"], made_by(), time.monotonic()
    if "outside" in wanted:
        from outside import curve_of

        curve = curve_of(tables, **wanted["outside"], looks=LOOKS, tell=partial(tell, out))
    elif runtime == "local":
        curve = distrl.train(tables, run_dir=out.with_suffix(".run"), runtime="local", num_workers=num_workers).curve
    else:
        curve = distrl.train(tables, listener=report).curve
    write_whole(out, {"curve": curve, **wanted, "total_s": round(time.monotonic() - started_s, 1), "by": by})


def tell(out: Path, trajectories: int, success: float, sampled: float) -> None:
    """A line about an evaluation."""
    told = f"success {success:.3f} (sampled {sampled:.3f})"
    print(f"{out.stem}: {trajectories} trajectories, {told}", file=sys.stderr, flush=True)


def made_by() -> dict[str, str]:
    """The program and the machine: what numbers of two runs may differ by, if nothing else does."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", here, *words], capture_output=True, text=True, check=False).stdout.strip()

    is_changed = git("status", "--porcelain", "--", "../distrl", *(path.name for path in here.glob("*.py")))
    names = [line.partition(":")[2].strip() for line in cpu_lines() if line.startswith("model name")]
    return {
        "commit": git("rev-parse", "--short=10", "HEAD") + ("-dirty" if is_changed else ""),
        "torch": version("torch"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "processor": names[0] if names else platform.machine(),
    }


def cpu_lines() -> list[str]:
    """What Linux says of the processor; nothing elsewhere."""
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def write_whole(path: Path, data: Any) -> None:
    """A file that is there is complete, or it would count as done."""
    aside = path.with_name(path.name + ".aside")
    aside.write_text(json.dumps(data, indent=1), encoding="utf-8")
    aside.rename(path)


def file_of(args: argparse.Namespace, algorithm: str, seed: int) -> Path:
    """Where the result of one run is kept."""
    how = args.regime + ("-local" if args.runtime == "local" else "") + ("-bare" if args.bare else "")
    how += "" if args.preset == "default" else f"-{args.preset}"
    how += "-train" if args.split == "train" else ""
    what = f"{args.suite}-{args.mode}-{how}-lag{args.lag}-{algorithm}-s{seed}"
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in what)
    return Path(f"{args.json}.runs") / f"{safe}.json"


def command_of(args: argparse.Namespace, algorithm: str, seed: int) -> list[str]:
    """The command of one run."""
    wanted = json.dumps(asked(args, algorithm, seed))
    out = str(file_of(args, algorithm, seed))
    how = ["--runtime", args.runtime, "--workers", str(args.workers)]
    return [sys.executable, __file__, "--one", wanted, *how, "--json", out]


def refuse_others(args: argparse.Namespace, jobs: list[tuple[str, int]]) -> None:
    """Runs that are there already have to be those that are asked for."""
    for job in jobs:
        path = file_of(args, *job)
        if path.exists() and not is_of(run := read(path), wanted := asked(args, *job)):
            pairs = [(run.get("outside"), wanted.get("outside"), "how it is evaluated")]
            pairs += [(run["config"].get(key), value, key) for key, value in wanted["config"].items()]
            other = [name for kept, value, name in pairs if kept != value]
            sys.exit(f"{path} was made with other settings ({', '.join(other)}); remove it, or choose another --json")


def is_of(run: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a run is the one that is asked for."""
    return run["config"] == wanted["config"] and run.get("outside") == wanted.get("outside")


def read(path: Path) -> Any:
    """What a file of results holds."""
    return json.loads(path.read_text(encoding="utf-8"))


def runs_of(args: argparse.Namespace, algorithm: str) -> dict[int, dict[str, Any]]:
    """All that is there of an algorithm with these settings, by seed, those of other commands too."""
    found = {}
    for path in file_of(args, algorithm, 0).parent.glob("*.json"):
        run = read(path)
        seed = run["config"]["seed"]
        if path == file_of(args, algorithm, seed) and is_of(run, asked(args, algorithm, seed)):
            found[seed] = run
    return found


def write_results(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The table of all runs that are done."""
    mine = {name: getattr(args, name) for name in KEY if name != "set"} | {"set": " ".join(sorted(args.set))}
    rows = [summary(mine, name, runs) for name in args.algorithms if (runs := runs_of(args, name))]
    words = [a if " " not in a else repr(a) for a in sys.argv[1:]]
    for row in rows:
        row["command"] = "python benchmarks/learning.py " + " ".join(words)
    path, names = Path(args.json), {row["algorithm"] for row in rows}
    kept = read(path)["results"] if path.exists() else []
    others = [r for r in kept if any(r[n] != mine[n] for n in KEY) or r["algorithm"] not in names]
    write_whole(path, {"results": others + rows})
    return others + rows


def summary(mine: dict[str, Any], algorithm: str, runs: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """One algorithm over its seeds."""
    curves = [runs[seed]["curve"] for seed in sorted(runs)]
    final = [curve[-1]["success"] for curve in curves]
    sampled = [curve[-1]["sampled_success"] for curve in curves]
    length = min(len(curve) for curve in curves)
    return {
        **mine,
        "algorithm": algorithm,
        "seeds": sorted(runs),
        "start": round(statistics.mean(curve[0]["success"] for curve in curves), 4),
        "success": round(statistics.mean(final), 4),
        "success_std": round(statistics.stdev(final), 4) if len(final) > 1 else 0.0,
        "success_by_seed": final,
        "sampled_success": round(statistics.mean(sampled), 4),
        "sampled_success_by_seed": sampled,
        "largest_drop": largest_drop(curves, "success"),
        "largest_sampled_drop": largest_drop(curves, "sampled_success"),
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
        "by": [runs[seed].get("by", {}) for seed in sorted(runs)],
    }


def largest_drop(curves: list[list[dict[str, Any]]], of: str) -> float:
    """The most that any seed ends below its own best."""
    return round(float(max(max(row[of] for row in curve) - curve[-1][of] for curve in curves)), 4)


def main() -> None:
    """Parse, run, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--suite", default="general")
    add("--split", default="test", choices=("test", "train"), help="what is measured; train to choose settings")
    add("--mode", default="pixels", choices=("pixels", "text"))
    add("--regime", default="fresh", choices=("fresh", "stale", "scarce"))
    add("--lag", type=int, default=0, help="versions that the acting weights are behind (stale)")
    add("--algorithms", nargs="+", default=["a_ride"])
    add("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[0, 1, 2])
    add("--preset", default="default", choices=tuple(PRESETS))
    add("--minutes", type=float, help=f"of each run (fresh); {MINUTES:.0f}")
    add("--episodes", type=int, default=128, help="of each evaluation")
    add("--every", type=int, help=f"trajectories between evaluations (fresh); {EVERY}")
    add("--set", nargs="*", default=[], help="table.key=value of the configuration, as JSON")
    add("--runtime", default="serial", choices=("serial", "local"))
    add("--workers", type=int, default=1, help="processes that share the phones, on the asynchronous engine")
    add("--bare", action="store_true", help="without what the papers of the algorithms do not have")
    add("--jobs", type=int, help="runs at the same time; 2, or 1 on the asynchronous engine")
    add("--json", required=True)
    add("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        run_one(json.loads(args.one), Path(args.json), args.runtime, args.workers)
        return
    if args.regime != "fresh" and (args.minutes or args.every):
        parser.error(f"--minutes and --every are for --regime fresh; {args.regime} has a number of trajectories")
    if args.lag and args.regime != "stale":
        parser.error("--lag is for --regime stale")
    if args.workers > 1 and args.runtime != "local":
        parser.error("--workers is for --runtime local")
    jobs = [(algorithm, seed) for seed in args.seeds for algorithm in args.algorithms]
    refuse_others(args, jobs)
    commands = {file_of(args, *job): command_of(args, *job) for job in jobs}
    at_once = args.jobs or (1 if args.runtime == "local" else 2)
    run_all(commands, at_once=at_once, on_done=lambda: (write_results(args), None)[1])
    for row in write_results(args):
        spread = ", ".join(f"{v:.3f}" for v in row["success_by_seed"])
        print(
            f"{row['suite']:13} {row['mode']:6} {row['regime']:6} lag {row['lag']:2} {row['runtime']:6} "
            f"{'bare ' if row['bare'] else ''}{row['algorithm']:32} "
            f"{row['start']:.3f} -> {row['success']:.3f} [{spread}] sampled {row['sampled_success']:.3f}"
        )


if __name__ == "__main__":
    main()

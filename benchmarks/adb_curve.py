"""Whether training through adb learns as on the sim directly: seeds in, both learning curves and the cost out.

    python benchmarks/adb_curve.py --json benchmarks/results/adb_curve.json [--seeds 0,1,2] [--trajectories 900]

Every seed is trained twice with `distrl train --config examples/adb.toml`: as it is, through the real adb server (a
private one), and with `devices.kind = "sim"`. One run after the other, so that steps per second can be compared. What
is done is not done again: every run is written beside FILE when it ends, and the same command goes on where it stopped,
a run in the middle included. The difference is noise if it is smaller than its 95 % interval, which the episodes give.
"""

import argparse
import json
import math
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jobs import run_all

from distrl.devices.adb.server import find_adb

EXAMPLE = Path(__file__).parents[1] / "examples" / "adb.toml"
WAYS = ("adb", "sim")
Z_95 = 1.96


@contextmanager
def private_server() -> Iterator[dict[str, str]]:
    """The environment of an adb server of our own, which is ended with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as home:
        own = {"ANDROID_ADB_SERVER_PORT": port, "ANDROID_USER_HOME": home, "ADB_LOCAL_TRANSPORT_MAX_PORT": "5554"}
        environment = {**os.environ, **own, "OMP_NUM_THREADS": "1"}
        command = [str(find_adb()), "-P", port]
        subprocess.run([*command, "start-server"], env=environment, check=True, capture_output=True)
        try:
            yield environment
        finally:
            subprocess.run([*command, "kill-server"], env=environment, check=False, capture_output=True)


def run_one(settings: list[str], out: Path) -> None:
    """One training run; its curve is written when it ends, and its directory removed."""
    run = out.with_suffix(".run")
    words = [word for setting in settings for word in ("--set", setting)]
    command = [sys.executable, "-m", "distrl", "train", "--config", str(EXAMPLE), "--run-dir", str(run), *words]
    with private_server() as environment:
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    rows = [json.loads(line) for line in (run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()]
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    kept = {name: summary[name] for name in ("trajectories", "steps", "updates", "train_s", "steps_per_s")}
    result = {**kept, "curve": rows, "settings": settings, "load": os.getloadavg()[0]}
    out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    shutil.rmtree(run)


def settings_of(args: argparse.Namespace, way: str, seed: int) -> list[str]:
    """What is changed in the example."""
    return [
        f"devices.kind={way}",
        f"seed={seed}",
        f"collect.num_devices={args.devices}",
        f"train.num_trajectories={args.trajectories}",
        "train.max_minutes=600.0",
        f"eval.every_trajectories={args.every}",
        f"eval.episodes={args.episodes}",
        "eval.has_sampled=false",
    ]


def file_of(args: argparse.Namespace, way: str, seed: int) -> Path:
    """Where the result of one run is kept."""
    return Path(f"{args.json}.runs") / f"{way}-{args.devices}x{args.trajectories}-e{args.episodes}-s{seed}.json"


def summarise(args: argparse.Namespace) -> dict[str, Any]:
    """Both curves over their seeds, and their difference at the end and on average, with its noise."""
    runs = {way: [json.loads(file_of(args, way, s).read_text(encoding="utf-8")) for s in args.seeds] for way in WAYS}
    length = min(len(run["curve"]) for each in runs.values() for run in each)
    curves = {
        way: [round(statistics.mean(run["curve"][i]["success"] for run in each), 4) for i in range(length)]
        for way, each in runs.items()
    }
    end = {way: curve[-1] for way, curve in curves.items()}
    episodes = args.episodes * len(args.seeds)
    noise = Z_95 * math.sqrt(sum(p * (1 - p) / episodes for p in end.values()))
    means = {way: statistics.mean(curve) for way, curve in curves.items()}
    return {
        "command": "python benchmarks/adb_curve.py " + " ".join(sys.argv[1:]),
        "seeds": args.seeds,
        "trajectories": [row["trajectories"] for row in runs["adb"][0]["curve"][:length]],
        "success": curves,
        "success_by_seed": {way: [run["curve"][length - 1]["success"] for run in each] for way, each in runs.items()},
        "difference_at_the_end": round(end["adb"] - end["sim"], 4),
        "difference_of_the_means": round(means["adb"] - means["sim"], 4),
        "noise": round(noise, 4),
        "is_the_same_within_noise": abs(end["adb"] - end["sim"]) <= noise,
        "steps_per_s": {way: [run["steps_per_s"] for run in each] for way, each in runs.items()},
        "load": {way: [round(run["load"], 1) for run in each] for way, each in runs.items()},
    }


def main() -> None:
    """Run what is missing, then compare; exit status 1 if the curves differ by more than noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[0, 1, 2])
    add("--devices", type=int, default=8)
    add("--trajectories", type=int, default=900)
    add("--every", type=int, default=300, help="trajectories between evaluations")
    add("--episodes", type=int, default=96, help="of each evaluation")
    add("--json", required=True)
    add("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        run_one(json.loads(args.one), Path(args.json))
        return
    jobs = {}
    for seed in args.seeds:
        for way in WAYS:
            out = file_of(args, way, seed)
            one = json.dumps(settings_of(args, way, seed))
            jobs[out] = [sys.executable, __file__, "--one", one, "--json", str(out)]
    run_all(jobs, at_once=1)
    result = summarise(args)
    Path(args.json).write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(json.dumps(result, indent=1))
    sys.exit(0 if result["is_the_same_within_noise"] else 1)


if __name__ == "__main__":
    main()

"""A run whose processes are killed again and again: how many kills in, an audit out.

    python benchmarks/soak.py [--kills 50] [--seed 0]

`distrl train` with two workers on this machine; at random moments a worker or the learner is killed with SIGKILL, until
each side has had so many. Then it is stopped in order and counted again from its files: acknowledged = stored, nothing
twice, every version that acted was published, versions only go up, no process is left, and the processes that live as
long as the run hold no more files at its end than after its first minute.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

MARK = "SOAKED_RUN"  # not DISTRL_...: those are settings, and unknown ones are refused
SETTINGS = (
    "phone.scale=0.1",
    "policy.mode=text",
    "policy.start=scratch",
    "learner.batch_trajectories=4",
    "learner.warmup_trajectories=4",
    "learner.new_steps_per_update=40",
    "collect.num_devices=8",
    "train.num_trajectories=1000000",
    "eval.every_trajectories=200",
    "eval.episodes=4",
)
SIDES = {"worker": "ray::WorkerActor", "learner": "ray::LearnerActor"}
GAP_S = (1.0, 9.0)
PATIENCE_S = 180.0


def processes(mark: str) -> dict[int, str]:
    """The processes of the run and what they are, whoever started them."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(entry.name)] = command
        except OSError:
            continue
    return found


def open_files(mark: str) -> dict[int, int]:
    """How many files each process of the run holds that is never killed here."""
    counts = {}
    for pid, command in processes(mark).items():
        if not command.startswith("ray::"):
            try:
                counts[pid] = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            except OSError:
                continue
    return counts


class Soak:
    """One run and its killer."""

    def __init__(self, run: Path, seed: int) -> None:
        self.run = run
        self.mark = f"{os.getpid()}-{seed}"
        self.kills = dict.fromkeys(SIDES, 0)
        self._rng = Random(seed)
        self._killed: set[int] = set()
        options = [word for setting in SETTINGS for word in ("--set", setting)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "distrl", "train", "--run-dir", str(run), "--workers", "2", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, MARK: self.mark, "OMP_NUM_THREADS": "1"},
        )

    def kill_one(self, side: str) -> None:
        """Kill a process of one side as soon as there is one that works."""
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            if self.process.poll() is not None:
                raise SystemExit(f"the run has ended by itself: {self.process.communicate()[1][-2000:]}")
            alive = [p for p, c in processes(self.mark).items() if c.startswith(SIDES[side]) and p not in self._killed]
            if alive:
                victim = self._rng.choice(alive)
                os.kill(victim, signal.SIGKILL)
                self._killed.add(victim)
                self.kills[side] += 1
                return
            time.sleep(0.2)
        raise SystemExit(f"no {side} came back within {PATIENCE_S:.0f} s")

    def go(self, kills: int) -> dict[str, int]:
        """All kills, each side as often; how many files were held after the first tenth of them, and at the end."""
        sides = [side for side in SIDES for _ in range(kills)]
        self._rng.shuffle(sides)
        early: dict[int, int] = {}
        for number, side in enumerate(sides):
            time.sleep(self._rng.uniform(*GAP_S))
            self.kill_one(side)
            if number == len(sides) // 10:
                early = open_files(self.mark)
            print(f"{number + 1} of {len(sides)}: killed a {side}", file=sys.stderr, flush=True)
        time.sleep(20.0)
        late = open_files(self.mark)
        both = set(early) & set(late)
        return {"early": sum(early[p] for p in both), "late": sum(late[p] for p in both), "processes": len(both)}

    def stop(self) -> int:
        """In order, as a user would; its exit status."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


def audit(run: Path) -> dict[str, Any]:
    """What `distrl runs audit` says."""
    command = [sys.executable, "-m", "distrl", "runs", "audit", str(run), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {"is_sound": done.returncode == 0, **json.loads(done.stdout)}


def main() -> None:
    """Parse, soak, audit, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="of each side")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        soak = Soak(Path(directory) / "run", args.seed)
        files = soak.go(args.kills)
        status = soak.stop()
        time.sleep(5.0)
        left = processes(soak.mark)
        found = audit(soak.run)
    result = {
        "kills": soak.kills,
        "minutes": round((time.monotonic() - began_s) / 60, 1),
        "exit_status": status,
        "processes_left": len(left),
        "open_files": files,
        "audit": found,
    }
    print(json.dumps(result, indent=2))
    if status != 130 or left or not found["is_sound"]:
        sys.exit(1)


if __name__ == "__main__":
    main()

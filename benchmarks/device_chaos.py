"""A fleet behind adb whose devices break again and again: minutes of faults in, an audit out.

    python benchmarks/device_chaos.py [--kind adb|emulator] [--devices 16] [--seconds 300] [--gap 4] [--seed 0]

`distrl train` on sim phones, each a process reached through the real adb server (a private one); every few seconds one
thing breaks: a phone is killed or frozen (SIGSTOP), sends garbage or black screens, hangs or hangs up, an emulator will
not boot, or the adb server is killed. Then it is left alone and stopped in order. What is checked: every broken episode
is truncated and without a reward, there are no more of them than faults can explain, all devices work again at the end,
nothing is lost or twice in the journal, and no process is left. Emulators are the stand-in of the tests.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from distrl.core.types import Outcome, Trajectory
from distrl.devices.adb.server import find_adb
from distrl.runtime.wire import decode

MARK = "BROKEN_FLEET"
AVD = "Chaos"
STAND_IN = Path(__file__).parents[1] / "tests" / "devices" / "stand_in_emulator.py"
FAULTS = {
    "adb": ("kill", "freeze", "garbage", "black", "hang", "vanish", "adb_server"),
    "emulator": ("kill", "freeze", "garbage", "black", "hang", "never_boot", "adb_server"),
}
BY_CHANNEL = {"garbage": "corrupt_screen", "black": "black_screen", "hang": "freeze", "vanish": "vanish"}
SCREENS_IN_A_ROW = 12
"""A picture that is bad is asked for again, by the device and by the environment: fewer would be no fault at all."""
SETTINGS = (
    "phone.scale=0.1",
    "policy.mode=text",
    "tasks.suite=web_shopping",
    "devices.call_deadline_s=5.0",
    "devices.settle_s=0.0",
    "devices.screenshot=raw",
    "devices.emulator.boot_s=30.0",
    "devices.emulator.load_s=5.0",
    "env.operation_deadline_s=60.0",
    "learner.demonstrations=0",
    "learner.warmup_trajectories=16",
    "train.num_trajectories=1000000",
    "eval.every_trajectories=1000000",
    "eval.episodes=4",
    "eval.has_sampled=false",
)


class Fleet:
    """A run, its devices, and a private adb server."""

    def __init__(self, root: Path, kind: str, devices: int, seed: int) -> None:
        self.kind = kind
        self.run = root / "run"
        self.rng = Random(seed)
        self.mark = f"{os.getpid()}-{seed}"
        self.told: Counter[str] = Counter()
        self._home = root / "avd"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._adb = [str(find_adb()), "-P", str(probe.getsockname()[1])]
        own = {"ANDROID_ADB_SERVER_PORT": self._adb[2], "HOME": str(root), "ANDROID_USER_HOME": str(root)}
        quiet = {"TMPDIR": str(root), "ADB_LOCAL_TRANSPORT_MAX_PORT": "5554", "OMP_NUM_THREADS": "1"}
        places = {"ANDROID_AVD_HOME": str(self._home), "ANDROID_HOME": str(root), "XDG_CACHE_HOME": str(root / "cache")}
        self._environment = {**os.environ, **own, **quiet, **places, MARK: self.mark}
        settings = [*SETTINGS, f"collect.num_devices={devices}", f"devices.kind={kind}", f"seed={seed}"]
        if kind == "adb":
            settings.append("devices.starts_sim_phones=true")
        else:
            self._make_sdk(root)
            settings += [f"devices.emulator.avd={AVD}", "devices.emulator.first_port=20554"]
        words = [word for setting in settings for word in ("--set", setting)]
        self._log = root / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "distrl", "train", "--run-dir", str(self.run), *words],
                stdout=log,
                stderr=log,
                env=self._environment,
            )

    def _make_sdk(self, root: Path) -> None:
        tool = root / "emulator" / "emulator"
        tool.parent.mkdir()
        tool.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
        tool.chmod(0o755)
        folder = self._home / f"{AVD}.avd"
        folder.mkdir(parents=True)
        (self._home / f"{AVD}.ini").write_text(f"path={folder}\n")
        (root / ".emulator_console_auth_token").write_text("secret-of-the-console\n")

    # ---- what is there

    def processes(self) -> dict[int, str]:
        """Everything that belongs to this run, by what it is."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (
                        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    )
        return found

    def phones(self) -> list[int]:
        """The processes of the phones."""
        words = "adbd.process" if self.kind == "adb" else STAND_IN.name
        return [pid for pid, command in self.processes().items() if words in command and "/bin/sh" not in command]

    def serials(self) -> list[str]:
        """What adb reaches now."""
        lines = self._call("devices").splitlines()[1:]
        return [line.split()[0] for line in lines if line.endswith("\tdevice")]

    def _call(self, *words: str) -> str:
        done = subprocess.run(
            [*self._adb, *words], env=self._environment, capture_output=True, text=True, check=False, timeout=30
        )
        return done.stdout

    # ---- what is done

    def break_something(self) -> str:
        """One fault, or nothing if there is nobody to break."""
        fault = self.rng.choice(FAULTS[self.kind])
        phones, serials = self.phones(), self.serials()
        if not phones or not serials:
            return ""
        if fault in ("kill", "freeze"):
            os.kill(self.rng.choice(phones), signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
        elif fault == "never_boot":
            (self._home / f"{AVD}.avd" / "trouble").write_text("never_boot none")
            os.kill(self.rng.choice(phones), signal.SIGKILL)
        elif fault == "adb_server":
            self._call("kill-server")
        else:
            count = str(SCREENS_IN_A_ROW) if fault in ("garbage", "black") else "1"
            self._call("-s", self.rng.choice(serials), "shell", "distrl", "fault", BY_CHANNEL[fault], count)
        self.told[fault] += 1
        return fault

    def stop(self) -> int:
        """In order, as a user would; its exit status."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(180)
        self._call("kill-server")
        return self.process.returncode

    def check_alive(self) -> None:
        """The run must not end by itself."""
        if self.process.poll() is not None:
            raise SystemExit(f"the run has ended by itself:\n{self._log.read_text()[-3000:]}")


class Reader:
    """Follows the journal: what has arrived, before the run lets go of it."""

    def __init__(self, run: Path) -> None:
        self._path = run / "journal.sqlite"
        self._seen = 0
        self.arrived: list[tuple[float, Trajectory]] = []

    def look(self) -> None:
        """Read what is new."""
        if not self._path.exists():
            return
        with contextlib.suppress(sqlite3.Error), contextlib.closing(self._connect()) as connection:
            rows = connection.execute("SELECT seq, data FROM trajectories WHERE seq > ? ORDER BY seq", (self._seen,))
            for seq, data in rows:
                self._seen = seq
                if data:
                    self.arrived.append((time.monotonic(), decode(data)))

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, timeout=10.0)


def wait(fleet: Fleet, reader: Reader, seconds: float) -> None:
    """Let it work, and read what comes."""
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        fleet.check_alive()
        reader.look()
        time.sleep(0.25)


def until_all_work(fleet: Fleet, reader: Reader, devices: int, patience_s: float) -> tuple[int, float]:
    """Wait for an episode of every device that is no failure; how many gave one, and after how long."""
    began_s = time.monotonic()
    while True:
        wait(fleet, reader, 1.0)
        well = {t.device for at_s, t in reader.arrived if at_s > began_s and t.outcome.is_trainable}
        waited_s = time.monotonic() - began_s
        if len(well) >= devices or waited_s > patience_s:
            return len(well), waited_s


def go(fleet: Fleet, args: argparse.Namespace) -> dict[str, Any]:
    """Start, break, leave alone; what came of it."""
    reader = Reader(fleet.run)
    ready, _ = until_all_work(fleet, reader, args.devices, 600.0)
    began_s = time.monotonic()
    wait(fleet, reader, args.clean)
    clean = [t for at_s, t in reader.arrived if at_s > began_s]
    broken_s = time.monotonic()
    while time.monotonic() - broken_s < args.seconds:
        wait(fleet, reader, fleet.rng.uniform(0.5, 1.5) * args.gap)
        fault = fleet.break_something()
        print(f"{time.monotonic() - broken_s:5.0f} s: {fault or 'nobody to break'}", file=sys.stderr, flush=True)
    during = [t for at_s, t in reader.arrived if at_s > broken_s]
    took_s = time.monotonic() - broken_s
    healed, healed_s = until_all_work(fleet, reader, args.devices, 300.0)
    aborted = [t for _, t in reader.arrived if t.outcome is Outcome.ABORTED_DEVICE]
    return {
        "ready": ready,
        "faults": dict(fleet.told),
        "trajectories_per_min": {
            "clean": round(60 * len(clean) / max(args.clean, 1e-9), 1),
            "broken": round(60 * sum(t.outcome.is_trainable for t in during) / took_s, 1),
        },
        "aborted_episodes": len(aborted),
        "aborted_with_a_reward": sum(bool(t.steps[-1].rewards) or t.verdict.ruling.value == "success" for t in aborted),
        "devices_well_at_the_end": healed,
        "healed_after_s": round(healed_s, 1),
        "outcomes": dict(Counter(t.outcome.value for _, t in reader.arrived)),
    }


def main() -> None:
    """Parse, break, audit, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("adb", "emulator"), default="adb")
    parser.add_argument("--devices", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=300.0, help="of faults")
    parser.add_argument("--clean", type=float, default=60.0, help="seconds without faults before them")
    parser.add_argument("--gap", type=float, default=4.0, help="seconds from one fault to the next")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        fleet = Fleet(Path(directory), args.kind, args.devices, args.seed)
        try:
            result = go(fleet, args)
            result["exit_status"] = fleet.stop()
        finally:
            if fleet.process.poll() is None:
                fleet.process.kill()
        time.sleep(3.0)
        result["processes_left"] = len(fleet.processes())
        command = [sys.executable, "-m", "distrl", "runs", "audit", str(fleet.run), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        result["audit"] = {"is_sound": done.returncode == 0, **json.loads(done.stdout)}
    result["load"] = os.getloadavg()[0]
    print(json.dumps(result, indent=2))
    # A killed server breaks the episodes of all devices, anything else that of one.
    most = sum(count * (args.devices if fault == "adb_server" else 2) for fault, count in fleet.told.items())
    is_well = (
        result["exit_status"] == 130
        and not result["processes_left"]
        and not result["aborted_with_a_reward"]
        and result["devices_well_at_the_end"] == args.devices
        and result["aborted_episodes"] <= most
        and result["audit"]["is_sound"]
    )
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()

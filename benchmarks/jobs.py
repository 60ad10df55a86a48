"""Many runs, few at a time: commands and the files they write in, finished files out, with the time left.

What has its file is done already, so the same command goes on where it stopped.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def run_all(jobs: dict[Path, list[str]], *, at_once: int, on_done: Callable[[], None] = lambda: None) -> None:
    """Run every command whose file is not there yet; exits with a message if any of them fails."""
    left = {out: command for out, command in jobs.items() if not out.exists()}
    print(f"{len(jobs) - len(left)} of {len(jobs)} runs are done already", file=sys.stderr)
    total, failed = len(left), 0
    running: dict[Path, subprocess.Popen[bytes]] = {}
    started_s = time.monotonic()
    while left or running:
        while left and len(running) < at_once:
            out = next(iter(left))
            out.parent.mkdir(parents=True, exist_ok=True)
            running[out] = subprocess.Popen(left.pop(out))
        time.sleep(0.5)
        for out, process in [item for item in running.items() if item[1].poll() is not None]:
            del running[out]
            failed += process.returncode != 0
            done = total - len(left) - len(running)
            eta_s = (time.monotonic() - started_s) / done * (total - done)
            print(f"[{done}/{total}] {out.stem} ended; about {eta_s / 60:.0f} min left", file=sys.stderr, flush=True)
            on_done()
    if failed:
        sys.exit(f"{failed} runs failed; the same command tries them again")

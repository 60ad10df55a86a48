"""`distrl worker`: this machine's devices for a run that another machine learns from.

The machine becomes a node of the learner's Ray cluster that has devices to offer; the learner's driver sees it and
starts a worker on it. If the cluster is lost (the learner's machine restarts, the network is cut for long) the node
ends, and the command joins again by itself. Leaving is as simple: stop the command, and the run goes on without it.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from distrl.cli.output import Output
from distrl.core.errors import UserError

STOP_S = 30.0
POLL_S = 0.5
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
JOINED = "Ray runtime started"
REFUSED = ("InvalidAuthToken", "Unauthenticated", "authentication token")
"""What Ray says of a token that is wrong, or missing on either side."""


def worker(
    context: typer.Context,
    address: Annotated[str, typer.Option(help="HOST:PORT of the learner's Ray cluster.", show_default=False)],
    devices: Annotated[int, typer.Option(min=1, max=512, help="Simulated phones to run here.")] = 8,
    node_ip: Annotated[str | None, typer.Option(help="Address of this machine in the cluster, if it has many.")] = None,
) -> None:
    """Offer devices to a run on another machine, until it is stopped."""
    from distrl.cli.extras import require_extra
    from distrl.runtime.signals import first_signal

    require_extra("train")
    output = Output.of(context)
    output.note(f"joining {address} with {devices} devices; Ctrl-C leaves")
    options = [f"--address={address}", f'--resources={{"distrl_devices": {devices}}}', "--num-cpus=1"]
    if node_ip:
        options.append(f"--node-ip-address={node_ip}")
    with first_signal() as leaving:
        _stay(options, address, output, leaving)
    output.note("left the cluster")


def _stay(options: list[str], address: str, output: Output, leaving: Event) -> None:
    """Be a node until asked to leave. The first join has to work; later ones are tried again and again."""
    is_known, pause_s = False, FIRST_PAUSE_S
    while not leaving.is_set():
        with Node(options) as node:
            if node.wait_until_joined(leaving):
                is_known, pause_s = True, FIRST_PAUSE_S
                output.note(f"joined {address}")
                node.wait_until_lost(leaving)
            if leaving.is_set():
                return
            _raise_if_hopeless(node, address, is_known=is_known)
        output.note(f"{address} is lost; joining again in {pause_s:.0f} s")
        leaving.wait(pause_s)
        pause_s = min(2.0 * pause_s, LONGEST_PAUSE_S)


def _raise_if_hopeless(node: "Node", address: str, *, is_known: bool) -> None:
    if node.is_refused:
        raise UserError(
            f"{address} refuses this machine: it must have the same RAY_AUTH_MODE and RAY_AUTH_TOKEN as the learner's"
        )
    if not is_known:
        raise UserError(
            f"cannot join {address}: is it the address that `ray start --head` printed, is that Ray running, and may "
            f"this machine reach it? The last that Ray said: {node.last_line}"
        )


class Node:
    """This machine in a cluster: a `ray start` in a session of its own, all that it starts, and what it says."""

    def __init__(self, options: list[str]) -> None:
        from distrl.runtime import reaper

        directory = Path(tempfile.mkdtemp(prefix="distrl-node-"))
        self._said = directory / "said"
        self._watching = reaper.start(directory)
        start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats", "--block"]
        environment = {
            "RAY_worker_niceness": "0",
            **os.environ,
            reaper.SESSION: str(directory),
            # Whoever leaves has nothing to hand over: what is not delivered stays in the spool.
            "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
        }
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [*start, *options], stdout=said, stderr=said, start_new_session=True, env=environment
            )

    def __enter__(self) -> "Node":
        return self

    def __exit__(self, *error: object) -> None:
        """Leave in an orderly way, if there is time for it; nothing of it runs on."""
        self._process.terminate()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        finally:
            self._process.kill()
            self._watching.communicate()

    def wait_until_joined(self, leaving: Event) -> bool:
        """False if it did not come to that."""
        while self._process.poll() is None and not leaving.is_set() and not self.is_refused:
            if JOINED in self._text():
                return True
            leaving.wait(POLL_S)
        return False

    def wait_until_lost(self, leaving: Event) -> None:
        """Until the node has ended, or is asked to."""
        while self._process.poll() is None and not leaving.is_set():
            leaving.wait(POLL_S)

    @property
    def is_refused(self) -> bool:
        """Whether the cluster does not let us in."""
        return any(words in self._text() for words in REFUSED)

    @property
    def last_line(self) -> str:
        """The last of what Ray said."""
        return (self._text().strip().splitlines() or ["nothing"])[-1]

    def _text(self) -> str:
        return self._said.read_text(encoding="utf-8", errors="replace")

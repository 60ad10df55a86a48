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
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from distrl.cli.output import Output
from distrl.core.errors import UserError

DEFAULT_DEVICES = 8
STOP_S = 30.0
POLL_S = 0.5
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
JOINED = "Ray runtime started"
REFUSED = ("InvalidAuthToken", "Unauthenticated", "authentication token")
"""What Ray says of a token that is wrong, or missing on either side."""


def worker(
    context: typer.Context,
    address: Annotated[str, typer.Option(help="HOST:PORT of the learner's Ray cluster.", show_default=False)],
    devices: Annotated[
        int | None, typer.Option(min=1, max=512, help="Simulated phones or emulators to run here; 8 if not given.")
    ] = None,
    serials: Annotated[
        str, typer.Option(help="Devices of this machine for a run on what adb reaches.", metavar="SERIAL,SERIAL")
    ] = "",
    node_ip: Annotated[str | None, typer.Option(help="Address of this machine in the cluster, if it has many.")] = None,
) -> None:
    """Offer devices to a run on another machine, until it is stopped."""
    from distrl.cli.extras import require_extra
    from distrl.runtime.joining import SERIALS, read_serials
    from distrl.runtime.signals import first_signal

    require_extra("train")
    output = Output.of(context)
    named = read_serials(serials)
    if named and devices not in (None, len(named)):
        raise UserError(f"--serials names {len(named)} devices and --devices says {devices}: leave out --devices")
    count = len(named) or devices or DEFAULT_DEVICES
    output.note(f"joining {address} with {', '.join(named) or f'{count} devices'}; Ctrl-C leaves")
    options = [f"--address={address}", f'--resources={{"distrl_devices": {count}}}', "--num-cpus=1"]
    if node_ip:
        options.append(f"--node-ip-address={node_ip}")
    # Whoever works here is a child of the node, so that is how it learns what is offered.
    make_node = partial(Node, options, {SERIALS: ",".join(named)})
    with first_signal() as leaving:
        _stay(make_node, address, output, leaving)
    output.note("left the cluster")


def _stay(make_node: Callable[[], "Node"], address: str, output: Output, leaving: Event) -> None:
    """Be a node until asked to leave. The first join has to work; later ones are tried again and again."""
    is_known, pause_s = False, FIRST_PAUSE_S
    while not leaving.is_set():
        with make_node() as node:
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
    if node.refusal:
        raise UserError(f"nobody can work here: {node.refusal}")
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

    def __init__(self, options: list[str], variables: Mapping[str, str]) -> None:
        from distrl.runtime import reaper

        self._directory = directory = Path(tempfile.mkdtemp(prefix="distrl-node-"))
        self._said = directory / "said"
        self._watching = reaper.start(directory)
        start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats", "--block"]
        environment = {
            "RAY_worker_niceness": "0",
            **os.environ,
            **variables,
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
        """Until the node has ended, is asked to, or is of no use to the run."""
        while self._process.poll() is None and not leaving.is_set() and not self.refusal:
            leaving.wait(POLL_S)

    @property
    def is_refused(self) -> bool:
        """Whether the cluster does not let us in."""
        return any(words in self._text() for words in REFUSED)

    @property
    def refusal(self) -> str:
        """Why the run's worker could not work here; nothing if it can."""
        from distrl.runtime.joining import refusal_of

        return refusal_of(self._directory)

    @property
    def last_line(self) -> str:
        """The last of what Ray said."""
        return (self._text().strip().splitlines() or ["nothing"])[-1]

    def _text(self) -> str:
        return self._said.read_text(encoding="utf-8", errors="replace")

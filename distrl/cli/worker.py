"""`distrl worker`: this machine's devices for a run that another machine learns from.

The machine becomes a node of the learner's Ray cluster that has devices to offer; the learner's driver sees it and
starts a worker on it. Leaving is as simple: stop the command, and the run goes on without it.
"""

import os
import signal
import subprocess
import sys
from types import FrameType
from typing import Annotated

import typer

from distrl.cli.output import Output

STOP_S = 30.0


def worker(
    context: typer.Context,
    address: Annotated[str, typer.Option(help="HOST:PORT of the learner's Ray cluster.", show_default=False)],
    devices: Annotated[int, typer.Option(min=1, max=512, help="Simulated phones to run here.")] = 8,
    node_ip: Annotated[str | None, typer.Option(help="Address of this machine in the cluster, if it has many.")] = None,
) -> None:
    """Offer devices to a run on another machine, until it is stopped."""
    from distrl.cli.extras import require_extra

    require_extra("train")
    output = Output.of(context)
    command = [
        sys.executable,
        "-m",
        "ray.scripts.scripts",
        "start",
        f"--address={address}",
        f'--resources={{"distrl_devices": {devices}}}',
        "--num-cpus=1",
        "--disable-usage-stats",
        "--block",
        *([f"--node-ip-address={node_ip}"] if node_ip else []),
    ]
    output.note(f"joining {address} with {devices} devices; Ctrl-C leaves")
    node = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)

    def leave(number: int, frame: FrameType | None) -> None:
        os.killpg(node.pid, signal.SIGTERM)

    before = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        status = node.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if node.poll() is None:
            os.killpg(node.pid, signal.SIGKILL)
    output.note("left the cluster")
    raise typer.Exit(0 if status <= 0 or status == 128 + signal.SIGTERM else status)

"""Machines for tests: each has a network, processes, a host name and a home of its own; all that they share is a wire.

    Cluster --makes--> Machine "learner" 10.77.0.1 ==wire== Machine "farm" 10.77.0.2

Linux namespaces do it, so root, iproute2 and nftables are needed; whoever lacks them is told so. The wire can be cut,
made to lose packets and made slow; a machine can lose its power. `close` leaves nothing behind.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOOLS = {"ip": "iproute2", "tc": "iproute2", "nft": "nftables", "unshare": "util-linux", "nsenter": "util-linux"}
PATIENCE_S = 30.0
# Process number one of a machine: it waits, and lets those rest whose parents are gone.
INIT = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    signal.pause()
"""


def require_root_and_tools() -> None:
    """An error that says what is missing."""
    assert os.geteuid() == 0, "tests of clusters make network namespaces: run them as root"
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    assert not missing, f"tests of clusters need more tools: apt-get install {' '.join(missing)}"


def shell(*command: str) -> None:
    """Run something that has to work."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


class Program:
    """A command that runs on a machine, and what it says."""

    def __init__(self, command: list[str], environment: dict[str, str], said: Path) -> None:
        self._said = said
        with said.open("wb") as out:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
            )

    def signal(self, number: int) -> None:
        """A signal for the command; what we started is only its way into the machine."""
        (pid,) = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        os.kill(int(pid), number)

    def end(self, patience_s: float) -> int:
        """Wait for its exit status."""
        return self._process.wait(patience_s)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def text(self) -> str:
        return self._said.read_text(errors="replace")


class Machine:
    """A host with one address. What is below `hidden` on the real machine is not on this one."""

    def __init__(self, network: str, address: str, home: Path, *, name: str, hidden: Path | None = None) -> None:
        self.network = network
        self.address = address
        self.home = home
        self._num_programs = 0
        home.mkdir(parents=True, exist_ok=True)
        Path("/tmp/ray").mkdir(exist_ok=True)
        covered = ["/tmp/ray", *([str(hidden)] if hidden else [])]
        setup = " && ".join(
            [f"echo {name} > /proc/sys/kernel/hostname", *(f"mount -t tmpfs tmpfs {path}" for path in covered)]
        )
        shell("ip", "netns", "exec", network, "ip", "link", "set", "lo", "up")
        unshare = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        init = ["sh", "-c", f'{setup} && exec "$0" -c "$1"', sys.executable, INIT]
        self._power = subprocess.Popen(["ip", "netns", "exec", network, *unshare, *init])
        until_s = time.monotonic() + PATIENCE_S
        while self.ask("hostname") != name:
            assert time.monotonic() < until_s, f"the machine {name} does not start"
            time.sleep(0.1)

    def start(self, *command: str, **variables: str) -> Program:
        """Start a command on this machine, with a clean environment."""
        self._num_programs += 1
        said = self.home / f"said-{self._num_programs}.txt"
        environment = {**_clean_environment(), "HOME": str(self.home), **variables}
        return Program(self._entered(*command), environment, said)

    def ask(self, *command: str) -> str:
        """What a command says on this machine; nothing if it fails."""
        return subprocess.run(self._entered(*command), capture_output=True, text=True).stdout.strip()

    def _entered(self, *command: str) -> list[str]:
        pid = str(self._power.pid)
        spaces = ["--mount", "--uts", "--net", f"--pid=/proc/{pid}/ns/pid_for_children"]
        return ["nsenter", "--target", pid, *spaces, "--wd=/", *command]

    def cut_power(self) -> None:
        """kill -9 for everything that runs here, at once."""
        self._power.kill()
        self._power.wait()


class Cluster:
    """Two machines and the wire between them."""

    def __init__(self, home: Path, *, hidden: Path) -> None:
        require_root_and_tools()
        mark = f"{os.getpid()}"
        self._networks = [f"distrl-a-{mark}", f"distrl-b-{mark}"]
        for network in self._networks:
            shell("ip", "netns", "add", network)
        self.machines: list[Machine] = []
        try:
            self._connect()
            learner, farm = self._networks
            self.learner = Machine(learner, "10.77.0.1", home / "learner", name="learner")
            self.machines.append(self.learner)
            self.farm = Machine(farm, "10.77.0.2", home / "farm", name="farm", hidden=hidden)
            self.machines.append(self.farm)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        first, second = self._networks
        shell("ip", "link", "add", "wire", "netns", first, "type", "veth", "peer", "name", "wire", "netns", second)
        for number, network in enumerate(self._networks, start=1):
            shell("ip", "-n", network, "address", "add", f"10.77.0.{number}/24", "dev", "wire")
            shell("ip", "-n", network, "link", "set", "wire", "up")

    def cut_wire(self) -> None:
        """From now on nothing gets through."""
        shell("ip", "-n", self._networks[0], "link", "set", "wire", "down")

    def mend_wire(self) -> None:
        """Everything gets through again."""
        shell("ip", "-n", self._networks[0], "link", "set", "wire", "up")

    def lose_packets(self, percent: int) -> None:
        """From now on some packets are lost, in both directions."""
        rules = f"""
            table inet loss {{
                chain in {{
                    type filter hook input priority 0;
                    iifname "wire" numgen random mod 100 < {percent} counter drop
                }}
            }}"""
        for network in self._networks:
            shell("ip", "netns", "exec", network, "nft", rules)

    def slow_down(self, kbit_per_s: int) -> None:
        """From now on the wire carries so much in each direction, and no more."""
        for network in self._networks:
            limit = ["tbf", "rate", f"{kbit_per_s}kbit", "burst", "16kb", "latency", "500ms"]
            shell("ip", "netns", "exec", network, "tc", "qdisc", "replace", "dev", "wire", "root", *limit)

    def close(self) -> None:
        """End all that runs, and remove the networks."""
        for machine in self.machines:
            machine.cut_power()
        for network in self._networks:
            shell("ip", "netns", "delete", network)


def _clean_environment() -> dict[str, str]:
    """The environment without what concerns another Ray."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "DISTRL_"))}

"""A real cluster of two machines, one to learn and one with devices: machines leave, wires are cut, nothing is lost.

Both machines are namespaces of this one (see cluster.py). The second sees nothing of the run's directory, so its spool
is in its own home, where an audit on the learner's machine cannot look; the tests look there.
"""

import json
import shlex
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from distrl.runtime.ray_engine import DEVICES

from ..runtime.runs import as_options
from .cluster import Cluster, Machine, Program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "cluster"
PATIENCE_S = 300.0
TOKEN, WRONG_TOKEN = "a" * 64, "b" * 64
RAY = ["-m", "ray.scripts.scripts"]
DISTRL = ["-c", "from distrl.cli.main import main; main()"]
# A machine that does not answer for some seconds is given up; by default it takes a minute.
SOON = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "4",
}
QUICK: dict[str, dict[str, Any]] = {
    "phone": {"scale": 0.1},
    "policy": {"mode": "text", "start": "scratch"},
    "learner": {"batch_trajectories": 4, "warmup_trajectories": 4, "new_steps_per_update": 40.0},
    "collect": {"num_devices": 2},
    "train": {"num_trajectories": 100_000},
    "eval": {"every_trajectories": 40, "episodes": 2},
}


class Lab:
    """Two machines with a run on them."""

    def __init__(self, place: Path) -> None:
        self.run = place / "data" / "run"
        self.run.parent.mkdir()
        self.cluster = Cluster(place, hidden=self.run.parent)
        self.learner, self.farm = self.cluster.learner, self.cluster.farm
        self.address = f"{self.learner.address}:6379"

    def start(self, machine: Machine, *command: str, token: str = TOKEN) -> Program:
        variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token, "RAY_worker_niceness": "0", **SOON}
        return machine.start(sys.executable, *command, OMP_NUM_THREADS="1", **variables)

    def begin(self, *more: str, **tables: dict[str, Any]) -> Program:
        """Ray's head and a run on the first machine."""
        address = [f"--node-ip-address={self.learner.address}", "--port=6379"]
        head = self.start(self.learner, *RAY, "start", "--head", *address, "--include-dashboard=false", "--num-cpus=1")
        assert head.end(PATIENCE_S) == 0, head.text
        return self.train(self.run, *more, **tables)

    def train(self, run: Path, *more: str, token: str = TOKEN, **tables: dict[str, Any]) -> Program:
        """`distrl train` on the first machine."""
        settings = {name: QUICK.get(name, {}) | tables.get(name, {}) for name in {*QUICK, *tables}}
        options = ["--run-dir", str(run), "--address", self.address, *as_options(settings)]
        return self.start(self.learner, *DISTRL, "train", *options, *more, token=token)

    def join(self, *, num_devices: int = 2, token: str = TOKEN) -> Program:
        """`distrl worker` on the second machine."""
        options = ["--address", self.address, "--devices", str(num_devices)]
        return self.start(self.farm, *DISTRL, "worker", *options, token=token)

    def stored(self) -> dict[str, str]:
        """Who made each trajectory in the journal, by its id."""
        rows = _rows(self.run / "journal.sqlite", "SELECT id, worker FROM trajectories")
        return dict(rows)

    def count(self, worker: str) -> int:
        """How many trajectories of a worker are stored, of all its lives."""
        return sum(name.rpartition("-")[0] == worker for name in self.stored().values())

    def lives(self, worker: str) -> int:
        """How many lives of a worker have delivered something."""
        return len({name for name in self.stored().values() if name.rpartition("-")[0] == worker})

    def spools(self) -> dict[str, Path]:
        """The spools in the home of the second machine."""
        return {path.stem: path for path in (self.farm.home / ".local/state/distrl/run").glob("*.sqlite")}

    def spooled(self, table: str) -> set[str]:
        """The trajectories of the second machine that are `acknowledged`, or are `parcels` still to be sent."""
        return {name for path in self.spools().values() for (name,) in _rows(path, f"SELECT id FROM {table}")}

    def wait_for_more(self, worker: str, count: int) -> None:
        before = self.count(worker)
        self.wait_for(lambda: self.count(worker) >= before + count)

    def wait_for(self, look: Callable[[], bool], *programs: Program) -> None:
        """Until something is so, while some programs go on."""
        until_s = time.monotonic() + PATIENCE_S
        while not look():
            for program in programs:
                assert not program.has_ended, program.text
            assert time.monotonic() < until_s, "it never happened"
            time.sleep(0.3)

    def is_sound(self) -> bool:
        """The audit on the learner's machine, and what the second machine was told is safe."""
        said = self.learner.ask(sys.executable, *DISTRL, "runs", "audit", "--json", str(self.run))
        audit = json.loads(said)
        assert audit["lost"] == audit["duplicates"] == audit["unpublished_versions"] == 0, audit
        assert audit["versions_monotone"], audit
        assert audit["orphans"] == [], audit
        acknowledged = self.spooled("acknowledged")
        return bool(acknowledged) and acknowledged <= set(self.stored())


def _rows(path: Path, query: str) -> list[Any]:
    """None if there is no such file or table yet."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30.0) as database:
            return database.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    yield lab
    lab.cluster.close()


def drain(train: Program) -> None:
    train.signal(signal.SIGTERM)
    assert train.end(PATIENCE_S) == 130, train.text
    assert "The same command goes on" in train.text


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.timeout(420)
def test_machines_join_and_leave_in_mid_run_if_they_have_the_token(lab: Lab) -> None:
    train = lab.begin("--workers", "0")
    strange_driver = lab.train(lab.run.parent / "strange", token=WRONG_TOKEN)
    stranger = lab.join(token=WRONG_TOKEN)
    assert stranger.end(PATIENCE_S) == 2, stranger.text
    assert "refuses this machine" in stranger.text
    assert "Traceback" not in stranger.text
    first = lab.join()
    lab.wait_for(lambda: lab.count("worker-farm") >= 4, train, first)
    second = lab.join()
    lab.wait_for(lambda: lab.count("worker-farm-2") >= 4, train, first, second)
    first.signal(signal.SIGTERM)
    assert first.end(PATIENCE_S) == 0, first.text
    lab.wait_for(lambda: "worker-farm has left" in train.text, train, second)
    lab.wait_for_more("worker-farm-2", 4)
    drain(train)
    assert strange_driver.end(PATIENCE_S) == 2, strange_driver.text
    assert "RAY_AUTH_TOKEN" in strange_driver.text
    assert "Traceback" not in strange_driver.text
    assert lab.is_sound()
    assert set(lab.spools()) == {"worker-farm", "worker-farm-2"}
    assert set(lab.stored().values()) == {name for name in lab.stored().values() if name.startswith("worker-farm")}
    second.signal(signal.SIGINT)
    assert second.end(PATIENCE_S) == 0, second.text
    assert lab.farm.ask("pgrep", "-fc", "raylet|WorkerActor") == "0"


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.timeout(420)
def test_a_machine_that_was_cut_off_joins_again_and_one_that_is_gone_is_not_missed(lab: Lab) -> None:
    train = lab.begin("--workers", "1")
    farm = lab.join()
    lab.wait_for(lambda: lab.count("worker-farm") >= 4, train, farm)
    lab.cluster.cut_wire()
    lab.wait_for(lambda: "worker-farm has left" in train.text, train, farm)
    lab.wait_for_more("worker-0", 4)
    made_alone = lab.spooled("parcels")
    assert made_alone, "it goes on while it is alone"
    lab.cluster.mend_wire()
    lab.wait_for(lambda: lab.lives("worker-farm") == 2, train, farm)
    assert "joining again" in farm.text
    assert set(lab.spools()) == {"worker-farm"}
    lab.wait_for(lambda: made_alone <= set(lab.stored()), train, farm)
    lab.farm.cut_power()
    lab.wait_for(lambda: train.text.count("worker-farm has left") == 2, train)
    lab.wait_for_more("worker-0", 4)
    drain(train)
    assert lab.is_sound()


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.timeout(420)
def test_a_wire_that_is_slow_and_loses_packets_is_enough(lab: Lab) -> None:
    train = lab.begin("--workers", "0", train={"num_trajectories": 40})
    lab.cluster.lose_packets(5)
    farm = lab.join()
    lab.wait_for(lambda: lab.count("worker-farm") >= 1, train, farm)
    lab.cluster.slow_down(1000)
    assert train.end(PATIENCE_S) == 0, train.text
    assert "held-out success" in train.text
    assert not farm.has_ended, farm.text
    assert "lost" not in farm.text
    assert lab.is_sound()
    assert lab.count("worker-farm") >= 40


def test_the_example_for_the_launcher_offers_devices_and_asks_for_the_token() -> None:
    cluster = yaml.safe_load((EXAMPLES / "cluster.yaml").read_text())
    assert cluster["min_workers"] == cluster["max_workers"] == len(cluster["provider"]["worker_ips"])
    assert "~/.ray/auth_token" in cluster["file_mounts"]
    head, worker = cluster["head_start_ray_commands"][-1], cluster["worker_start_ray_commands"][-1]
    assert "RAY_AUTH_MODE=token" in head
    assert "RAY_AUTH_MODE=token" in worker
    assert offered(shlex.split(worker)[-1].removeprefix("--resources=")) == 16
    assert "--resources" not in head


def test_the_example_for_kubernetes_offers_devices_and_asks_for_the_token() -> None:
    cluster, _ = yaml.safe_load_all((EXAMPLES / "kuberay.yaml").read_text())
    (workers,) = cluster["spec"]["workerGroupSpecs"]
    on_the_command_line = shlex.split(workers["rayStartParams"]["resources"])
    assert [offered(text) for text in on_the_command_line] == [16]
    for group in (cluster["spec"]["headGroupSpec"], workers):
        (container,) = group["template"]["spec"]["containers"]
        variables = {variable["name"]: variable for variable in container["env"]}
        assert variables["RAY_AUTH_MODE"]["value"] == "token"
        assert "secretKeyRef" in variables["RAY_AUTH_TOKEN"]["valueFrom"]


def offered(resources: str) -> int:
    """How many devices the driver would see."""
    return int(json.loads(resources)[DEVICES])

"""What a worker of a fleet tells about itself."""

from pathlib import Path
from typing import Any

from distrl.core.config import config_of
from distrl.runtime.fleet_worker import FleetWorker, FleetWorkerOptions


def test_failures_of_devices_are_told_by_cause_with_relaunches_and_skipped_tasks(tmp_path: Path) -> None:
    config = config_of({"policy": {"mode": "text", "start": "scratch"}, "phone": {"scale": 0.1}})
    link: Any = None
    worker = FleetWorker(config, link, FleetWorkerOptions(spool=tmp_path / "spool.sqlite", num_devices=2))
    worker.pool.failures_by_cause.update({"deadline": 2, "bad_screen": 1})
    worker.pool.num_relaunches = 4
    worker.worker.num_skipped = 3
    told = worker._measure()
    worker.spool.close()
    assert {name: told[name] for name in told if name.startswith("failures_")} == {
        "failures_deadline": 2.0,
        "failures_bad_screen": 1.0,
    }
    assert (told["relaunches"], told["skipped_tasks"]) == (4.0, 3.0)

"""`distrl train` on devices behind adb while they are broken; the long form, and that of emulators, is a benchmark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "device_chaos.py"


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.adb
@pytest.mark.timeout(600)
def test_a_fleet_whose_devices_break_every_few_seconds_heals_and_loses_nothing() -> None:
    options = ["--devices", "3", "--seconds", "10", "--clean", "1", "--gap", "2.5"]
    done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["devices_well_at_the_end"] == 3
    assert found["aborted_with_a_reward"] == 0
    assert found["audit"]["is_sound"]
    assert sum(found["faults"].values()) >= 2

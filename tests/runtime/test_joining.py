"""A machine that joins a run has devices of its own: which it offers, what it is refused with, and who hears of it."""

from pathlib import Path
from typing import Any

import pytest

from distrl.core.config import Config, config_of
from distrl.core.errors import UserError
from distrl.runtime import reaper
from distrl.runtime.build_devices import settle_devices
from distrl.runtime.joining import SERIALS, read_serials, refusal_of, settle_joined
from distrl.runtime.ray_engine import WorkerActor

from ..cli.command import distrl

ADB = {"kind": "adb", "serials": ("at-the-learner",), "adb_port": 1}


def run_on(**devices: Any) -> Config:
    return config_of({"devices": devices, "policy": {"mode": "text", "start": "scratch"}, "phone": {"scale": 0.1}})


def test_a_machine_that_has_not_said_what_it_offers_is_told_how_to() -> None:
    with pytest.raises(UserError, match="distrl worker --serials SERIAL,SERIAL"):
        settle_joined(run_on(**ADB), 8, environment={})


@pytest.mark.parametrize("devices", [{"kind": "sim"}, {"kind": "adb", "starts_sim_phones": True}, {"kind": "emulator"}])
def test_phones_are_not_swapped_for_simulated_ones_behind_their_owners_back(devices: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"this machine offers R58M.*devices\.kind = 'adb'"):
        settle_joined(run_on(**devices), 1, environment={SERIALS: "R58M"})


def test_simulated_phones_are_as_many_as_are_offered_whatever_the_learner_has() -> None:
    assert settle_joined(run_on(kind="sim"), 3, environment={}).collect.num_devices == 3


def test_emulators_are_looked_for_where_they_are_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDROID_AVD_HOME", str(tmp_path))
    config = run_on(kind="emulator", emulator={"avd": "Pixel"})
    with pytest.raises(UserError, match="there is no virtual device 'Pixel'"):
        settle_joined(config, 2, environment={})
    with pytest.raises(UserError, match="at most 64"):
        settle_joined(config, 65, environment={})
    assert settle_devices(config, is_virtual=False, are_elsewhere=True) == config


def test_a_learner_without_workers_needs_no_devices_and_takes_no_serials() -> None:
    bare = run_on(kind="adb", adb_port=1)
    assert settle_devices(bare, is_virtual=False, are_elsewhere=True) == bare
    with pytest.raises(UserError, match="distrl worker --serials"):
        settle_devices(run_on(**ADB), is_virtual=False, are_elsewhere=True)


def test_serials_are_words_between_commas_and_none_is_there_twice() -> None:
    assert read_serials(" a, 127.0.0.1:5555,,") == ("a", "127.0.0.1:5555")
    assert read_serials("") == ()
    with pytest.raises(UserError, match="twice"):
        read_serials("a,b,a")


def test_what_keeps_a_worker_from_working_reaches_the_command_that_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(reaper.SESSION, str(tmp_path))
    monkeypatch.delenv(SERIALS, raising=False)
    monkeypatch.delenv("ANDROID_SERIAL", raising=False)
    assert refusal_of(tmp_path) == ""
    options = {"name": "worker-farm", "num_devices": 2, "first_device": 5, "is_here": False}
    with pytest.raises(UserError):
        WorkerActor(run_on(**ADB).model_dump(exclude_none=True), str(tmp_path / "run"), options)
    assert "--serials" in refusal_of(tmp_path)


def test_options_that_contradict_each_other_are_told_before_anything_is_joined() -> None:
    done = distrl("worker", "--address", "127.0.0.1:9", "--serials", "a,b", "--devices", "3")
    assert done.status == 2
    assert "leave out --devices" in done.err
    assert distrl("worker", "--address", "127.0.0.1:9", "--serials", "a,a").status == 2

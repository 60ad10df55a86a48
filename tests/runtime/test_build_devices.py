"""Which device a configuration means."""

from typing import Any

import pytest

from distrl.core.clock import LoopClock
from distrl.core.config import config_of
from distrl.core.errors import UserError
from distrl.core.interfaces import GroundTruth, Guarded
from distrl.devices.adb.guard import GuardedPhone
from distrl.devices.adb.sim_phone import OwnSimPhone, SimBehindAdb
from distrl.devices.emulator.device import EmulatorDevice, SimEmulator
from distrl.runtime.build import make_environment, make_pool
from distrl.runtime.build_devices import adb_maker


def made(judge: str = "rule", **devices: Any) -> tuple[str, Any]:
    config = config_of({"devices": {"adb_port": 1, **devices}, "judge": {"kind": judge}})
    name, make = adb_maker(config, 0, LoopClock())
    device = make()
    assert device.name == name
    make_environment(config, device)
    return name, device


def test_with_a_rule_devices_are_ours_and_tell_the_truth() -> None:
    emulator = {"avd": "x", "max_snapshot_loads": 7}
    for name, device, kind in (
        (*made(kind="adb", serials=("a",)), SimBehindAdb),
        (*made(kind="adb", starts_sim_phones=True), OwnSimPhone),
        (*made(kind="emulator", emulator=emulator), SimEmulator),
    ):
        assert type(device) is kind, name
        assert isinstance(device, GroundTruth)
        assert not isinstance(device, Guarded)


def test_with_another_judge_phones_are_guarded_and_nothing_claims_to_know_the_truth() -> None:
    name, phone = made("script", kind="adb", serials=("a",), safety={"packages": ("p",), "min_battery_percent": 50})
    assert (name, type(phone)) == ("a", GuardedPhone)
    assert isinstance(phone, Guarded)
    assert not isinstance(phone, GroundTruth)
    assert (phone._safety.packages, phone._safety.min_battery_percent) == (("p",), 50)
    name, emulator = made("script", kind="emulator", emulator={"avd": "x", "max_snapshot_loads": 7})
    assert (name, type(emulator)) == ("emulator-0", EmulatorDevice)
    assert emulator._emulator.max_snapshot_loads == 7


def test_options_of_the_configuration_reach_the_device() -> None:
    chosen = {"settle_s": 1.5, "screenshot": "png", "ui_tree": "none", "clears": ("p",), "apps": {"A": "p"}}
    _, device = made("script", kind="adb", serials=("a",), call_deadline_s=4.0, **chosen)
    options = device._options
    assert {name: getattr(options, name) for name in chosen} == chosen
    assert device._server.deadline_s == 4.0


def test_devices_are_numbered_over_workers_and_one_too_many_is_told() -> None:
    config = config_of({"devices": {"kind": "adb", "serials": ("a", "b", "c"), "adb_port": 1}})
    assert list(make_pool(config, 2, first=1)._devices) == ["b", "c"]
    with pytest.raises(UserError, match=r"none of the 3 in devices\.serials"):
        make_pool(config, 2, first=2)

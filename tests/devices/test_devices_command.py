"""`distrl devices` and `distrl doctor` as a user types them, through the real adb server."""

import json
import os
from pathlib import Path

import pytest
from PIL import Image

from distrl.devices.emulator import slots

from ..cli.command import distrl
from .adb_bench import Tool
from .emulator_bench import AVD, Sdk

pytestmark = pytest.mark.adb
CHECKS = ["python", "torch", "ray", "adb", "adb server", "sdk", "kvm", "disk", "ports", "tokens", "judge"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, adb: Tool, monkeypatch: pytest.MonkeyPatch) -> Sdk:
    sdk = Sdk(tmp_path, adb.port, first_port=30_554)
    for name, value in sdk.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return sdk


def test_phones_are_started_listed_looked_at_reset_and_stopped(tmp_path: Path) -> None:
    started = distrl("devices", "start", "--count", "1", "--set", "phone.scale=0.1")
    assert started.status == 0
    (serial,) = started.out.split()
    try:
        (row,) = [r for r in json.loads(distrl("devices", "list", "--json").out) if r["serial"] == serial]
        assert (row["state"], row["kind"]) == ("device", "sim")
        assert slots.started_at(row["pid"])
        assert f"{serial}  device" in distrl("devices", "list").out
        assert "com.distrl.launcher" in distrl("devices", "watch", "--count", "1").out
        shot = distrl("devices", "screenshot", "--serial", serial, "--out", "screen.png")
        assert "108 x 240" in shot.out
        assert Image.open(tmp_path / "screen.png").size == (108, 240)
        assert distrl("devices", "reset", "--serial", serial).status == 0
        strange = distrl("devices", "stop", "--serial", "not-ours")
        assert strange.status == 2
        assert "was not started here" in strange.err
    finally:
        assert distrl("devices", "stop").out.split() == [serial]
    assert not slots.started_at(row["pid"])
    assert serial not in distrl("devices", "list").out


def test_an_emulator_that_is_started_by_hand_stays_until_it_is_stopped(home: Sdk) -> None:
    home.make_avd()
    words = ("--set", f"devices.emulator.avd={AVD}", "--set", "devices.emulator.first_port=30554")
    started = distrl("devices", "start", "--kind", "emulator", *words)
    try:
        assert started.out.split() == ["emulator-30554"]
        (row,) = [r for r in json.loads(distrl("devices", "list", "--json").out) if r["pid"]]
        assert (row["serial"], row["kind"]) == ("emulator-30554", "emulator")
        # A run that starts its own takes another slot.
        slot = slots.take_slot(30_554)
        assert slot.port == 30_556
        slot.release()
    finally:
        assert distrl("devices", "stop").out.split() == ["emulator-30554"]
    assert slots.records() == []


def test_nothing_to_start_and_several_to_choose_from_are_told(adb: Tool) -> None:
    assert distrl("devices", "start", "--kind", "fridge").status == 2
    assert "devices.emulator.avd" in distrl("devices", "start", "--kind", "emulator").err
    missing = distrl("devices", "screenshot", "--serial", "nobody")
    assert missing.status == 1
    assert "adb devices" in missing.err
    assert distrl("devices", "screenshot", "--out", "no/such/folder/x.png").status == 2


def test_the_doctor_has_a_line_for_everything_and_a_fix_for_what_fails(
    home: Sdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    well = distrl("doctor", "--json")
    lines = json.loads(well.out)
    assert [line["check"] for line in lines] == CHECKS
    assert all(set(line) == {"check", "ok", "found", "fix"} for line in lines)
    assert well.status == 0, well.out
    for variable in ("ANDROID_HOME", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("distrl.runtime.doctor.KVM", Path("/nowhere"))
    monkeypatch.setattr("distrl.devices.emulator.sdk.USUAL", ())
    ill = distrl(
        "doctor", "--set", "devices.kind=emulator", "--set", "judge.kind=vlm", "--set", "judge.model=m", "--json"
    )
    failing = {line["check"]: line["fix"] for line in json.loads(ill.out) if not line["ok"]}
    assert ill.status == 1
    assert {"sdk", "kvm", "tokens", "judge"} <= set(failing)
    assert all(failing.values())
    assert "OPENAI_API_KEY" in failing["tokens"]
    text = distrl("doctor", "--set", "devices.kind=emulator").out
    assert "FAIL  sdk" in text
    assert "-> install Android's command line tools" in text


def test_the_doctor_prints_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-of-the-key")
    words = ("--set", "judge.kind=vlm", "--set", "judge.model=m", "--set", "judge.url=http://127.0.0.1:9/v1")
    done = distrl("doctor", "--set", "judge.deadline_s=0.5", *words)
    assert done.status == 1
    assert "canary" not in done.out + done.err


def test_something_else_at_the_port_of_adb_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket
    import threading

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=lambda: listener.accept()[0].close(), daemon=True).start()
        port = listener.getsockname()[1]
        done = distrl("doctor", "--set", f"devices.adb_port={port}", "--set", "devices.kind=adb", "--json")
    (line,) = [line for line in json.loads(done.out) if line["check"] == "adb server"]
    assert not line["ok"]
    assert "ANDROID_ADB_SERVER_PORT" in line["fix"]


def test_a_policy_is_measured_on_a_phone_that_adb_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    (serial,) = distrl("devices", "start", "--set", "phone.scale=0.1").out.split()
    try:
        monkeypatch.setenv("DISTRL_DEVICES__KIND", "adb")
        monkeypatch.setenv("DISTRL_DEVICES__SERIALS", json.dumps([serial]))
        monkeypatch.setenv("DISTRL_DEVICES__SETTLE_S", "0.0")
        done = distrl("eval", "--policy", "idle", "--suite", "general", "--episodes", "2", "--json")
        assert done.status == 0, done.err
        assert json.loads(done.out)["episodes"] == 2
    finally:
        distrl("devices", "stop")


def test_a_list_of_ones_own_is_judged_on_a_phone_by_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.txt").write_text("Do it\nDo that\n")
    (serial,) = distrl("devices", "start", "--set", "phone.scale=0.1").out.split()
    try:
        once = {"KIND": "adb", "SERIALS": json.dumps([serial]), "SETTLE_S": "0.0", "WAIT_S": "0.0"}
        for name, value in once.items():
            monkeypatch.setenv(f"DISTRL_DEVICES__{name}", value)
        monkeypatch.setenv("DISTRL_TASKS__FILE", "mine.txt")
        monkeypatch.setenv("DISTRL_JUDGE__KIND", "script")
        for ruling, share in (("success", 1.0), ("failure", 0.0)):
            monkeypatch.setenv("DISTRL_JUDGE__SCRIPT", json.dumps([ruling]))
            done = distrl("eval", "--policy", "idle", "--episodes", "1", "--json")
            assert (done.status, json.loads(done.out or "{}").get("success")) == (0, share), done.err
    finally:
        distrl("devices", "stop")


def test_the_example_is_a_configuration_and_what_cannot_be_served_is_told() -> None:
    example = Path(__file__).parents[2] / "examples" / "adb.toml"
    shown = json.loads(distrl("config", "show", "--config", str(example), "--json").out)
    assert (shown["devices"]["kind"], shown["devices"]["starts_sim_phones"]) == ("adb", True)
    alone = distrl("phone", "--grpc", "0")
    assert alone.status == 2
    assert "--adb" in alone.err


def test_training_on_devices_that_are_not_there_is_refused_at_once(tmp_path: Path) -> None:
    for words, hint in (
        (("devices.serials=['127.0.0.1:9']",), "127.0.0.1:9"),
        (("devices.kind=emulator",), "devices.emulator.avd"),
        (("devices.kind=emulator", "devices.emulator.avd=Nobody"), "there is no virtual device 'Nobody'"),
        (("devices.kind=emulator", "devices.emulator.first_port=5555"), "first_port"),
        (("phone.latency=emulator",), "phone.latency"),
        (("phone.faults.freeze=0.1",), "starts_sim_phones"),
    ):
        overrides = [part for word in ("devices.kind=adb", *words) for part in ("--set", word)]
        done = distrl("train", *overrides, "--run-dir", "run")
        assert (done.status, hint in done.err) == (2, True), done.err
        assert "Traceback" not in done.err
    done = distrl("train", "--runtime", "serial", "--set", "devices.kind=adb", "--run-dir", "run")
    assert "needs real time" in done.err
    assert not (tmp_path / "run").exists()
    assert os.listdir(tmp_path / "cache") if (tmp_path / "cache").exists() else True

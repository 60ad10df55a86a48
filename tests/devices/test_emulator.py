"""The whole life of an emulator, through the real adb server, against a stand-in for Android's executable."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from distrl.core.clock import LoopClock
from distrl.core.errors import DeviceError
from distrl.core.types import OpenApp
from distrl.devices.adb.device import AdbOptions
from distrl.devices.adb.server import AdbServer
from distrl.devices.emulator import avd, console, slots
from distrl.devices.emulator.device import EmulatorDevice, SimEmulator
from distrl.devices.emulator.sdk import find_sdk
from distrl.devices.pool import Pool, PoolOptions

from .adb_bench import Tool, cause_of
from .emulator_bench import AVD, Sdk

pytestmark = pytest.mark.adb
INSTANT = AdbOptions(settle_s=0.0, screenshot="raw")


def run(sdk: Sdk, use: Callable[[EmulatorDevice], Awaitable[Any]], *, deadline_s: float = 5.0, **changes: Any) -> Any:
    """Use one emulator; nothing of it is left afterwards."""

    async def main() -> Any:
        server = AdbServer(deadline_s=deadline_s)
        device = EmulatorDevice("emulator-0", server, sdk.options(**changes), clock=LoopClock(), options=INSTANT)
        try:
            return await use(device)
        finally:
            await device.close()
            assert slots.records(sdk.state) == []

    return asyncio.run(main())


def test_an_emulator_is_created_booted_used_restored_and_ended(sdk: Sdk) -> None:
    async def use(device: EmulatorDevice) -> int:
        await device.reset()
        seen = await device.observe()
        assert "launcher" in seen.activity
        await device.perform(OpenApp(app="Notes"))
        pid = device.pid
        await device.reset()
        assert device.pid == pid
        assert (await device.observe()).screen == seen.screen
        return pid

    pid = run(sdk, use, system_image="system-images;android-34;google_apis;x86_64")
    assert not slots.started_at(pid)
    assert avd.list_avds(sdk.home) == [AVD]


def test_instances_of_one_device_run_side_by_side_on_ports_of_their_own(sdk: Sdk) -> None:
    sdk.make_avd()

    async def main() -> None:
        devices = [
            EmulatorDevice(f"emulator-{n}", AdbServer(), sdk.options(), clock=LoopClock(), options=INSTANT)
            for n in range(2)
        ]
        try:
            await asyncio.gather(*(device.reset() for device in devices))
            await devices[0].perform(OpenApp(app="Notes"))
            assert "notes" in await devices[0].activity()
            assert "launcher" in await devices[1].activity()
            ports = [record.port for record in slots.records(sdk.state)]
            assert ports == [sdk.first_port, sdk.first_port + 2]
        finally:
            for device in devices:
                await device.close()

    asyncio.run(main())


def test_resets_load_the_snapshot_and_a_relaunch_comes_before_an_emulator_dies_of_loads(sdk: Sdk) -> None:
    folder = sdk.make_avd()

    async def use(device: EmulatorDevice) -> None:
        for _ in range(5):
            await device.reset()
        assert avd.has_snapshot(folder, "distrl")
        assert (device.num_launches, device.num_loads) == (2, 1)

    run(sdk, use, max_snapshot_loads=2)


def test_an_old_emulator_is_relaunched(sdk: Sdk) -> None:
    sdk.make_avd()

    async def use(device: EmulatorDevice) -> None:
        await device.reset()
        first = device.pid
        await device.reset()
        assert device.pid != first
        assert device.num_launches == 2

    run(sdk, use, relaunch_after_s=0.001)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [("never_boot", "has not started within 2 s"), ("crash", "PANIC: cannot start"), ("hang", "has not started")],
)
def test_an_emulator_that_does_not_boot_is_given_up_with_its_name_and_the_end_of_its_log(
    sdk: Sdk, trouble: str, words: str
) -> None:
    sdk.make_avd()
    sdk.trouble(trouble)

    async def use(device: EmulatorDevice) -> tuple[str, str]:
        return await cause_of(device.reset())

    cause, message = run(sdk, use, boot_s=2.0)
    assert cause == "boot"
    assert AVD in message
    assert str(sdk.root.parent / "logs") in message
    assert f"trouble: {trouble}" in message
    assert words in message


def test_an_original_that_did_not_boot_once_keeps_nobody_from_starting_and_foreign_locks_stay(sdk: Sdk) -> None:
    folder = sdk.make_avd()
    sdk.trouble("never_boot none")

    async def use(device: EmulatorDevice) -> None:
        assert (await cause_of(device.reset()))[0] == "boot"
        assert avd.locks_of(folder) == set()
        foreign = folder / "hardware-qemu.ini.lock"
        foreign.touch()
        assert "multiple emulators" in (await cause_of(device.reset()))[1]
        assert avd.locks_of(folder) == {foreign}
        foreign.unlink()
        await device.reset()
        assert avd.has_snapshot(folder, "distrl")

    run(sdk, use, instances="read-only", boot_s=5.0)


def test_the_locks_of_an_original_whose_run_was_killed_are_swept_by_the_next(sdk: Sdk) -> None:
    folder = sdk.make_avd()
    (folder / "multiinstance.lock").touch()
    left = slots.Record(port=sdk.first_port, pid=0, started="", avd=AVD, home=str(sdk.home), is_writer=True)
    (sdk.state / f"{sdk.first_port}.json").write_bytes(_json(left))

    async def use(device: EmulatorDevice) -> None:
        await device.reset()
        assert avd.has_snapshot(folder, "distrl")

    run(sdk, use, instances="read-only")


def test_a_snapshot_that_does_not_start_is_followed_by_one_cold_boot(sdk: Sdk) -> None:
    folder = sdk.make_avd()
    (folder / "snapshots" / "distrl").mkdir(parents=True)
    sdk.trouble("bad_snapshot")

    async def use(device: EmulatorDevice) -> int:
        await device.reset()
        return device.num_launches

    assert run(sdk, use) == 1
    log = (sdk.root.parent / "logs" / f"{AVD}-{sdk.first_port}.log").read_text()
    assert "boot completed" in log
    assert "the snapshot is damaged" not in log


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_an_emulator_that_is_killed_or_frozen_in_mid_step_is_healed_and_others_go_on(sdk: Sdk, sign: int) -> None:
    sdk.make_avd()

    async def main() -> tuple[dict[str, int], int, list[int]]:
        server = AdbServer(deadline_s=1.5)
        made: list[EmulatorDevice] = []

        def make(name: str) -> EmulatorDevice:
            device = EmulatorDevice(name, server, sdk.options(load_s=2.0), clock=LoopClock(), options=INSTANT)
            made.append(device)
            return device

        pool = Pool({n: lambda n=n: make(n) for n in ("a", "b")}, clock=LoopClock(), options=PoolOptions(probe_s=30))
        try:
            async with pool.lease() as other, pool.lease() as one:
                await asyncio.gather(one.reset(), other.reset())
                os.kill(one.pid, sign)  # type: ignore[attr-defined]
                assert (await other.observe()).elements
                await one.observe()
            async with pool.lease() as one, pool.lease() as other:
                seen = [len((await device.observe()).elements) for device in (one, other)]
            return dict(pool.failures_by_cause), len(made), seen
        finally:
            await pool.close()

    causes, num_made, seen = asyncio.run(main())
    assert set(causes) <= {"vanish", "offline", "deadline"}
    assert num_made in (2, 3)
    assert all(seen)
    assert slots.records(sdk.state) == []


@pytest.mark.parametrize("snapshot", ["distrl", ""])
def test_emulators_outlive_the_adb_server_and_a_new_one_is_told_of_them(
    sdk: Sdk, fresh_adb: Tool, monkeypatch: pytest.MonkeyPatch, snapshot: str
) -> None:
    sdk.make_avd()
    for name in ("ANDROID_ADB_SERVER_PORT", "ADB_LOCAL_TRANSPORT_MAX_PORT", "ADB_USB", "ADB_MDNS_AUTO_CONNECT"):
        monkeypatch.setenv(name, fresh_adb.environment[name])

    async def use(device: EmulatorDevice) -> None:
        await device.reset()
        pid = device.pid
        fresh_adb.stop()
        assert (await cause_of(device.observe()))[0] == "adb_server"
        await device.reset()
        assert (await device.observe()).elements
        assert (device.pid, device.num_launches) == (pid, 1)

    run(sdk, use, snapshot=snapshot)


def test_what_a_crashed_run_left_behind_is_ended_by_the_next_and_nothing_else_is(sdk: Sdk) -> None:
    sdk.make_avd()

    async def main() -> None:
        sleeper = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
        other = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
        try:
            left = slots.Record(port=sdk.first_port, pid=sleeper.pid, started=slots.started_at(sleeper.pid))
            (sdk.state / f"{sdk.first_port}.json").write_bytes(_json(left))
            # A number that was given to another process since.
            again = slots.Record(port=sdk.first_port + 2, pid=other.pid, started="1")
            (sdk.state / f"{sdk.first_port + 2}.json").write_bytes(_json(again))
            one, two = (slots.take_slot(sdk.first_port, folder=sdk.state) for _ in range(2))
            assert (one.port, two.port) == (sdk.first_port, sdk.first_port + 2)
            await asyncio.wait_for(sleeper.wait(), 10)
            assert other.returncode is None
            one.release(), two.release()
        finally:
            for process in (sleeper, other):
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    asyncio.run(main())


def _json(record: slots.Record) -> bytes:
    import msgspec

    return msgspec.json.encode(record)


def test_a_machine_has_64_slots_and_a_port_that_is_taken_is_passed_over(sdk: Sdk) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", sdk.first_port))
        taken.listen()
        held = [slots.take_slot(sdk.first_port, folder=sdk.state) for _ in range(63)]
        assert held[0].port == sdk.first_port + 2
        with pytest.raises(DeviceError, match="all 64 slots"):
            slots.take_slot(sdk.first_port, folder=sdk.state)
    for slot in held:
        slot.release()


def test_old_locks_of_a_killed_emulator_are_swept(tmp_path: Path) -> None:
    (tmp_path / "multiinstance.lock").touch()
    (tmp_path / "hardware-qemu.ini.lock").mkdir()
    (tmp_path / "config.ini").touch()
    avd.sweep_locks(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.ini"]


def test_a_file_system_that_cannot_clone_is_noticed_and_nothing_is_left(sdk: Sdk) -> None:
    folder = sdk.make_avd()
    (folder / "userdata.img").write_bytes(bytes(4096))
    has_cloned = asyncio.run(avd.clone_avd(sdk.home, AVD, "twin"))
    if has_cloned:  # on btrfs or xfs
        assert (sdk.home / "twin.avd" / "config.ini").read_text() == "AvdId=twin\n"
        avd.remove_avd(sdk.home, "twin")
    assert avd.list_avds(sdk.home) == [AVD]
    if not has_cloned:

        async def use(device: EmulatorDevice) -> tuple[str, str]:
            return await cause_of(device.reset())

        assert run(sdk, use, instances="clone")[0] == "no_clone"


def test_where_files_can_be_cloned_each_emulator_has_a_clone_of_its_own_which_goes_with_it(
    sdk: Sdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `cp` that copies in full stands for a file system that shares; what is made of the copy is the same."""
    folder = sdk.make_avd()
    (folder / "multiinstance.lock").touch()  # of an emulator that was killed: a clone begins without it
    copier = sdk.root / "bin" / "cp"
    copier.parent.mkdir()
    copier.write_text('#!/bin/sh\nshift 2\nexec /bin/cp -a "$@"\n')
    copier.chmod(0o755)
    monkeypatch.setenv("PATH", f"{copier.parent}{os.pathsep}{os.environ['PATH']}")

    async def use(device: EmulatorDevice) -> None:
        await device.reset()
        clone = f"{AVD}-distrl-{sdk.first_port}"
        assert avd.list_avds(sdk.home) == [AVD, clone]
        assert (sdk.home / f"{clone}.avd" / "config.ini").read_text() == f"AvdId={clone}\n"
        assert avd.has_snapshot(sdk.home / f"{clone}.avd", "distrl")
        assert not avd.has_snapshot(folder, "distrl")
        await device.reset()
        assert (device.num_launches, device.num_loads) == (1, 1)

    run(sdk, use, instances="clone")
    assert avd.list_avds(sdk.home) == [AVD]
    assert not list(sdk.home.glob("*-distrl-*"))


def test_a_missing_device_or_sdk_is_named_with_what_to_do(sdk: Sdk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(device: EmulatorDevice) -> tuple[str, str]:
        return await cause_of(device.reset())

    cause, message = run(sdk, use)
    assert cause == "no_avd"
    assert "system_image" in message
    with pytest.raises(DeviceError, match="ANDROID_HOME"):
        find_sdk(environment={"ANDROID_HOME": str(sdk.home), "PATH": "", "HOME": str(sdk.home)})
    assert find_sdk().root == sdk.root


def test_the_console_wants_its_token_and_says_what_it_refuses(sdk: Sdk) -> None:
    sdk.make_avd()

    async def use(device: EmulatorDevice) -> None:
        await device.reset()
        for token, command in (("wrong", "avd snapshot list"), (console.token_of(), "avd snapshot load nothing")):
            with pytest.raises(DeviceError) as error:
                await console.ask(sdk.first_port, command, deadline_s=5.0, token=token)
            assert error.value.cause == "console"

    run(sdk, use)


def test_a_sim_in_an_emulator_has_its_ground_truth(sdk: Sdk) -> None:
    sdk.make_avd()

    async def main() -> None:
        device = SimEmulator("emulator-0", AdbServer(), sdk.options(), clock=LoopClock(), options=INSTANT)
        device.arrange({"settings": {"brightness": 33}}, seed=4)
        try:
            await device.reset()
            assert (await device.inspect("settings"))["brightness"] == 33
        finally:
            await device.close()

    asyncio.run(main())

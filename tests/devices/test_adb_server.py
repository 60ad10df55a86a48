"""The adb server: killed, silent, ill or something else it is told by cause; and which of its devices is ours."""

import asyncio
from pathlib import Path

import pytest

from distrl.core.errors import DeviceError
from distrl.devices.adb.choosing import Listed, choose_device, list_devices, pick
from distrl.devices.adb.server import AdbServer, failure, find_adb, port_of

from .adb_bench import Tool, cause_of, connected, make_adbd, scripted

# ---------------------------------------------------------------- servers that fail


@pytest.mark.adb
def test_a_killed_server_is_named_and_a_reset_starts_one_and_connects_again(
    fresh_adb: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "ANDROID_USER_HOME", "TMPDIR"):
        monkeypatch.setenv(name, fresh_adb.environment[name])

    async def use() -> tuple[str, str]:
        fresh_adb.start()
        async with connected(fresh_adb, make_adbd()) as device:
            before = await device.observe()
            fresh_adb.stop()
            result = await cause_of(device.observe())
            await device.reset()
            assert (await device.observe()).screen == before.screen
            return result

    cause, message = asyncio.run(use())
    assert cause == "adb_server"
    assert "start-server" in message


def fail(reason: str) -> bytes:
    return b"FAIL%04x" % len(reason) + reason.encode()


@pytest.mark.parametrize(
    ("answer", "cause", "advice"),
    [
        (fail("device offline"), "offline", "plug it in again"),
        (fail("device still connecting"), "offline", "wait"),
        (fail("device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set"), "unauthorized", "allow USB"),
        (fail("device 'x' not found"), "vanish", "adb devices"),
        (fail("more than one device"), "duplicate_serial", "ANDROID_SERIAL"),
        (fail("closed"), "vanish", "Android 7"),
        (fail("something new"), "adb", "something new"),
        (b"", "adb_server", "hung up"),
        (b"HTTP/1.1 400", "adb_server", "no adb server"),
        (b"OKAYzzzz", "adb_server", "no adb server"),
    ],
)
def test_what_a_server_says_has_a_cause_and_an_advice(answer: bytes, cause: str, advice: str) -> None:
    async def use() -> tuple[str, str]:
        async with scripted(answer) as server:
            return await cause_of(server.ask("host:version"))

    found, message = asyncio.run(use())
    assert found == cause
    assert advice in message


def test_failures_name_their_cause_whatever_the_case() -> None:
    assert failure("Device Unauthorized").cause == "unauthorized"
    assert failure("").cause == "adb"


def test_a_server_that_never_answers_meets_its_deadline() -> None:
    async def use() -> tuple[str, str]:
        async with scripted() as server:
            return await cause_of(server.shell("x", "ls"))

    assert asyncio.run(use())[0] == "deadline"


def test_no_server_is_told_with_the_command_that_starts_one() -> None:
    async def use() -> tuple[str, str]:
        async with scripted() as server:
            port = server.port
        return await cause_of(AdbServer(port=port).ask("host:version"))

    cause, message = asyncio.run(use())
    assert cause == "adb_server"
    assert "start-server" in message


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (b"OKAY00040001", ""),  # of another version than any adb of today
        (b"", "adb_server"),  # ill: it hangs up
        (b"HTTP/1.1 400", "adb_server"),  # no adb server at all
    ],
)
def test_whoever_listens_at_the_servers_port_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, cause: str
) -> None:
    """An adb that only notes that it was called is the first on the PATH."""
    called = tmp_path / "called"
    (tmp_path / "adb").write_text(f'#!/bin/sh\necho "$@" > {called}\n')
    (tmp_path / "adb").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    async def use() -> str:
        async with scripted(answer) as server:
            return (await cause_of(server.ensure()))[0]

    assert asyncio.run(use()) == cause
    assert not called.exists()

    async def nobody() -> str:
        async with scripted() as server:
            port = server.port
        return (await cause_of(AdbServer(port=port).ensure()))[0]

    assert asyncio.run(nobody()) == "adb_server"
    assert called.read_text().endswith("start-server\n"), "or it would not be known that it can be called"


# ---------------------------------------------------------------- which device


def listed(*pairs: tuple[str, str]) -> list[Listed]:
    return [Listed(serial=serial, state=state) for serial, state in pairs]


def test_a_device_is_chosen_as_scrcpy_does() -> None:
    assert pick(listed(("a", "device"))).serial == "a"
    assert pick(listed(("a", "device"), ("b", "device")), "b").serial == "b"
    for devices, wanted, cause in (
        (listed(), "", "vanish"),
        (listed(("a", "device")), "b", "vanish"),
        (listed(("a", "device"), ("b", "device")), "", "which_device"),
        (listed(("a", "device"), ("a", "device")), "a", "duplicate_serial"),
        (listed(("a", "unauthorized")), "", "unauthorized"),
        (listed(("a", "offline")), "a", "offline"),
        (listed(("a", "recovery")), "a", "offline"),
    ):
        with pytest.raises(DeviceError) as error:
            pick(devices, wanted)
        assert error.value.cause == cause


@pytest.mark.adb
def test_the_devices_of_the_server_are_listed_and_the_environment_says_which(adb: Tool) -> None:
    async def use() -> None:
        async with connected(adb, make_adbd()) as one, connected(adb, make_adbd()) as two:
            server = AdbServer(port=adb.port)
            found = {device.serial: device.state for device in await list_devices(server)}
            assert found[one.name] == found[two.name] == "device"
            assert await choose_device(server, environment={"ANDROID_SERIAL": two.name}) == two.name
            assert await choose_device(server, one.name, environment={"ANDROID_SERIAL": two.name}) == one.name

    asyncio.run(use())


def test_adb_is_found_on_the_path_in_the_sdk_and_in_the_package(tmp_path: Path) -> None:
    for place in ("bin", "sdk/platform-tools"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "adb").write_text("#!/bin/false\n")
        (tmp_path / place / "adb").chmod(0o755)
    both = {"PATH": str(tmp_path / "bin"), "ANDROID_HOME": str(tmp_path / "sdk")}
    assert find_adb(both) == tmp_path / "bin" / "adb"
    assert find_adb(both | {"PATH": ""}) == tmp_path / "sdk" / "platform-tools" / "adb"
    assert "adbutils" in str(find_adb({"PATH": ""}))


def test_the_port_of_the_server_is_adbs_unless_the_environment_says_another() -> None:
    assert port_of({}) == 5037
    assert port_of({"ANDROID_ADB_SERVER_PORT": "6000"}) == 6000
    with pytest.raises(DeviceError, match="no port"):
        port_of({"ANDROID_ADB_SERVER_PORT": "many"})

"""Which devices a run takes, on the machine that starts it and on one that joins: through the real adb server."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from distrl.core.config import Config, config_of
from distrl.core.errors import UserError
from distrl.runtime.build_devices import settle_devices
from distrl.runtime.joining import SERIALS, settle_joined
from distrl.runtime.ray_engine import WorkerActor

from .adb_bench import Tool, listening, make_adbd, scripted

pytestmark = pytest.mark.adb


def with_phones(adb: Tool, use: Callable[[str, str], Any]) -> Any:
    """Two phones that the server knows, and what is done with their serials: in a thread, since it waits by itself."""

    async def main() -> Any:
        async with listening(make_adbd(scale=0.1)) as one, listening(make_adbd(scale=0.1)) as other:
            serials = [f"127.0.0.1:{port}" for port in (one, other)]
            for serial in serials:
                await adb.run("connect", serial)
            try:
                return await asyncio.to_thread(use, *serials)
            finally:
                for serial in serials:
                    await adb.run("disconnect", serial)

    return asyncio.run(main())


def run_on(adb: Tool, *serials: str) -> Config:
    return config_of({"devices": {"kind": "adb", "adb_port": adb.port, "serials": serials}})


def taken(config: Config, **environment: str) -> tuple[str, ...]:
    settled = settle_devices(config, is_virtual=False, environment=environment)
    assert settled.collect.num_devices == len(settled.devices.serials)
    return settled.devices.serials


def test_a_run_takes_the_serials_it_names_else_that_of_the_environment_else_all_that_are_ready(adb: Tool) -> None:
    def use(one: str, other: str) -> None:
        assert taken(run_on(adb, one), ANDROID_SERIAL=other) == (one,)
        assert taken(run_on(adb), ANDROID_SERIAL=other) == (other,)
        assert set(taken(run_on(adb))) >= {one, other}
        for config, environment in ((run_on(adb, "R58M"), {}), (run_on(adb), {"ANDROID_SERIAL": "R58M"})):
            with pytest.raises(UserError, match=rf"not ready: R58M; ready are: .*{one}"):
                taken(config, **environment)
        with pytest.raises(UserError, match=r"devices\.serials names a device twice"):
            taken(run_on(adb, one, one))

    with_phones(adb, use)


def test_two_devices_of_one_serial_are_named_before_anything_starts() -> None:
    listed = b"R58M device usb:1\nR58M device usb:2\n"

    async def main() -> None:
        async with scripted(b"OKAY00040029", b"OKAY%04x" % len(listed) + listed) as server:
            config = config_of({"devices": {"kind": "adb", "adb_port": server.port}})
            await asyncio.to_thread(taken, config)

    with pytest.raises(UserError, match="several devices as R58M: two must not share a serial"):
        asyncio.run(main())


def test_a_machine_that_joins_uses_its_own_phones_and_not_those_of_the_learner(
    adb: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(one: str, other: str) -> None:
        config = run_on(adb, "at-the-learner")
        assert settle_joined(config, 1, environment={"ANDROID_SERIAL": one}).devices.serials == (one,)
        with pytest.raises(UserError, match="not ready: R58M"):
            settle_joined(config, 1, environment={SERIALS: "R58M"})
        monkeypatch.setenv(SERIALS, f"{other},{one}")
        options = {"name": "worker-farm", "num_devices": 2, "first_device": 5, "is_here": False}
        worker = WorkerActor(config.model_dump(exclude_none=True), str(tmp_path / "run"), options)
        assert worker._config.devices.serials == (other, one)
        assert (worker._options.num_devices, worker._options.first_device) == (2, 0)

    with_phones(adb, use)

"""A bench for adb: the real tool with its own server, sim phones that listen to it, and our device on top."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from distrl.core.clock import Clock, LoopClock
from distrl.core.seeds import derive_random
from distrl.devices.adb.device import AdbDevice, AdbOptions
from distrl.devices.adb.server import AdbServer
from distrl.devices.sim.adbd.server import Adbd
from distrl.devices.sim.faults import Faults
from distrl.runtime.build import make_phone

INSTANT = AdbOptions(settle_s=0.0, wait_s=0.0, boot_s=5.0, screenshot="raw")


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a call of the tool left behind."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


@dataclass(frozen=True, kw_only=True)
class Tool:
    """The adb tool, always with the port of its own server."""

    binary: Path
    port: int
    environment: Mapping[str, str]

    def start(self) -> None:
        subprocess.run(self._command("start-server"), env=self.environment, check=True, capture_output=True, timeout=60)

    def stop(self) -> None:
        """End the server at our own port, if it runs."""
        subprocess.run(self._command("kill-server"), env=self.environment, check=False, capture_output=True, timeout=60)

    def _command(self, *arguments: str) -> list[str]:
        return [str(self.binary), "-P", str(self.port), *arguments]

    async def run(self, *arguments: str) -> Done:
        """Call it, while the phones of this loop go on answering."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._command(*arguments), env=self.environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        try:
            async with asyncio.timeout(60):
                out, err = await process.communicate()
        except TimeoutError:
            process.kill()
            raise
        assert process.returncode is not None
        return Done(status=process.returncode, out=out, err=err.decode())


class HandClock:
    """A clock that somebody turns; waiting on it is real."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def now(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def make_adbd(
    *,
    scale: float = 0.25,
    script: Mapping[int, str] | None = None,
    has_adb_keyboard: bool = True,
    clock: Clock | None = None,
) -> Adbd:
    faults = Faults({}, derive_random(0), script)
    return Adbd(make_phone(scale=scale), faults=faults, has_adb_keyboard=has_adb_keyboard, clock=clock)


@asynccontextmanager
async def listening(adbd: Adbd) -> AsyncIterator[int]:
    """The port of a phone."""
    port = await adbd.start()
    try:
        yield port
    finally:
        await adbd.close()


@asynccontextmanager
async def connected(
    adb: Tool, adbd: Adbd, *, options: AdbOptions = INSTANT, deadline_s: float = 20.0
) -> AsyncIterator[AdbDevice]:
    """Our device on a phone, through the real server; the server forgets the phone afterwards."""
    async with listening(adbd) as port:
        server = AdbServer(port=adb.port, deadline_s=deadline_s)
        serial = f"127.0.0.1:{port}"
        await server.connect(serial)
        await asyncio.sleep(0)
        try:
            yield AdbDevice(serial, server, clock=LoopClock(), options=options)
        finally:
            await adb.run("disconnect", serial)

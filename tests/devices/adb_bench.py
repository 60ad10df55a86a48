"""A bench for adb: the real tool or a scripted server, sim phones that listen to it, and our device on top."""

import asyncio
import struct
import subprocess
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distrl.core.clock import Clock, LoopClock
from distrl.core.errors import DeviceError
from distrl.core.seeds import derive_random
from distrl.core.types import OpenApp, Tap
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


@asynccontextmanager
async def scripted(*answers: bytes) -> AsyncIterator[AdbServer]:
    """Something that listens like an adb server and gives these answers, one connection each, then none."""
    left = list(answers)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        if left:
            writer.write(left.pop(0))
            writer.close()
        else:
            await asyncio.sleep(3600)

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield AdbServer(port=listener.sockets[0].getsockname()[1], deadline_s=0.5)
    finally:
        listener.close()


async def cause_of(doing: Coroutine[Any, Any, object]) -> tuple[str, str]:
    try:
        await doing
    except DeviceError as error:
        return error.cause, str(error)
    return "", ""


async def focus_notes(device: AdbDevice, adbd: Adbd) -> None:
    await device.perform(OpenApp(app="Notes"))
    for element_id in ("fab", "body"):
        x, y = next(e for e in adbd.android.phone.elements() if e.id == element_id).center
        await device.perform(Tap(x=x, y=y))


def shot(width: int, height: int, value: int = 200, header: int = 16, first: int = 90) -> bytes:
    pixels = bytes([first, first, first, 255]) + bytes([value, value, value, 255]) * (width * height - 1)
    return struct.pack("<4I", width, height, 1, 1)[:header] + pixels

"""What `distrl devices` does: a configuration in; devices listed, started, stopped, watched and reset out.

Only what was started here is ever stopped: it is written down (devices/emulator/slots.py) with the time its process
began, so that no other process is taken for it.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from distrl.core.clock import LoopClock
from distrl.core.config import Config
from distrl.core.errors import DeviceError, UserError
from distrl.core.types import Screen
from distrl.devices.adb.choosing import choose_device, list_devices
from distrl.devices.adb.device import AdbDevice
from distrl.devices.adb.server import failure
from distrl.devices.emulator import slots
from distrl.devices.emulator.device import EmulatorDevice, EmulatorOptions
from distrl.devices.emulator.process import Running
from distrl.devices.emulator.slots import Record, note_kept, records, started_at
from distrl.runtime.build_devices import adb_options, make_server

START_S = 60.0


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One device as people see it: its state in adb's words, and what to do if that is not `device`."""

    serial: str
    state: str
    kind: str
    details: str = ""
    advice: str = ""
    pid: int | None = None
    """Of the process, if it was started here."""


def kind_of(serial: str, details: str = "") -> str:
    """What a device is by what adb says of it: sim, emulator or phone."""
    if "device:distrl" in details or "distrl_phone" in details:
        return "sim"
    return "emulator" if serial.startswith("emulator-") else "phone"


async def list_all(config: Config) -> list[Row]:
    """Everything that adb knows, and what was started here and adb does not see."""
    server = make_server(config)
    await server.ensure()
    own = {record.serial: record for record in records()}
    listed = await list_devices(server)
    rows = [
        Row(
            serial=device.serial,
            state=device.state,
            kind=own[device.serial].kind if device.serial in own else kind_of(device.serial, device.details),
            details=device.details,
            advice="" if device.state == "device" else str(failure(f"device {device.state}")).partition(": ")[2],
            pid=own[device.serial].pid if device.serial in own else None,
        )
        for device in listed
    ]
    seen = {row.serial for row in rows}
    hint = "adb does not see it: distrl devices reset --serial connects to it"
    return rows + [
        Row(serial=serial, state="absent", kind=record.kind, advice=hint, pid=record.pid)
        for serial, record in own.items()
        if serial not in seen
    ]


async def start_sims(config: Config, count: int, *, tell: Callable[[str], None]) -> None:
    """Start so many simulated phones that go on until they are stopped."""
    server = make_server(config)
    await server.ensure()
    for number in range(count):
        spec = {"scale": config.phone.scale, "seed": config.seed, "name": f"kept-{number}", "is_kept": True}
        log = Path(tempfile.mkdtemp(prefix="distrl-phone-")) / "log"
        command = [sys.executable, "-m", "distrl.devices.sim.adbd.process", msgspec.json.encode(spec).decode()]
        running = await Running.start(command, log, environment=os.environ, outlives_us=True)
        port = await _port_of(running)
        record = Record(
            port=port, pid=running.pid, started=started_at(running.pid), kind="sim", log=str(log), is_kept=True
        )
        note_kept(record)
        await server.connect(record.serial)
        tell(record.serial)


async def _port_of(running: Running) -> int:
    try:
        async with asyncio.timeout(START_S):
            while running.is_alive:
                said = running.log.read_text(encoding="utf-8", errors="replace").split()
                if said and said[0].isdecimal():
                    return int(said[0])
                await asyncio.sleep(0.05)
    except TimeoutError:
        await running.end()
    raise DeviceError("boot", f"a simulated phone did not start; the end of its log:\n{running.tail()}")


async def start_emulators(config: Config, count: int, *, tell: Callable[[str], None]) -> None:
    """Start so many emulators that go on until they are stopped."""
    if not config.devices.emulator.avd:
        raise UserError(
            "devices.emulator.avd is not set: name the virtual device, with --set devices.emulator.avd=NAME"
        )
    options = EmulatorOptions(**config.devices.emulator.model_dump(), is_kept=True)
    for number in range(count):
        device = EmulatorDevice(f"kept-{number}", make_server(config), options, clock=LoopClock())
        await device.reset()
        device.leave()
        tell(device.serial)


async def stop(config: Config, serials: tuple[str, ...]) -> list[str]:
    """Stop what was started here: these, or all; a `UserError` for what was not."""
    own = {record.serial: record for record in records()}
    strange = [serial for serial in serials if serial not in own]
    if strange:
        started = ", ".join(own) or "nothing"
        raise UserError(f"{', '.join(strange)} was not started here, so it is not stopped here (started: {started})")
    server = make_server(config)
    stopped = list(serials or own)
    for serial in stopped:
        slots.stop(own[serial])
        if own[serial].kind == "sim":
            try:
                await server.ask(f"host:disconnect:{serial}")
            except DeviceError:  # the server is gone too, or has never heard of it
                continue
    return stopped


async def device_at(config: Config, serial: str) -> AdbDevice:
    """The device that is meant, connected to if that is how it is reached."""
    server = make_server(config)
    await server.ensure()
    if ":" in serial:
        await server.connect(serial)
    chosen = await choose_device(server, serial)
    return AdbDevice(chosen, server, clock=LoopClock(), options=adb_options(config))


async def screenshot(config: Config, serial: str) -> tuple[str, Screen]:
    """Which device, and what it shows."""
    device = await device_at(config, serial)
    return device.name, await device.screenshot()


async def watch(config: Config, *, every_s: float, count: int | None) -> AsyncIterator[list[tuple[str, str, str]]]:
    """Serial, state and what is in front of every device, again and again."""
    server = make_server(config)
    await server.ensure()
    turn = 0
    while count is None or turn < count:
        if turn:
            await asyncio.sleep(every_s)
        turn += 1
        listed = await list_devices(server)
        yield list(
            zip(
                (device.serial for device in listed),
                (device.state for device in listed),
                await asyncio.gather(*(_in_front(config, d.serial, d.state) for d in listed)),
                strict=True,
            )
        )


async def _in_front(config: Config, serial: str, state: str) -> str:
    if state != "device":
        return str(failure(f"device {state}")).partition(": ")[2]
    try:
        return await AdbDevice(serial, make_server(config), clock=LoopClock()).activity()
    except DeviceError as error:
        return f"{error.cause}: {error}"

"""The part of build.py that knows the devices adb reaches: configuration in, makers and checks out.

A device of a run has a number; its maker makes it, again if the pool says so. Nothing is started here: phones and
emulators start when they are reset for the first time.
"""

import asyncio
from collections.abc import Callable

from distrl.core.clock import Clock
from distrl.core.config import Config
from distrl.core.errors import DeviceError, UserError
from distrl.core.interfaces import Device
from distrl.devices.adb.choosing import list_devices
from distrl.devices.adb.device import AdbOptions
from distrl.devices.adb.guard import GuardedPhone, Safety
from distrl.devices.adb.server import AdbServer
from distrl.devices.adb.sim_phone import OwnSimPhone, SimBehindAdb
from distrl.devices.emulator.avd import avd_home, list_avds
from distrl.devices.emulator.device import EmulatorDevice, EmulatorOptions, SimEmulator
from distrl.devices.emulator.sdk import find_sdk
from distrl.devices.emulator.slots import MAX_EMULATORS


def make_server(config: Config) -> AdbServer:
    """The adb server of a run."""
    return AdbServer(port=config.devices.adb_port, deadline_s=config.devices.call_deadline_s)


def adb_options(config: Config) -> AdbOptions:
    """How devices behind adb are used."""
    devices = config.devices
    return AdbOptions(
        settle_s=devices.settle_s,
        wait_s=devices.wait_s,
        screenshot=devices.screenshot,
        ui_tree=devices.ui_tree,
        apps=devices.apps,
        clears=devices.clears,
        restores=devices.restores,
    )


def adb_maker(config: Config, number: int, clock: Clock) -> tuple[str, Callable[[], Device]]:
    """The name and the maker of device number so-and-so."""
    server, options = make_server(config), adb_options(config)
    if config.devices.starts_sim_phones:
        name = f"sim-{number}"
        phone = config.phone
        return name, lambda: OwnSimPhone(
            name, server, clock=clock, options=options, scale=phone.scale, faults=phone.faults, seed=config.seed
        )
    if config.devices.kind == "emulator":
        name = f"emulator-{number}"
        emulator = EmulatorOptions(**config.devices.emulator.model_dump())
        made = SimEmulator if config.judge.kind == "rule" else EmulatorDevice
        return name, lambda: made(name, server, emulator, clock=clock, options=options)
    if number >= len(config.devices.serials):
        raise UserError(
            f"device number {number} is none of the {len(config.devices.serials)} in devices.serials, which are of the "
            "machine that started the run; machines that join have simulated phones or emulators"
        )
    serial = config.devices.serials[number]
    if config.judge.kind == "rule":
        # Only ground truth can be judged by a rule, and only our own phone has it: another says so at its first reset.
        return serial, lambda: SimBehindAdb(serial, server, clock=clock, options=options)
    safety = Safety(**config.devices.safety.model_dump())
    return serial, lambda: GuardedPhone(serial, server, safety, clock=clock, options=options)


def reset_deadline_s(config: Config) -> float:
    """How long a reset may take: that of an emulator may have to start it, cold after warm, and the original before."""
    longest_s = config.env.operation_deadline_s
    if config.devices.kind == "emulator":
        longest_s += 3 * config.devices.emulator.boot_s
    return longest_s


def settle_devices(config: Config, *, is_virtual: bool) -> Config:
    """The configuration with the devices that there are; `UserError` with what to do if they cannot be used.

    A list of serials that is empty means all that are ready. The number of devices is the number of serials.
    """
    devices = config.devices
    if devices.kind == "sim":
        return config
    if is_virtual:
        raise UserError(f"devices.kind = {devices.kind!r} needs real time: leave out --runtime serial")
    if config.phone.latency != "instant":
        raise UserError(f"phone.latency is for devices.kind = 'sim': devices of kind {devices.kind!r} take their time")
    if devices.kind == "emulator":
        _check_emulators(config)
        return config
    if devices.starts_sim_phones:
        return config
    if config.phone.faults:
        raise UserError("phone.faults is for simulated phones of the run's own: set devices.starts_sim_phones, or none")
    try:
        ready = asyncio.run(_ready_serials(config))
    except DeviceError as error:
        raise UserError(str(error)) from error
    serials = devices.serials or ready
    missing = [serial for serial in serials if serial not in ready]
    if missing:
        raise UserError(f"not ready: {', '.join(missing)}; ready are: {', '.join(ready) or 'none'} (adb devices -l)")
    if not serials:
        raise UserError("adb lists no device that is ready: plug one in, start an emulator, or adb connect HOST:PORT")
    if len(set(serials)) < len(serials):
        raise UserError(f"devices.serials names a device twice: {', '.join(serials)}")
    return config.model_copy(
        update={
            "devices": devices.model_copy(update={"serials": tuple(serials)}),
            "collect": config.collect.model_copy(update={"num_devices": len(serials)}),
        }
    )


def _check_emulators(config: Config) -> None:
    count = config.collect.num_devices
    if count > MAX_EMULATORS:
        raise UserError(f"collect.num_devices is {count}: a machine has at most {MAX_EMULATORS} emulators")
    name, known = config.devices.emulator.avd, list_avds(avd_home())
    if not name:
        raise UserError("devices.emulator.avd is not set: name the virtual device to start (emulator -list-avds)")
    if name not in known and not config.devices.emulator.system_image:
        raise UserError(
            f"there is no virtual device {name!r} in {avd_home()} (there is: {', '.join(known) or 'none'}): "
            "create it, or set devices.emulator.system_image"
        )
    try:
        find_sdk(config.devices.emulator.sdk)
    except DeviceError as error:
        raise UserError(str(error)) from error


async def _ready_serials(config: Config) -> tuple[str, ...]:
    """Serials that can be used, after those at host:port were connected to."""
    server = make_server(config)
    await server.ensure()
    for serial in config.devices.serials:
        if ":" in serial:
            await server.connect(serial)
    listed = await list_devices(server)
    return tuple(device.serial for device in listed if device.state == "device")

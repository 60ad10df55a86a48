"""The part of build.py that knows the devices adb reaches: configuration in, makers and checks out.

A device of a run has a number; its maker makes it, again if the pool says so. Nothing is started here: phones and
emulators start when they are reset for the first time.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Mapping

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
            "machine that started the run; those that join name their own: distrl worker --serials"
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


def takes_serials(config: Config) -> bool:
    """Whether the devices are there already, and known by their serials."""
    return config.devices.kind == "adb" and not config.devices.starts_sim_phones


def settle_devices(
    config: Config, *, is_virtual: bool, are_elsewhere: bool = False, environment: Mapping[str, str] = os.environ
) -> Config:
    """The configuration with the devices that there are; `UserError` with what to do if they cannot be used.

    A list of serials that is empty means that of ANDROID_SERIAL, or all that are ready. The number of devices is the
    number of serials. If all devices are elsewhere, on machines that join, nothing is looked for here.
    """
    devices = config.devices
    if devices.kind == "sim":
        return config
    if is_virtual:
        raise UserError(f"devices.kind = {devices.kind!r} needs real time: leave out --runtime serial")
    if config.phone.latency != "instant":
        raise UserError(f"phone.latency is for devices.kind = 'sim': devices of kind {devices.kind!r} take their time")
    if config.phone.faults and takes_serials(config):
        raise UserError("phone.faults is for simulated phones of the run's own: set devices.starts_sim_phones, or none")
    if are_elsewhere:
        if devices.serials and takes_serials(config):
            raise UserError(
                "devices.serials are devices of this machine, on which --workers 0 lets nobody work: leave them out "
                "here, and name them where they are (distrl worker --serials)"
            )
        return config
    if devices.kind == "emulator":
        _check_emulators(config)
        return config
    if devices.starts_sim_phones:
        return config
    serials = _settle_serials(config, environment)
    return config.model_copy(
        update={
            "devices": devices.model_copy(update={"serials": serials}),
            "collect": config.collect.model_copy(update={"num_devices": len(serials)}),
        }
    )


def _settle_serials(config: Config, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Serials that are ready: those that are named, else all."""
    only = environment.get("ANDROID_SERIAL", "")
    named = config.devices.serials or ((only,) if only else ())
    if len(set(named)) < len(named):
        raise UserError(f"devices.serials names a device twice: {', '.join(named)}")
    try:
        ready = asyncio.run(_ready_serials(make_server(config), named))
    except DeviceError as error:
        raise UserError(str(error)) from error
    missing = [serial for serial in named if serial not in ready]
    if missing:
        raise UserError(f"not ready: {', '.join(missing)}; ready are: {', '.join(ready) or 'none'} (adb devices -l)")
    serials = named or ready
    if not serials:
        raise UserError("adb lists no device that is ready: plug one in, start an emulator, or adb connect HOST:PORT")
    twice = sorted(serial for serial, count in Counter(ready).items() if count > 1 and serial in serials)
    if twice:
        raise UserError(f"adb lists several devices as {', '.join(twice)}: two must not share a serial, unplug one")
    return serials


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


async def _ready_serials(server: AdbServer, named: tuple[str, ...]) -> tuple[str, ...]:
    """Serials that can be used, after those at host:port were connected to."""
    await server.ensure()
    for serial in named:
        if ":" in serial:
            await server.connect(serial)
    listed = await list_devices(server)
    return tuple(device.serial for device in listed if device.state == "device")

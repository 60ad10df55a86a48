"""Which device: what the adb server lists and what the user said in, one serial out.

The rule is scrcpy's: a serial that is named is taken, else the only device there is, else the user is asked.
"""

import os
from collections.abc import Mapping

import msgspec

from distrl.core.errors import DeviceError
from distrl.devices.adb.server import AdbServer, failure


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `adb devices -l`."""

    serial: str
    state: str
    details: str = ""


async def list_devices(server: AdbServer) -> list[Listed]:
    """Everything the server knows, usable or not."""
    lines = (line.split(None, 2) for line in (await server.ask("host:devices-l")).splitlines())
    return [
        Listed(serial=words[0], state=words[1], details=words[2] if len(words) > 2 else "")
        for words in lines
        if len(words) >= 2
    ]


async def choose_device(server: AdbServer, serial: str = "", *, environment: Mapping[str, str] = os.environ) -> str:
    """The serial of the device to use; a `DeviceError` that says what to do if it is none or several."""
    listed = await list_devices(server)
    wanted = serial or environment.get("ANDROID_SERIAL", "")
    return pick(listed, wanted).serial


def pick(listed: list[Listed], wanted: str = "") -> Listed:
    """The device that is meant, if it can be used."""
    found = [device for device in listed if device.serial == wanted] if wanted else listed
    if not found:
        raise failure(f"device '{wanted}' not found" if wanted else "no devices found")
    if len(found) > 1:
        lines = "".join(f"\n    {device.serial}  {device.state}  {device.details}" for device in found)
        if wanted:
            raise DeviceError("duplicate_serial", f"{len(found)} devices have the serial {wanted!r}:{lines}")
        raise DeviceError("which_device", f"several devices; say which with its serial or ANDROID_SERIAL:{lines}")
    if found[0].state == "unauthorized":
        raise failure(f"device unauthorized: {found[0].serial}")
    if found[0].state != "device":
        raise failure(f"device offline: {found[0].serial} is {found[0].state}")
    return found[0]

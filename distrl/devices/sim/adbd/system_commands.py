"""Commands about the system: `getprop`, `settings`, `dumpsys`, `logcat`, `id` and the like."""

from collections.abc import Callable
from typing import Any

from distrl.core.errors import UserError
from distrl.devices.sim.adbd.android import Android, Result, complain, say
from distrl.devices.sim.state import DeviceSettings

TABLES = ("system", "secure", "global")


class Switch:
    """A setting of Android that is one of the phone's own: its field, and how each side writes it."""

    def __init__(self, field: str, write: Callable[[Any], str], read: Callable[[str], Any]) -> None:
        self.field, self.write, self.read = field, write, read


def _flag(field: str) -> Switch:
    return Switch(field, lambda value: str(int(value)), lambda text: text not in ("0", "false"))


SWITCHES = {
    ("global", "airplane_mode_on"): _flag("airplane"),
    ("global", "wifi_on"): _flag("wifi"),
    ("global", "bluetooth_on"): _flag("bluetooth"),
    ("global", "mobile_data"): _flag("mobile_data"),
    ("global", "zen_mode"): _flag("do_not_disturb"),
    ("global", "low_power"): _flag("battery_saver"),
    ("system", "accelerometer_rotation"): _flag("auto_rotate"),
    ("system", "screen_brightness_mode"): _flag("adaptive_brightness"),
    ("system", "screen_brightness"): Switch(
        "brightness", lambda v: str(round(v * 255 / 100)), lambda t: round(float(t) * 100 / 255)
    ),
    ("system", "screen_off_timeout"): Switch(
        "screen_timeout_s", lambda v: str(v * 1000), lambda t: round(float(t) / 1000)
    ),
    ("system", "font_scale"): Switch("font_percent", lambda v: str(v / 100), lambda t: round(float(t) * 100)),
    ("secure", "location_mode"): Switch("location", lambda v: "3" if v else "0", lambda t: t != "0"),
}


def getprop(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """One property, or all of them."""
    known = properties(android)
    if arguments:
        return say(known.get(arguments[0], arguments[1] if len(arguments) > 1 else "") + "\n")
    return say("".join(f"[{name}]: [{value}]\n" for name, value in sorted(known.items())))


def properties(android: Android) -> dict[str, str]:
    """What the phone says it is."""
    return {
        "init.svc.bootanim": "stopped",
        "ro.build.characteristics": "emulator",
        "ro.build.type": "userdebug",
        "ro.build.version.release": "14",
        "ro.build.version.sdk": "34",
        "ro.debuggable": "1",
        "ro.product.cpu.abi": "x86_64",
        "ro.product.device": "distrl",
        "ro.product.manufacturer": "distrl",
        "ro.product.model": android.phone.settings.device_name.replace(" ", "_"),
        "ro.product.name": "distrl_phone",
        "ro.serialno": android.serial,
        "sys.boot_completed": "1" if android.is_booted else "",
        "dev.bootcomplete": "1" if android.is_booted else "",
        **android.properties,
    }


def settings(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`settings get|put|delete|list TABLE [NAME [VALUE]]`."""
    kind, table, name, value = [*arguments, "", "", "", ""][:4]
    key = (table, name)
    if table not in TABLES or kind not in ("get", "put", "delete", "list") or (kind != "list" and not name):
        return complain("Invalid command\n", status=255)
    if kind == "list":
        names = sorted(n for t, n in {*SWITCHES, *android.settings} if t == table)
        return say("".join(f"{n}={_setting(android, (table, n))}\n" for n in names))
    if kind == "get":
        return say(f"{_setting(android, key)}\n")
    if kind == "delete":
        return say(f"Deleted {int(android.settings.pop(key, None) is not None)} rows\n")
    if key in SWITCHES:
        return _switch(android, SWITCHES[key], value)
    android.settings[key] = value
    return Result()


def _switch(android: Android, switch: Switch, value: str) -> Result:
    try:
        android.set_switch(switch.field, switch.read(value))
    except (ValueError, OverflowError, UserError) as error:
        return complain(f"Invalid value: {error}\n", status=255)
    return Result()


def _setting(android: Android, key: tuple[str, str]) -> str:
    if key in SWITCHES:
        own: DeviceSettings = android.phone.settings
        return SWITCHES[key].write(getattr(own, SWITCHES[key].field))
    return android.settings.get(key, "null")


def dumpsys(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """Of the window, activity, display, power and battery services."""
    service = arguments[0] if arguments else ""
    package, name = android.component()
    if service == "battery":
        return _battery(android, arguments[1:])
    record = f"ActivityRecord{{5a1c2e7 u0 {package}/{name} t12}}"
    if service == "window":
        width, height = android.size
        return say(
            "WINDOW MANAGER WINDOWS (dumpsys window windows)\n"
            f"  mCurrentFocus=Window{{3f0b1d2 u0 {_window(android)}}}\n"
            f"  mFocusedApp={record}\n"
            f"  cur={width}x{height} app={width}x{height} mDisplayRotation=ROTATION_{90 * android.rotation}\n"
        )
    if service == "activity":
        return say(
            "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)\n"
            f"  topResumedActivity={record}\n  mResumedActivity: {record}\n  ResumedActivity: {record}\n"
        )
    if service == "input":
        return say(f"INPUT MANAGER (dumpsys input)\n      SurfaceOrientation: {android.rotation}\n")
    if service == "display":
        width, height = android.size
        frame = f"Rect(0, 0 - {width}, {height})"
        return say(
            "DISPLAY MANAGER (dumpsys display)\n"
            "  mViewports=[DisplayViewport{type=INTERNAL, valid=true, isActive=true, displayId=0, uniqueId='local:0', "
            f"physicalPort=0, orientation=0, logicalFrame={frame}, physicalFrame={frame}, "
            f"deviceWidth={width}, deviceHeight={height}}}]\n"
        )
    if service == "power":
        return say(
            f"POWER MANAGER (dumpsys power)\n  mWakefulness={'Awake' if android.is_awake else 'Asleep'}\n"
            f"  mHoldingDisplaySuspendBlocker={str(android.is_awake).lower()}\n"
        )
    return complain(f"Can't find service: {service}\n")


def _window(android: Android) -> str:
    """What has the focus: an activity, or a dialog of the system about an app, which is no activity."""
    package, name = android.component()
    page = android.phone.top()
    if page.app == "system" and page.name in ("crash", "not_responding"):
        what = "Application Error" if page.name == "crash" else "Application Not Responding"
        return f"{what}: {android.package_of(page.arg)}"
    return f"{package}/{package}{name}"


def _battery(android: Android, arguments: list[str]) -> Result:
    """`dumpsys battery`, and `dumpsys battery set level|temp NUMBER` as testers use it."""
    if arguments[:1] == ["set"] and len(arguments) == 3 and arguments[2].isdecimal():
        android.battery[arguments[1]] = int(arguments[2])
        return Result()
    if arguments == ["reset"]:
        android.battery.clear()
        return Result()
    level = android.battery.get("level", android.phone.settings.battery)
    temperature = android.battery.get("temp", 250)
    return say(
        f"Current Battery Service state:\n  AC powered: true\n  level: {level}\n  scale: 100\n"
        f"  temperature: {temperature}\n"
    )


def service_(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`service check NAME`: everything that starts with Android has started."""
    if arguments[:1] == ["check"] and len(arguments) == 2:
        return say(f"Service {arguments[1]}: {'found' if android.is_booted else 'not found'}\n")
    return complain("Usage: service [check]\n", status=10)


def svc(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`svc power stayon true|false|usb`: kept as the setting that it is."""
    if arguments[:2] == ["power", "stayon"] and len(arguments) == 3:
        android.settings[("global", "stay_on_while_plugged_in")] = "0" if arguments[2] == "false" else "7"
        return Result()
    return complain("usage: svc power stayon true|false\n", status=255)


def logcat(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """The log so far with -d, nothing of it with -c, and what is still to come without either."""
    if "-c" in arguments:
        android.log.clear()
        return Result()
    lines = "--------- beginning of main\n" + "".join(f"{line}\n" for line in android.log)
    return Result(out=lines.encode(), tail=None if "-d" in arguments else android.follow_log())


def whoami(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """The user that commands run as."""
    return say("shell\n")


def identify(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """The user in full."""
    return say("uid=2000(shell) gid=2000(shell) groups=2000(shell) context=u:r:shell:s0\n")


SYSTEM_COMMANDS = {
    "getprop": getprop,
    "settings": settings,
    "dumpsys": dumpsys,
    "svc": svc,
    "service": service_,
    "logcat": logcat,
    "whoami": whoami,
    "id": identify,
}

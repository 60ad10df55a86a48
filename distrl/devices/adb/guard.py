"""A phone that belongs to somebody: the same device, that refuses what a policy under training must not do.

Actions go in; those that would type into a password field, send a message, pay, install, or use an app that is not
allowed are not done, and are counted by reason. What a task is about it may do: `permit` says so for an episode. The
power key is the stop key: while the screen was switched off by hand, nothing is touched. A phone that is hot or nearly
empty rests. It goes by what the ui tree says, so it is a fence and not a wall (docs/how-to/real-phone.md).
"""

import logging
import re
from collections import Counter

import msgspec

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError
from distrl.core.types import Action, Button, Element, LongPress, Observation, OpenApp, Press, Screen, Tap, TypeText
from distrl.devices.adb.device import AdbDevice, AdbOptions
from distrl.devices.adb.hierarchy import focused_field
from distrl.devices.adb.server import AdbServer

_log = logging.getLogger(__name__)
KINDS = ("password", "message", "payment", "install")
"""What can be allowed by the configuration, or by a task with the tag `allows_message` and the like."""
ALWAYS = ("com.android.systemui", "com.android.permissioncontroller", "com.google.android.permissioncontroller")
_PACKAGES = {
    "message": r"messaging|\bmms\b|whatsapp|telegram|signal|messenger|\bsms\b|\bmessages\b"
    r"|\bmail\b|gmail|outlook|slack",
    "payment": r"wallet|paypal|\bpay\b|paisa|bank|venmo|cash\.?app|alipay|revolut",
    "install": r"com\.android\.vending|packageinstaller|\bstore\b|fdroid|aurora",
}
_WORDS = {
    "message": r"send|send (message|sms|mms|mail)|reply|post|call|video call",
    "payment": r"pay|pay now|pay with .*|buy|buy now|place (your )?order|order now"
    r"|purchase|confirm (payment|order)|checkout",
    "install": r"install|update|uninstall|install anyway",
}
_IS_PACKAGE = {kind: re.compile(pattern) for kind, pattern in _PACKAGES.items()}
_IS_BUTTON = {kind: re.compile(rf"(?:{pattern})\W*\Z", re.IGNORECASE) for kind, pattern in _WORDS.items()}
_LEVEL = re.compile(r"^\s*level: (\d+)", re.MULTILINE)
_TEMPERATURE = re.compile(r"^\s*temperature: (-?\d+)", re.MULTILINE)


class Safety(msgspec.Struct, frozen=True, kw_only=True):
    """What is refused; names as in the configuration."""

    is_on: bool | None = None
    """None: on every device that does not say it is an emulator."""
    packages: tuple[str, ...] = ()
    allows: tuple[str, ...] = ()
    min_battery_percent: int = 20
    max_temperature_c: float = 42.0
    stop_key: str = "power"


class GuardedPhone(AdbDevice):
    """A device behind adb that refuses; emulators are let be, unless told otherwise."""

    def __init__(
        self,
        serial: str,
        server: AdbServer,
        safety: Safety,
        *,
        clock: Clock,
        options: AdbOptions | None = None,
        name: str = "",
    ) -> None:
        super().__init__(serial, server, clock=clock, options=options, name=name)
        self._safety = safety
        self._is_on = safety.is_on
        """Until it is known what the device is, it is somebody's phone."""
        self._permitted: frozenset[str] = frozenset()
        self._elements: tuple[Element, ...] = ()
        self._package = ""
        self._home = ""
        self._was_used = False
        self.refusals: Counter[str] = Counter()

    def permit(self, kinds: frozenset[str]) -> None:
        """What the next episode's task is about, beside what the configuration allows."""
        self._permitted = kinds

    async def reset(self) -> None:
        """As any device; the package that is in front then is the launcher's."""
        await super().reset()
        self._home = (await self.activity()).partition("/")[0]
        self._was_used = True

    async def observe(self) -> Observation:
        """What the screen shows; an app that is not allowed is left first, by BACK, else by HOME."""
        seen = await super().observe()
        for button in (Button.BACK, Button.HOME):
            if self._is_on is False or self._may_use(_package_of(seen)):
                break
            self._refuse("package", _package_of(seen))
            await self._press(button)
            seen = await super().observe()
        self._elements, self._package = seen.elements, _package_of(seen)
        return seen

    async def perform(self, action: Action) -> None:
        """Do it, unless it is refused: then nothing happens, as if the phone had not felt it."""
        if self._is_on is not False:
            await self._check_stop_key()
            reason = await self._reason_against(action)
            if reason:
                self._refuse(reason, type(action).__name__)
                return
        await super().perform(action)

    # ---- inside

    async def _connect(self) -> None:
        """Reached; and well enough to be used."""
        await super()._connect()
        if self._is_on is None:
            kind = await self.read("getprop ro.kernel.qemu; getprop ro.boot.qemu; getprop ro.build.characteristics")
            self._is_on = not ("1" in kind.split() or "emulator" in kind)
        if self._is_on:
            await self._check_stop_key()
            await self._check_health()

    async def _wakeful_screenshot(self) -> Screen:
        """As any device; but a screen that somebody switched off stays off."""
        if self._is_on is not False:
            await self._check_stop_key()
        return await super()._wakeful_screenshot()

    async def _check_stop_key(self) -> None:
        """Hands off while the screen was switched off by hand: we keep it on, so nobody else does that."""
        if self._safety.stop_key != "power" or not self._was_used:
            return
        if "mWakefulness=Awake" not in await self.read("dumpsys power"):
            raise DeviceError("hands_off", f"{self._serial}: its screen was switched off; switch it on to go on")

    async def _check_health(self) -> None:
        said = await self.read("dumpsys battery")
        level, temperature = _LEVEL.search(said), _TEMPERATURE.search(said)
        if level and int(level[1]) < self._safety.min_battery_percent:
            raise DeviceError("battery", f"{self._serial} rests: {level[1]} % are left; plug it in")
        if temperature and int(temperature[1]) / 10 > self._safety.max_temperature_c:
            raise DeviceError("hot", f"{self._serial} rests: {int(temperature[1]) / 10:g} degrees; let it cool down")

    def _refuse(self, reason: str, what: str) -> None:
        self.refusals[reason] += 1
        _log.warning("%s: refused (%s): %s", self._serial, reason, what)

    def _allows(self, kind: str) -> bool:
        return kind in self._safety.allows or kind in self._permitted

    def _may_use(self, package: str) -> bool:
        """Whether an app may be in front."""
        if not package or package in ALWAYS or package == self._home:
            return True
        if self._safety.packages:
            return package in self._safety.packages
        return all(self._allows(kind) or not pattern.search(package) for kind, pattern in _IS_PACKAGE.items())

    async def _reason_against(self, action: Action) -> str:
        """Why this must not be done; nothing if it may."""
        match action:
            case OpenApp():
                package = await self.package_of(action.app.strip())
                return "" if not package or self._may_use(package) else "package"
            case TypeText() if not self._allows("password"):
                # A tree that cannot be had says nothing of the field, so nothing is typed.
                try:
                    field = focused_field(await self.hierarchy())
                except DeviceError as error:
                    if error.cause != "ui_tree":
                        raise
                    return "unknown_field"
                return "password" if field is not None and field.is_password else ""
            case Tap() | LongPress():
                if self._options.ui_tree == "none":  # the policy does without; the fence does not
                    self._elements = await self._ui_tree() or ()
                return self._reason_against_touch(action.x, action.y)
            case Press(button=Button.ENTER) if _IS_PACKAGE["message"].search(self._package):
                return "" if self._allows("message") else "message"
        return ""

    def _reason_against_touch(self, x: float, y: float) -> str:
        touched = [e for e in self._elements if e.box[0] <= x <= e.box[2] and e.box[1] <= y <= e.box[3]]
        for kind, pattern in _IS_BUTTON.items():
            if not self._allows(kind) and any(pattern.match(e.text.strip()) for e in touched):
                return kind
        return ""


def _package_of(observation: Observation) -> str:
    return observation.activity.partition("/")[0]

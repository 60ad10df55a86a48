"""What Android is around the phone: packages, files, settings, properties and a log.

Commands (the `*_commands.py` files) take an `Android` and arguments and give a `Result`. A touch goes through
`perform`, so that whoever plays on the same phone sees it too.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from distrl.core.seeds import derive_random
from distrl.core.types import Action
from distrl.devices.sim.adbd.files import Files
from distrl.devices.sim.phone import Phone

PREFIX = "com.distrl."
KEYBOARD_PACKAGE = "com.android.adbkeyboard"
KEYBOARD = f"{KEYBOARD_PACKAGE}/.AdbIME"
PLAIN_KEYBOARD = f"{PREFIX}keyboard/.Keyboard"
MAX_LOG_LINES = 1000


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a command said and its exit status; `tail` is what it goes on saying, such as a log."""

    out: bytes = b""
    err: bytes = b""
    status: int = 0
    tail: AsyncIterator[bytes] | None = None


def say(text: str, *, status: int = 0) -> Result:
    """A result that is one text on stdout."""
    return Result(out=text.encode(errors="surrogateescape"), status=status)


def complain(text: str, *, status: int = 1) -> Result:
    """A result that is one text on stderr."""
    return Result(err=text.encode(errors="surrogateescape"), status=status)


class Android:
    """One phone and what Android keeps beside it.

    `has_adb_keyboard`: the input method that types any text; `has_ground_truth`: the command of truth_commands.py.
    """

    def __init__(
        self,
        phone: Phone,
        *,
        serial: str,
        perform: Callable[[Action], None],
        has_adb_keyboard: bool = True,
        has_ground_truth: bool = True,
    ) -> None:
        self.phone = phone
        self.serial = serial
        self._perform = perform
        self.files = Files()
        self.has_adb_keyboard = has_adb_keyboard
        self.has_ground_truth = has_ground_truth
        self.is_booted = True
        """What `sys.boot_completed` says."""
        self.is_awake = True
        """Whether the screen is on: `input keyevent KEYCODE_SLEEP` and `KEYCODE_WAKEUP` change it."""
        self.battery: dict[str, int] = {}
        """What `dumpsys battery set` has said: level in percent, temperature in tenths of a degree."""
        self.properties: dict[str, str] = {}
        """What `getprop` says otherwise than by default: the model of another phone, say."""
        self.due_faults: list[str] = []
        """Faults that the truth channel asked for; server.py makes them happen, one for each opened service."""
        self.screen_fault = ""
        """How the next screenshot is spoiled (server.py sets it, screen_commands.py makes it so)."""
        self.settings: dict[tuple[str, str], str] = {
            ("secure", "default_input_method"): KEYBOARD if has_adb_keyboard else PLAIN_KEYBOARD,
            ("global", "device_provisioned"): "1",
            ("secure", "user_setup_complete"): "1",
        }
        self.log: deque[str] = deque(maxlen=MAX_LOG_LINES)
        self._num_logged = 0
        self._logged = asyncio.Event()
        self.note("I", "SystemServer", "sys.boot_completed=1")

    # ---- what is seen

    @property
    def size(self) -> tuple[int, int]:
        """The screen in pixels as it is held now: what is drawn, touched and dumped."""
        width, height = self.phone.size
        return (height, width) if self.rotation % 2 else (width, height)

    @property
    def rotation(self) -> int:
        """Quarter turns to the left, which `settings put system user_rotation` asks for while it may not turn itself.

        The whole picture is turned: no app of this phone has a layout for it.
        """
        text = self.settings.get(("system", "user_rotation"), "0")
        return 0 if self.phone.settings.auto_rotate or text not in ("1", "2", "3") else int(text)

    def upright(self, x: float, y: float) -> tuple[float, float]:
        """A place on the screen as it is held, on the phone as it is drawn; both in [0, 1]."""
        for _ in range(self.rotation):
            x, y = 1.0 - y, x
        return x, y

    def turned(self, x: float, y: float) -> tuple[float, float]:
        """The other way."""
        for _ in range(self.rotation):
            x, y = y, 1.0 - x
        return x, y

    def component(self) -> tuple[str, str]:
        """Package and class of the activity in front."""
        page = self.phone.top()
        name = "".join(part[:1].upper() + part[1:] for part in page.name.split("_"))
        return self.package_of(page.app), f".{name}"

    def package_of(self, app_id: str) -> str:
        """The package of an app."""
        return PREFIX + app_id

    def app_of(self, package: str) -> str | None:
        """The app of a package, if it is installed."""
        app_id = package.removeprefix(PREFIX)
        return app_id if package.startswith(PREFIX) and app_id in self.phone.apps else None

    def packages(self) -> list[str]:
        """Everything that is installed."""
        extra = [KEYBOARD_PACKAGE] if self.has_adb_keyboard else []
        return sorted([*(self.package_of(app_id) for app_id in self.phone.apps), *extra])

    # ---- what is done

    def perform(self, action: Action) -> None:
        """A touch, a key, a text."""
        if not self.is_awake:
            return
        before = self.component()
        self._perform(action)
        if self.component() != before:
            package, name = self.component()
            self.note("I", "ActivityTaskManager", f"Displayed {package}/{name}")

    def open_app(self, app_id: str) -> None:
        """Bring an app to the front."""
        self.phone.open_app(app_id)
        package, name = self.component()
        self.note("I", "ActivityTaskManager", f"START u0 {{cmp={package}/{name}}}")

    def stop_app(self, app_id: str) -> None:
        """End an app: it forgets its pages, and the launcher comes to the front if it was there."""
        system = self.phone.system
        if system.foreground == app_id:
            self.phone.home()
        if app_id != "launcher":
            system.stacks.pop(app_id, None)
        self.note("I", "ActivityManager", f"Force stopping {self.package_of(app_id)}")

    def clear_app(self, app_id: str) -> None:
        """An app as on a new phone."""
        self.stop_app(app_id)
        seed = self.phone.system.seed
        self.phone.states[app_id] = self.phone.apps[app_id].fresh(derive_random(seed, app_id))
        self.phone.arrange({})

    def set_switch(self, field: str, value: Any) -> None:
        """One of the phone's own settings."""
        self.phone.arrange({"settings": {field: value}})

    # ---- the log

    def note(self, level: str, tag: str, message: str) -> None:
        """A line of the log, at the phone's own time."""
        clock_s = self.phone.system.time_s % 86_400
        hours, minutes, seconds = clock_s // 3600, clock_s // 60 % 60, clock_s % 60
        day = 1 + int(self.phone.system.time_s // 86_400)
        stamp = f"01-{day:02d} {hours:02.0f}:{minutes:02.0f}:{seconds:06.3f}"
        self.log.append(f"{stamp}  1000  1000 {level} {tag}: {message}")
        self._num_logged += 1
        self._logged.set()

    async def follow_log(self) -> AsyncIterator[bytes]:
        """New lines as they come, without end."""
        seen = self._num_logged
        while True:
            self._logged.clear()
            await self._logged.wait()
            fresh = min(self._num_logged - seen, len(self.log))
            seen = self._num_logged
            yield "".join(f"{line}\n" for line in list(self.log)[len(self.log) - fresh :]).encode()

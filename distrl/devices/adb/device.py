"""Anything that adb reaches as a `Device`: actions in, observations out, every failure a `DeviceError` with its cause.

Each call is a conversation with the adb server that has a deadline; nothing is held between calls. Whatever the model
wrote is one quoted word of one command: neither a shell of the host nor that of the device ever parses it.
"""

import re
from collections.abc import Mapping

import msgspec

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError
from distrl.core.types import (
    Action,
    Button,
    Element,
    Finish,
    Invalid,
    LongPress,
    Observation,
    OpenApp,
    Press,
    Screen,
    Swipe,
    Tap,
    TypeText,
)
from distrl.devices.adb import typing_text
from distrl.devices.adb.hierarchy import candidates, elements_of
from distrl.devices.adb.screenshot import screen_of
from distrl.devices.adb.server import AdbServer, Answer
from distrl.devices.adb.typing_text import quoted

KEYCODES = {Button.BACK: "KEYCODE_BACK", Button.HOME: "KEYCODE_HOME", Button.ENTER: "KEYCODE_ENTER"}
LONG_PRESS_MS, SWIPE_MS = 1000, 300
_FOCUS = re.compile(r"mCurrentFocus=Window\{\S+ \S+ ([\w.]+(?:/[\w.$]+)?)\}")
_RESUMED = re.compile(r"(?:topResumedActivity=|mResumedActivity: )ActivityRecord\{\S+ \S+ ([\w.]+/[\w.$]+)")
_SIZE = re.compile(r"(?:Physical|Override) size: (\d+)x(\d+)")


class AdbOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a device is used."""

    settle_s: float = 3.0
    """How long to wait at most for a screen that stops changing; 0 takes the first one."""
    settle_poll_s: float = 0.15
    wait_s: float = 3.0
    """What the action `Wait` waits."""
    boot_s: float = 120.0
    """How long a reset waits for a device that is starting."""
    reads_ui_tree: bool = True
    """On real phones uiautomator takes seconds: leave it out for policies that look at pixels only."""
    apps: Mapping[str, str] = {}
    """Packages by the names that people use; others are found by the end of their package's name."""
    clears: tuple[str, ...] = ()
    """Packages whose data a reset removes."""


class AdbDevice:
    """One device by its serial (choosing.py finds it)."""

    def __init__(self, serial: str, server: AdbServer, *, clock: Clock, options: AdbOptions | None = None) -> None:
        self._serial = serial
        self._server = server
        self._clock = clock
        self._options = options or AdbOptions()
        self._size: tuple[int, int] | None = None
        self._packages: tuple[str, ...] = ()
        self.num_missing_trees = 0
        """How often there was a screen and no ui tree: uiautomator gives none while things move."""

    @property
    def name(self) -> str:
        """Its serial."""
        return self._serial

    # ---- the device

    async def reset(self) -> None:
        """To the launcher, with what was in front ended and the data of `clears` removed. Not a snapshot.

        Starts an adb server if there is none any more, and connects again to a device that is reached by host:port.
        """
        await self._server.ensure()
        if ":" in self._serial:
            await self._server.connect(self._serial)
        await self._booted()
        self._size, self._packages = None, ()
        before = (await self.activity()).partition("/")[0]
        await self._press(Button.HOME)
        home = (await self.activity()).partition("/")[0]
        if before and before != home:
            await self.stop_app(before)
        for package in self._options.clears:
            await self._run(quoted("pm", "clear", package))
        await self._settled()

    async def observe(self) -> Observation:
        """What the screen shows, once it has stopped changing."""
        screen = await self._settled()
        tree = await self._ui_tree() if self._options.reads_ui_tree else None
        return Observation(
            screen=screen,
            activity=await self.activity(),
            time_s=self._clock.now(),
            elements=candidates(tree or ()),
            ui_tree=tree,
        )

    async def perform(self, action: Action) -> None:
        """Do it; `Finish` and `Invalid` touch nothing."""
        match action:
            case Finish() | Invalid():
                pass
            case Tap():
                await self._run(f"input tap {await self._pixels(action.x, action.y)}")
            case LongPress():
                place = await self._pixels(action.x, action.y)
                await self._run(f"input swipe {place} {place} {LONG_PRESS_MS}")
            case Swipe():
                start, end = await self._pixels(action.x, action.y), await self._pixels(action.to_x, action.to_y)
                await self._run(f"input swipe {start} {end} {SWIPE_MS}")
            case TypeText():
                await self._type(action.text)
            case Press():
                await self._press(action.button)
            case OpenApp():
                await self._open(action.app)
            case _:
                await self._clock.sleep(self._options.wait_s)

    async def close(self) -> None:
        """Nothing is held; the server goes on, since others may use it."""

    # ---- what else can be asked for

    async def screenshot(self) -> Screen:
        """The screen now, checked: neither black, nor truncated, nor of another size than before."""
        return screen_of(await self._server.exec_out(self._serial, "screencap"), size=await self.size())

    async def size(self) -> tuple[int, int]:
        """Width and height in pixels, upright."""
        if self._size is None:
            found = _SIZE.findall((await self._run("wm size")).out.decode(errors="replace"))
            if not found:
                raise DeviceError("bad_answer", f"{self._serial} does not say how large its screen is")
            self._size = int(found[-1][0]), int(found[-1][1])
        return self._size

    async def activity(self) -> str:
        """The activity in front as package/class; empty while there is none."""
        said = (await self._run("dumpsys window")).out.decode(errors="replace")
        match = _FOCUS.search(said)
        if match is None:
            said = (await self._run("dumpsys activity activities")).out.decode(errors="replace")
            match = _RESUMED.search(said)
        return match[1] if match else ""

    async def stop_app(self, package: str) -> None:
        """End an app."""
        await self._run(quoted("am", "force-stop", package))

    # ---- inside

    async def _run(self, line: str) -> Answer:
        answer = await self._server.shell(self._serial, line)
        if answer.status:
            said = (answer.err or answer.out).decode(errors="replace").strip()
            raise DeviceError("command", f"{self._serial}: {line[:80]!r} failed with {answer.status}: {said[:300]}")
        return answer

    async def _booted(self) -> None:
        """Until Android has started, as long as that may take."""
        give_up_s = self._clock.now() + self._options.boot_s
        while (await self._run("getprop sys.boot_completed")).out.strip() != b"1":
            if self._clock.now() >= give_up_s:
                raise DeviceError("boot", f"{self._serial} has not started within {self._options.boot_s:g} s")
            await self._clock.sleep(1.0)

    async def _settled(self) -> Screen:
        """The first screen that is the same twice, or the last one when time is up."""
        options = self._options
        give_up_s = self._clock.now() + options.settle_s
        screen = await self.screenshot()
        while self._clock.now() < give_up_s:
            await self._clock.sleep(options.settle_poll_s)
            before, screen = screen, await self.screenshot()
            if screen == before:
                break
        return screen

    async def _ui_tree(self) -> tuple[Element, ...] | None:
        data = await self._server.exec_out(self._serial, "uiautomator dump /dev/tty")
        try:
            return elements_of(data, await self.size())
        except DeviceError as error:
            if error.cause != "ui_tree":
                raise
            self.num_missing_trees += 1
            return None

    async def _pixels(self, x: float, y: float) -> str:
        width, height = await self.size()
        return f"{min(int(x * width), width - 1)} {min(int(y * height), height - 1)}"

    async def _press(self, button: Button) -> None:
        await self._run(f"input keyevent {KEYCODES[button]}")

    async def _type(self, text: str) -> None:
        if typing_text.is_plain(text):
            lines = typing_text.plain_lines(text)
        else:
            method = (await self._run("settings get secure default_input_method")).out.decode(errors="replace").strip()
            if method != typing_text.KEYBOARD:
                raise DeviceError("no_keyboard", f"{self._serial}: {typing_text.HOW_TO_TYPE}")
            lines = typing_text.broadcast_lines(text)
        for line in lines:
            await self._run(line)

    async def _open(self, app: str) -> None:
        """Start an app by its package or name; one that is not there does nothing, as on any phone."""
        package = await self._package(app.strip())
        if package:
            launcher = "android.intent.category.LAUNCHER"
            await self._server.shell(self._serial, quoted("monkey", "-p", package, "-c", launcher, "1"))

    async def _package(self, app: str) -> str:
        if not self._packages:
            lines = (await self._run("pm list packages")).out.decode(errors="replace").splitlines()
            self._packages = tuple(sorted(line.removeprefix("package:").strip() for line in lines))
        if app in self._packages:
            return app
        wanted = app.casefold()
        named = {name.casefold(): package for name, package in self._options.apps.items()}
        ends = (p for p in self._packages if p.rpartition(".")[2].casefold() == wanted.replace(" ", ""))
        return named.get(wanted) or next(ends, "")

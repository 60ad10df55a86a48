"""Anything that adb reaches as a `Device`: actions in, observations out, every failure a `DeviceError` with its cause.

Each call is a conversation with the adb server that has a deadline; nothing is held between calls. Whatever the model
wrote is one quoted word of one command: neither a shell of the host nor that of the device ever parses it.
"""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError, SetupError
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
from distrl.devices.adb.hierarchy import Field, candidates, elements_of, focused_field
from distrl.devices.adb.screenshot import Camera, Encoding, changed_share
from distrl.devices.adb.server import AdbServer, Answer
from distrl.devices.adb.typing_text import quoted

KEYCODES = {Button.BACK: "KEYCODE_BACK", Button.HOME: "KEYCODE_HOME", Button.ENTER: "KEYCODE_ENTER"}
LONG_PRESS_MS, SWIPE_MS = 1000, 300
WAKE = "input keyevent KEYCODE_WAKEUP; wm dismiss-keyguard"
_FOCUS = re.compile(r"mCurrentFocus=Window\{\S+ \S+ ([\w.]+(?:/[\w.$]+)?)\}")
_DIALOG = re.compile(r"mCurrentFocus=Window\{\S+ \S+ (Application (?:Not Responding|Error)): ([\w.]+)\}")
_RESUMED = re.compile(r"(?:topResumedActivity=|mResumedActivity: )ActivityRecord\{\S+ \S+ ([\w.]+/[\w.$]+)")
_SIZE = re.compile(r"(?:Physical|Override) size: (\d+)x(\d+)")


class AdbOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a device is used."""

    settle_s: float = 3.0
    """How long to wait at most for a screen that stops changing; 0 takes the first one."""
    settle_poll_s: float = 0.15
    settle_share: float = 0.001
    """A screen has settled when no larger share of its pixels changes: a cursor may go on blinking."""
    wait_s: float = 3.0
    """What the action `Wait` waits."""
    boot_s: float = 120.0
    """How long a reset waits for a device that is starting."""
    screenshot: Encoding | Literal["auto"] = "auto"
    """How screens are asked for; by default as whatever this device sends fastest."""
    ui_tree: Literal["uiautomator", "uiautomator2", "none"] = "uiautomator"
    """On real phones uiautomator takes seconds: none, for policies that look at pixels only."""
    aborts_on_dialogs: bool = True
    """Whether "isn't responding" and "has stopped" end the episode; on the sim they are part of tasks."""
    keeps_awake: bool = True
    keeps_upright: bool = True
    """Whether a reset switches automatic rotation off, and turns the screen back."""
    apps: Mapping[str, str] = {}
    """Packages by the names that people use; others are found by the end of their package's name."""
    clears: tuple[str, ...] = ()
    """Packages whose data a reset removes."""
    restores: tuple[str, ...] = ()
    """Settings, such as `system/screen_brightness`, that a reset puts back to what they were at first."""


class AdbDevice:
    """One device by its serial (choosing.py finds it)."""

    def __init__(
        self, serial: str, server: AdbServer, *, clock: Clock, options: AdbOptions | None = None, name: str = ""
    ) -> None:
        self._serial = serial
        self._name = name or serial
        self._server = server
        self._clock = clock
        self._options = options or AdbOptions()
        self._camera = Camera(self._take, clock=clock, encoding=self._options.screenshot)
        self._size: tuple[int, int] | None = None
        self._shown: tuple[int, int] | None = None
        self._packages: tuple[str, ...] = ()
        self._found_settings: dict[str, str] = {}
        self.num_missing_trees = 0
        """How often there was a screen and no ui tree: uiautomator gives none while things move."""
        self.num_texts_not_seen = 0
        """How often what `input text` typed was not in the field afterwards: a field that formats, or refuses."""

    @property
    def name(self) -> str:
        """Its serial, or what it was called."""
        return self._name

    @property
    def serial(self) -> str:
        """What adb calls it now."""
        return self._serial

    # ---- the device

    async def reset(self) -> None:
        """To the launcher, awake and upright, with what was in front ended and the recipe done. Not a snapshot.

        Starts an adb server if there is none any more, and connects again to a device that is reached by host:port.
        """
        await self._reach()
        try:
            before = await self.activity()
        except DeviceError as error:
            if error.cause != "app_dialog":
                raise
            before = await self.activity()  # the app that the dialog was about is ended, and so is the dialog
        await self._press(Button.HOME)
        home = (await self.activity()).partition("/")[0]
        if before and before.partition("/")[0] != home:
            await self.stop_app(before.partition("/")[0])
        for package in self._options.clears:
            await self._clear(package)
        await self._restore_settings()
        await self._settled()

    async def observe(self) -> Observation:
        """What the screen shows, once it has stopped changing."""
        screen = await self._settled()
        tree = await self._ui_tree() if self._options.ui_tree != "none" else None
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
                await self.open_app(action.app)
            case _:
                await self._wait()

    async def close(self) -> None:
        """Nothing is held; the server goes on, since others may use it."""

    # ---- what else can be asked for

    async def screenshot(self) -> Screen:
        """The screen now, checked: neither black nor blank, nor truncated, nor of another size than before."""
        screen = await self._camera.shoot(await self.size())
        self._shown = screen.width, screen.height
        return screen

    async def size(self) -> tuple[int, int]:
        """Width and height in pixels, upright."""
        if self._size is None:
            found = _SIZE.findall((await self._run("wm size")).out.decode(errors="replace"))
            if not found:
                raise DeviceError("bad_answer", f"{self._serial} does not say how large its screen is")
            self._size = int(found[-1][0]), int(found[-1][1])
        return self._size

    async def activity(self) -> str:
        """The activity in front as package/class; empty while there is none.

        A dialog of the system about an app that does not respond, or has stopped, is an error by this name.
        """
        said = (await self._run("dumpsys window")).out.decode(errors="replace")
        dialog = _DIALOG.search(said)
        if dialog:
            if self._options.aborts_on_dialogs:
                await self.stop_app(dialog[2])
                raise DeviceError("app_dialog", f"{self._serial} says {dialog[1]} of {dialog[2]}; it was ended")
            return f"{dialog[2]}/{dialog[1].replace(' ', '')}"
        match = _FOCUS.search(said)
        if match is None:
            said = (await self._run("dumpsys activity activities")).out.decode(errors="replace")
            match = _RESUMED.search(said)
        return match[1] if match else ""

    async def stop_app(self, package: str) -> None:
        """End an app."""
        await self._run(quoted("am", "force-stop", package))

    async def open_app(self, app: str) -> None:
        """Start an app by its package or name; one that is not there does nothing, as on any phone."""
        package = await self.package_of(app.strip())
        if package:
            launcher = "android.intent.category.LAUNCHER"
            await self._server.shell(self._serial, quoted("monkey", "-p", package, "-c", launcher, "1"))

    async def package_of(self, app: str) -> str:
        """The package of an app by its package or name; nothing if it is not there."""
        if not self._packages:
            lines = (await self._run("pm list packages")).out.decode(errors="replace").splitlines()
            self._packages = tuple(sorted(line.removeprefix("package:").strip() for line in lines))
        if app in self._packages:
            return app
        wanted = app.casefold()
        named = {name.casefold(): package for name, package in self._options.apps.items()}
        ends = (p for p in self._packages if p.rpartition(".")[2].casefold() == wanted.replace(" ", ""))
        return named.get(wanted) or next(ends, "")

    async def hierarchy(self) -> bytes:
        """The ui tree as the device writes it."""
        if self._options.ui_tree == "uiautomator2":
            from distrl.devices.adb.uiautomator2 import dump

            return await dump(self._serial, deadline_s=self._server.deadline_s)
        return await self._server.exec_out(self._serial, "uiautomator dump /dev/tty")

    async def focused_field(self) -> Field | None:
        """Where text would go; None if nowhere, or if the device does not say."""
        try:
            return focused_field(await self.hierarchy())
        except DeviceError as error:
            if error.cause != "ui_tree":
                raise
            return None

    async def read(self, line: str) -> str:
        """What a command of ours says; nothing in it may come from a model unquoted."""
        return (await self._run(line)).out.decode(errors="replace")

    # ---- inside

    def _forget(self) -> None:
        """What another device at this serial may have otherwise."""
        self._size, self._shown, self._packages = None, None, ()

    async def _take(self, line: str) -> bytes:
        return await self._server.exec_out(self._serial, line)

    async def _run(self, line: str) -> Answer:
        answer = await self._server.shell(self._serial, line)
        if answer.status:
            said = (answer.err or answer.out).decode(errors="replace").strip()
            raise DeviceError("command", f"{self._serial}: {line[:80]!r} failed with {answer.status}: {said[:300]}")
        return answer

    async def _reach(self) -> None:
        """A device that has started, is awake and is upright."""
        await self._connect()
        lines = [WAKE, "svc power stayon true"] if self._options.keeps_awake else []
        if self._options.keeps_upright:
            lines += ["settings put system accelerometer_rotation 0", "settings put system user_rotation 0"]
        if lines:
            await self._server.shell(self._serial, "; ".join(lines))

    async def _connect(self) -> None:
        """A device that has started."""
        await self._server.ensure()
        if ":" in self._serial:
            await self._server.connect(self._serial)
        await self._booted()
        self._forget()

    async def _booted(self) -> None:
        """Until Android has started, as long as that may take."""
        give_up_s = self._clock.now() + self._options.boot_s
        while (await self._run("getprop sys.boot_completed")).out.strip() != b"1":
            if self._clock.now() >= give_up_s:
                raise DeviceError("boot", f"{self._serial} has not started within {self._options.boot_s:g} s")
            await self._clock.sleep(1.0)

    async def _clear(self, package: str) -> None:
        answer = await self._server.shell(self._serial, quoted("pm", "clear", package))
        said = (answer.out + answer.err).decode(errors="replace").strip()
        if answer.status or "Success" not in said:
            hint = "is it installed?" if said in ("", "Failed") else said[:200]
            raise SetupError("setup", f"{self._serial}: the data of {package} cannot be removed: {hint}")

    async def _restore_settings(self) -> None:
        """Remember the settings the first time, and put them back after that."""
        for key in self._options.restores:
            table, _, name = key.partition("/")
            if key not in self._found_settings:
                self._found_settings[key] = (await self.read(quoted("settings", "get", table, name))).strip()
            elif self._found_settings[key] == "null":
                await self._run(quoted("settings", "delete", table, name))
            else:
                await self._run(quoted("settings", "put", table, name, self._found_settings[key]))

    async def _settled(self) -> Screen:
        """The first screen that hardly differs from the one before, or the last one when time is up."""
        options = self._options
        give_up_s = self._clock.now() + options.settle_s
        screen = await self._wakeful_screenshot()
        while self._clock.now() < give_up_s:
            await self._clock.sleep(options.settle_poll_s)
            before, screen = screen, await self.screenshot()
            if changed_share(before, screen) <= options.settle_share:
                break
        return screen

    async def _wakeful_screenshot(self) -> Screen:
        """The screen; one that went to sleep is woken up once."""
        try:
            return await self.screenshot()
        except DeviceError as error:
            if error.cause != "black_screen" or not self._options.keeps_awake:
                raise
        await self._server.shell(self._serial, WAKE)
        return await self.screenshot()

    async def _ui_tree(self) -> tuple[Element, ...] | None:
        try:
            return elements_of(await self.hierarchy(), self._shown or await self.size())
        except DeviceError as error:
            if error.cause != "ui_tree":
                raise
            self.num_missing_trees += 1
            return None

    async def _pixels(self, x: float, y: float) -> str:
        """A place in pixels of the screen as it is held."""
        width, height = self._shown or await self.size()
        return f"{min(int(x * width), width - 1)} {min(int(y * height), height - 1)}"

    async def _press(self, button: Button) -> None:
        await self._run(f"input keyevent {KEYCODES[button]}")

    async def _wait(self) -> None:
        await self._clock.sleep(self._options.wait_s)

    async def _type(self, text: str) -> None:
        """Type it, and read the field to see that it has arrived."""
        if not text:
            return
        is_plain = typing_text.is_plain(text)
        if is_plain:
            lines = typing_text.plain_lines(text)
        else:
            await self._choose_keyboard()
            lines = typing_text.broadcast_lines(text)
        before = None if is_plain else await self.focused_field()
        for line in lines:
            await self._run(line)
        if is_plain and self._options.ui_tree == "none":
            return  # who does without the tree, which takes seconds, does without this too
        after = await self.focused_field()
        if after is None or after.is_password or typing_text.is_within(text, after.text):
            return
        self.num_texts_not_seen += 1
        if before == after:
            raise DeviceError(
                "text_not_typed", f"{self._serial}: the keyboard took a text and the field did not change: is it alive?"
            )

    async def _choose_keyboard(self) -> None:
        """The input method that types anything; chosen if it is there and was not."""
        now = (await self.read("settings get secure default_input_method")).strip()
        if now == typing_text.KEYBOARD:
            return
        if typing_text.KEYBOARD not in (await self.read("ime list -a -s")).split():
            raise DeviceError("no_keyboard", f"{self._serial}: {typing_text.HOW_TO_TYPE}")
        await self._run(quoted("ime", "enable", typing_text.KEYBOARD))
        await self._run(quoted("ime", "set", typing_text.KEYBOARD))

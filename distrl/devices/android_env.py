"""An android_env environment as a `Device`: its simulator, its adb and its healing under our tasks and policies.

Actions go in and become touches of its virtual finger, or calls of its adb; its pixels come out. It is asked in a
thread, since it waits by itself. An episode of its that is truncated (its simulator failed; the observation may be
missing) is a `DeviceError`; one that its own task has ended goes on here, since our task has not.
"""

import asyncio
import shlex
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError
from distrl.core.types import (
    Action,
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
from distrl.devices.adb.device import KEYCODES
from distrl.devices.adb.hierarchy import candidates, elements_of
from distrl.devices.adb.typing_text import is_plain, plain_lines

T = TypeVar("T")
TOUCH, LIFT, REPEAT = 0, 1, 2
HELD_STEPS, MOVED_STEPS = 10, 8
DEADLINE_S = 120.0


class AndroidEnvDevice:
    """One environment with the interface of android_env (duck-typed, so that its wrappers and fakes will do)."""

    def __init__(self, name: str, env: Any, *, clock: Clock, reads_ui_tree: bool = True) -> None:
        self._name = name
        self._env = env
        self._clock = clock
        self._reads_ui_tree = reads_ui_tree
        self._pixels: np.ndarray[Any, Any] | None = None

    @property
    def name(self) -> str:
        """As it was called."""
        return self._name

    async def reset(self) -> None:
        """A new episode of the environment, with its own reset steps."""
        self._take(await self._ask(self._env.reset))

    async def observe(self) -> Observation:
        """What the screen shows now."""
        await self._step(LIFT, (0.0, 0.0))
        assert self._pixels is not None
        height, width, _ = self._pixels.shape
        tree = await self._ui_tree((width, height)) if self._reads_ui_tree else None
        return Observation(
            screen=Screen(data=self._pixels.tobytes(), width=width, height=height),
            activity=await self._activity(),
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
                await self._touch([(action.x, action.y)])
            case LongPress():
                await self._touch([(action.x, action.y)] * HELD_STEPS)
            case Swipe():
                shares = [number / (MOVED_STEPS - 1) for number in range(MOVED_STEPS)]
                dx, dy = action.to_x - action.x, action.to_y - action.y
                await self._touch([(action.x + dx * share, action.y + dy * share) for share in shares])
            case TypeText():
                await self._type(action.text)
            case Press():
                await self._shell("input", "keyevent", KEYCODES[action.button])
            case OpenApp():
                await self._shell("monkey", "-p", action.app.strip(), "1")
            case _:
                await self._step(LIFT, (0.0, 0.0))

    async def close(self) -> None:
        """Close the environment."""
        await self._ask(self._env.close)

    # ---- inside

    async def _touch(self, path: list[tuple[float, float]]) -> None:
        for place in path:
            await self._step(TOUCH, place)
        await self._step(LIFT, path[-1])

    async def _step(self, kind: int, place: tuple[float, float]) -> None:
        action = {
            "action_type": np.array(kind, dtype=np.int32),
            "touch_position": np.array(np.clip(place, 0.0, 1.0), dtype=np.float32),
        }
        self._take(await self._ask(lambda: self._env.step(action)))

    def _take(self, timestep: Any) -> None:
        """Keep the pixels; a truncated step is a failure of the simulator, whatever it shows."""
        seen = timestep.observation
        if timestep.last() and timestep.discount:
            raise DeviceError("android_env", f"{self._name}: its episode was truncated; its simulator restarts")
        if not seen or "pixels" not in seen:
            raise DeviceError("android_env", f"{self._name}: a step without an observation")
        self._pixels = np.ascontiguousarray(seen["pixels"], dtype=np.uint8)[:, :, :3]

    async def _type(self, text: str) -> None:
        if not is_plain(text):
            raise DeviceError("no_keyboard", f"{self._name}: android_env types printable ASCII only")
        for line in plain_lines(text):
            await self._shell(*shlex.split(line))

    async def _shell(self, *words: str) -> bytes:
        """A command on the device. adb joins words with spaces for the device's shell, so each is quoted."""
        return await self._generic("shell", *(shlex.quote(word) for word in words))

    async def _generic(self, *words: str) -> bytes:
        from android_env.proto import adb_pb2

        generic = adb_pb2.AdbRequest.GenericRequest(args=list(words))
        request = adb_pb2.AdbRequest(generic=generic, timeout_sec=DEADLINE_S / 4)
        answer = await self._ask(lambda: self._env.execute_adb_call(request))
        if answer.status != adb_pb2.AdbResponse.Status.OK:
            raise DeviceError("command", f"{self._name}: {' '.join(words)[:80]!r} failed: {answer.error_message[:300]}")
        output: bytes = answer.generic.output
        return output

    async def _activity(self) -> str:
        from android_env.proto import adb_pb2

        request = adb_pb2.AdbRequest(get_current_activity=adb_pb2.AdbRequest.GetCurrentActivity())
        answer = await self._ask(lambda: self._env.execute_adb_call(request))
        return str(answer.get_current_activity.full_activity)

    async def _ui_tree(self, size: tuple[int, int]) -> tuple[Element, ...] | None:
        try:
            return elements_of(await self._generic("exec-out", "uiautomator", "dump", "/dev/tty"), size)
        except DeviceError as error:
            if error.cause not in ("ui_tree", "command"):
                raise
            return None

    async def _ask(self, call: Callable[[], T]) -> T:
        """Call it in a thread, with a deadline; what it raises is the device's failure."""
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await asyncio.to_thread(call)
        except TimeoutError as error:
            raise DeviceError("deadline", f"{self._name}: android_env did not answer in {DEADLINE_S:g} s") from error
        except DeviceError:
            raise
        except Exception as error:  # its simulators raise errors of their own
            raise DeviceError("android_env", f"{self._name}: {type(error).__name__}: {error}") from error

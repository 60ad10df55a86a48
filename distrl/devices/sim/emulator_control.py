"""The gRPC control of Android's emulator for a sim phone: what android_env needs beside adb.

Requests of `EmulatorController` go in (status, screenshot, touch, key), touches of the phone and pixels come out. A
finger that goes down and up at one place is a tap, or a long press if it stayed; one that moved is a swipe. It listens
on loopback only. The messages are those that the package android_env ships.
"""

from collections.abc import Callable
from typing import Any

import grpc
import numpy as np
from android_env.proto import emulator_controller_pb2 as messages
from android_env.proto import emulator_controller_pb2_grpc as services
from google.protobuf import empty_pb2

from distrl.core.types import Action, Button, LongPress, Press, Swipe, Tap, TypeText
from distrl.devices.sim.phone import Phone

MOVED = 0.02
"""A finger that went less far than this share of the screen stayed in its place."""
LONG_EVENTS = 8
"""So many reports of a finger that stays are a long press."""
BUTTONS = {36: Button.ENTER, 9: Button.BACK, 166: Button.BACK, 110: Button.HOME, 180: Button.HOME}
"""Keys by their XKB numbers."""
NAMED = {"GoBack": Button.BACK, "GoHome": Button.HOME, "Enter": Button.ENTER}


class EmulatorControl(services.EmulatorControllerServicer):  # type: ignore[misc]
    """Serves one phone; `perform` is how a touch reaches it, if not directly."""

    def __init__(self, phone: Phone, *, perform: Callable[[Action], None] | None = None) -> None:
        self._phone = phone
        self._perform = perform or phone.perform
        self._path: list[tuple[float, float]] = []
        self._server: Any = None

    async def start(self, port: int = 0) -> int:
        """Listen on 127.0.0.1; the port."""
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        services.add_EmulatorControllerServicer_to_server(self, self._server)
        number: int = self._server.add_secure_port(f"127.0.0.1:{port}", grpc.local_server_credentials())
        await self._server.start()
        return number

    async def close(self) -> None:
        """Serve nobody any more; may be called twice."""
        if self._server is not None:
            await self._server.stop(0.2)
            self._server = None

    async def getStatus(self, request: Any, context: Any) -> Any:  # noqa: N802
        """It has booted."""
        return messages.EmulatorStatus(version="distrl", booted=True, uptime=1000)

    async def getScreenshot(self, request: Any, context: Any) -> Any:  # noqa: N802
        """The screen as RGBA, or RGB if that is asked for."""
        width, height = self._phone.size
        pixels = np.frombuffer(self._phone.render(), np.uint8).reshape(height, width, 3)
        form = messages.ImageFormat
        if request.format == form.RGB888:
            return messages.Image(format=form(format=form.RGB888, width=width, height=height), image=pixels.tobytes())
        rgba = np.full((height, width, 4), 255, np.uint8)
        rgba[:, :, :3] = pixels
        return messages.Image(format=form(format=form.RGBA8888, width=width, height=height), image=rgba.tobytes())

    async def sendTouch(self, request: Any, context: Any) -> Any:  # noqa: N802
        """The first finger: down, along, up."""
        width, height = self._phone.size
        for touch in request.touches[:1]:
            place = min(max(touch.x / width, 0.0), 1.0), min(max(touch.y / height, 0.0), 1.0)
            if touch.pressure > 0:
                self._path.append(place)
            elif self._path:
                path, self._path = self._path, []
                self._perform(_gesture(path))
        return empty_pb2.Empty()

    async def sendKey(self, request: Any, context: Any) -> Any:  # noqa: N802
        """A key pressed; one that goes up again has been felt already."""
        is_up = request.eventType == messages.KeyboardEvent.keyup
        button = BUTTONS.get(request.keyCode) or NAMED.get(request.key)
        if request.text:
            self._perform(TypeText(text=request.text[:4096]))
        elif button is not None and not is_up:
            self._perform(Press(button=button))
        return empty_pb2.Empty()

    async def setVmState(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Nothing: whoever started this phone ends it."""
        return empty_pb2.Empty()


def _gesture(path: list[tuple[float, float]]) -> Action:
    (x, y), (to_x, to_y) = path[0], path[-1]
    if max(abs(to_x - x), abs(to_y - y)) >= MOVED:
        return Swipe(x=x, y=y, to_x=to_x, to_y=to_y)
    return LongPress(x=x, y=y) if len(path) >= LONG_EVENTS else Tap(x=x, y=y)

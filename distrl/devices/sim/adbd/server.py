"""The phone listening for adb: a phone in, a port on loopback out.

    Adbd(phone) -> start -> adb connect 127.0.0.1:PORT -> ... -> close

The faults of `faults.py` happen here too, by the number of the opened service: so the whole way through the real adb
server can be broken on purpose.
"""

import asyncio
import math
import socket
from collections.abc import Callable

from distrl.core.clock import Clock, LoopClock
from distrl.core.types import Action
from distrl.devices.sim.adbd.android import Android
from distrl.devices.sim.adbd.connection import Connection, Service, Stream
from distrl.devices.sim.adbd.services import service_of
from distrl.devices.sim.faults import SCREEN_FAULTS, Faults
from distrl.devices.sim.phone import Phone
from distrl.devices.sim.state import Page

BANNER = "device::ro.product.name=distrl_phone;ro.product.model=Phone_P8;ro.product.device=distrl;features=shell_v2"
MAX_CONNECTIONS = 16
OFFLINE_S = 30.0
DRIP_S = 60.0
FOREVER_S = 10.0**7


class Adbd:
    """One phone that adb can connect to; `perform` is how a touch reaches it, if not directly."""

    def __init__(
        self,
        phone: Phone,
        *,
        serial: str = "distrl",
        perform: Callable[[Action], None] | None = None,
        has_adb_keyboard: bool = True,
        has_ground_truth: bool = True,
        faults: Faults | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.android = Android(
            phone,
            serial=serial,
            perform=perform or phone.perform,
            has_adb_keyboard=has_adb_keyboard,
            has_ground_truth=has_ground_truth,
        )
        self._faults = faults
        self._clock = clock or LoopClock()
        self._gone, self._gone_until_s = "", 0.0
        self._server: asyncio.Server | None = None
        self._connections: dict[Connection, asyncio.Task[None] | None] = {}

    async def start(self, port: int = 0, *, listener: socket.socket | None = None) -> int:
        """Listen on 127.0.0.1, on a free port unless one is asked for; the port."""
        if listener is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        else:
            self._server = await asyncio.start_server(self._accept, sock=listener)
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    async def close(self) -> None:
        """Hang up on everybody and listen no more; may be called twice."""
        if self._server is not None:
            self._server.close()
        await self.drop()

    async def drop(self) -> None:
        """Hang up on everybody, as a cable that is pulled; whoever connects again is served."""
        tasks = [task for task in self._connections.values() if task is not asyncio.current_task()]
        for connection in tuple(self._connections):
            connection.hang_up()
        for task in tasks:
            if task is not None:
                task.cancel()
        await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is("vanish") or len(self._connections) >= MAX_CONNECTIONS:
            writer.close()
            return
        connection = Connection(
            reader,
            writer,
            banner=BANNER,
            open_service=self._open,
            trusts=lambda: not self._is("unauthorized"),
        )
        self._connections[connection] = asyncio.current_task()
        try:
            if self._is("offline"):
                await self._clock.sleep(FOREVER_S)
            await connection.run()
        except asyncio.CancelledError:
            pass  # dropped: asyncio would otherwise log the end of its own task
        finally:
            connection.hang_up()
            del self._connections[connection]

    def _is(self, fault: str) -> bool:
        return self._gone == fault and self._clock.now() < self._gone_until_s

    def _open(self, name: str) -> Service | None:
        """The service of this name, with the fault that is due."""
        fault = self._faults.next() if self._faults else ""
        if self.android.due_faults and not _is_truth(name):
            fault = self.android.due_faults.pop(0)
        if fault in ("vanish", "reboot_loop", "unauthorized", "offline"):
            self._gone = "vanish" if fault == "reboot_loop" else fault
            self._gone_until_s = self._clock.now() + OFFLINE_S if fault == "offline" else math.inf
            for connection in tuple(self._connections):
                connection.hang_up()
            return None
        if fault == "app_crash" and self.android.phone.system.foreground != "launcher":
            self.android.phone.push(Page("system", "crash", self.android.phone.system.foreground))
        service = service_of(self.android, name)
        delay_s = FOREVER_S if fault == "freeze" else 0.0
        if "screencap" in name and fault == "slow_drip":
            delay_s = DRIP_S
        elif "screencap" in name and fault in SCREEN_FAULTS:
            self.android.screen_fault = fault
        return service if service is None or not delay_s else lambda stream: self._delay(stream, service, delay_s)

    async def _delay(self, stream: Stream, service: Service, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await service(stream)


def _is_truth(name: str) -> bool:
    """Whether a service is the truth channel, which breaks nothing of its own."""
    return name.partition(":")[2].startswith("distrl ")

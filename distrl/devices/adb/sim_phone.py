"""Sim phones behind adb: the same phone as `devices/sim`, reached as any other through the adb server.

`SimBehindAdb` adds what only our phone offers, its ground truth, through the truth channel of its adbd. `OwnSimPhone`
also starts the phone: a process that ends with its device, or with whoever started it.
"""

import asyncio
import base64
import contextlib
import os
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping

import msgspec

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError
from distrl.core.interfaces import Plain, Setup
from distrl.devices.adb.device import AdbDevice, AdbOptions
from distrl.devices.adb.server import AdbServer
from distrl.devices.adb.typing_text import quoted

START_S = 60.0


class SimBehindAdb(AdbDevice):
    """A sim phone that adb reaches, with its ground truth."""

    def __init__(
        self, serial: str, server: AdbServer, *, clock: Clock, options: AdbOptions | None = None, name: str = ""
    ) -> None:
        # Dialogs of the system are part of its tasks, so they are shown.
        shown = msgspec.structs.replace(options or AdbOptions(), aborts_on_dialogs=False)
        super().__init__(serial, server, clock=clock, options=shown, name=name)
        self._setup = Setup()

    def arrange(self, world: Plain, *, seed: int, variations: tuple[str, ...] = ()) -> None:
        """What the next reset begins with."""
        self._setup = Setup(world=world, seed=seed, variations=variations)

    async def inspect(self, app: str) -> Plain:
        """The state of one app, as the phone itself says it."""
        state: Plain = msgspec.json.decode((await self._truth("inspect", app)).encode(), type=dict)
        return state

    async def reset(self) -> None:
        """A fresh phone as it was arranged."""
        await self._reach()
        await self._truth("arrange", base64.b64encode(msgspec.json.encode(self._setup)).decode())

    async def _wait(self) -> None:
        """Time passes on the phone, whatever it does here."""
        await self._truth("wait")

    async def _truth(self, *words: str) -> str:
        answer = await self._server.shell(self._serial, quoted("distrl", *words))
        if answer.status == 127:
            raise DeviceError(
                "no_ground_truth",
                f"{self._serial} is no phone of ours, so nobody can say whether a task is solved: let a judge look at "
                "its screen (judge.kind = 'vlm')",
            )
        if answer.status:
            said = answer.err.decode(errors="replace").strip()
            raise DeviceError("truth", f"{self._serial}: {words[0]} failed: {said[:300]}")
        return answer.out.decode(errors="replace")


class OwnSimPhone(SimBehindAdb):
    """A sim phone in a process of its own, started by the first reset and again by the first after it ended."""

    def __init__(
        self,
        name: str,
        server: AdbServer,
        *,
        clock: Clock,
        options: AdbOptions | None = None,
        scale: float = 0.25,
        faults: Mapping[str, float] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__("", server, clock=clock, options=options, name=name)
        spec = {"scale": scale, "faults": dict(faults or {}), "seed": seed, "name": name}
        self._spec = msgspec.json.encode(spec).decode()
        self._process: Process | None = None
        self.pid = 0

    async def reset(self) -> None:
        """A fresh phone as it was arranged; the process is started if there is none."""
        if self._process is None or self._process.returncode is not None:
            await self._start()
        await super().reset()

    async def close(self) -> None:
        """End the process, however it is, and let the server forget it."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        with contextlib.suppress(DeviceError):
            await self._server.ask(f"host:disconnect:{self._serial}")

    async def _start(self) -> None:
        await self.close()
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "distrl.devices.sim.adbd.process", self._spec)
        # It ends when its standard input does: with us, however we end.
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        assert self._process.stdout is not None
        self.pid = self._process.pid
        try:
            async with asyncio.timeout(START_S):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise DeviceError("boot", f"{self.name} has not started within {START_S:g} s") from error
        if not line.strip().isdigit():
            raise DeviceError("boot", f"{self.name} ended before it had started; its last words are on stderr")
        self._serial = f"127.0.0.1:{int(line)}"

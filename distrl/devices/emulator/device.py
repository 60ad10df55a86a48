"""An emulator as a `Device`: started by its first reset, restored from a snapshot by each, relaunched when it is worn.

    reset -> running, young, few loads -> load the snapshot (3 s)
          -> otherwise                 -> end it, take a slot, start, wait until Android has booted (a minute)

Whoever notices that it hangs is a deadline; the pool then resets it, and relaunches it if that does not help. Each
launch is from the original device, by a fresh clone or read-only, so that a relaunch is also a wipe.
"""

import asyncio
import contextlib
import os
import tempfile
from pathlib import Path

import msgspec

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError
from distrl.devices.adb.device import AdbDevice, AdbOptions
from distrl.devices.adb.server import AdbServer
from distrl.devices.adb.sim_phone import SimBehindAdb
from distrl.devices.emulator import avd, console
from distrl.devices.emulator.process import Running
from distrl.devices.emulator.sdk import find_sdk
from distrl.devices.emulator.slots import Record, Slot, take_slot

POLL_S = 0.25
PROBE_S = 5.0


class EmulatorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How emulators are started and restored; names as in the configuration."""

    avd: str
    system_image: str = ""
    sdk: str = ""
    instances: str = "auto"
    snapshot: str = "distrl"
    options: tuple[str, ...] = ("-no-window", "-no-audio", "-no-boot-anim", "-gpu", "swiftshader_indirect")
    first_port: int = 5554
    boot_s: float = 300.0
    load_s: float = 60.0
    max_snapshot_loads: int = 50
    relaunch_after_s: float = 14_400.0
    logs: str = ""
    is_kept: bool = False
    """Whether it goes on when we end: for `distrl devices start`, until somebody stops it."""
    state: Path | None = None
    """Where slots are written down; one place for all runs of a user if None."""


class EmulatorDevice(AdbDevice):
    """One emulator, whatever process it is at the moment."""

    def __init__(
        self,
        name: str,
        server: AdbServer,
        emulator: EmulatorOptions,
        *,
        clock: Clock,
        options: AdbOptions | None = None,
    ) -> None:
        super().__init__("", server, clock=clock, options=options, name=name)
        self._emulator = emulator
        self._running: Running | None = None
        self._slot: Slot | None = None
        self._clone = ""
        self._born_s = 0.0
        self._has_snapshot = False
        self.num_launches = 0
        self.num_loads = 0
        """Snapshots loaded since the last launch."""

    @property
    def pid(self) -> int:
        """Of the process; 0 while there is none."""
        return self._running.pid if self._running is not None else 0

    async def reset(self) -> None:
        """Back to the snapshot, or a new start; then as any device."""
        if self._is_worn():
            await self._launch()
        else:
            if self._has_snapshot:
                self.num_loads += 1
                await self._ask(f"avd snapshot load {self._emulator.snapshot}")
            await self._until_booted(self._emulator.load_s)
        await super().reset()

    async def close(self) -> None:
        """End the process and give everything back."""
        if self._running is not None:
            await self._running.end()
            self._running = None
        if self._clone:
            avd.remove_avd(avd.avd_home(), self._clone)
            self._clone = ""
        if self._slot is not None:
            self._slot.release()
            self._slot = None

    def leave(self) -> None:
        """Let it run on without us: it was started to be kept."""
        if self._slot is not None and self._emulator.is_kept:
            self._slot.leave()
            self._slot = None

    # ---- inside

    def _is_worn(self) -> bool:
        """Whether there is none, or it has had its time: emulators die of too many loads, and leak."""
        if self._running is None or not self._running.is_alive:
            return True
        age_s = self._clock.now() - self._born_s
        return self.num_loads >= self._emulator.max_snapshot_loads or age_s >= self._emulator.relaunch_after_s

    async def _launch(self) -> None:
        """A new process; from its snapshot if there is one, cold if that does not start."""
        await self.close()
        await self._server.ensure()
        home, emulator = avd.avd_home(), self._emulator
        sdk = find_sdk(emulator.sdk)
        await avd.ensure_avd(sdk, home, emulator.avd, emulator.system_image)
        self._slot = take_slot(emulator.first_port, folder=emulator.state)
        self._serial = f"emulator-{self._slot.port}"
        words = await self._instance_words(home)
        folder = avd.folder_of(home, self._clone or emulator.avd)
        try:
            if not self._clone and emulator.snapshot:
                await self._prepare([str(sdk.emulator), "-avd", emulator.avd], home, folder)
            has_one = avd.has_snapshot(folder, emulator.snapshot)
            for is_warm in (True, False) if has_one else (False,):
                begin = ["-snapshot", emulator.snapshot, "-no-snapshot-save"] if is_warm else ["-no-snapshot"]
                command = [str(sdk.emulator), *words, "-port", str(self._slot.port), *begin, *emulator.options]
                try:
                    await self._boot(command, home)
                except DeviceError:
                    if not is_warm:
                        raise
                else:
                    break
        except BaseException:
            await self.close()
            raise
        self.num_launches += 1
        self.num_loads = 0
        self._born_s = self._clock.now()
        self._has_snapshot = has_one or await self._save()

    async def _prepare(self, command: list[str], home: Path, folder: Path) -> None:
        """Instances that only read cannot save: the original is started once to save what all of them load."""
        emulator = self._emulator
        assert self._slot is not None
        async with avd.locked(home, emulator.avd, self._clock):
            if avd.has_snapshot(folder, emulator.snapshot):
                return
            others = avd.locks_of(folder)
            command = [*command, "-port", str(self._slot.port), "-no-snapshot", *emulator.options]
            try:
                await self._boot(command, home, is_writer=True)
                await self._save()
            finally:  # or one that did not boot would keep all that come after it from starting
                if self._running is not None:
                    await self._running.end()
                avd.sweep_locks(folder, keep=others)

    async def _instance_words(self, home: Path) -> list[str]:
        """Which virtual device: a clone of its own, or the original for reading only."""
        emulator = self._emulator
        assert self._slot is not None
        clone = f"{emulator.avd}-distrl-{self._slot.port}"
        if emulator.instances != "read-only" and await avd.clone_avd(home, emulator.avd, clone):
            self._clone = clone
            return ["-avd", clone]
        if emulator.instances == "clone":
            raise DeviceError(
                "no_clone", f"the file system of {home} cannot clone (btrfs and xfs can): set instances = 'read-only'"
            )
        return ["-avd", emulator.avd, "-read-only"]

    async def _boot(self, command: list[str], home: Path, *, is_writer: bool = False) -> None:
        """Start the process and wait until Android has; the error has the end of its log."""
        emulator, slot = self._emulator, self._slot
        assert slot is not None
        logs = Path(emulator.logs) if emulator.logs else Path(tempfile.gettempdir()) / f"distrl-emulators-{os.getuid()}"
        log = logs / f"{emulator.avd}-{slot.port}.log"
        if self._running is not None:
            await self._running.end()
        environment = {**os.environ, "ANDROID_ADB_SERVER_PORT": str(self._server.port)}
        self._running = running = await Running.start(
            command, log, environment=environment, outlives_us=emulator.is_kept
        )
        slot.note(
            Record(
                port=slot.port,
                pid=running.pid,
                started=running.started,
                avd=emulator.avd,
                clone=self._clone,
                home=str(home),
                log=str(log),
                is_kept=emulator.is_kept,
                is_writer=is_writer,
            )
        )
        await self._until_booted(emulator.boot_s)

    async def _until_booted(self, limit_s: float) -> None:
        """Until Android answers; an error with the end of the log if it does not come to that."""
        running = self._running
        assert running is not None
        give_up_s = self._clock.now() + limit_s
        while not await self._has_booted():
            if not running.is_alive:
                why = f"ended with status {running.returncode} before Android had started"
            elif self._clock.now() >= give_up_s:
                why = f"has not started within {limit_s:g} s"
            else:
                await self._clock.sleep(POLL_S)
                continue
            name = f"{self._serial} ({self._emulator.avd})"
            raise DeviceError("boot", f"{name} {why}; the end of {running.log}:\n{running.tail()}")

    async def _has_booted(self) -> bool:
        """Whether it says so; one that does not answer yet has not."""
        try:
            async with asyncio.timeout(PROBE_S):
                answer = await self._server.shell(self._serial, "getprop sys.boot_completed")
        except (DeviceError, TimeoutError):
            await self._announce()
            return False
        return answer.out.strip() == b"1"

    async def _announce(self) -> None:
        """The adb server may be another one than when this emulator started, and know nothing of it."""
        assert self._slot is not None
        with contextlib.suppress(DeviceError):
            await self._server.ensure()
            await self._server.announce(self._slot.port + 1)

    async def _save(self) -> bool:
        """Keep this moment for later resets; an instance that cannot (read-only) is reset by recipe."""
        if not self._emulator.snapshot:
            return False
        try:
            await self._ask(f"avd snapshot save {self._emulator.snapshot}")
        except DeviceError as error:
            if error.cause != "console":
                raise
            return False
        return True

    async def _ask(self, command: str) -> str:
        assert self._slot is not None
        return await console.ask(self._slot.port, command, deadline_s=self._emulator.load_s, token=console.token_of())


class SimEmulator(EmulatorDevice, SimBehindAdb):
    """The same for an `emulator` that is a sim phone, such as that of the tests: with ground truth."""

    async def close(self) -> None:
        """As any emulator; and the server forgets it at once."""
        await super().close()
        if self._serial:
            with contextlib.suppress(DeviceError):
                await self._server.ask(f"host:disconnect:{self._serial}")

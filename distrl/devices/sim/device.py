"""The built-in phone as a `Device`: the phone, its reaction times and its faults, on an injected clock.

Actions in, observations out; every failure is a `DeviceError` whose cause names the fault. A waiting phone is a timer
on the event loop and costs nothing else.
"""

import math

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError
from distrl.core.interfaces import Plain
from distrl.core.types import Action, Finish, Invalid, Observation, Screen
from distrl.devices.sim.faults import SCREEN_FAULTS, Faults
from distrl.devices.sim.latency import Latency
from distrl.devices.sim.phone import Phone
from distrl.devices.sim.state import Page
from distrl.devices.sim.variations import check_names

OFFLINE_S = 30.0
DRIP_S = 60.0
FOREVER_S = 10.0**7


class SimDevice:
    """A simulated phone that takes its time and sometimes fails."""

    def __init__(self, name: str, phone: Phone, *, clock: Clock, latency: Latency, faults: Faults) -> None:
        self._name = name
        self.phone = phone
        self._clock = clock
        self._latency = latency
        self._faults = faults
        self._start = phone.snapshot()
        self._is_booted = False
        self._gone = ""
        self._gone_until_s = 0.0
        self._failing_resets = 0

    @property
    def name(self) -> str:
        """Unique among the devices of a run."""
        return self._name

    def arrange(self, world: Plain, *, seed: int, variations: tuple[str, ...] = ()) -> None:
        """Make this the start state: a fresh phone of this seed with these fields set."""
        check_names(variations)
        self.phone.wipe(seed=seed, variation_names=variations)
        self.phone.arrange(world)
        self._start = self.phone.snapshot()

    async def inspect(self, app: str) -> Plain:
        """The state of one app as plain data."""
        return self.phone.inspect(app)

    async def reset(self) -> None:
        """Back to the start state; heals what a reset can heal."""
        await self._clock.sleep(self._latency.sample("reset" if self._is_booted else "boot"))
        self._is_booted = True
        if self._failing_resets:
            self._failing_resets -= 1
            raise DeviceError("reboot_loop", f"{self._name} restarted before it was ready")
        self._gone = ""
        self.phone.restore(self._start)

    async def observe(self) -> Observation:
        """What the screen shows now."""
        fault = await self._operate("observe")
        if fault == "slow_drip":
            await self._clock.sleep(DRIP_S)
        phone = self.phone
        width, height = phone.size
        return Observation(
            screen=_spoil(Screen(data=phone.render(), width=width, height=height), fault),
            activity=phone.activity,
            time_s=self._clock.now(),
            elements=phone.candidates(),
            ui_tree=phone.elements(),
        )

    async def perform(self, action: Action) -> None:
        """Do it; `Finish` and `Invalid` touch nothing."""
        if isinstance(action, Finish | Invalid):
            return
        fault = await self._operate("perform")
        if fault == "app_crash" and self.phone.system.foreground != "launcher":
            self.phone.push(Page("system", "crash", self.phone.system.foreground))
        self.phone.perform(action)

    async def close(self) -> None:
        """Nothing is held."""

    async def _operate(self, operation: str) -> str:
        """Take the time an operation takes, and fail if it is to fail; returns a fault that spoils the result."""
        fault = self._faults.next()
        if fault in ("vanish", "unauthorized", "freeze"):
            self._gone, self._gone_until_s = fault, math.inf
        elif fault == "offline":
            self._gone, self._gone_until_s = fault, self._clock.now() + OFFLINE_S
        elif fault == "reboot_loop":
            self._failing_resets = 2
            self._gone, self._gone_until_s = "vanish", math.inf
        if self._gone and self._clock.now() < self._gone_until_s:
            if self._gone == "freeze":
                # Nobody answers until a reset: whoever asked must have a deadline.
                await self._clock.sleep(FOREVER_S)
            raise DeviceError(self._gone, f"{self._name} is {self._gone.replace('vanish', 'gone')}")
        await self._clock.sleep(self._latency.sample(operation))
        return fault if (fault in SCREEN_FAULTS) == (operation == "observe") else ""


def _spoil(screen: Screen, fault: str) -> Screen:
    """A screenshot as a broken device sends it."""
    if fault == "black_screen":
        data = bytes(len(screen.data))
    elif fault == "truncated_screen":
        data = screen.data[: len(screen.data) // 3]
    elif fault == "corrupt_screen":
        return Screen(
            data=b"\x89PNG\r\n\x1a\n" + screen.data[:200], width=screen.width, height=screen.height, encoding="png"
        )
    else:
        return screen
    return Screen(data=data, width=screen.width, height=screen.height)

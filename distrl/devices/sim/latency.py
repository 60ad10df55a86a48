"""How long a phone takes: profiles of real devices, sampled per device and seed.

An operation's name goes in, seconds come out. Times are log-normal around a median, scaled by how fast this device is,
and a small share of operations is late by tens of seconds, as on real emulators.
"""

import math
from random import Random

import msgspec
from msgspec.structs import replace

from distrl.core.errors import UnknownNameError


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Median seconds of each operation, the spread of devices and operations, and the tail."""

    perform_s: float = 0.0
    observe_s: float = 0.0
    reset_s: float = 0.0
    boot_s: float = 0.0
    spread: float = 0.0
    device_spread: float = 0.0
    late_share: float = 0.0
    late_s: tuple[float, float] = (0.0, 0.0)
    speeds: tuple[float, ...] = (1.0,)
    """How fast the devices of a fleet are, in turn."""


_EMULATOR = Profile(perform_s=2.2, observe_s=2.2, reset_s=3.0, boot_s=25.0, spread=0.25)
PROFILES = {
    "instant": Profile(),
    "emulator": replace(_EMULATOR, device_spread=0.15, late_share=0.005, late_s=(20.0, 60.0)),
    "slow-emulator": Profile(
        perform_s=4.5,
        observe_s=4.5,
        reset_s=6.0,
        boot_s=60.0,
        spread=0.35,
        device_spread=0.3,
        late_share=0.01,
        late_s=(20.0, 60.0),
    ),
    "phone": Profile(
        perform_s=0.5,
        observe_s=0.7,
        reset_s=8.0,
        boot_s=40.0,
        spread=0.2,
        device_spread=0.2,
        late_share=0.002,
        late_s=(5.0, 20.0),
    ),
    # Fleets to measure with. A step is two operations, so half of the share of late steps is that of late operations.
    "even": _EMULATOR,
    "lab": replace(_EMULATOR, late_share=0.005, late_s=(20.0, 60.0), speeds=(0.5, 1.0, 1.0, 2.0)),
    "rough": replace(_EMULATOR, late_share=0.01, late_s=(20.0, 60.0), speeds=(0.5, 1.0, 2.0, 4.0)),
}


class Latency:
    """The reaction times of one device, number so-and-so of its fleet."""

    def __init__(self, profile: str, rng: Random, number: int = 0) -> None:
        if profile not in PROFILES:
            raise UnknownNameError("latency profile", profile, PROFILES)
        self._profile = PROFILES[profile]
        self._rng = rng
        speed = self._profile.speeds[number % len(self._profile.speeds)]
        self._pace = math.exp(rng.gauss(0.0, self._profile.device_spread)) / speed

    def sample(self, operation: str) -> float:
        """Seconds that this `perform`, `observe`, `reset` or `boot` takes."""
        profile = self._profile
        median: float = getattr(profile, f"{operation}_s")
        if median == 0.0:
            return 0.0
        seconds = median * self._pace * math.exp(self._rng.gauss(0.0, profile.spread))
        if self._rng.random() < profile.late_share:
            seconds += self._rng.uniform(*profile.late_s)
        return seconds

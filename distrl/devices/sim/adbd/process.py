"""A sim phone as a process: `python -m distrl.devices.sim.adbd.process JSON`, its port on stdout.

The JSON has `scale`, `seed`, `faults` (odds by name), `name` and `port`, all optional. It listens on loopback and ends
when its standard input does, so that it never outlives whoever started it, unless `is_kept` says so.
"""

import asyncio
import sys
from random import Random

import msgspec

from distrl.core.seeds import derive_random
from distrl.devices.sim.adbd.server import Adbd
from distrl.devices.sim.apps import builtin_apps
from distrl.devices.sim.faults import Faults
from distrl.devices.sim.phone import Phone


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What phone it is."""

    scale: float = 0.25
    seed: int = 0
    faults: dict[str, float] = {}
    name: str = "distrl"
    port: int = 0
    is_kept: bool = False


def make_adbd(spec: Spec) -> Adbd:
    """The phone, not listening yet."""
    rng: Random = derive_random(spec.seed, spec.name, "faults")
    faults = Faults(spec.faults, rng) if spec.faults else None
    return Adbd(Phone(builtin_apps(), seed=spec.seed, scale=spec.scale), serial=spec.name, faults=faults)


async def serve(spec: Spec) -> None:
    """Until standard input ends."""
    adbd = make_adbd(spec)
    port = await adbd.start(spec.port)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    if not spec.is_kept:
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
    try:
        await ended.wait()
    finally:
        await adbd.close()


if __name__ == "__main__":
    asyncio.run(serve(msgspec.json.decode(sys.argv[1] if len(sys.argv) > 1 else "{}", type=Spec)))

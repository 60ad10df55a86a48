"""What the way through adb costs. Run: python benchmarks/adb.py [--quick] [--json]

A step is a tap and a fresh, checked screenshot at 360 x 800. It is timed on the sim directly, through the real adb
server with our device (raw, and as the device does fastest), and through the adb tool started anew for each call. Phone
and device share one process and one core; the adb server is a process of its own, private to the benchmark, and ended
with it. A whole step is what training does: tap, screenshot, ui tree, activity, and the state that the rule looks at.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import socket
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Literal

from distrl.core.clock import LoopClock
from distrl.core.config import config_of
from distrl.core.types import Tap
from distrl.devices.adb.device import AdbDevice, AdbOptions
from distrl.devices.adb.screenshot import Encoding
from distrl.devices.adb.server import AdbServer, find_adb
from distrl.devices.adb.sim_phone import OwnSimPhone, SimBehindAdb
from distrl.devices.sim.adbd.server import Adbd
from distrl.devices.sim.device import SimDevice
from distrl.runtime.build import make_phone, make_sim_device

SCALE = 1 / 3
WARM_STEPS = 20


async def timed(step: Callable[[Tap], Awaitable[None]], seconds: float, port: int = 0) -> dict[str, float]:
    """Steps per second of the clock, and processor time for each: of this process, the tools and phones that it starts,
    and of the adb server at a port."""
    rng = Random(0)
    for _ in range(WARM_STEPS):
        await step(_tap(rng))
    began, began_cpu, steps = time.perf_counter(), _cpu_s(port), 0
    while time.perf_counter() - began < seconds:
        await step(_tap(rng))
        steps += 1
    took = time.perf_counter() - began
    spent = _cpu_s(port) - began_cpu
    return {"steps_per_s": steps / took, "step_ms": took / steps * 1e3, "cpu_ms": spent / steps * 1e3}


def _tap(rng: Random) -> Tap:
    return Tap(x=rng.random(), y=rng.random())


def _cpu_s(port: int) -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + sum(_others_s(port))


def _others_s(port: int) -> Iterator[float]:
    """Processor time of the adb server, and of phones that run: the system counts those as children when they end."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            is_server = f"tcp:{port}\0".encode() in command
            if is_server or (b"adbd.process" in command and int(fields[1]) == os.getpid()):
                yield (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def directly(seconds: float) -> dict[str, float]:
    """On the sim, without anything between."""
    phone = make_phone(scale=SCALE)

    async def step(tap: Tap) -> None:
        phone.perform(tap)
        phone.render()

    return await timed(step, seconds)


async def whole_steps(seconds: float, device: SimDevice | SimBehindAdb, port: int = 0) -> dict[str, float]:
    """What an environment does for a step: act, look, judge."""
    device.arrange({}, seed=0)
    await device.reset()

    async def step(tap: Tap) -> None:
        await device.perform(tap)
        await device.observe()
        await device.inspect("clock")

    return await timed(step, seconds, port)


async def whole_steps_through_server(seconds: float, port: int) -> dict[str, float]:
    """The same with the phone in a process of its own, as `devices.starts_sim_phones` has it."""
    options = AdbOptions(settle_s=0.0, screenshot="raw")
    device = OwnSimPhone("sim-0", AdbServer(port=port), clock=LoopClock(), options=options, scale=SCALE)
    try:
        return await whole_steps(seconds, device, port)
    finally:
        await device.close()


async def through_server(seconds: float, port: int, encoding: Encoding | Literal["auto"]) -> dict[str, float]:
    """With our device, through the adb server."""
    adbd = Adbd(make_phone(scale=SCALE))
    serial = f"127.0.0.1:{await adbd.start()}"
    server = AdbServer(port=port)
    await server.connect(serial)
    device = AdbDevice(serial, server, clock=LoopClock(), options=AdbOptions(settle_s=0.0, screenshot=encoding))

    async def step(tap: Tap) -> None:
        await device.perform(tap)
        await device.screenshot()

    try:
        return await timed(step, seconds, port)
    finally:
        await adbd.close()


async def through_tool(seconds: float, port: int) -> dict[str, float]:
    """With a process of the adb tool for each call, as scripts do it."""
    adbd = Adbd(make_phone(scale=SCALE))
    serial = f"127.0.0.1:{await adbd.start()}"
    await AdbServer(port=port).connect(serial)
    width, height = adbd.android.size

    async def call(*arguments: str) -> bytes:
        command = (str(find_adb()), "-P", str(port), "-s", serial, *arguments)
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0]

    async def step(tap: Tap) -> None:
        await call("shell", "input", "tap", str(int(tap.x * width)), str(int(tap.y * height)))
        await call("exec-out", "screencap")

    try:
        return await timed(step, seconds, port)
    finally:
        await adbd.close()


async def measure(seconds: float) -> dict[str, dict[str, float]]:
    """All three ways, one after the other, with a private server for the two that need one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    near = make_sim_device(config_of({"phone": {"scale": SCALE}}))
    found = {"sim": await directly(seconds), "sim, whole step": await whole_steps(seconds, near)}
    with tempfile.TemporaryDirectory() as home:
        own = {**os.environ, "HOME": home, "ANDROID_USER_HOME": home, "TMPDIR": home}
        command = [str(find_adb()), "-P", str(port)]
        subprocess.run([*command, "start-server"], env=own, check=True, capture_output=True)
        try:
            found["adb server, raw"] = await through_server(seconds, port, "raw")
            found["adb server, fastest"] = await through_server(seconds, port, "auto")
            found["adb, whole step"] = await whole_steps_through_server(seconds, port)
            found["adb tool"] = await through_tool(seconds, port)
        finally:
            subprocess.run([*command, "kill-server"], env=own, check=False, capture_output=True)
    return found


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description="What the way through adb costs.")
    parser.add_argument("--quick", action="store_true", help="two seconds each instead of ten")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = asyncio.run(measure(2.0 if options.quick else 10.0))
    load = os.getloadavg()[0]
    if options.json:
        print(json.dumps({**found, "load": load}))
        return
    print(f"{'way':20} {'steps/s':>9} {'ms a step':>10} {'ms of processor':>16}")
    for way, figures in found.items():
        print(f"{way:20} {figures['steps_per_s']:9.0f} {figures['step_ms']:10.2f} {figures['cpu_ms']:16.2f}")
    print(f"load of the machine: {load:.1f} on {os.cpu_count()} cores; processor time is of all processes together")


if __name__ == "__main__":
    main()

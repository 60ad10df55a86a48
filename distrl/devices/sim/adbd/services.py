"""The services of the phone: a name such as `shell,v2:input tap 5 5` in, a function that serves its stream out."""

import struct

from distrl.devices.sim.adbd.android import Android, Result, complain
from distrl.devices.sim.adbd.connection import Service, Stream
from distrl.devices.sim.adbd.shell import run_line
from distrl.devices.sim.adbd.sync import serve_sync

STDOUT, STDERR, EXIT = 1, 2, 3
NO_TERMINAL = "this phone has no interactive shell: give the command, as in adb shell getprop\n"


def service_of(android: Android, name: str) -> Service | None:
    """What serves this name, if anything does."""
    if name == "sync:":
        return lambda stream: serve_sync(stream, android.files)
    kind, _, line = name.partition(":")
    if kind == "exec":
        return lambda stream: _serve_plain(stream, android, line)
    if kind.split(",")[0] == "shell":
        is_v2 = "v2" in kind.split(",")[1:]
        return lambda stream: _serve_v2(stream, android, line) if is_v2 else _serve_plain(stream, android, line)
    return None


def run(android: Android, line: str, *, is_merged: bool = False) -> Result:
    """Run a line; an app that fails is a failed command, and the phone goes on."""
    if not line:
        return complain(NO_TERMINAL)
    try:
        return run_line(android, line, is_merged=is_merged)
    except Exception as error:  # an app of one's own may fail in any way: this stream says so, others go on
        return complain(f"Exception occurred: {type(error).__name__}: {error}\n", status=255)


async def _serve_plain(stream: Stream, android: Android, line: str) -> None:
    """Everything that is said as plain bytes, never with a carriage return."""
    result = run(android, line, is_merged=True)
    await stream.write(result.out + result.err)
    if result.tail is not None:
        async for piece in result.tail:
            await stream.write(piece)


async def _serve_v2(stream: Stream, android: Android, line: str) -> None:
    """Output, errors and the exit status, each in packets of its own."""
    result = run(android, line)
    said = _packet(STDOUT, result.out) if result.out else b""
    said += _packet(STDERR, result.err) if result.err else b""
    if result.tail is not None:
        await stream.write(said)
        async for piece in result.tail:
            await stream.write(_packet(STDOUT, piece))
    await stream.write(said + _packet(EXIT, bytes([result.status & 0xFF])))


def _packet(kind: int, data: bytes) -> bytes:
    return struct.pack("<BI", kind, len(data)) + data

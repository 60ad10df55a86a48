"""The adb server as a conversation: requests such as `host:devices` in, bytes out, every failure a `DeviceError`.

The server is a process that all adb tools of a machine share. It is started if nobody listens (with the adb that is
found), and never stopped or replaced: a server of another version may be serving somebody else.
"""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import struct
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec

from distrl.core.errors import DeviceError

DEFAULT_PORT = 5037
MAX_ANSWER = 64 << 20
"""More than any screenshot; what goes on for longer is no answer."""
_ELSEWHERE = "if it is none, set ANDROID_ADB_SERVER_PORT to another port"
_STDOUT, _STDERR, _EXIT = 1, 2, 3
_PACKET = struct.Struct("<BI")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a command on a device said."""

    out: bytes
    err: bytes = b""
    status: int = 0


def find_adb(environment: Mapping[str, str] = os.environ) -> Path:
    """The adb tool: on the PATH, in the Android SDK, or in the adbutils package."""
    found = shutil.which("adb", path=environment.get("PATH", ""))
    if found:
        return Path(found)
    for variable in ("ANDROID_HOME", "ANDROID_SDK_ROOT"):
        path = Path(environment.get(variable, "")) / "platform-tools" / "adb"
        if environment.get(variable) and path.is_file():
            return path
    spec = importlib.util.find_spec("adbutils")
    path = Path(spec.origin).parent / "binaries" / "adb" if spec and spec.origin else Path()
    if path.is_file():
        return path
    raise DeviceError(
        "no_adb",
        "adb was not found on the PATH, in ANDROID_HOME/platform-tools or in the adbutils package: "
        "install Android's platform tools, or pip install 'distrl[adb]'",
    )


def port_of(environment: Mapping[str, str] = os.environ) -> int:
    """The server's port: ANDROID_ADB_SERVER_PORT, or adb's own."""
    text = environment.get("ANDROID_ADB_SERVER_PORT", "")
    if not text:
        return DEFAULT_PORT
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise DeviceError("adb_server", f"ANDROID_ADB_SERVER_PORT is {text!r}, which is no port")
    return int(text)


class AdbServer:
    """One adb server. Each call is a connection of its own and has `deadline_s` to end."""

    def __init__(self, *, port: int | None = None, deadline_s: float = 20.0) -> None:
        self.port = port_of() if port is None else port
        self.deadline_s = deadline_s

    async def ensure(self) -> None:
        """Start a server if nobody listens; whoever does is left as it is, whatever its version, and however it is."""
        try:
            await self.ask("host:version")
        except DeviceError as error:
            if error.cause != "adb_server" or await self._is_taken():
                raise
        else:
            return
        # Never while one listens: an adb of another version would kill it.
        command = (str(find_adb()), "-P", str(self.port), "start-server")
        quiet = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*command, stdin=quiet, stdout=quiet, stderr=quiet)
        try:
            async with asyncio.timeout(self.deadline_s):
                await process.wait()
        except TimeoutError as error:
            process.kill()
            raise DeviceError("adb_server", f"{' '.join(command)} did not end; run it by hand and see why") from error
        await self.ask("host:version")

    async def _is_taken(self) -> bool:
        """Whether anybody listens at all."""
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

    async def connect(self, address: str) -> None:
        """Have the server connect to a device at host:port; fine if it is connected already.

        A connection that broke is "already connected" to the server, which tries again by itself only every ten
        seconds: it is given up and made anew.
        """
        await self._connect_to(address)
        if not await self._is_usable(address):
            await self.ask(f"host:disconnect:{address}")
            await self._connect_to(address)

    async def _connect_to(self, address: str) -> None:
        said = await self.ask(f"host:connect:{address}")
        if "authenticate" in said:
            raise failure(f"device unauthorized: {said}")
        if "connected to" not in said:
            raise DeviceError("vanish", f"{said}: is it switched on, and does it listen there?")

    async def _is_usable(self, address: str) -> bool:
        try:
            return await self.ask(f"host-serial:{address}:get-state") == "device"
        except DeviceError as error:
            if error.cause not in ("offline", "vanish"):
                raise
            return False

    async def announce(self, port: int) -> None:
        """Tell the server of an emulator whose adbd listens there, as the emulator itself does once, when it starts.

        A server that was started since knows only those at its usual ports. It does not answer, so nothing is read.
        """
        request = f"host:emulator:{port}"
        async with self._deadline(request), self._connect() as (_, writer):
            writer.write(f"{len(request):04x}{request}".encode())
            await writer.drain()

    async def ask(self, request: str) -> str:
        """A question to the server itself, such as `host:devices-l`."""
        async with self._deadline(request), self._connect() as (reader, writer):
            await _request(reader, writer, request)
            return (await _sized(reader)).decode(errors="replace")

    async def shell(self, serial: str, line: str) -> Answer:
        """Run a line in the device's shell; whoever makes the line has quoted what it did not write itself."""
        parts = {_STDOUT: bytearray(), _STDERR: bytearray(), _EXIT: bytearray()}
        async with self._open(serial, f"shell,v2,raw:{line}") as reader:
            while not parts[_EXIT]:
                kind, length = _PACKET.unpack(await reader.readexactly(_PACKET.size))
                if kind not in parts or length > MAX_ANSWER:
                    raise DeviceError("bad_answer", f"{serial} sends what is no shell packet")
                parts[kind] += await reader.readexactly(length)
        return Answer(out=bytes(parts[_STDOUT]), err=bytes(parts[_STDERR]), status=parts[_EXIT][0])

    async def exec_out(self, serial: str, line: str) -> bytes:
        """The plain bytes that a line says; a device that hangs up early cannot be told from one that is done."""
        data = bytearray()
        async with self._open(serial, f"exec:{line}") as reader:
            while piece := await reader.read(1 << 18):
                data += piece
                if len(data) > MAX_ANSWER:
                    raise DeviceError("bad_answer", f"{serial} does not stop talking")
            if not data:
                raise await self._why_hung_up(serial)
        return bytes(data)

    @contextlib.asynccontextmanager
    async def _open(self, serial: str, service: str) -> AsyncIterator[asyncio.StreamReader]:
        """A service of a device; when it hangs up, the error says who is gone."""
        async with self._deadline(f"{serial}: {service[:80]}"), self._connect() as (reader, writer):
            try:
                await _request(reader, writer, f"host:transport:{serial}")
                await _request(reader, writer, service)
                yield reader
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                raise await self._why_hung_up(serial) from error

    async def _why_hung_up(self, serial: str) -> DeviceError:
        """Who is gone: the server, or only the device."""
        async with self._connect() as (reader, writer):
            await _request(reader, writer, "host:version")
        return DeviceError("vanish", f"{serial} hung up in the middle of an answer: is its cable or emulator well?")

    @contextlib.asynccontextmanager
    async def _connect(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        except OSError as error:
            raise _no_server(self.port) from error
        try:
            yield reader, writer
        except asyncio.IncompleteReadError as error:
            raise DeviceError("adb_server", f"the adb server at 127.0.0.1:{self.port} hung up: {_ELSEWHERE}") from error
        except OSError as error:
            raise _no_server(self.port) from error
        finally:
            writer.close()

    @contextlib.asynccontextmanager
    async def _deadline(self, what: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.deadline_s):
                yield
        except TimeoutError as error:
            raise DeviceError("deadline", f"no answer within {self.deadline_s:g} s to {what!r}") from error


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: str) -> None:
    data = request.encode()
    if len(data) > 0xFFFF:
        raise DeviceError("too_long", f"a request of {len(data)} bytes; adb takes at most 65535")
    writer.write(f"{len(data):04x}".encode() + data)
    status = await reader.readexactly(4)
    if status == b"FAIL":
        raise failure((await _sized(reader)).decode(errors="replace"))
    if status != b"OKAY":
        raise DeviceError("adb_server", f"what listens there is no adb server, it says {status!r}: {_ELSEWHERE}")


async def _sized(reader: asyncio.StreamReader) -> bytes:
    digits = await reader.readexactly(4)
    try:
        return await reader.readexactly(int(digits, 16))
    except ValueError as error:
        raise DeviceError(
            "adb_server", f"what listens there is no adb server, it says {digits!r}: {_ELSEWHERE}"
        ) from error


def _no_server(port: int) -> DeviceError:
    return DeviceError(
        "adb_server",
        f"no adb server answers at 127.0.0.1:{port}: start it with adb -P {port} start-server, "
        "or set ANDROID_ADB_SERVER_PORT to the port of yours",
    )


def failure(reason: str) -> DeviceError:
    """What the server refused with, as a cause and what to do about it."""
    low = reason.lower()
    if "unauthorized" in low or "authorizing" in low:
        advice = "unlock the phone and allow USB debugging for this computer"
        return DeviceError("unauthorized", f"{reason.splitlines()[0]}: {advice}")
    if "offline" in low or "connecting" in low:
        return DeviceError("offline", f"{reason}: wait, or plug it in again; adb reconnect offline may help")
    if "more than one" in low:
        return DeviceError("duplicate_serial", f"{reason}: say which with ANDROID_SERIAL; two must not share a serial")
    if low == "closed":
        return DeviceError("vanish", "the device hung up: it is gone, or older than Android 7, which is needed")
    if "not found" in low or "no devices" in low or "no such device" in low:
        return DeviceError("vanish", f"{reason}: is it plugged in and switched on? adb devices lists what is there")
    return DeviceError("adb", f"adb says: {reason or 'nothing'}")

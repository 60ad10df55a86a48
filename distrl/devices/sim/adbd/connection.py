"""One adb server that has connected: packets in, streams to services out, many at once.

Each stream is a task that runs a service. A stream may write again once its last piece was acknowledged, and is
acknowledged in turn while it keeps up reading. A peer that breaks the rules is hung up on; nothing it sends can reach
beyond its own connection.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from distrl.devices.sim.adbd.packets import MAX_PAYLOAD, VERSION, BadPacketError, Command, Decoder, Packet, encode

MAX_STREAMS = 64
MAX_UNREAD = 1 << 18
READ_BYTES = 1 << 16
TOKEN = bytes(20)


class HungUpError(Exception):
    """The other side of a stream is gone."""


class Stream:
    """One service in use. Numbers are ours and theirs, as in the packets."""

    def __init__(self, connection: "Connection", local: int, remote: int) -> None:
        self.local, self.remote = local, remote
        self._connection = connection
        self._unread = bytearray()
        self._arrived = asyncio.Event()
        self._may_write = asyncio.Event()
        self._owes_okay = False

    async def write(self, data: bytes) -> None:
        """Send everything, in pieces that the peer takes."""
        size = self._connection.max_payload
        for start in range(0, len(data), size):
            await self._may_write.wait()
            self._may_write.clear()
            await self._connection.send("WRTE", self.local, self.remote, data[start : start + size])

    async def exactly(self, count: int) -> bytes:
        """The next so many bytes."""
        while len(self._unread) < count:
            self._arrived.clear()
            await self._acknowledge()
            await self._arrived.wait()
        data = bytes(self._unread[:count])
        del self._unread[:count]
        return data

    async def take(self, data: bytes) -> None:
        """Bytes have arrived: acknowledged at once, unless too many are unread."""
        if self._owes_okay:
            raise BadPacketError("a stream that did not wait for its acknowledgement")
        self._unread += data
        self._owes_okay = True
        self._arrived.set()
        if len(self._unread) < MAX_UNREAD:
            await self._acknowledge()

    async def _acknowledge(self) -> None:
        if self._owes_okay:
            self._owes_okay = False
            await self._connection.send("OKAY", self.local, self.remote)

    def allow_write(self) -> None:
        """Our last piece was taken."""
        self._may_write.set()


Service = Callable[[Stream], Awaitable[None]]
OpenService = Callable[[str], Service | None]


class Connection:
    """Reads packets until the peer is gone or breaks the rules."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        banner: str,
        open_service: OpenService,
        trusts: Callable[[], bool],
    ) -> None:
        self._reader, self._writer = reader, writer
        self._banner = banner
        self._open_service = open_service
        self._trusts = trusts
        self._decoder = Decoder()
        self._streams: dict[int, Stream] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._next = 1
        self._is_connected = False
        self.max_payload = 4096

    async def run(self) -> None:
        """Until the end of the connection, whoever ends it; every service in use ends with it."""
        try:
            while data := await self._reader.read(READ_BYTES):
                for packet in self._decoder.feed(data):
                    await self._handle(packet)
        except (BadPacketError, HungUpError, OSError):
            pass  # as in Android: the connection is closed, and the next one starts afresh
        finally:
            tasks = tuple(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.hang_up()

    def hang_up(self) -> None:
        """End it from our side."""
        self._writer.close()

    async def send(self, command: Command, arg0: int, arg1: int, payload: bytes = b"") -> None:
        """One packet; `HungUpError` if nobody is there."""
        packet = Packet(command=command, arg0=arg0, arg1=arg1, payload=payload)
        if self._writer.is_closing():
            raise HungUpError
        self._writer.write(encode(packet, has_sum=self._decoder.checks_sums))
        try:
            await self._writer.drain()
        except OSError as error:
            raise HungUpError from error

    async def _handle(self, packet: Packet) -> None:
        if packet.command in ("CNXN", "AUTH"):
            await self._connect(packet)
        elif not self._is_connected:
            raise BadPacketError(f"{packet.command} before CNXN")
        elif packet.command == "OPEN":
            await self._open(packet)
        else:
            await self._pass_on(packet)

    async def _connect(self, packet: Packet) -> None:
        if not self._trusts():
            # Whatever it signs, nobody presses "Allow" on this phone: adb calls that unauthorized.
            await self.send("AUTH", 1, 0, TOKEN)
            return
        if packet.command == "AUTH":
            raise BadPacketError("AUTH that nobody asked for")
        self.max_payload = min(max(packet.arg1, 1), MAX_PAYLOAD)
        await self.send("CNXN", VERSION, MAX_PAYLOAD, self._banner.encode())
        self._decoder.checks_sums = packet.arg0 < VERSION
        self._is_connected = True

    async def _open(self, packet: Packet) -> None:
        name = packet.payload.rstrip(b"\0").decode(errors="surrogateescape")
        service = self._open_service(name) if len(self._streams) < MAX_STREAMS and packet.arg0 else None
        if service is None:
            await self.send("CLSE", 0, packet.arg0)
            return
        stream = self._streams[self._next] = Stream(self, self._next, packet.arg0)
        stream.allow_write()
        await self.send("OKAY", stream.local, stream.remote)
        self._tasks[self._next] = asyncio.create_task(self._serve(stream, service))
        self._next += 1

    async def _serve(self, stream: Stream, service: Service) -> None:
        with contextlib.suppress(HungUpError):
            try:
                await service(stream)
            finally:
                self._streams.pop(stream.local, None)
                self._tasks.pop(stream.local, None)
                await self.send("CLSE", stream.local, stream.remote)

    async def _pass_on(self, packet: Packet) -> None:
        stream = self._streams.get(packet.arg1)
        if stream is None or stream.remote != packet.arg0:
            return  # of a stream that has just ended: both sides may have closed it at once
        if packet.command == "WRTE":
            await stream.take(packet.payload)
        elif packet.command == "OKAY":
            stream.allow_write()
        elif packet.command == "CLSE":
            self._tasks[stream.local].cancel()

"""The packets of adb's transport protocol: bytes in any pieces in, packets out, and back.

A packet is six little-endian words (command, two arguments, length and sum of the payload, the command inverted) and
its payload. What breaks the rules is a `BadPacketError`: as in Android, the connection that sent it is closed.
"""

import struct
from collections.abc import Iterator
from typing import Literal

import msgspec

Command = Literal["CNXN", "AUTH", "OPEN", "OKAY", "WRTE", "CLSE"]
COMMANDS: tuple[Command, ...] = ("CNXN", "AUTH", "OPEN", "OKAY", "WRTE", "CLSE")
VERSION = 0x01000001
"""From this version on, payloads are no longer summed up; both sides have to have it."""
MAX_PAYLOAD = 1 << 20
_HEADER = struct.Struct("<6I")
_NUMBERS: dict[Command, int] = {name: int.from_bytes(name.encode(), "little") for name in COMMANDS}
_NAMES = {number: name for name, number in _NUMBERS.items()}


class BadPacketError(ValueError):
    """Bytes that are no packet."""


class Packet(msgspec.Struct, frozen=True, kw_only=True):
    """One message. The arguments are stream numbers, or version and largest payload in CNXN."""

    command: Command
    arg0: int = 0
    arg1: int = 0
    payload: bytes = b""


def encode(packet: Packet, *, has_sum: bool = True) -> bytes:
    """The packet as bytes; without its sum once both sides have said that they do not check it."""
    number, payload = _NUMBERS[packet.command], packet.payload
    total = sum(payload) & 0xFFFFFFFF if has_sum else 0
    return _HEADER.pack(number, packet.arg0, packet.arg1, len(payload), total, number ^ 0xFFFFFFFF) + payload


class Decoder:
    """Puts packets together from whatever pieces the network delivers."""

    def __init__(self, max_payload: int = MAX_PAYLOAD) -> None:
        self._max_payload = max_payload
        self._buffer = bytearray()
        self.checks_sums = True
        """Until both sides have said that they are new enough."""

    def feed(self, data: bytes) -> Iterator[Packet]:
        """The packets that are complete now; ends with a `BadPacketError` at the first bytes that are none."""
        self._buffer += data
        while len(self._buffer) >= _HEADER.size:
            number, arg0, arg1, length, total, magic = _HEADER.unpack_from(self._buffer)
            name = _NAMES.get(number)
            if name is None or magic != number ^ 0xFFFFFFFF:
                raise BadPacketError(f"0x{number:08x} is no command")
            if length > self._max_payload:
                raise BadPacketError(f"{name} with {length} bytes; at most {self._max_payload} are taken")
            end = _HEADER.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[_HEADER.size : end])
            del self._buffer[:end]
            if self.checks_sums and sum(payload) & 0xFFFFFFFF != total:
                raise BadPacketError(f"{name} whose sum is wrong")
            yield Packet(command=name, arg0=arg0, arg1=arg1, payload=payload)

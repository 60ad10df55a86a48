"""The packets of adb and whoever sends garbage: in any pieces the same, and nothing but the sender is hung up on."""

import asyncio
import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.devices.sim.adbd.packets import COMMANDS, VERSION, BadPacketError, Decoder, Packet, encode

from .adb_bench import listening, make_adbd

WORDS = st.integers(0, 2**32 - 1)
PACKETS = st.builds(Packet, command=st.sampled_from(COMMANDS), arg0=WORDS, arg1=WORDS, payload=st.binary(max_size=300))


@given(packets=st.lists(PACKETS, max_size=6), cuts=st.lists(st.integers(1, 60), min_size=1), has_sum=st.booleans())
def test_packets_arrive_as_sent_however_the_bytes_are_cut(
    packets: list[Packet], cuts: list[int], has_sum: bool
) -> None:
    data = b"".join(encode(packet, has_sum=has_sum) for packet in packets)
    decoder = Decoder()
    decoder.checks_sums = has_sum
    arrived, at, turn = [], 0, 0
    while at < len(data):
        size = cuts[turn % len(cuts)]
        arrived += decoder.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    assert arrived == packets


def test_a_packet_is_what_android_documents() -> None:
    data = encode(Packet(command="OPEN", arg0=7, arg1=0, payload=b"shell:ls\0"))
    assert data[:4] == b"OPEN"
    assert struct.unpack("<5I", data[4:24]) == (
        7,
        0,
        9,
        sum(b"shell:ls"),
        0xFFFFFFFF ^ int.from_bytes(b"OPEN", "little"),
    )


@given(st.binary(min_size=24, max_size=200))
def test_garbage_is_a_bad_packet_and_no_other_exception(data: bytes) -> None:
    with contextlib.suppress(BadPacketError):
        list(Decoder().feed(data))


def test_a_wrong_sum_is_refused_while_sums_are_checked() -> None:
    data = bytearray(encode(Packet(command="WRTE", payload=b"abc")))
    data[-1] ^= 1
    with pytest.raises(BadPacketError, match="sum"):
        list(Decoder().feed(bytes(data)))
    trusting = Decoder()
    trusting.checks_sums = False
    assert [p.payload for p in trusting.feed(bytes(data))] == [b"abb"]


def test_a_length_beyond_the_bound_is_refused_before_it_is_waited_for() -> None:
    header = bytearray(encode(Packet(command="WRTE")))
    header[12:16] = (2**31).to_bytes(4, "little")
    with pytest.raises(BadPacketError, match="at most"):
        list(Decoder().feed(bytes(header)))


HELLO = encode(Packet(command="CNXN", arg0=VERSION, arg1=1 << 20, payload=b"host::features=shell_v2"))
HOSTILE = st.one_of(
    st.binary(max_size=200),
    PACKETS.map(encode),
    PACKETS.map(lambda packet: HELLO + encode(packet)),
    st.lists(PACKETS, max_size=5).map(lambda packets: HELLO + b"".join(encode(p) for p in packets)),
    st.binary(max_size=80).map(lambda name: HELLO + encode(Packet(command="OPEN", arg0=1, payload=name))),
    st.text(max_size=40).map(
        lambda line: HELLO + encode(Packet(command="OPEN", arg0=1, payload=b"shell:" + line.encode()))
    ),
    st.binary(max_size=80).map(
        lambda data: (
            HELLO
            + encode(Packet(command="OPEN", arg0=1, payload=b"sync:\0"))
            + encode(Packet(command="WRTE", arg0=1, arg1=1, payload=data))
        )
    ),
)


@settings(max_examples=40, deadline=None)
@given(attacks=st.lists(HOSTILE, min_size=1, max_size=4))
def test_whatever_is_sent_the_next_one_is_served(attacks: list[bytes]) -> None:
    async def use() -> bytes:
        problems: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
        async with listening(make_adbd()) as port:
            for attack in attacks:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(attack)
                writer.write_eof()
                async with asyncio.timeout(10):
                    with contextlib.suppress(ConnectionError):
                        await reader.read()
                writer.close()
            said = await _ask(port, "shell:echo alive")
        assert problems == []
        return said

    assert asyncio.run(use()) == b"alive\n"


async def _ask(port: int, service: str) -> bytes:
    """Open a service as an adb server does, and everything it says."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HELLO + encode(Packet(command="OPEN", arg0=9, payload=service.encode() + b"\0")))
    decoder, said = Decoder(), b""
    decoder.checks_sums = False
    while True:
        for packet in decoder.feed(await reader.read(1 << 16)):
            if packet.command == "WRTE":
                said += packet.payload
                writer.write(encode(Packet(command="OKAY", arg0=9, arg1=packet.arg0)))
            elif packet.command == "CLSE":
                writer.close()
                return said


def test_old_peers_have_their_sums_checked_and_get_small_packets() -> None:
    async def use() -> list[Packet]:
        async with listening(make_adbd()) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(encode(Packet(command="CNXN", arg0=VERSION - 1, arg1=4096, payload=b"host::")))
            writer.write(encode(Packet(command="OPEN", arg0=9, payload=b"shell:screencap\0")))
            decoder, packets = Decoder(), list[Packet]()
            while not any(p.command == "WRTE" for p in packets):
                packets += decoder.feed(await reader.read(1 << 16))
            writer.close()
            return packets

    packets = asyncio.run(use())
    assert [p.command for p in packets] == ["CNXN", "OKAY", "WRTE"]
    assert len(packets[-1].payload) == 4096


def test_a_phone_listens_on_loopback_only() -> None:
    async def use() -> list[str]:
        adbd = make_adbd()
        await adbd.start()
        assert adbd._server is not None
        hosts = [sock.getsockname()[0] for sock in adbd._server.sockets]
        await adbd.close()
        await adbd.close()
        return hosts

    assert asyncio.run(use()) == ["127.0.0.1"]

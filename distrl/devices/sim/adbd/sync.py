"""The service behind `adb push` and `adb pull`: requests of four letters in, files of the phone's memory out."""

import struct

from distrl.devices.sim.adbd.connection import Stream
from distrl.devices.sim.adbd.files import FileError, Files

CHUNK = 1 << 16
MAX_PATH = 1024
_REQUEST = struct.Struct("<4sI")


async def serve_sync(stream: Stream, files: Files) -> None:
    """Answer requests until the client quits or asks for what there is not."""
    while True:
        kind, length = _REQUEST.unpack(await stream.exactly(_REQUEST.size))
        if kind == b"QUIT" or length > MAX_PATH:
            return
        path = (await stream.exactly(length)).decode(errors="replace")
        try:
            if kind == b"STAT":
                await stream.write(struct.pack("<4s3I", b"STAT", *_stat(files, path)))
            elif kind == b"LIST":
                await _list(stream, files, path)
            elif kind == b"RECV":
                await _pull(stream, files.read(path))
            elif kind == b"SEND":
                await _push(stream, files, path)
            else:
                await _fail(stream, f"unknown request {kind!r}")
                return
        except FileError as error:
            await _fail(stream, str(error))


async def _fail(stream: Stream, reason: str) -> None:
    words = reason.encode()
    await stream.write(_REQUEST.pack(b"FAIL", len(words)) + words)


def _stat(files: Files, path: str) -> tuple[int, int, int]:
    try:
        return files.stat(path)
    except FileError:
        return 0, 0, 0


async def _list(stream: Stream, files: Files, path: str) -> None:
    answer = b""
    for name in files.names(path):
        words = name.encode(errors="surrogateescape")
        answer += struct.pack("<4s4I", b"DENT", *files.stat(f"{path}/{name}"), len(words)) + words
    await stream.write(answer + struct.pack("<4s4I", b"DONE", 0, 0, 0, 0))


async def _pull(stream: Stream, data: bytes) -> None:
    for start in range(0, len(data), CHUNK):
        piece = data[start : start + CHUNK]
        await stream.write(_REQUEST.pack(b"DATA", len(piece)) + piece)
    await stream.write(_REQUEST.pack(b"DONE", 0))


async def _push(stream: Stream, files: Files, target: str) -> None:
    """A file in pieces; one that does not fit is refused after its last piece, as clients expect."""
    path, _, mode = target.rpartition(",")
    data = bytearray()
    problem = ""
    while True:
        kind, length = _REQUEST.unpack(await stream.exactly(_REQUEST.size))
        if kind == b"DONE":
            break
        if kind != b"DATA" or length > CHUNK:
            raise FileError(f"unexpected {kind!r} in a file")
        piece = await stream.exactly(length)
        try:
            files.check_room(len(data) + length)
            data += piece
        except FileError as error:
            problem, data = str(error), bytearray()
    if problem:
        raise FileError(problem)
    files.write(path, bytes(data), mode=int(mode) if mode.isdecimal() else 0o644, changed_s=length)
    await stream.write(_REQUEST.pack(b"OKAY", 0))

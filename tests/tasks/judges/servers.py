"""A server of a model for tests: real HTTP on a port of its own, saying what a script tells it to.

A line of the script is a function that gets the connection's writer and the request's body and writes whatever it
likes, down to single bytes; the last line is repeated. All requests are kept.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Line = Callable[[asyncio.StreamWriter, dict[str, Any]], Awaitable[None]]


@dataclass
class Server:
    """What it was asked, and where it is."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    @property
    def num_calls(self) -> int:
        return len(self.bodies)


@asynccontextmanager
async def serving(*script: Line) -> AsyncIterator[Server]:
    """A server that goes through the script and stays with its last line."""
    server = Server()
    lines: Sequence[Line] = script

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            path, headers, body = await _request(reader)
            line = lines[min(server.num_calls, len(lines) - 1)]
            server.paths.append(path)
            server.headers.append(headers)
            server.bodies.append(body)
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
            try:
                await line(writer, body)
                await writer.drain()
            finally:
                server.at_once -= 1
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = listener.sockets[0].getsockname()[:2]
    server.url = f"http://{host}:{port}/v1"
    try:
        yield server
    finally:
        listener.close()


async def _request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], dict[str, Any]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return head[0].split()[1], headers, json.loads(body or b"{}")


# ---------------------------------------------------------------- lines of a script


def status(code: int, body: str = "", **headers: str) -> Line:
    """A whole answer with this status."""
    data = body.encode()
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())

    async def line(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        head = f"HTTP/1.1 {code} X\r\nContent-Length: {len(data)}\r\nConnection: close\r\n{more}\r\n"
        writer.write(head.encode() + data)

    return line


def error(code: int, message: str, **headers: str) -> Line:
    """An error as OpenAI writes it."""
    return status(code, json.dumps({"error": {"message": message}}), **headers)


def completion(text: str | None, *, prompt_tokens: int = 1000, completion_tokens: int = 10, **more: Any) -> str:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | more
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage})


def says(text: str, **more: Any) -> Line:
    """An answer with this text, in which NONCE becomes the nonce of the question."""

    async def line(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        await status(200, completion(text.replace("NONCE", nonce_in(asked)), **more))(writer, asked)

    return line


def rules(word: str, **more: Any) -> Line:
    """The exact verdict."""
    return says(f'{{"nonce": "NONCE", "verdict": "{word}", "reason": "as seen"}}', **more)


def after(seconds: float, line: Line) -> Line:
    """The same, later."""

    async def later(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        await asyncio.sleep(seconds)
        await line(writer, asked)

    return later


async def drips(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
    """A byte now and then, forever: no single wait is long."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def hangs(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
    """Nothing."""
    await asyncio.sleep(3600)


async def hangs_up(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
    """The connection is closed in the middle of an answer."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")


def huge(num_bytes: int) -> Line:
    """A body that does not end soon."""

    async def line(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for _ in range(num_bytes // 2**16):
            writer.write(b"success " * 2**13)
            await writer.drain()

    return line


def nonce_in(asked: dict[str, Any]) -> str:
    content = asked["messages"][-1]["content"]
    text: str = content[-1].get("text", "")
    return text.partition("Nonce of this question: ")[2].partition("\n")[0]

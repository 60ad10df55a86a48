"""The console of an emulator: a port in, answers to its commands out. Snapshots are saved and loaded here."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from distrl.core.errors import DeviceError


def token_of(environment: Mapping[str, str] = os.environ) -> str:
    """What the console wants to be shown: a file in the home folder that only its owner can read."""
    file = Path(environment.get("HOME", "~")).expanduser() / ".emulator_console_auth_token"
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


async def ask(port: int, command: str, *, deadline_s: float, token: str = "") -> str:
    """What one command answers, without the OK; a `DeviceError` for KO, silence and nobody there."""
    try:
        async with asyncio.timeout(deadline_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                greeting = await _answer(reader, command="")
                if "auth" in greeting.lower() and token:
                    writer.write(f"auth {token}\n".encode())
                    await _answer(reader, command="auth")
                writer.write(f"{command}\n".encode())
                return await _answer(reader, command)
            finally:
                writer.close()
    except TimeoutError as error:
        raise DeviceError("deadline", f"emulator-{port}: no answer within {deadline_s:g} s to {command!r}") from error
    except (OSError, asyncio.IncompleteReadError) as error:
        raise DeviceError("vanish", f"emulator-{port}: its console is gone: {error}") from error


async def _answer(reader: asyncio.StreamReader, command: str) -> str:
    lines: list[str] = []
    while True:
        line = (await reader.readuntil(b"\n")).decode(errors="replace").strip()
        if line == "OK":
            return "\n".join(lines)
        if line.startswith("KO"):
            raise DeviceError("console", f"the emulator refuses {command!r}: {line.removeprefix('KO:').strip()}")
        lines.append(line)

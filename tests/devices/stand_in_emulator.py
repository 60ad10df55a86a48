"""A stand-in for Android's `emulator`: a process that boots a sim phone, with console and adb on the right ports.

It reads the options that ours passes, registers with the adb server as the real one does, keeps snapshots in the folder
of its device, and dies of the 64th load. The file `trouble` in that folder tells it to misbehave: a word such as
`never_boot`, `crash`, `hang`, `bad_snapshot`; one word a launch, the last one for all that follow.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from distrl.devices.sim.adbd.process import Spec, make_adbd
from distrl.devices.sim.adbd.server import Adbd

TOKEN = "secret-of-the-console"
MAX_LOADS = 64


def options_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("-avd")
    parser.add_argument("-port", type=int)
    parser.add_argument("-snapshot", default="")
    parser.add_argument("-gpu")
    parser.add_argument("-memory")
    for flag in ("-read-only", "-no-window", "-no-audio", "-no-boot-anim", "-no-snapshot", "-no-snapshot-save"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args(words)


def trouble_of(folder: Path) -> str:
    """The word for this launch."""
    file = folder / "trouble"
    words = file.read_text().split() if file.exists() else []
    if len(words) > 1:
        file.write_text(" ".join(words[1:]))
    return words[0] if words else ""


class Console:
    """The text that is spoken on the even port."""

    def __init__(self, adbd: Adbd, folder: Path, *, is_read_only: bool) -> None:
        self.adbd = adbd
        self._folder = folder
        self._is_read_only = is_read_only
        self.loads = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"Android Console: Authentication required\r\nAndroid Console: type 'auth <auth_token>'\r\nOK\r\n")
        is_known = False
        while line := (await reader.readline()).decode().strip():
            if line.startswith("auth "):
                is_known = line == f"auth {TOKEN}"
                writer.write(b"OK\r\n" if is_known else b"KO: bad auth token\r\n")
            elif not is_known:
                writer.write(b"KO: unknown command, try 'help'\r\n")
            else:
                writer.write(self.obey(line).encode())
        writer.close()

    def obey(self, line: str) -> str:
        kind, _, name = line.removeprefix("avd snapshot ").partition(" ")
        file = self._folder / "snapshots" / name / "ram.bin"
        phone = self.adbd.android.phone
        if kind == "save" and not self._is_read_only:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(phone.snapshot())
            return "OK\r\n"
        if kind == "load" and file.is_file():
            self.loads += 1
            if self.loads >= MAX_LOADS:
                print("FATAL: too many loads", flush=True)
                os._exit(134)
            phone.restore(file.read_bytes())
            return "OK\r\n"
        return f"KO: cannot {line}\r\n"


async def run(words: list[str]) -> None:
    options = options_of(words)
    home = Path(os.environ["ANDROID_AVD_HOME"])
    folder = home / f"{options.avd}.avd"
    trouble = trouble_of(home / f"{options.avd.partition('-distrl-')[0]}.avd")
    print(f"INFO | starting {options.avd} on {options.port}, trouble: {trouble or 'none'}", flush=True)
    if list(folder.glob("*.lock")) and not options.read_only:
        sys.exit("ERROR | Running multiple emulators with the same AVD is an experimental feature.")
    if not options.read_only:
        (folder / "multiinstance.lock").touch()
    if trouble == "crash" or (trouble == "bad_snapshot" and options.snapshot):
        sys.exit("PANIC: cannot start" if trouble == "crash" else "ERROR | the snapshot is damaged")
    adbd = make_adbd(Spec(name=f"emulator-{options.port}", scale=0.1))
    saved = folder / "snapshots" / options.snapshot / "ram.bin"
    if options.snapshot and saved.is_file():
        adbd.android.phone.restore(saved.read_bytes())
    adbd.android.is_booted = False
    console = Console(adbd, folder, is_read_only=options.read_only)
    await asyncio.start_server(console.serve, "127.0.0.1", options.port)
    await adbd.start(options.port + 1)
    await register(options.port + 1)
    if trouble == "hang":
        import time

        time.sleep(3600)
    await asyncio.sleep(0.05)
    adbd.android.is_booted = trouble != "never_boot"
    print("INFO | boot completed" if adbd.android.is_booted else "INFO | still booting", flush=True)
    await asyncio.Event().wait()


async def register(port: int) -> None:
    """Tell the adb server, as every emulator does."""
    server = int(os.environ.get("ANDROID_ADB_SERVER_PORT", "5037"))
    _, writer = await asyncio.open_connection("127.0.0.1", server)
    words = f"host:emulator:{port}".encode()
    writer.write(b"%04x" % len(words) + words)
    await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1:]))

"""Virtual devices: a name in, a folder that an emulator can start out; created, cloned, and swept of old locks.

A clone shares its disk images with the original until it changes them, where the file system can do that (btrfs, xfs):
it is made in a moment and takes no room. Elsewhere all instances run read-only on the original.
"""

import asyncio
import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path

from distrl.core.clock import Clock
from distrl.core.errors import DeviceError
from distrl.devices.emulator.sdk import Sdk

CREATE_S = 300.0
_NAME = re.compile(r"[A-Za-z0-9._-]{1,80}")


def avd_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Where virtual devices are: ANDROID_AVD_HOME, or as Android's tools have it."""
    if environment.get("ANDROID_AVD_HOME"):
        return Path(environment["ANDROID_AVD_HOME"])
    user = environment.get("ANDROID_USER_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".android")
    return Path(user) / "avd"


def list_avds(home: Path) -> list[str]:
    """The names of all virtual devices."""
    return sorted(path.stem for path in home.glob("*.ini")) if home.is_dir() else []


def folder_of(home: Path, name: str) -> Path:
    """The folder of a device, wherever its .ini says it is."""
    with contextlib.suppress(OSError):
        for line in (home / f"{name}.ini").read_text(encoding="utf-8").splitlines():
            if line.startswith("path="):
                return Path(line.removeprefix("path=").strip())
    return home / f"{name}.avd"


async def ensure_avd(sdk: Sdk, home: Path, name: str, system_image: str) -> None:
    """See that it is there: created if an image is named; otherwise an error that lists what there is."""
    if not _NAME.fullmatch(name):
        raise DeviceError("no_avd", f"devices.emulator.avd is {name!r}: name a virtual device (emulator -list-avds)")
    if (home / f"{name}.ini").is_file():
        return
    if not system_image:
        known = ", ".join(list_avds(home)) or "none"
        raise DeviceError(
            "no_avd",
            f"there is no virtual device {name} in {home} (there is: {known}); "
            "create it, or set devices.emulator.system_image",
        )
    if sdk.avdmanager is None:
        raise DeviceError("no_avd", f"no avdmanager in {sdk.root}: install the command line tools to create {name}")
    command = (str(sdk.avdmanager), "create", "avd", "-n", name, "-k", system_image)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    try:
        async with asyncio.timeout(CREATE_S):
            said, _ = await process.communicate(b"no\n")
    except TimeoutError as error:
        process.kill()
        raise DeviceError("no_avd", f"{' '.join(command)} did not end within {CREATE_S:g} s") from error
    if process.returncode or not (home / f"{name}.ini").is_file():
        raise DeviceError("no_avd", f"{' '.join(command)} failed: {said.decode(errors='replace').strip()[-500:]}")


async def clone_avd(home: Path, name: str, clone: str) -> bool:
    """Make a copy-on-write clone; False, and nothing left behind, if this file system has none."""
    source, target = folder_of(home, name), home / f"{clone}.avd"
    remove_avd(home, clone)
    command = ("cp", "-a", "--reflink=always", f"{source}/.", str(target))
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet)
    if await process.wait():
        remove_avd(home, clone)
        return False
    sweep_locks(target)
    for file in (target / "config.ini", target / "hardware-qemu.ini"):
        if file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
            file.write_text(text.replace(str(source), str(target)).replace(f"AvdId={name}", f"AvdId={clone}"), "utf-8")
    (home / f"{clone}.ini").write_text(f"avd.ini.encoding=UTF-8\npath={target}\ntarget=android\n", "utf-8")
    return True


def remove_avd(home: Path, clone: str) -> None:
    """Remove a clone of ours."""
    (home / f"{clone}.ini").unlink(missing_ok=True)
    shutil.rmtree(home / f"{clone}.avd", ignore_errors=True)


def locks_of(folder: Path) -> set[Path]:
    """What says that an emulator runs with this folder, or ran and was killed."""
    return set(folder.glob("*.lock"))


def sweep_locks(folder: Path, *, keep: Collection[Path] = ()) -> None:
    """Remove what an emulator that was killed left behind, which keeps the next one from starting."""
    for path in locks_of(folder) - set(keep):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def locked(home: Path, name: str, clock: Clock) -> AsyncIterator[None]:
    """One process at a time; whoever else wants the device waits for it, however it ends."""
    lock = os.open(home / f".{name}.distrl-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                await clock.sleep(0.5)
        yield
    finally:
        os.close(lock)


def has_snapshot(folder: Path, snapshot: str) -> bool:
    """Whether a device has a snapshot of this name."""
    return bool(snapshot) and (folder / "snapshots" / snapshot).is_dir()

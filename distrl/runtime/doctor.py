"""What `distrl doctor` looks at: a configuration in, one line for each thing that has to work out, each with its fix.

What this configuration does not need is no failure: its line says what it would be needed for.
"""

import asyncio
import importlib.metadata
import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from distrl.core.config import Config
from distrl.core.errors import DistrlError, UserError
from distrl.devices.adb.server import find_adb
from distrl.devices.emulator.sdk import FIX, find_sdk
from distrl.devices.emulator.slots import MAX_EMULATORS
from distrl.runtime.build_devices import make_server
from distrl.runtime.build_judge import check_judge

MIN_FREE_GB, IMAGE_GB, EMULATOR_GB = 2.0, 8.0, 2.0
"""For a run; for the virtual device that all emulators share; for what each of them changes."""
KVM = Path("/dev/kvm")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One check: whether it is well for this configuration, what was found, and what to do if it is not."""

    check: str
    ok: bool
    found: str
    fix: str = ""


def examine(config: Config, *, folder: Path) -> list[Line]:
    """All checks, none of which changes anything; a judge that is a model is asked one question."""
    checks: tuple[Callable[[Config, Path], Line], ...] = (
        _python,
        *(_package(name, extra) for name, extra in (("torch", "train"), ("ray", "train"))),
        _adb,
        _adb_server,
        _sdk,
        _kvm,
        _disk,
        _ports,
        _tokens,
        _judge,
    )
    return [check(config, folder) for check in checks]


def _line(check: str, found: str, *, problem: bool, fix: str) -> Line:
    return Line(check=check, ok=not problem, found=found, fix=fix if problem else "")


def _python(config: Config, folder: Path) -> Line:
    version = ".".join(map(str, sys.version_info[:3]))
    return _line("python", version, problem=sys.version_info < (3, 11), fix="install Python 3.11 or newer")


def _package(name: str, extra: str) -> Callable[[Config, Path], Line]:
    def check(config: Config, folder: Path) -> Line:
        try:
            found, is_missing = importlib.metadata.version(name), False
        except importlib.metadata.PackageNotFoundError:
            found, is_missing = "not installed", True
        return _line(name, found, problem=is_missing, fix=f'pip install "distrl[{extra}]"')

    return check


def _adb(config: Config, folder: Path) -> Line:
    is_needed = config.devices.kind != "sim"
    try:
        return Line(check="adb", ok=True, found=str(find_adb()))
    except DistrlError as error:
        return _optional("adb", "not found", "devices.kind = 'adb' and 'emulator'", is_needed, str(error))


def _adb_server(config: Config, folder: Path) -> Line:
    server = make_server(config)
    try:
        version = int(asyncio.run(server.ask("host:version")), 16)
    except DistrlError as error:
        listens = not _is_free(server.port)
        # One that is missing is started by who needs it; something else in its place is not.
        return _line(
            "adb server",
            str(error) if listens else f"none at port {server.port}; started when it is needed",
            problem=listens and config.devices.kind != "sim",
            fix="set ANDROID_ADB_SERVER_PORT or devices.adb_port to another port",
        )
    return Line(check="adb server", ok=True, found=f"version {version} at port {server.port}")


def _sdk(config: Config, folder: Path) -> Line:
    try:
        return Line(check="sdk", ok=True, found=str(find_sdk(config.devices.emulator.sdk).root))
    except DistrlError:
        return _optional("sdk", "not found", "devices.kind = 'emulator'", config.devices.kind == "emulator", FIX)


def _kvm(config: Config, folder: Path) -> Line:
    is_needed = config.devices.kind == "emulator"
    if os.access(KVM, os.R_OK | os.W_OK):
        return Line(check="kvm", ok=True, found=str(KVM))
    if KVM.exists():
        fix = f"may not be used by this user: sudo usermod -aG kvm {os.environ.get('USER', '$USER')}, then log in again"
        return _optional("kvm", "not permitted", "emulators", is_needed, fix)
    fix = "switch virtualisation on in the BIOS, or use a machine with nested virtualisation (no /dev/kvm)"
    return _optional("kvm", "not there", "emulators, which are unusably slow without", is_needed, fix)


def _disk(config: Config, folder: Path) -> Line:
    free_gb = shutil.disk_usage(folder).free / 1e9
    wanted_gb = MIN_FREE_GB
    if config.devices.kind == "emulator":
        wanted_gb += IMAGE_GB + EMULATOR_GB * min(config.collect.num_devices, MAX_EMULATORS)
    return _line(
        "disk",
        f"{free_gb:.1f} GB free in {folder}",
        problem=free_gb < wanted_gb,
        fix=f"{wanted_gb:.0f} GB are wanted: remove old runs, or choose another --run-dir",
    )


def _ports(config: Config, folder: Path) -> Line:
    if not _is_free(0):
        return Line(check="ports", ok=False, found="none on 127.0.0.1", fix="see that the loopback device is up")
    if config.devices.kind != "emulator":
        return Line(check="ports", ok=True, found="free ones on 127.0.0.1")
    first = config.devices.emulator.first_port
    wanted = min(config.collect.num_devices, MAX_EMULATORS)
    free = sum(_is_free(port) and _is_free(port + 1) for port in range(first, first + 2 * MAX_EMULATORS, 2))
    return _line(
        "ports",
        f"{free} pairs free from {first} on",
        problem=free < wanted,
        fix=f"{wanted} pairs are wanted: end other emulators, or set devices.emulator.first_port",
    )


def _tokens(config: Config, folder: Path) -> Line:
    wanted = [config.judge.key_variable] if config.judge.kind in ("vlm", "vote") and config.judge.key_variable else []
    wanted += ["RAY_AUTH_TOKEN"] if os.environ.get("RAY_ADDRESS") else []
    missing = [name for name in wanted if not os.environ.get(name)]
    found = ", ".join(f"{name} is {'not ' if name in missing else ''}set" for name in wanted) or "none needed"
    return _line("tokens", found, problem=bool(missing), fix=f"set {', '.join(missing)} in the environment")


def _judge(config: Config, folder: Path) -> Line:
    kind = config.judge.kind
    if kind == "rule" and config.devices.kind != "sim" and not config.devices.starts_sim_phones:
        found = "rule, which needs the ground truth of our own phone"
        return Line(check="judge", ok=True, found=f"{found}: for real phones and emulators set judge.kind = 'vlm'")
    try:
        check_judge(config.judge, is_virtual=False)
    except (UserError, DistrlError) as error:
        return Line(check="judge", ok=False, found=kind, fix=str(error))
    return Line(check="judge", ok=True, found=f"{kind} answers")


def _optional(check: str, found: str, purpose: str, is_needed: bool, fix: str) -> Line:
    if is_needed:
        return Line(check=check, ok=False, found=found, fix=fix)
    return Line(check=check, ok=True, found=f"{found} (needed for {purpose})")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

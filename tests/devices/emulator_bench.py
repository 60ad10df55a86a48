"""A bench for emulators: an SDK whose tools are stand-ins, a home of virtual devices, and slots of its own."""

import os
import sys
from pathlib import Path

from distrl.devices.emulator.device import EmulatorOptions

from .stand_in_emulator import TOKEN

HERE = Path(__file__).parent
AVD = "Pixel_T"


class Sdk:
    """The folders, and the environment that points to them."""

    def __init__(self, root: Path, adb_port: int, *, first_port: int) -> None:
        self.root = root / "sdk"
        self.home = root / "avd"
        self.state = root / "state"
        self.first_port = first_port
        self.state.mkdir(parents=True)
        self._tool("emulator/emulator", f'exec {sys.executable} {HERE / "stand_in_emulator.py"} "$@"')
        create = 'while [ "$1" != -n ]; do shift; done; mkdir -p "$ANDROID_AVD_HOME/$2.avd"'
        self._tool(
            "cmdline-tools/latest/bin/avdmanager",
            f'{create} && printf "path=%s\\n" "$ANDROID_AVD_HOME/$2.avd" > "$ANDROID_AVD_HOME/$2.ini"',
        )
        self.home.mkdir()
        (root / ".emulator_console_auth_token").write_text(f"{TOKEN}\n")
        self.environment = {
            "ANDROID_HOME": str(self.root),
            "ANDROID_AVD_HOME": str(self.home),
            "HOME": str(root),
            "XDG_CACHE_HOME": str(root / "cache"),
            "ANDROID_ADB_SERVER_PORT": str(adb_port),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }

    def _tool(self, name: str, line: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)

    def make_avd(self) -> Path:
        folder = self.home / f"{AVD}.avd"
        folder.mkdir()
        (folder / "config.ini").write_text(f"AvdId={AVD}\n")
        (self.home / f"{AVD}.ini").write_text(f"path={folder}\n")
        return folder

    def trouble(self, words: str) -> None:
        (self.home / f"{AVD}.avd" / "trouble").write_text(words)

    def options(self, **changes: object) -> EmulatorOptions:
        values: dict[str, object] = {
            "avd": AVD,
            "first_port": self.first_port,
            "boot_s": 20.0,
            "load_s": 10.0,
            "logs": str(self.root.parent / "logs"),
            "state": self.state,
        }
        return EmulatorOptions(**{**values, **changes})  # type: ignore[arg-type]

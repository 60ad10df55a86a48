"""The Android SDK: where its tools are, or what to do if they are not."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from distrl.core.errors import DeviceError

USUAL = ("~/Android/Sdk", "~/Library/Android/sdk", "/opt/android-sdk", "/usr/lib/android-sdk")
FIX = (
    "install Android's command line tools (developer.android.com/studio#command-line-tools-only), then "
    "sdkmanager emulator platform-tools, and set ANDROID_HOME to their folder"
)


class Sdk(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that are needed; `avdmanager` only to create a virtual device."""

    root: Path
    emulator: Path
    avdmanager: Path | None = None


def find_sdk(explicit: str = "", *, environment: Mapping[str, str] = os.environ) -> Sdk:
    """The SDK that was named, that of ANDROID_HOME, the one the emulator on the PATH belongs to, or a usual one."""
    named = [explicit] if explicit else [environment.get(v, "") for v in ("ANDROID_HOME", "ANDROID_SDK_ROOT")]
    on_path = shutil.which("emulator", path=environment.get("PATH", ""))
    roots = [Path(root) for root in named if root]
    if not explicit:
        roots += [Path(on_path).resolve().parent.parent] if on_path else []
        roots += [Path(root).expanduser() for root in USUAL]
    for root in roots:
        emulator = root / "emulator" / "emulator"
        if os.access(emulator, os.X_OK):
            return Sdk(root=root, emulator=emulator, avdmanager=_avdmanager(root))
    looked = ", ".join(str(root) for root in roots)
    raise DeviceError("no_sdk", f"no emulator was found in {looked or 'any usual folder'}: {FIX}")


def _avdmanager(root: Path) -> Path | None:
    found = sorted(root.glob("cmdline-tools/*/bin/avdmanager"), reverse=True)
    found += [root / "tools" / "bin" / "avdmanager"]
    return next((path for path in found if os.access(path, os.X_OK)), None)

"""The table of the configuration that says what the devices are; config.py puts it together with the others."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from distrl.core.config_section import Section

# TOML has arrays only, so a list must be allowed to become a tuple.
Words = Annotated[tuple[str, ...], Strict(strict=False)]


class EmulatorConfig(Section):
    """Android emulators that a run starts (docs/how-to/emulators.md)."""

    avd: str = Field(default="", description="the virtual device that all instances are made from")
    system_image: str = Field(
        default="", description="create the device from this image if it is missing, e.g. system-images;android-34;..."
    )
    sdk: str = Field(default="", description="folder of the Android SDK; ANDROID_HOME if empty")
    instances: Literal["auto", "clone", "read-only"] = Field(
        default="auto", description="a copy-on-write clone for each, or one device read-only; auto: what the disk can"
    )
    snapshot: str = Field(default="distrl", description="snapshot that every episode starts from; saved if missing")
    options: Words = Field(
        default=("-no-window", "-no-audio", "-no-boot-anim", "-gpu", "swiftshader_indirect", "-memory", "2048"),
        description="further words of the command line",
    )
    first_port: int = Field(
        default=5554, ge=1024, le=65_000, multiple_of=2, description="first console port, even; each takes two"
    )
    boot_s: float = Field(default=300.0, gt=0, description="longest start")
    load_s: float = Field(default=60.0, gt=0, description="longest load of a snapshot")
    max_snapshot_loads: int = Field(default=50, ge=1, description="loads before a relaunch: emulators die of about 64")
    relaunch_after_s: float = Field(default=14_400.0, gt=0, description="seconds of life before a relaunch")
    logs: str = Field(default="", description="folder for their logs; a temporary one if empty")


class SafetyConfig(Section):
    """What a policy may not do on a phone that belongs to somebody (docs/how-to/real-phone.md)."""

    is_on: bool | None = Field(default=None, description="whether this counts; if absent, on all that is no emulator")
    packages: Words = Field(
        default=(), description="packages that may be used; if empty all that are not for messages, payment, installing"
    )
    allows: Annotated[tuple[Literal["password", "message", "payment", "install"], ...], Strict(strict=False)] = Field(
        default=(), description="what may be done all the same: password, message, payment, install"
    )
    min_battery_percent: int = Field(default=20, ge=0, le=100, description="below, the phone rests")
    max_temperature_c: float = Field(default=42.0, gt=0, description="above, the phone rests")
    stop_key: Literal["power", "none"] = Field(
        default="power", description="hands off while the screen was switched off by hand"
    )


class DevicesConfig(Section):
    """What the devices are; everything but `kind` is for those that adb reaches (docs/how-to/adb.md)."""

    kind: Literal["sim", "adb", "emulator"] = Field(
        default="sim",
        description="`sim` (in the worker), `adb` (whatever adb reaches), `emulator` (started by the run)",
    )
    serials: Words = Field(default=(), description="adb: which devices; all that are ready if empty")
    starts_sim_phones: bool = Field(
        default=False, description="adb: start collect.num_devices simulated phones, a process each, and use those"
    )
    adb_port: int | None = Field(
        default=None, ge=1, le=65_535, description="port of the adb server; ANDROID_ADB_SERVER_PORT or 5037 if absent"
    )
    call_deadline_s: float = Field(default=20.0, gt=0, description="longest single call through adb")
    settle_s: float = Field(default=3.0, ge=0, description="longest wait for a screen that stops changing; 0: none")
    wait_s: float = Field(default=3.0, ge=0, description="what the action wait waits")
    screenshot: Literal["auto", "raw", "png", "jpeg"] = Field(
        default="auto", description="how screens are sent; auto: what the device does fastest"
    )
    ui_tree: Literal["uiautomator", "uiautomator2", "none"] = Field(
        default="uiautomator", description="where elements come from; none for policies that see pixels alone"
    )
    apps: dict[str, str] = Field(default={}, description="packages by the names that people use")
    clears: Words = Field(default=(), description="packages whose data a reset removes")
    restores: Words = Field(default=(), description="settings that a reset puts back, e.g. system/screen_brightness")
    safety: SafetyConfig = Field(default=SafetyConfig(), description="what a policy may not do on somebody's phone")
    emulator: EmulatorConfig = Field(default=EmulatorConfig(), description="emulators that the run starts")

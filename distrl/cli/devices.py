"""`distrl devices`: what adb reaches, and phones and emulators that are started here.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distrl.cli.options import AsJson, ConfigFile, Overrides
from distrl.cli.output import Output

if TYPE_CHECKING:
    from distrl.core.config import Config

app = typer.Typer(help="Devices: list, start, stop, watch, look at and reset them.", no_args_is_help=True)
Serial = Annotated[
    str, typer.Option(help="Which device; ANDROID_SERIAL, or the only one there is, if not given.", metavar="SERIAL")
]


def _settings(config: Path | None, overrides: list[str] | None) -> "Config":
    from distrl.core.config import load_config
    from distrl.runtime.build import KNOWN_NAMES

    return load_config(config, environ=os.environ, overrides=overrides or (), names=KNOWN_NAMES)


@app.command("list")
def list_(context: typer.Context, config: ConfigFile = None, set: Overrides = None, json: AsJson = False) -> None:
    """Every device that adb knows, and what to do about those that are not ready."""
    import asyncio

    import msgspec

    from distrl.runtime.device_tools import list_all

    output = Output.of(context, is_json=json)
    rows = asyncio.run(list_all(_settings(config, set)))
    if json:
        output.write_json([msgspec.to_builtins(row) for row in rows])
        return
    width = max((len(row.serial) for row in rows), default=0)
    for row in rows:
        note = f"   {row.advice}" if row.advice else ""
        own = f"   started here, process {row.pid}" if row.pid else ""
        output.write(f"{row.serial:<{width}}  {row.state:<12}  {row.kind:<8}{own}{note}")
    if not rows:
        output.note("no devices; to have one: distrl devices start")


@app.command()
def start(
    context: typer.Context,
    kind: Annotated[str, typer.Option(help="sim or emulator.")] = "sim",
    count: Annotated[int, typer.Option(min=1, max=64, help="How many.")] = 1,
    config: ConfigFile = None,
    set: Overrides = None,
) -> None:
    """Start simulated phones or emulators, which go on until `distrl devices stop`; their serials are printed."""
    import asyncio

    from distrl.core.errors import UnknownNameError
    from distrl.runtime import device_tools

    output = Output.of(context)
    starters = {"sim": device_tools.start_sims, "emulator": device_tools.start_emulators}
    if kind not in starters:
        raise UnknownNameError("kind of device to start", kind, starters)
    settings = _settings(config, set)
    with output.progress("starting", count) as advance:

        def tell(serial: str) -> None:
            output.write(serial)
            advance(1)

        asyncio.run(starters[kind](settings, count, tell=tell))
    output.note("To end them: distrl devices stop")


@app.command()
def stop(
    context: typer.Context,
    serial: Annotated[list[str] | None, typer.Option(help="Which one; may be repeated. All, if not given.")] = None,
    config: ConfigFile = None,
    set: Overrides = None,
) -> None:
    """Stop what `distrl devices start` has started, and nothing else."""
    import asyncio

    from distrl.runtime import device_tools

    stopped = asyncio.run(device_tools.stop(_settings(config, set), tuple(serial or ())))
    output = Output.of(context)
    for name in stopped:
        output.write(name)
    if not stopped:
        output.note("nothing was started here")


@app.command()
def watch(
    context: typer.Context,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds from one look to the next.")] = 2.0,
    count: Annotated[int | None, typer.Option(min=1, help="Look so often; until Ctrl-C if not given.")] = None,
    config: ConfigFile = None,
    set: Overrides = None,
) -> None:
    """What every device is doing: its state and the activity in front, as a table at each look."""
    import asyncio

    from distrl.runtime import device_tools

    output, settings = Output.of(context), _settings(config, set)

    async def look() -> None:
        async for rows in device_tools.watch(settings, every_s=every, count=count):
            width = max((len(row[0]) for row in rows), default=0)
            for name, state, doing in rows or [("no devices", "", "")]:
                output.write(f"{name:<{width}}  {state:<12}  {doing}".rstrip())
            output.write("")

    asyncio.run(look())


@app.command()
def screenshot(
    context: typer.Context,
    serial: Serial = "",
    out: Annotated[Path, typer.Option(help="The PNG file to write.")] = Path("screen.png"),
    config: ConfigFile = None,
    set: Overrides = None,
) -> None:
    """Write what a device shows to a PNG file; a black or broken picture is an error."""
    import asyncio

    from PIL import Image

    from distrl.core.errors import UserError
    from distrl.runtime import device_tools

    if not out.parent.is_dir():
        raise UserError(f"--out {out} cannot be written: {out.parent} is not a directory")
    name, screen = asyncio.run(device_tools.screenshot(_settings(config, set), serial))
    Image.frombytes("RGB", (screen.width, screen.height), screen.data).save(out, "PNG")
    Output.of(context).write(f"{out}: {screen.width} x {screen.height} of {name}")


@app.command()
def reset(context: typer.Context, serial: Serial = "", config: ConfigFile = None, set: Overrides = None) -> None:
    """Bring a device back to its home screen, with the recipe of the configuration (devices.clears, .restores)."""
    import asyncio

    from distrl.runtime import device_tools

    async def go() -> str:
        device = await device_tools.device_at(_settings(config, set), serial)
        await device.reset()
        return device.name

    Output.of(context).write(f"{asyncio.run(go())} is at its home screen")

"""`distrl doctor`: whether this machine has what a configuration needs.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

import os
from pathlib import Path

import typer

from distrl.cli.options import AsJson, ConfigFile, Overrides
from distrl.cli.output import Output


def doctor(context: typer.Context, config: ConfigFile = None, set: Overrides = None, json: AsJson = False) -> None:
    """Check Python, packages, adb, SDK, KVM, disk, ports, tokens and judge; exit status 1 if something is missing."""
    import msgspec

    from distrl.core.config import load_config
    from distrl.runtime.build import KNOWN_NAMES
    from distrl.runtime.doctor import examine

    output = Output.of(context, is_json=json)
    settings = load_config(config, environ=os.environ, overrides=set or (), names=KNOWN_NAMES)
    lines = examine(settings, folder=Path.cwd())
    if json:
        output.write_json([msgspec.to_builtins(line) for line in lines])
    else:
        width = max(len(line.check) for line in lines)
        for line in lines:
            output.write(f"{'ok  ' if line.ok else 'FAIL'}  {line.check:<{width}}  {line.found}")
            if line.fix:
                output.write(f"      {'':<{width}}  -> {line.fix}")
    if not all(line.ok for line in lines):
        raise typer.Exit(1)

"""The options that several verbs share, as annotated types: one spelling and one help text for each."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path | None, typer.Option("--config", "-c", envvar="DISTRL_CONFIG", help="TOML file to read.", metavar="FILE")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override one key, such as phone.scale=0.5; may be repeated.", metavar="KEY=VALUE"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]

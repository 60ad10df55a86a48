"""`distrl config`: what the configuration comes out as, and whether it is right.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

import typer

from distrl.cli.options import AsJson, ConfigFile, Overrides
from distrl.cli.output import Output

app = typer.Typer(help="Show or check the configuration.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def show(context: typer.Context, config: ConfigFile = None, set: Overrides = None, json: AsJson = False) -> None:
    """Print the resolved configuration: defaults, file, environment and overrides together."""
    import os

    from distrl.core.config import dump_toml, load_config
    from distrl.runtime.build import KNOWN_NAMES

    resolved = load_config(config, environ=os.environ, overrides=set or (), names=KNOWN_NAMES)
    output = Output.of(context, is_json=json)
    if json:
        output.write_json(resolved.model_dump(mode="json"))
    else:
        output.write(dump_toml(resolved).rstrip("\n"))


@app.command()
def check(context: typer.Context, config: ConfigFile = None, set: Overrides = None, json: AsJson = False) -> None:
    """Print "ok", or everything that is wrong (exit status 2)."""
    import os

    from distrl.core.config import load_config
    from distrl.core.config_errors import ConfigError
    from distrl.runtime.build import KNOWN_NAMES

    output = Output.of(context, is_json=json)
    try:
        load_config(config, environ=os.environ, overrides=set or (), names=KNOWN_NAMES)
    except ConfigError as error:
        if not json:
            raise
        output.write_json({"ok": False, "mistakes": [mistake._asdict() for mistake in error.mistakes]})
        raise typer.Exit(2) from error
    if json:
        output.write_json({"ok": True, "mistakes": []})
    else:
        output.write("ok")

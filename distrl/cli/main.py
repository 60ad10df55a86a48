"""The `distrl` command: options before the verb, the verbs, and how an error becomes an exit status.

In: the command line and the environment. Out: data on stdout, everything else on stderr, and an exit status:
0 done, 1 failed, 2 the user's mistake, 130 interrupted.

Each verb is a small file whose functions import what they need when they run, so that `distrl --help` imports
nothing heavy. A new verb is one import and one `add_typer` or `command` line below. Every option can be given as a
variable too: `DISTRL_<VERB>_<OPTION>`.
"""

import logging
import sys
from typing import Annotated

import typer

from distrl import __version__
from distrl.cli import config, evaluate, export, judge, phone, plan, runs, serve, tasks, train, warm_start, worker
from distrl.cli.output import Output
from distrl.core.errors import DistrlError, UserError

EXIT_FAILED = 1
EXIT_USER_MISTAKE = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="distrl",
    help="Asynchronous reinforcement learning for models that operate phones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: drawing it with rich takes three times as long.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "DISTRL"},
)
app.command()(train.train)
app.command()(worker.worker)
app.command()(plan.plan)
app.command(name="eval")(evaluate.evaluate)
app.command()(export.export)
app.command()(serve.serve)
app.command()(warm_start.imitate)
app.command()(warm_start.pretrain)
app.command()(phone.phone)
app.command()(phone.demo)
app.add_typer(tasks.app, name="tasks")
app.add_typer(config.app, name="config")
app.add_typer(runs.app, name="runs")
app.add_typer(judge.app, name="judge")


def _show_version(is_asked: bool) -> None:
    """Print the version and stop."""
    if is_asked:
        typer.echo(f"distrl {__version__}")
        raise typer.Exit


@app.callback()
def _before_every_verb(
    context: typer.Context,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and results only.")] = False,
    verbose: Annotated[int, typer.Option("--verbose", "-v", count=True, help="Say more; twice for everything.")] = 0,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            callback=_show_version,
            is_eager=True,
            # Container images like to set DISTRL_VERSION to a number.
            allow_from_autoenv=False,
        ),
    ] = False,
) -> None:
    """Set up what all verbs share."""
    level = logging.ERROR if quiet else (logging.WARNING, logging.INFO, logging.DEBUG)[max(0, min(verbose, 2))]
    logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    context.obj = Output(is_quiet=quiet)


def main() -> None:
    """Run the command line; what a user got wrong is told without a traceback."""
    try:
        app(prog_name="distrl")
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(EXIT_USER_MISTAKE)
    except DistrlError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(EXIT_FAILED)
    except OSError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(EXIT_FAILED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)

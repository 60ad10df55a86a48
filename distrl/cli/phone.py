"""`distrl phone` and `distrl demo`: the built-in phone to play with, and films of the expert using it.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distrl.cli.output import Output

if TYPE_CHECKING:
    from distrl.runtime.playing import Play

Scale = Annotated[
    float | None,
    typer.Option(
        min=0.1, max=1.0, help="Size of the picture as a share of 1080 x 2400 pixels; 0.4, and 1 if adb is served."
    ),
]


PAGE_SCALE = 0.4
ADB_SCALE = 1.0
"""Whoever comes through adb finds a phone of the usual size."""


def phone(
    context: typer.Context,
    task: Annotated[str, typer.Option(help="A task to set the phone up for; see distrl tasks list.")] = "",
    record: Annotated[Path | None, typer.Option(help="Film the expert doing the task: a .webp or .gif file.")] = None,
    seed: Annotated[int | None, typer.Option(help="Which phone: contacts, messages, wallpaper follow from it.")] = None,
    scale: Scale = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    app: Annotated[list[Path] | None, typer.Option(help="A file with an app of your own; may be repeated.")] = None,
    variation: Annotated[list[str] | None, typer.Option(help="Switch a variation on; may be repeated.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a web browser.")] = True,
    adb: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve the phone to adb too, on this port; 0 takes a free one.")
    ] = None,
    grpc: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Serve the emulator's gRPC control too, for android_env; 0: a free port."),
    ] = None,
) -> None:
    """Play with the phone in a web browser, serve it to adb, or film the expert."""
    from distrl.cli.extras import require_extra
    from distrl.core.errors import UserError
    from distrl.devices.sim.apps import load_app
    from distrl.devices.sim.variations import check_names
    from distrl.runtime.build import make_phone
    from distrl.runtime.playing import Play
    from distrl.tasks.book import find_task

    output = Output.of(context)
    found = find_task(task) if task else None
    check_names(tuple(variation or ()))
    if found and seed is not None:
        raise UserError("a task comes with its own phone: leave out --task or --seed")
    if record and not found:
        raise UserError("--record films the expert doing a task: add --task, for example --task general-train-0000")
    if grpc is not None:
        require_extra("android-env")
        if adb is None:
            raise UserError("--grpc is for whoever comes through adb: add --adb PORT")
    size = scale or (PAGE_SCALE if adb is None else ADB_SCALE)
    handset = make_phone(seed=seed or 0, scale=size, more_apps=tuple(load_app(path) for path in app or ()))
    play = Play(handset, found, seed=seed or 0, variations=tuple(variation or ()))
    if record:
        _film(output, play, record)
        return
    from distrl.cli.phone_server import Ports, serve

    serve(play, Ports(page=port, adb=adb, grpc=grpc), opens_browser=browser, output=output)


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The folder for the films.")] = Path("demo"),
) -> None:
    """Film the scripted expert on four tasks: the quickest way to see the phone."""
    from distrl.runtime.build import make_phone
    from distrl.runtime.playing import Play
    from distrl.tasks.book import load_tasks

    output = Output.of(context)
    for suite in ("general", "web_shopping", "install", "system"):
        hardest = max(load_tasks(suite, "test")[:12], key=lambda t: t.difficulty)
        _film(output, Play(make_phone(scale=0.4), hardest, seed=0, variations=()), out / f"{suite}.webp")
    output.note("Open the films in any web browser. To play yourself: make phone")


def _film(output: Output, play: "Play", path: Path) -> None:
    from distrl.runtime.playing import record

    assert play.task is not None
    output.note(f"{play.task.id}: {play.task.instruction}")
    with output.progress("filming", play.task.max_steps) as advance:
        film = record(play, path, on_step=lambda: advance(1))
    output.write(f"{path}: {film.steps} steps, {'solved' if film.solved else 'not solved'}")
    if not film.solved:
        raise typer.Exit(1)

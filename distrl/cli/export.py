"""`distrl export`: a trained policy for others to open.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

from pathlib import Path
from typing import Annotated

import typer

from distrl.cli.options import AsJson
from distrl.cli.output import Output


def export(
    context: typer.Context,
    run: Annotated[Path, typer.Option(help="The run directory.")],
    to: Annotated[
        str,
        typer.Option(help="hf: a directory as on the hub; peft: a pre-trained model's adapter; onnx: a graph."),
    ],
    directory: Annotated[Path | None, typer.Argument(help="A directory that is not there yet.")] = None,
    out: Annotated[Path | None, typer.Option(help="The same, as an option.")] = None,
    json: AsJson = False,
) -> None:
    """Export the policy of a run: as a model directory, an adapter, or ONNX.

    What a tiny policy is exported as says the same about real screens as the run, or is not written.
    """
    from distrl.cli.extras import require_extra
    from distrl.core.errors import UserError

    output = Output.of(context, is_json=json)
    if (directory is None) == (out is None):
        raise UserError("say where to write, once: distrl export --run RUN --to FORMAT DIRECTORY (or --out DIRECTORY)")
    target = directory or out
    assert target is not None
    require_extra("train")
    if to == "onnx":
        require_extra("onnx")

    from distrl.runtime.export import export_run
    from distrl.runtime.trained import read_run

    with output.console().status("exporting"):
        files = export_run(read_run(run), to, target)
    if json:
        output.write_json({"out": str(target), "files": files})
    else:
        output.write(f"{target}: {', '.join(files)}")

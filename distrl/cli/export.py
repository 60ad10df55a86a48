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
    to: Annotated[str, typer.Option(help="hf: safetensors, config.json, model card; onnx: the network as a graph.")],
    out: Annotated[Path, typer.Option(help="A directory that is not there yet.")],
    json: AsJson = False,
) -> None:
    """Export the policy of a run as safetensors or ONNX.

    The graph is checked against torch on real screens before it is written.
    """
    from distrl.cli.extras import require_extra

    output = Output.of(context, is_json=json)
    require_extra("train")
    if to == "onnx":
        require_extra("onnx")

    from distrl.runtime.export import export_run
    from distrl.runtime.trained import read_run

    with output.console().status("exporting"):
        files = export_run(read_run(run), to, out)
    if json:
        output.write_json({"out": str(out), "files": files})
    else:
        output.write(f"{out}: {', '.join(files)}")

"""`distrl runs`: what is in run directories."""

from pathlib import Path
from typing import Annotated, Any

import typer

from distrl.cli.options import AsJson
from distrl.cli.output import Output

app = typer.Typer(help="Look at runs: list them, show one, audit its promises.", no_args_is_help=True)

EXIT_UNSOUND = 1
Run = Annotated[Path, typer.Argument(help="The directory of a run.", show_default=False)]


@app.command(name="list")
def list_runs(
    context: typer.Context,
    parent: Annotated[Path, typer.Argument(help="Where runs are.")] = Path("runs"),
    json: AsJson = False,
) -> None:
    """All runs of a directory, the oldest first."""
    output = Output.of(context, is_json=json)
    found = sorted(path.parent for path in parent.glob("*/config.toml"))
    rows = [_row(path) for path in found]
    if json:
        output.write_json({"runs": rows})
        return
    for row in rows:
        output.write(
            f"{row['name']}: {row['trajectories']:,} trajectories, success {row['start']:.1%} -> {row['success']:.1%}"
            if row["success"] is not None
            else f"{row['name']}: nothing evaluated yet"
        )
    if not rows:
        output.note(f"no runs in {parent}; distrl train makes one")


@app.command()
def show(context: typer.Context, run: Run, json: AsJson = False) -> None:
    """One run in numbers."""
    output = Output.of(context, is_json=json)
    _check(run)
    row = _row(run)
    if json:
        output.write_json(row)
        return
    for name, value in row.items():
        output.write(f"{name}: {value}")


@app.command()
def audit(
    context: typer.Context,
    run: Run,
    spool: Annotated[
        list[Path] | None,
        typer.Option(help="A directory with spools of workers on other machines, copied here; may be repeated."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Whether every promise of an asynchronous run was kept; exit status 1 if not."""
    from distrl.cli.extras import require_extra

    require_extra("train")
    import msgspec

    from distrl.runtime.audit import audit_run

    output = Output.of(context, is_json=json)
    _check(run)
    found = audit_run(run, spool or ())
    values: dict[str, Any] = msgspec.to_builtins(found)
    if json:
        output.write_json(values)
    else:
        for name, value in values.items():
            output.write(f"{name}: {value}")
        output.note("sound: every promise was kept" if found.is_sound else "NOT sound: see the numbers above")
    if not found.is_sound:
        raise typer.Exit(EXIT_UNSOUND)


def _check(run: Path) -> None:
    from distrl.core.errors import UserError

    if not (run / "config.toml").is_file():
        raise UserError(f"{run} is not the directory of a run; distrl runs list shows what there is")


def _row(run: Path) -> dict[str, Any]:
    """What its files say, without loading anything heavy."""
    import json

    def lines(kind: str) -> list[dict[str, Any]]:
        path = run / f"{kind}.jsonl"
        if not path.is_file():
            return []
        whole = path.read_text(encoding="utf-8", errors="replace").splitlines()
        return [json.loads(line) for line in whole if line.startswith("{") and line.endswith("}")]

    curve, fleet = lines("evaluations"), lines("fleet")
    last = curve[-1] if curve else {}
    return {
        "name": run.name,
        "trajectories": last.get("trajectories", 0),
        "updates": last.get("updates", 0),
        "minutes": round(last.get("wall_s", 0.0) / 60, 2),
        "start": curve[0]["success"] if curve else None,
        "success": last.get("success"),
        "sampled_success": last.get("sampled_success"),
        "evaluations": len(curve),
        "limit": fleet[-1]["limit"] if fleet else None,
        "is_asynchronous": (run / "journal.sqlite").is_file(),
    }

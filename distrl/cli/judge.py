"""`distrl judge`: how far a judge can be trusted.

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
    from distrl.runtime.judge_check import JudgeCheck

app = typer.Typer(help="Judges: check how far one can be trusted.", no_args_is_help=True)

JUDGES = ("rule", "vlm", "vote", "script")


@app.callback()
def _verbs() -> None:
    """Judges: check how far one can be trusted."""


@app.command()
def check(
    context: typer.Context,
    run: Annotated[Path, typer.Option(help="The directory of a run.", show_default=False)],
    judge: Annotated[str, typer.Option(help="vlm, vote or script, as configured; rule is what was recorded.")],
    labels: Annotated[
        Path | None, typer.Option(help="CSV with the columns id and verdict: what people say, instead of the rule.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write a page with the disagreements and their screens.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge only so many, the oldest first.")] = None,
    config: ConfigFile = None,
    set: Overrides = None,
    json: AsJson = False,
) -> None:
    """Judge recorded trajectories again and compare with what is known about them."""
    from distrl.cli.extras import require_extra
    from distrl.core.errors import UnknownNameError, UserError

    output = Output.of(context, is_json=json)
    if judge not in JUDGES:
        raise UnknownNameError("judge", judge, JUDGES)
    if not (run / "config.toml").is_file():
        raise UserError(f"{run} is not the directory of a run; distrl runs list shows what there is")
    if page is not None and (page.is_dir() or not page.parent.is_dir()):
        raise UserError(f"--page {page} cannot be written: the name of a file in a directory that is there is wanted")
    require_extra("train")
    if judge in ("vlm", "vote"):
        require_extra("judge")
    from distrl.runtime.judge_api import JudgeTest, check_judge_on
    from distrl.runtime.judge_check import count_trajectories

    settings = _settings(run, config, set or [], judge)
    test = JudgeTest(run=run, labels=labels, page=page, limit=limit)
    count = count_trajectories(run)
    with output.progress("judging", min(count, limit or count)) as advance:
        found = check_judge_on(test, settings.judge, on_judged=lambda: advance(1))
    if json:
        import msgspec

        output.write_json(msgspec.to_builtins(found))
    else:
        _write(output, judge, found)
    if page is not None:
        output.note(f"the disagreements and their screens are in {page}")


@app.command()
def serve(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 8001,
    threads: Annotated[int, typer.Option(min=1, help="Cores that the small language model may use.")] = 1,
) -> None:
    """Offer a judge that needs no account and no GPU: OCR and a small language model. It is weak; measure it."""
    import socket

    from distrl.cli.extras import require_extra
    from distrl.core.errors import UserError

    output = Output.of(context)
    require_extra("ocr")
    import uvicorn

    from distrl.runtime.ocr_judge import MODELS, OcrJudge

    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise UserError(f"port {port} on 127.0.0.1 cannot be used: {error.strerror}; choose another --port") from error
    output.note("loading the models")
    judge = OcrJudge(num_threads=threads)
    host, free = listener.getsockname()[:2]
    output.write(f"http://{host}:{free}/v1")
    output.note(f"set judge.url to it, judge.model to one of {', '.join(MODELS)}, and judge.key_variable to nothing")
    uvicorn.Server(uvicorn.Config(judge.app(), log_level="warning", timeout_graceful_shutdown=2)).run(
        sockets=[listener]
    )


def _settings(run: Path, config: Path | None, overrides: list[str], judge: str) -> "Config":
    """The configuration of the file that was given, or of the run."""
    from distrl.core.config import load_config
    from distrl.runtime.build import KNOWN_NAMES

    chosen = [*overrides, f"judge.kind={judge}"]
    return load_config(config or run / "config.toml", environ=os.environ, overrides=chosen, names=KNOWN_NAMES)


def _write(output: Output, judge: str, found: "JudgeCheck") -> None:
    from distrl.runtime.evaluation import wilson

    output.write(f"{judge}: {found.n} trajectories ({found.skipped} of the run skipped)")
    for name in ("accuracy", "false_success", "false_failure", "unknown"):
        share = getattr(found, name)
        low, high = wilson(round(share * found.n), found.n)
        output.write(f"  {name:<14} {share:7.1%}   (95 %: {low:.1%} to {high:.1%})")
    output.write(f"  {'cost':<14} {found.cost:7.4f}")
    for suite, table in found.by_suite.items():
        for truth, said in table.items():
            counts = ", ".join(f"{count} {word}" for word, count in said.items())
            output.write(f"{suite}, known {truth}: judged {counts}")
    for reason, count in found.unknown_reasons.items():
        output.note(f"unknown {count} times: {reason}")

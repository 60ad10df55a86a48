"""`distrl train`: from a configuration to a trained policy, a curve and two films.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distrl.cli.options import AsJson, ConfigFile, Overrides
from distrl.cli.output import Output

if TYPE_CHECKING:
    from distrl.runtime.api import TrainResult
    from distrl.runtime.presets import Option
    from distrl.runtime.report import Score, Summary

EXIT_INTERRUPTED = 130

Preset = Annotated[str, typer.Option(help="default, quick (a minute's look) or paper (the paper's numbers).")]
Runtime = Annotated[
    str, typer.Option(help="local: learner and workers beside each other; serial: one thread, the same every time.")
]
Address = Annotated[
    str | None, typer.Option(help="A Ray cluster to train on (auto, HOST:PORT); this machine alone if absent.")
]


def train(
    context: typer.Context,
    preset: Preset = "default",
    config: ConfigFile = None,
    set: Overrides = None,
    runtime: Runtime = "local",
    address: Address = None,
    workers: Annotated[int, typer.Option(min=0, help="Worker processes to start; the devices are shared out.")] = 1,
    suite: Annotated[str | None, typer.Option(help="tasks.suite: general, web_shopping, install or system.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="algorithm.name: a_ride, vtrace, ... or module:Class.")] = None,
    mode: Annotated[str | None, typer.Option(help="policy.mode: pixels or text.")] = None,
    seed: Annotated[int | None, typer.Option(help="seed: what all randomness is derived from.")] = None,
    run_dir: Annotated[Path | None, typer.Option(help="Where to write; an existing run is resumed.")] = None,
    minutes: Annotated[float | None, typer.Option(help="train.max_minutes: longest time to train.")] = None,
    json: AsJson = False,
) -> None:
    """Train a policy; the same command again goes on where it stopped."""
    from distrl.cli.extras import require_extra
    from distrl.cli.training_display import TrainingDisplay
    from distrl.core.errors import UserError
    from distrl.runtime.presets import load_run_config

    output = Output.of(context, is_json=json)
    require_extra("train")
    if runtime == "serial" and address is not None:
        raise UserError("--address is for --runtime local: a serial run is in one thread here; leave one of them out")
    options = _options(suite=suite, algorithm=algorithm, mode=mode, seed=seed, minutes=minutes)
    resolved = load_run_config(preset, config, environ=os.environ, overrides=set or (), options=options)
    if ":" in resolved.algorithm.name:
        # An algorithm of one's own is found where one stands; behind everything installed, which it cannot hide.
        sys.path.append(str(Path.cwd()))
    path = run_dir
    try:
        with TrainingDisplay(output, resolved) as display:
            from distrl.runtime import api

            path = path or api.new_run_dir(resolved, now_s=time.time())
            is_new = not path.exists()
            engine = api.Engine(runtime, address or os.environ.get("RAY_ADDRESS"), workers)
            ready = api.ready_training(resolved, path, display.show, engine)
            output.note(f"{'training in' if is_new else 'going on in'} {path}")
            display.announce("evaluating the start" if is_new else "going on")
            result = ready.run()
        summary = _report(output, result)
    except KeyboardInterrupt:
        _say_how_to_go_on(output, path, is_named=run_dir is not None)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    _tell_end(output, path, summary, is_json=json)


def _options(
    *, suite: str | None, algorithm: str | None, mode: str | None, seed: int | None, minutes: float | None
) -> "list[Option]":
    """The options that were given, as the keys of the configuration that they stand for."""
    from distrl.runtime.presets import Option

    every = (
        ("--suite", "tasks.suite", suite),
        ("--algorithm", "algorithm.name", algorithm),
        ("--mode", "policy.mode", mode),
        ("--seed", "seed", seed),
        ("--minutes", "train.max_minutes", minutes),
    )
    return [Option(name, key, value) for name, key, value in every if value is not None]


def _report(output: Output, result: "TrainResult") -> "Summary":
    from distrl.runtime.report import num_film_candidates, write_report

    most = 2 * num_film_candidates(result.config) + 40
    with output.progress("filming", most) as advance:
        return write_report(result, tick=lambda: advance(1))


def _say_how_to_go_on(output: Output, path: Path | None, *, is_named: bool) -> None:
    """Where things are after an interruption, and the command that goes on from there."""
    if path is None or not (path / "config.toml").exists():
        output.note("interrupted before anything was written")
        return
    saved = sorted(int(found.name) for found in (path / "checkpoints").glob("[0-9]*") if found.name.isdecimal())
    where = f"up to trajectory {saved[-1]:,}" if saved else "of which nothing is worth keeping yet"
    program = sys.argv[0] if Path(sys.argv[0]).name == "distrl" and not shutil.which("distrl") else "distrl"
    command = shlex.join([program, *sys.argv[1:], *([] if is_named else ["--run-dir", str(path)])])
    output.note(f"interrupted; the run is in {path}, saved {where}. The same command goes on from there:\n  {command}")


def _tell_end(output: Output, path: Path, summary: "Summary", *, is_json: bool) -> None:
    if is_json:
        import msgspec

        output.write_json({"run_dir": str(path), **msgspec.to_builtins(summary)})
    else:
        _write_summary(output, path, summary)


def _write_summary(output: Output, path: Path, summary: "Summary") -> None:
    from distrl.cli.training_display import in_words

    output.write(f"held-out success ({summary.episodes} episodes of {summary.suite}, 95 % intervals)")
    output.write(f"  start  {_score_line(summary.start)}")
    output.write(f"  end    {_score_line(summary.end)}")
    output.write(
        f"{summary.trajectories:,} trajectories, {summary.steps:,} steps, {summary.updates:,} updates in "
        f"{in_words(summary.train_s)} of training: {summary.steps_per_s:,.0f} steps/s"
    )
    if summary.films is not None:
        films = summary.films
        words = {True: "solved", False: "not solved"}
        output.write(
            f'films: "{films.instruction}" ({films.task}): {words[films.is_solved_before]} before, '
            f"{words[films.is_solved_after]} after"
        )
    output.write(f"files in {path}: {', '.join(summary.files)}")
    output.note(f"Next: distrl eval --run {path}, or distrl export --run {path} --to hf --out DIR")


def _score_line(score: "Score") -> str:
    line = f"{score.success:6.1%} ({score.low:.1%} to {score.high:.1%})"
    if score.sampled_success is not None:
        line += f"   sampled {score.sampled_success:.1%} ({score.sampled_low:.1%} to {score.sampled_high:.1%})"
    return line

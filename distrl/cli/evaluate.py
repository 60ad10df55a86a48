"""`distrl eval`: how often a policy solves tasks.

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
    from distrl.policies.endpoint import EndpointPolicy
    from distrl.runtime.evaluation import Report


def evaluate(
    context: typer.Context,
    run: Annotated[Path | None, typer.Option(help="A run directory: its configuration and newest weights.")] = None,
    policy: Annotated[str, typer.Option(help="expert, random, idle, imitation (the start), endpoint: a server.")] = "",
    suite: Annotated[str, typer.Option(help="The run's, or as configured, if not given.")] = "",
    split: Annotated[str, typer.Option(help="train or test.")] = "test",
    episodes: Annotated[int | None, typer.Option(min=1, help="As configured (eval.episodes) if not given.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Which episodes; those of training if not given.")] = None,
    mode: Annotated[str, typer.Option(help="pixels or text; the run's if not given.")] = "",
    sampled: Annotated[bool, typer.Option("--sampled", help="Draw actions instead of taking the likeliest.")] = False,
    config: ConfigFile = None,
    set: Overrides = None,
    json: AsJson = False,
) -> None:
    """Measure how often a run, a named policy or a model behind a server solves tasks."""
    from distrl.cli.extras import require_extra

    output = Output.of(context, is_json=json)
    require_extra("train")
    _check(run, policy, mode, is_sampled=sampled)
    settings = _settings(run, mode, config, set or [])

    from distrl.runtime import api
    from distrl.runtime.run_state import EVALUATION_SEED

    chosen = EVALUATION_SEED if seed is None else seed
    name = suite or settings.tasks.suite
    player = _remote(settings, output) if policy == "endpoint" else None
    with output.progress("evaluating", episodes or settings.eval.episodes) as advance:
        report = api.evaluate(
            player or run or policy,
            suite=name,
            split=split,
            episodes=episodes,
            seed=chosen,
            mode=None if policy in ("expert", "random", "idle", "endpoint") else settings.policy.mode,
            is_sampled=sampled,
            config=settings,
            on_episode=lambda trajectory: advance(1),
        )
    if json:
        import msgspec

        about = {"policy": policy or str(run), "suite": name, "split": split, "seed": chosen}
        about |= {} if player is None else _costs(player)
        output.write_json(msgspec.to_builtins(report) | about)
    else:
        _write_table(output, report, f"{policy or run} on {name}/{split}")
        if player is not None:
            output.write("  ".join(f"{what} {number:,}" for what, number in _costs(player).items()))


def _remote(settings: "Config", output: Output) -> "EndpointPolicy":
    """The policy behind a server, which has answered once; `UserError` if it cannot be used."""
    from distrl.cli.extras import require_extra

    require_extra("endpoint")
    import asyncio

    from distrl.runtime.build_endpoint import make_endpoint_policy

    player = make_endpoint_policy(settings.policy.endpoint)
    able = asyncio.run(player.check())
    told = "gives" if able.has_log_probs else "gives no"
    output.note(f"{player.options.model} at {player.endpoint.shown_url} {told} log-probabilities")
    return player


def _costs(player: "EndpointPolicy") -> dict[str, float]:
    return {"calls": player.num_calls, "tokens": player.num_tokens, "cost": round(player.spent, 6)}


def _check(run: Path | None, policy: str, mode: str, *, is_sampled: bool) -> None:
    """What can be wrong with the options together, all of it."""
    from distrl.core.errors import UnknownNameError, UserError
    from distrl.runtime.players import NAMES, SCRIPTS

    problems = []
    if (run is None) == (not policy):
        problems.append(f"give either --run DIR or --policy NAME ({', '.join(NAMES)}), one of the two")
    elif policy and policy not in NAMES:
        problems.append(str(UnknownNameError("policy", policy, NAMES)))
    if mode and mode not in ("pixels", "text"):
        problems.append(str(UnknownNameError("mode", mode, ("pixels", "text"))))
    if policy == "endpoint" and mode:
        problems.append("endpoint has no mode: what it is shown, its prompt decides (policy.endpoint.prompt)")
    if policy in SCRIPTS and (mode or is_sampled):
        problems.append(f"{policy} has no network: leave out --mode and --sampled")
    if problems:
        raise UserError("\n".join(problems))


def _settings(run: Path | None, mode: str, file: Path | None, overrides: list[str]) -> "Config":
    """The configuration of the run, or that of a file, the environment and the command line."""
    from distrl.core.errors import UserError
    from distrl.runtime.presets import Option, load_run_config
    from distrl.runtime.trained import read_run

    if run is None:
        options = [Option("--mode", "policy.mode", mode)] if mode else []
        return load_run_config(path=file, environ=os.environ, overrides=overrides, options=options)
    if file is not None or overrides:
        raise UserError("a run is evaluated as it is configured: leave out --config and --set, or --run")
    config = read_run(run).config
    if mode not in ("", config.policy.mode):
        raise UserError(f"{run} was trained in {config.policy.mode} mode; leave out --mode")
    return config


def _write_table(output: Output, report: "Report", title: str) -> None:
    output.write(f"{title}: {report.episodes} episodes")
    output.write(f"  solved      {report.success:7.1%}   (95 % interval: {report.low:.1%} to {report.high:.1%})")
    if report.mean_steps_to_success:
        output.write(f"  steps       {report.mean_steps_to_success:7.1f}   (mean, of what was solved)")
    difficulty = {"*" * int(level): share for level, share in report.by_difficulty.items()}
    groups = {"difficulty": difficulty, "variation": report.by_tag, "template": report.by_template}
    width = max(len(name) for shares in groups.values() for name in shares)
    for group, shares in groups.items():
        worst_first = sorted(shares.items(), key=lambda item: (item[1], item[0]))
        output.write(f"by {group}{', the worst first' if shares else ': none'}")
        for name, share in worst_first:
            output.write(f"  {name:<{width}}  {share:7.1%}")

"""`distrl plan`: what a fleet would reach, before it is bought."""

from typing import TYPE_CHECKING, Annotated

import typer

from distrl.cli.options import AsJson
from distrl.cli.output import Output

if TYPE_CHECKING:
    from distrl.runtime.planner import Plan

Latency = Annotated[str, typer.Option(help="How fast the devices are: emulator, phone, lab, rough, ...")]
Minutes = Annotated[float | None, typer.Option(min=1, help="Minutes of the fleet to play; enough if absent.")]


def plan(
    context: typer.Context,
    devices: Annotated[int, typer.Option(min=1, max=10_000, help="Devices of the whole fleet.")] = 32,
    workers: Annotated[int, typer.Option(min=1, help="Workers that share them, each with a policy of its own.")] = 1,
    latency: Latency = "emulator",
    steps: Annotated[int, typer.Option(min=1, help="Mean length of an episode.")] = 8,
    batch_ms: Annotated[float, typer.Option(min=0, help="Milliseconds that a batch of decisions takes.")] = 0.0,
    decision_ms: Annotated[float, typer.Option(min=0, help="Milliseconds more for each decision in it.")] = 0.0,
    max_batch: Annotated[int, typer.Option(min=1, help="Decisions in a batch at most.")] = 64,
    update_s: Annotated[float, typer.Option(min=0, help="Seconds that an update takes.")] = 0.0,
    steps_per_update: Annotated[float, typer.Option(min=0.1, help="learner.new_steps_per_update.")] = 24.0,
    publish_every: Annotated[int, typer.Option(min=1, help="learner.publish_every_updates.")] = 2,
    max_policy_lag: Annotated[int | None, typer.Option(min=0, help="collect.max_policy_lag; 0 is synchronous.")] = None,
    minutes: Minutes = None,
    seed: Annotated[int, typer.Option(help="What all randomness is derived from.")] = 0,
    json: AsJson = False,
) -> None:
    """Predict trajectories per minute, policy lag and what limits a fleet, by playing it in virtual time."""
    from distrl.cli.extras import require_extra

    output = Output.of(context, is_json=json)
    require_extra("train")
    from distrl.runtime import planner

    length = minutes or planner.enough_minutes(devices)
    fleet = planner.Fleet(
        devices=devices,
        workers=min(workers, devices),
        latency=latency,
        steps=planner.episode_lengths(steps),
        batch_s=batch_ms / 1000,
        decision_s=decision_ms / 1000,
        max_batch=max_batch,
        update_s=update_s,
        new_steps_per_update=steps_per_update,
        publish_every_updates=publish_every,
        max_policy_lag=max_policy_lag,
        minutes=length,
        seed=seed,
    )
    with output.progress("playing the fleet", planner.num_ticks(fleet)) as advance:
        made = planner.plan(fleet, tick=lambda: advance(1))
    if json:
        import msgspec

        output.write_json(msgspec.to_builtins(made))
    else:
        _write(output, made, latency)


def _write(output: Output, made: "Plan", latency: str) -> None:
    output.write(f"{made.devices:,} devices ({latency}): {made.trajectories_per_min:,.1f} trajectories a minute")
    output.write(f"  {made.steps_per_s:,.1f} steps/s, {made.updates_per_min:,.1f} updates a minute")
    output.write(f"  policy lag {made.lag_mean:,.1f} versions, at most {made.lag_max:,}")
    output.write(
        f"  devices work {made.device_use:.1%} of the time and wait for decisions {made.inference_share:.1%}; "
        f"the learner works {made.learner_use:.1%}"
    )
    output.write(f"  limited by: {made.limit}")

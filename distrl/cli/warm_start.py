"""`distrl pretrain` and `distrl imitate`: what training starts from, made anew.

`pretrain` makes the eye for words, `imitate` a policy that copies a noisy expert. Both write a safetensors file and,
beside it, a log with the same name that ends in .json.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from distrl.cli.options import AsJson
from distrl.cli.output import Output

if TYPE_CHECKING:
    from torch import Tensor

    from distrl.core.config import Config
    from distrl.policies.tiny.policy import TinyPolicy
    from distrl.runtime.critic import CriticProgress
    from distrl.runtime.imitation import ImitationOptions, Progress

Out = Annotated[Path, typer.Option(help="The .safetensors file to write; a log ending in .json comes beside it.")]
Seed = Annotated[int, typer.Option(min=0, help="What all randomness is derived from.")]


def pretrain(
    context: typer.Context,
    out: Out,
    updates: Annotated[int, typer.Option(min=10, help="Updates of the encoder.")] = 1200,
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Train the eye for words, on random words that are on no phone."""
    from distrl.cli.extras import require_extra

    output = Output.of(context, is_json=json)
    require_extra("train")
    _check_out(out)

    import msgspec
    import torch

    from distrl.policies.tiny.encoder import WordEncoder
    from distrl.policies.tiny.pretrain import PretrainOptions
    from distrl.policies.tiny.pretrain import pretrain as pretrain_encoder

    options = PretrainOptions(updates=updates, seed=seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = WordEncoder()
    log: list[dict[str, Any]] = []
    with output.progress("pre-training", updates) as advance:
        for progress in pretrain_encoder(encoder, options):
            log.append(msgspec.to_builtins(progress))
            advance(1)
    _write(out, encoder.state_dict(), {"options": msgspec.to_builtins(options), "log": log})
    last = log[-1]
    if json:
        output.write_json({"out": str(out), **last})
    else:
        output.write(f"{out}: {last['matched']:.1%} of words matched, loss {last['loss']:.3f}, {updates} updates")


def imitate(
    context: typer.Context,
    out: Out,
    suite: Annotated[str, typer.Option(help="general, web_shopping, install or system.")] = "general",
    mode: Annotated[str, typer.Option(help="pixels or text.")] = "pixels",
    per_template: Annotated[int, typer.Option(min=1, help="Tasks shown of each template.")] = 12,
    noise: Annotated[float, typer.Option(help="Share of the expert's actions that are random.")] = 0.15,
    target: Annotated[float, typer.Option(help="Success on tasks not shown at which to stop.")] = 0.5,
    max_epochs: Annotated[int, typer.Option(min=1, help="Stop after so many epochs in any case.")] = 40,
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Imitate a noisy expert until enough tasks that were not shown are solved, then learn how episodes end."""
    from distrl.cli.extras import require_extra
    from distrl.runtime.presets import Option, load_run_config

    output = Output.of(context, is_json=json)
    require_extra("train")
    _check_out(out)
    _check_shares(noise=noise, target=target)
    options = (
        Option("--suite", "tasks.suite", suite),
        Option("--mode", "policy.mode", mode),
        Option("--seed", "seed", seed),
    )
    config = load_run_config(environ=os.environ, overrides=["policy.start=scratch"], options=options)

    import msgspec

    from distrl.runtime.imitation import ImitationOptions
    from distrl.runtime.policies import load_start

    chosen = ImitationOptions(per_template=per_template, noise=noise, target=target, max_epochs=max_epochs)
    policy = load_start(config)
    output.note(f"watching the expert at {suite}, then imitating it until {target:.0%} of other tasks are solved")
    log = [msgspec.to_builtins(p) for p in _imitate(policy, config, chosen, output)]
    critic = [msgspec.to_builtins(p) for p in _fit_critic(policy, config, output)]
    network = {name: tensor for name, tensor in policy.tensors().items() if name.startswith("network.")}
    about = {"suite": suite, "mode": mode, "seed": seed, "options": msgspec.to_builtins(chosen)}
    _write(out, network, about | {"log": log, "critic": critic})
    success = log[-1]["report"]["success"]
    if json:
        output.write_json(
            {"out": str(out), "epochs": log[-1]["epoch"], "success": success, "is_reached": success >= target}
        )
    else:
        output.write(f"{out}: {success:.1%} solved after {log[-1]['epoch']} epochs")
    if success < target:
        output.note(f"the target of {target:.0%} was not reached: try more --per-template or --max-epochs")


def _imitate(
    policy: "TinyPolicy", config: "Config", options: "ImitationOptions", output: Output
) -> "Iterator[Progress]":
    """The first half: one line for each check."""
    from distrl.runtime.imitation import imitate as imitate_expert
    from distrl.tasks.book import load_tasks

    epoch = 0
    with output.progress("imitating, at most", options.max_epochs) as advance:
        for progress in imitate_expert(policy, load_tasks(config.tasks.suite, "train"), config, options):
            advance(progress.epoch - epoch)
            epoch = progress.epoch
            output.note(
                f"epoch {epoch}: loss {progress.loss:.3f}, {progress.report.success:.1%} solved, "
                f"{progress.sampled.success:.1%} with sampled actions"
            )
            yield progress


def _fit_critic(policy: "TinyPolicy", config: "Config", output: Output) -> "Iterator[CriticProgress]":
    """The second half of imitation: what the policy is worth, so that learning does not start blind."""
    from distrl.runtime.critic import CriticOptions, fit_critic
    from distrl.tasks.book import load_tasks

    options = CriticOptions()
    output.note(f"trying each training task {options.rounds} times, to learn how episodes end")
    with output.progress("fitting the values", options.epochs) as advance:
        for progress in fit_critic(policy, load_tasks(config.tasks.suite, "train"), config, options):
            advance(1)
            yield progress


def _check_out(out: Path) -> None:
    """Find out before the work, not after it, that its result cannot be written."""
    from distrl.core.errors import UserError

    if out.suffix != ".safetensors":
        raise UserError(f"--out {out}: weights are written as .safetensors")
    if out.is_dir():
        raise UserError(f"--out {out} is a directory")
    parent = next(folder for folder in out.absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UserError(f"--out {out}: cannot write below {parent}")


def _check_shares(**shares: float) -> None:
    from distrl.core.errors import UserError

    problems = [f"--{name} must lie in 0 to 1, got {value}" for name, value in shares.items() if not 0 <= value <= 1]
    if problems:
        raise UserError("\n".join(problems))


def _write(out: Path, tensors: "Mapping[str, Tensor]", log: Mapping[str, Any]) -> None:
    import msgspec

    from distrl.core.errors import UserError
    from distrl.runtime.checkpoints import write_safely
    from distrl.runtime.tensors import pack_tensors

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_safely(out, pack_tensors(tensors))
        write_safely(out.with_suffix(".json"), msgspec.json.format(msgspec.json.encode(log), indent=1) + b"\n")
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror or error})") from error

"""`distrl pretrain` and `distrl imitate`: what training starts from, made anew.

`pretrain` makes the eyes for words and widgets, `imitate` a policy that copies a noisy expert. Both write a safetensors
file and, beside it, a log with the same name that ends in .json.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from distrl.cli.options import AsJson, ConfigFile, Overrides
from distrl.cli.output import Output

if TYPE_CHECKING:
    from torch import Tensor

    from distrl.core.config import Config
    from distrl.runtime.critic import CriticProgress
    from distrl.runtime.imitation import ImitationOptions, Progress
    from distrl.runtime.policies import AnyPolicy

Out = Annotated[Path, typer.Option(help="The .safetensors file to write; a log ending in .json comes beside it.")]
Seed = Annotated[int, typer.Option(min=0, help="What all randomness is derived from.")]
LearningRate = Annotated[
    float | None, typer.Option(min=0.0, help="2e-3, or for a pre-trained model 5e-4, if not given.")
]
CriticRounds = Annotated[
    int | None, typer.Option(min=0, help="Tries of each task to fit the values; 2, or for a model 0, if not given.")
]


def pretrain(
    context: typer.Context,
    out: Out,
    eye: Annotated[str, typer.Option(help="words or widgets.")] = "words",
    updates: Annotated[int, typer.Option(min=10, help="Updates of the eye for words.")] = 1200,
    per_template: Annotated[
        int, typer.Option(min=1, help="Tasks of each template whose screens the eye for widgets is shown.")
    ] = 12,
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Train an eye of pixels mode: for words, on random ones, or for widgets, on screens of training tasks."""
    from distrl.cli.extras import require_extra
    from distrl.core.errors import UnknownNameError

    output = Output.of(context, is_json=json)
    if eye not in ("words", "widgets"):
        raise UnknownNameError("eye", eye, ("words", "widgets"))
    require_extra("train")
    _check_out(out)
    made = _pretrain_words(updates, seed, output) if eye == "words" else _pretrain_widgets(per_template, seed, output)
    _write(out, made.tensors, {"options": made.options, "log": made.log})
    last = made.log[-1]
    if json:
        output.write_json({"out": str(out), **last})
    else:
        output.write(f"{out}: " + ", ".join(f"{name} {value:.4g}" for name, value in last.items()))


class _Pretrained(NamedTuple):
    """What pre-training made, and how."""

    tensors: "Mapping[str, Tensor]"
    options: Mapping[str, Any]
    log: list[dict[str, Any]]


def _pretrain_words(updates: int, seed: int, output: Output) -> _Pretrained:
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
    return _Pretrained(encoder.state_dict(), msgspec.to_builtins(options), log)


def _pretrain_widgets(per_template: int, seed: int, output: Output) -> _Pretrained:
    import msgspec
    import torch

    from distrl.policies.tiny.widgets import WidgetEye, WidgetOptions, train_widgets
    from distrl.runtime.labelled import CHECKED_FROM, SHOWN_FROM, labelled_elements, num_episodes

    options = WidgetOptions(seed=seed)
    checks = 1 + per_template // 8
    with output.progress("watching the expert", num_episodes(per_template + checks)) as advance:
        shown = labelled_elements(per_template, first=SHOWN_FROM, seed=seed, tick=advance)
        others = labelled_elements(checks, first=CHECKED_FROM, seed=seed, tick=advance)
    new = [example for key, example in others.items() if key not in shown]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        eye = WidgetEye()
    log: list[dict[str, Any]] = []
    with output.progress("pre-training", options.epochs) as advance:
        for progress in train_widgets(eye, list(shown.values()), new, options):
            log.append(msgspec.to_builtins(progress))
            advance(1)
    told = {"per_template": per_template, "num_shown": len(shown), "num_checked": len(new)}
    return _Pretrained(eye.state_dict(), told | msgspec.to_builtins(options), log)


def imitate(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The .safetensors file to write, or for a pre-trained model a directory.")],
    config: ConfigFile = None,
    set: Overrides = None,
    suite: Annotated[str | None, typer.Option(help="general, web_shopping, install or system.")] = None,
    mode: Annotated[str | None, typer.Option(help="pixels or text.")] = None,
    per_template: Annotated[int, typer.Option(min=1, help="Tasks shown of each template.")] = 12,
    noise: Annotated[float, typer.Option(help="Share of the expert's actions that are random.")] = 0.15,
    target: Annotated[float, typer.Option(help="Success on tasks not shown at which to stop.")] = 0.5,
    max_epochs: Annotated[int, typer.Option(min=1, help="Stop after so many epochs in any case.")] = 40,
    checks: Annotated[int, typer.Option(min=1, help="Other tasks of each template tried after an epoch.")] = 4,
    learning_rate: LearningRate = None,
    critic_rounds: CriticRounds = None,
    seed: Annotated[int | None, typer.Option(min=0, help="What all randomness is derived from.")] = None,
    json: AsJson = False,
) -> None:
    """Imitate a noisy expert until enough tasks that were not shown are solved, then learn how episodes end."""
    from distrl.cli.extras import require_extra

    output = Output.of(context, is_json=json)
    require_extra("train")
    _check_shares(noise=noise, target=target)
    resolved = _configured(config, set or (), suite=suite, mode=mode, seed=seed)
    is_tiny = resolved.policy.kind == "tiny"
    _check_out(out, is_directory=not is_tiny)

    from distrl.runtime.imitation import ImitationOptions, entropy_weight_of

    chosen = ImitationOptions(
        per_template=per_template,
        noise=noise,
        entropy_weight=entropy_weight_of(resolved.policy.kind),
        target=target,
        max_epochs=max_epochs,
        checks_per_template=checks,
        learning_rate=learning_rate or (2e-3 if is_tiny else 5e-4),
        batch_steps=64 if is_tiny else 16,
    )
    rounds = (2 if is_tiny else 0) if critic_rounds is None else critic_rounds
    last = _make_start(out, resolved, chosen, rounds, output)
    _tell_end(out, last, target, output, is_json=json)


def _configured(
    path: Path | None, overrides: Iterable[str], *, suite: str | None, mode: str | None, seed: int | None
) -> "Config":
    """The configuration, whose policy knows nothing: imitation is what makes starts."""
    from distrl.runtime.presets import Option, load_run_config

    given = (("--suite", "tasks.suite", suite), ("--mode", "policy.mode", mode), ("--seed", "seed", seed))
    return load_run_config(
        path=path,
        environ=os.environ,
        overrides=["policy.start=scratch", *overrides],
        options=[Option(*each) for each in given if each[2] is not None],
    )


def _make_start(
    out: Path, config: "Config", options: "ImitationOptions", critic_rounds: int, output: Output
) -> Mapping[str, Any]:
    """Both halves, and the file with its log; the last check of the first half."""
    import msgspec

    from distrl.runtime.policies import load_start

    policy = load_start(config)
    name = config.tasks.suite
    enough = f"{options.target:.0%} of other tasks"
    output.note(f"watching the expert at {name}, then imitating it until {enough} are solved")
    log = [msgspec.to_builtins(p) for p in _imitate(policy, config, options, output)]
    critic = [msgspec.to_builtins(p) for p in _fit_critic(policy, config, output, critic_rounds)]
    about = {"suite": name, "mode": config.policy.label, "seed": config.seed}
    _write_start(out, policy, about | {"options": msgspec.to_builtins(options), "log": log, "critic": critic})
    last: Mapping[str, Any] = log[-1]
    return last


def _tell_end(out: Path, last: Mapping[str, Any], target: float, output: Output, *, is_json: bool) -> None:
    """What came of it, and what to try if that is not enough."""
    success, never = last["report"]["success"], last["never_solved"]
    problems = [f"the target of {target:.0%} was not reached"] if success < target else []
    problems += [f"no task was solved of {', '.join(never)}"] if never else []
    if is_json:
        told = {"epochs": last["epoch"], "success": success, "never_solved": never, "is_reached": not problems}
        output.write_json({"out": str(out)} | told)
    else:
        output.write(f"{out}: {success:.1%} solved after {last['epoch']} epochs")
    if problems:
        output.note(f"{'; '.join(problems)}: try more --per-template or --max-epochs")


def _write_start(out: Path, policy: "AnyPolicy", log: Mapping[str, Any]) -> None:
    """What imitation made: one file, or a directory that `peft` opens too."""
    from distrl.policies.tiny.policy import TinyPolicy
    from distrl.runtime.saved_weights import weight_files, write_weights

    if isinstance(policy, TinyPolicy):
        network = {name: tensor for name, tensor in policy.tensors().items() if name.startswith("network.")}
        _write(out, network, log)
        return
    with _told_if_unwritable(out):
        out.mkdir(parents=True, exist_ok=True)
        write_weights(out, weight_files(policy))
        _write_log(out / "imitation.json", log)


def _imitate(
    policy: "AnyPolicy", config: "Config", options: "ImitationOptions", output: Output
) -> "Iterator[Progress]":
    """The first half: one line for each check."""
    from distrl.runtime.chosen_tasks import chosen_tasks
    from distrl.runtime.imitation import imitate as imitate_expert

    tasks = chosen_tasks(config.tasks, "train")
    # How many steps the expert will take is known only when it has taken them; four a task is near enough for a bar.
    steps = 4 * options.per_template * len({task.template for task in tasks}) * options.max_epochs
    with output.progress("imitating, at most", steps) as advance:
        for progress in imitate_expert(policy, tasks, config, options, tick=advance):
            sampled = "" if progress.sampled is None else f", {progress.sampled.success:.1%} with sampled actions"
            left = f", {count} templates never" if (count := len(progress.never_solved)) else ""
            output.note(
                f"epoch {progress.epoch}: loss {progress.loss:.3f}, {progress.report.success:.1%} solved{sampled}{left}"
            )
            yield progress


def _fit_critic(policy: "AnyPolicy", config: "Config", output: Output, rounds: int) -> "Iterator[CriticProgress]":
    """The second half of imitation: what the policy is worth, so that learning does not start blind."""
    from distrl.runtime.chosen_tasks import chosen_tasks
    from distrl.runtime.critic import CriticOptions, fit_critic

    if not rounds:
        return
    options = CriticOptions(rounds=rounds)
    output.note(f"trying each training task {rounds} times, to learn how episodes end")
    with output.progress("fitting the values", options.epochs) as advance:
        for progress in fit_critic(policy, chosen_tasks(config.tasks, "train"), config, options):
            advance(1)
            yield progress


def _check_out(out: Path, *, is_directory: bool = False) -> None:
    """Find out before the work, not after it, that its result cannot be written."""
    from distrl.core.errors import UserError

    if is_directory and out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UserError(f"--out {out} is there already; a pre-trained model's adapter is written to a new directory")
    if not is_directory and out.suffix != ".safetensors":
        raise UserError(f"--out {out}: weights are written as .safetensors")
    if not is_directory and out.is_dir():
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
    from distrl.runtime.checkpoints import write_safely
    from distrl.runtime.tensors import pack_tensors

    with _told_if_unwritable(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_safely(out, pack_tensors(tensors))
        _write_log(out.with_suffix(".json"), log)


def _write_log(path: Path, log: Mapping[str, Any]) -> None:
    import msgspec

    from distrl.runtime.checkpoints import write_safely

    write_safely(path, msgspec.json.format(msgspec.json.encode(log), indent=1) + b"\n")


@contextmanager
def _told_if_unwritable(out: Path) -> Iterator[None]:
    from distrl.core.errors import UserError

    try:
        yield
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror or error})") from error

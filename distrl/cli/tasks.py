"""`distrl tasks`: what can be asked of the phone, and whether the tasks are sound.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distrl.cli.options import AsJson, ConfigFile
from distrl.cli.output import Output

if TYPE_CHECKING:
    from distrl.core.config import Config
    from distrl.core.types import Task

app = typer.Typer(help="List, show, check and import tasks.", no_args_is_help=True, rich_markup_mode=None)

Suite = Annotated[str, typer.Option(help="general, web_shopping, install or system; as configured if not given.")]
Split = Annotated[str, typer.Option(help="train or test; as configured if not given.")]
MAX_CHANCE = 0.02
MIN_RECOVERY = 0.9
ENOUGH = 50
"""Shares of fewer tasks than this say too little to fail a check."""
FIELDS = ("id", "suite", "split", "instruction", "template", "difficulty", "max_steps")


def _in_words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {item}" for key, item in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    return str(value)


def _load(config: Path | None) -> "Config":
    import os

    from distrl.core.config import load_config
    from distrl.runtime.build import KNOWN_NAMES

    return load_config(config, environ=os.environ, names=KNOWN_NAMES)


def _tasks_of(config: "Config", suite: str, split: str) -> "tuple[Task, ...]":
    """The tasks of the split that was asked for, or of the configured one."""
    from distrl.tasks.book import load_tasks

    return load_tasks(suite or config.tasks.suite, split or config.tasks.split)


@app.command(name="list")
def list_tasks(
    context: typer.Context, suite: Suite = "", split: Split = "", config: ConfigFile = None, json: AsJson = False
) -> None:
    """Print the tasks of a split."""
    tasks = _tasks_of(_load(config), suite, split)
    output = Output.of(context, is_json=json)
    if json:
        output.write_json([{name: getattr(task, name) for name in FIELDS} for task in tasks])
        return
    for task in tasks:
        output.write(f"{task.id}  {'*' * task.difficulty:<3}  {task.instruction}")
    output.note(f"{len(tasks)} tasks; * to *** is their difficulty. One of them: distrl tasks show {tasks[0].id}")


@app.command()
def show(
    context: typer.Context, task: Annotated[str, typer.Argument(help="A task's id.")], json: AsJson = False
) -> None:
    """Print everything about a task."""
    import msgspec

    from distrl.tasks.book import find_task, template_of

    found = find_task(task)
    data = msgspec.to_builtins(found) | {"unseen_template": template_of(found).unseen}
    output = Output.of(context, is_json=json)
    if json:
        output.write_json(data)
        return
    for name, value in data.items():
        output.write(f"{name:<16} {_in_words(value)}")
    output.note(f"Watch it being done: distrl phone --task {found.id} --record {found.id}.webp")


@app.command()
def check(
    context: typer.Context,
    suite: Suite = "",
    split: Split = "",
    sample: Annotated[int, typer.Option(min=0, help="How many tasks; 0 for all of them.")] = 0,
    seed: Annotated[int | None, typer.Option(help="For the sample and the random policy.")] = None,
    config: ConfigFile = None,
    json: AsJson = False,
) -> None:
    """Try tasks with the scripted expert, by doing nothing, and at random; print the share each solves."""
    import msgspec

    from distrl.core.seeds import derive_random
    from distrl.runtime.checking import check_tasks, summarise

    settings = _load(config)
    tasks = _tasks_of(settings, suite, split)
    chosen = settings.seed if seed is None else seed
    if 0 < sample < len(tasks):
        tasks = tuple(derive_random(chosen, "sample").sample(tasks, sample))
    output = Output.of(context, is_json=json)
    reports = []
    with output.progress("checking", len(tasks)) as advance:
        for report in check_tasks(tasks, seed=chosen):
            reports.append(report)
            advance(1)
    summary = summarise(reports)
    if json:
        output.write_json(msgspec.to_builtins(summary))
    else:
        output.write(f"{summary.n} tasks of {tasks[0].suite}/{tasks[0].split}")
        output.write(f"  expert               {summary.expert:7.2%}")
        output.write(f"  expert after random  {summary.expert_after_random:7.2%}   (started after 3 random actions)")
        output.write(f"  random policy        {summary.random:7.2%}")
        output.write(f"  doing nothing        {summary.idle:7.2%}")
    wrong = [r for r in reports if not r.expert or r.idle]
    for report in wrong:
        output.note(
            f"{'solved by doing nothing' if report.idle else 'not solved'}: {report.task.id} {report.task.instruction}"
        )
    is_unsound = summary.n >= ENOUGH and (summary.random >= MAX_CHANCE or summary.expert_after_random < MIN_RECOVERY)
    if wrong or is_unsound:
        raise typer.Exit(1)


@app.command(name="import")
def import_list(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A .txt (an instruction a line), .jsonl or .csv file.")],
    suite: Annotated[str, typer.Option(help="The name of the suite; the file's name if not given.")] = "",
    max_steps: Annotated[int, typer.Option(min=1, help="Steps allowed where the file does not say.")] = 15,
    json: AsJson = False,
) -> None:
    """Read a task list of your own and print what it holds."""
    from distrl.tasks.importers import NO_GROUND_TRUTH, import_tasks

    tasks = import_tasks(file, suite=suite, max_steps=max_steps)
    output = Output.of(context, is_json=json)
    if json:
        output.write_json([{name: getattr(task, name) for name in FIELDS} for task in tasks])
    else:
        for task in tasks:
            output.write(f"{task.id}  {task.instruction}")
    output.note(NO_GROUND_TRUTH)

"""`distrl tasks`: what can be asked of the phone, and whether the tasks are sound.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

from pathlib import Path
from typing import Annotated

import typer

from distrl.cli.options import AsJson
from distrl.cli.output import Output

app = typer.Typer(help="List, show, check and import tasks.", no_args_is_help=True, rich_markup_mode=None)

Suite = Annotated[str, typer.Option(help="general, web_shopping, install or system.")]
Split = Annotated[str, typer.Option(help="train or test.")]
Seed = Annotated[int, typer.Option(help="For the sample and the random policy.")]
FIELDS = ("id", "suite", "split", "instruction", "template", "difficulty", "max_steps")


@app.command(name="list")
def list_tasks(context: typer.Context, suite: Suite = "general", split: Split = "train", json: AsJson = False) -> None:
    """Print the tasks of a split."""
    from distrl.tasks.book import load_tasks

    tasks = load_tasks(suite, split)
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
        output.write(f"{name:<16} {value}")
    output.note(f"Watch it being done: distrl phone --task {found.id} --record {found.id}.webp")


@app.command()
def check(
    context: typer.Context,
    suite: Suite = "general",
    split: Split = "train",
    sample: Annotated[int, typer.Option(min=0, help="How many tasks; 0 for all of them.")] = 0,
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Try tasks with the scripted expert, by doing nothing, and at random; print the share each solves."""
    import msgspec

    from distrl.core.seeds import derive_random
    from distrl.runtime.checking import check_tasks, summarise
    from distrl.tasks.book import load_tasks

    tasks = load_tasks(suite, split)
    if 0 < sample < len(tasks):
        tasks = tuple(derive_random(seed, "sample").sample(tasks, sample))
    output = Output.of(context, is_json=json)
    reports = []
    with output.progress(f"checking {suite}/{split}", len(tasks)) as advance:
        for report in check_tasks(tasks, seed=seed):
            reports.append(report)
            advance(1)
    summary = summarise(reports)
    if json:
        output.write_json(msgspec.to_builtins(summary))
    else:
        output.write(f"{summary.n} tasks of {suite}/{split}")
        output.write(f"  expert               {summary.expert:7.2%}")
        output.write(f"  expert after random  {summary.expert_after_random:7.2%}   (started after 3 random actions)")
        output.write(f"  random policy        {summary.random:7.2%}")
        output.write(f"  doing nothing        {summary.idle:7.2%}")
    wrong = [r for r in reports if not r.expert or r.idle]
    for report in wrong:
        output.note(
            f"{'solved by doing nothing' if report.idle else 'not solved'}: {report.task.id} {report.task.instruction}"
        )
    if wrong:
        raise typer.Exit(1)


@app.command(name="import")
def import_list(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A .txt (an instruction a line), .jsonl or .csv file.")],
    json: AsJson = False,
) -> None:
    """Read a task list of your own and print what it holds."""
    from distrl.tasks.importers import NO_GROUND_TRUTH, import_tasks

    tasks = import_tasks(file)
    output = Output.of(context, is_json=json)
    if json:
        output.write_json([{name: getattr(task, name) for name in FIELDS} for task in tasks])
    else:
        for task in tasks:
            output.write(f"{task.id}  {task.instruction}")
    output.note(NO_GROUND_TRUTH)

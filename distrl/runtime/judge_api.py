"""`distrl judge check` without a command line: a run and a judge in, the check out, and its page if one is wanted."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from distrl.core.config_judge import JudgeConfig
from distrl.core.errors import UserError
from distrl.core.types import Trajectory, Verdict
from distrl.runtime.build_judge import check_models, make_shared_judge, spending_of
from distrl.runtime.checkpoints import write_safely
from distrl.runtime.judge_check import JudgeCheck, Labels, Tally, judge_again, read_labels, read_trajectories
from distrl.runtime.judge_page import make_page

VERDICTS = "judgements.jsonl"
"""The file of a run with the verdicts of checks, unless the configuration names another: a check is paid for once."""


class JudgeTest(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge is tried on, and where its mistakes are shown."""

    run: Path
    labels: Path | None = None
    page: Path | None = None
    limit: int | None = None


def check_judge_on(test: JudgeTest, config: JudgeConfig, *, on_judged: Callable[[], None] = lambda: None) -> JudgeCheck:
    """Judge what a run recorded once more; `UserError` if the judge cannot be used or nothing is known."""
    labels = None if test.labels is None else read_labels(test.labels)
    if not config.journal:
        config = config.model_copy(update={"journal": str(test.run / VERDICTS)})

    tally, skipped, cost = asyncio.run(_judge_all(test, config, labels, on_judged))
    found = tally.result(cost=cost, skipped=skipped)
    if test.page is not None:
        _write_page(test.page, f"{config.kind} on {test.run.name}", found, tally, config.num_screens)
    return found


async def _judge_all(
    test: JudgeTest, config: JudgeConfig, labels: Labels | None, on_judged: Callable[[], None]
) -> tuple[Tally, int, float]:
    """Agreement, how many were skipped, and what it cost."""
    judge = None if config.kind == "rule" else make_shared_judge(config)
    if judge is not None:
        await check_models(judge)
    tally, skipped = await judge_again(
        read_trajectories(test.run),
        _recorded if judge is None else lambda seen: judge.judge(seen.task, seen.steps, seen.final),
        labels=labels,
        limit=test.limit,
        at_once=config.max_concurrent,
        on_judged=on_judged,
    )
    return tally, skipped, 0.0 if judge is None else spending_of(judge).cost


async def _recorded(trajectory: Trajectory) -> Verdict:
    """What was said when it was played."""
    return trajectory.verdict


def _write_page(path: Path, title: str, found: JudgeCheck, tally: Tally, num_screens: int) -> None:
    page = make_page(title, found, tally.disagreements, num_all=tally.num_disagreements, num_screens=num_screens)
    try:
        write_safely(path, page)
    except OSError as error:
        raise UserError(f"--page {path} cannot be written: {error.strerror}") from error

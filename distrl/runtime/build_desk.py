"""The desk of a run, put together: a configuration and a run in, somebody who judges beside it out, or nobody."""

from distrl.core.clock import Clock
from distrl.core.config import Config
from distrl.runtime.build_judge import is_judged_beside, make_shared_judge, spending_of
from distrl.runtime.hub import Hub
from distrl.runtime.journal import Journal
from distrl.runtime.judging import Desk, DeskOptions
from distrl.runtime.learner_loop import LearnerLoop
from distrl.runtime.probe import Probe
from distrl.runtime.run_directory import RunDirectory

VERDICTS = "verdicts.jsonl"
"""The file of a run with all verdicts, unless the configuration names another: what is in it is not paid for again."""


def open_desk(
    config: Config, run: RunDirectory, hub: Hub, journal: Journal, loop: LearnerLoop, *, clock: Clock
) -> Desk | None:
    """Where the episodes of a run are judged; None if ground truth judges them where they are played."""
    if not is_judged_beside(config.judge):
        return None
    told = config.judge
    if not told.journal:
        told = told.model_copy(update={"journal": str(run.path / VERDICTS)})
    judge = make_shared_judge(told, has_paid_before=True)
    probe = Probe(
        on_window=lambda row: run.log("judge", row),
        on_alert=lambda facts: run.log("events", {"event": "the judge may be deceived", **facts}),
    )
    probe.restore(run.read("judge"))
    return Desk(
        judge,
        hub,
        journal,
        DeskOptions(
            is_each_step=config.env.judge == "each_step",
            reward=config.rewards.success,
            num_at_once=config.judge.max_concurrent,
            max_bytes=config.judge.pending_mb * 2**20,
        ),
        clock=clock,
        spending=lambda: spending_of(judge),
        probe=probe,
        is_stale=loop.would_drop,
        on_event=lambda kind, values: run.log("events", {"event": kind, **values}),
    )

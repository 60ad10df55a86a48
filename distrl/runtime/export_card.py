"""What every model card says: the evaluations of a run as a table."""

from distrl.runtime.report import Score, summarise_run
from distrl.runtime.trained import TrainedRun


def measured(run: TrainedRun) -> list[str]:
    """The run's own evaluations; nothing if there are none."""
    if not run.curve:
        return []
    summary = summarise_run(run.curve, run.config)

    def row(name: str, score: Score) -> str:
        sampled = "" if score.sampled_success is None else f"{score.sampled_success:.1%}"
        return f"| {name} | {score.success:.1%} ({score.low:.1%} to {score.high:.1%}) | {sampled} |"

    return [
        "## Measured",
        "",
        f"Success on {summary.episodes} held-out episodes of `{summary.suite}`, with Wilson's 95 % interval:",
        "",
        *("| | likeliest actions | sampled actions |", "|---|---|---|"),
        row("before training", summary.start),
        row(f"after {summary.trajectories:,} trajectories", summary.end),
        "",
    ]

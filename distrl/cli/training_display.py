"""What a person sees while training runs: progress in; a live bar on a terminal, plain lines elsewhere out.

Every evaluation leaves a line behind. Between them, a terminal has a bar with the time left, and a log file gets a line
every ten seconds. Under `-q` there is nothing.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from distrl.cli.output import Output

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from distrl.core.config import Config
    from distrl.runtime.run_state import Progress

LINE_EVERY_S = 10.0


def share_done(progress: "Progress", config: "Config") -> float:
    """How much of a run is behind it: by work (trajectories, and updates of the offline modes) or by its time limit."""
    train = config.train
    offline = 0 if train.mode == "online" else train.offline_updates
    done = progress.trajectories + min(progress.updates, offline)
    share = done / (total_trajectories(config) + offline)
    if train.max_minutes is not None:
        share = max(share, progress.wall_s / (60 * train.max_minutes))
    return min(share, 1.0)


class Forecast:
    """The time left, from how fast this process has been: what was done before a resumption does not count."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None

    def left_s(self, share: float, now_s: float) -> float | None:
        """Seconds to the end, or None as long as nothing can be said."""
        if self._first is None:
            self._first = (share, now_s)
        first_share, first_s = self._first
        if share <= first_share:
            return None
        return (now_s - first_s) * (1 - share) / (share - first_share)


def total_trajectories(config: "Config") -> int:
    """How many trajectories a run collects if no time limit ends it before."""
    is_offline = config.train.mode == "offline"
    return config.learner.warmup_trajectories if is_offline else config.train.num_trajectories


def in_words(seconds: float) -> str:
    """A duration as people say it."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class TrainingDisplay:
    """Shows one run; used as a context, so that the terminal is left as it was found."""

    def __init__(self, output: Output, config: "Config", *, now: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._config = config
        self._now = now
        self._forecast = Forecast()
        self._live: Live | None = None
        self._label = "starting"
        self._share = 0.0
        self._left_s: float | None = None
        self._latest: Progress | None = None
        self._judging = ("", "")
        self._evaluated: Progress | None = None
        self._line_s = now()

    def __enter__(self) -> "TrainingDisplay":
        """Draw the bar, if there is a person to see it."""
        if sys.stderr.isatty() and not self._output.is_quiet and not self._output.is_json:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, highlight=False)
            self._live = Live(get_renderable=self._render, console=console, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def announce(self, label: str) -> None:
        """What is going on before the run has anything to say."""
        self._label = label

    def show(self, progress: "Progress") -> None:
        """Where the run stands now: the listener of a training."""
        now_s = self._now()
        if progress.kind == "collecting":  # an evaluation tells of the moment that it was asked for
            self._tell_of_judging(progress)
        self._latest = progress
        self._share = share_done(progress, self._config)
        if progress.kind == "evaluated":
            self._evaluated = progress
            self._say(self._evaluation())
            self._line_s = now_s
            return
        self._left_s = None if progress.is_ending else self._forecast.left_s(self._share, now_s)
        self._label = self._phase(progress)
        if self._live is None and now_s - self._line_s >= LINE_EVERY_S:
            self._line_s = now_s
            self._say(f"{self._label}: {self._counts()}")

    def _tell_of_judging(self, progress: "Progress") -> None:
        """What has changed since the last time: a pause, its end, an alert."""
        (paused, alert), self._judging = self._judging, (progress.judging_paused, progress.judging_alert)
        if progress.judging_paused and not paused:
            self._say(f"judging is paused, and training goes on with what is judged: {progress.judging_paused}")
        elif paused and not progress.judging_paused:
            self._say("judging goes on")
        if progress.judging_alert and progress.judging_alert != alert:
            self._say(f"look at the judge: {progress.judging_alert}")

    def _say(self, text: str) -> None:
        if self._live is not None:
            self._live.console.print(text, soft_wrap=True)
        else:
            self._output.note(text)

    def _phase(self, progress: "Progress") -> str:
        """What is going on; evaluations say nothing until they are over, so what comes next is said in advance."""
        since = progress.trajectories - (self._evaluated.trajectories if self._evaluated else 0)
        if progress.is_ending or since >= self._config.eval.every_trajectories or self._share >= 1.0:
            return "evaluating"
        return "training"

    def _evaluation(self) -> str:
        progress = self._evaluated
        assert progress is not None
        assert progress.report is not None
        report, sampled = progress.report, progress.sampled
        when = f"after {progress.trajectories:,} trajectories" if progress.trajectories else "at the start"
        return (
            f"held-out success {when}: {report.success:.1%} ({report.low:.1%} to {report.high:.1%})"
            f"{f', sampled {sampled.success:.1%}' if sampled else ''}; {in_words(progress.wall_s)} of training"
        )

    def _counts(self) -> str:
        progress = self._latest
        if progress is None:
            return ""
        parts = [
            f"{progress.trajectories:,} of {total_trajectories(self._config):,} trajectories",
            f"{progress.recent_success:.0%} solved lately",
            f"updates: {progress.updates:,}",
        ]
        if progress.judging:
            parts.append(progress.judging)
        if self._left_s is not None:
            parts.append(f"{self._share:.0%}, {in_words(self._left_s)} left")
        return ", ".join(parts)

    def _render(self) -> "RenderableType":
        """The bar, and the figures in lines of their own, so that they fit a terminal of 80 columns."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        row = Table.grid(padding=(0, 1))
        left = "" if self._left_s is None else f"{in_words(self._left_s)} left"
        row.add_row(Spinner("dots"), self._label, ProgressBar(1.0, self._share, width=30), f"{self._share:.0%}", left)
        if self._latest is None:
            return row
        progress = self._latest
        done = f"{progress.trajectories:,} of {total_trajectories(self._config):,} trajectories"
        done += f", updates: {progress.updates:,}"
        success = f"solved lately {progress.recent_success:.0%}"
        if self._evaluated is not None and self._evaluated.report is not None:
            success += f", held out {self._evaluated.report.success:.0%}"
            success += f" (sampled {self._evaluated.sampled.success:.0%})" if self._evaluated.sampled else ""
        lines = [done, success, *([progress.judging] if progress.judging else [])]
        return Group(row, Text("\n".join(f"  {line}" for line in lines), style="dim"))

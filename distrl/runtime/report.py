"""The report of a run: what training gave in; summary.json, learning_curve.png and two films out.

The films show one held-out task: before.webp the policy that training started from, after.webp the one it ended with.
If there is a task that the first failed and the second solved, it is that one.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from distrl import __version__
from distrl.core.config import Config
from distrl.core.config_devices import DevicesConfig
from distrl.core.interfaces import Decider
from distrl.core.types import Action, Outcome, Situation, Step, Task, Wait
from distrl.runtime.api import TrainResult
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange
from distrl.runtime.checkpoints import write_safely
from distrl.runtime.demonstrations import look
from distrl.runtime.evaluation import wilson
from distrl.runtime.players import play_tasks
from distrl.runtime.playing import Play, record
from distrl.runtime.run_state import EVALUATION_SEED, held_out_tasks

MAX_FILM_CANDIDATES, MAX_SLOW_CANDIDATES = 32, 4
FILM_SCALE = 0.4
_GREEDY, _SAMPLED, _START = "#1f5fa8", "#d9771f", "#6b6b6b"

Row = Mapping[str, Any]
Tick = Callable[[], None]


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Success on held-out tasks with the ends of Wilson's 95 % interval; sampled is None where it was not measured."""

    success: float
    low: float
    high: float
    sampled_success: float | None = None
    sampled_low: float | None = None
    sampled_high: float | None = None


class Films(msgspec.Struct, frozen=True, kw_only=True):
    """Two films of one task."""

    task: str
    instruction: str
    before: str
    after: str
    is_solved_before: bool
    is_solved_after: bool


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A run in numbers. Times are in seconds: `train_s` without evaluations, over all its resumptions."""

    version: str
    suite: str
    algorithm: str
    mode: str
    seed: int
    episodes: int
    start: Score
    end: Score
    trajectories: int
    steps: int
    updates: int
    train_s: float
    steps_per_s: float
    films: Films | None
    files: list[str]


def write_report(result: TrainResult, *, tick: Tick = lambda: None) -> Summary:
    """Write everything into the run's directory; `tick` is called while films are made."""
    assert result.run_dir is not None, "a report is written into a run directory"
    directory, config = result.run_dir, result.config
    draw_curve(result.curve, config, directory / "learning_curve.png")
    # Films show the built-in phone, which knows nothing of tasks of the user's own.
    films = None if config.tasks.file else film_progress(result.start, result.policy, config, directory, tick=tick)
    filmed = [films.before, films.after] if films is not None else []
    weights = sorted(path.name for path in (directory / "weights").glob("*.safetensors"))
    files = ["summary.json", "learning_curve.png", *filmed, *(f"weights/{name}" for name in weights)]
    summary = summarise_run(result.curve, config, films=films, files=files)
    write_safely(directory / "summary.json", msgspec.json.format(msgspec.json.encode(summary), indent=2))
    return summary


def summarise_run(
    curve: Sequence[Row], config: Config, *, films: Films | None = None, files: Sequence[str] = ()
) -> Summary:
    """A run in numbers, from its evaluations."""
    last = curve[-1]
    return Summary(
        version=__version__,
        suite=config.tasks.suite,
        algorithm=config.algorithm.name,
        mode=config.policy.label,
        seed=config.seed,
        episodes=config.eval.episodes,
        start=score_of(curve[0], config),
        end=score_of(last, config),
        trajectories=last["trajectories"],
        steps=last["steps"],
        updates=last["updates"],
        train_s=last["wall_s"],
        steps_per_s=round(last["steps"] / last["wall_s"], 1) if last["wall_s"] else 0.0,
        films=films,
        files=list(files),
    )


def score_of(row: Row, config: Config) -> Score:
    """One evaluation as a score."""
    if not config.eval.has_sampled:
        return Score(success=row["success"], low=row["low"], high=row["high"])
    num_tasks = len({task.id for task in held_out_tasks(config)})
    low, high = wilson(row["sampled_success"] * num_tasks, num_tasks)
    return Score(
        success=row["success"],
        low=row["low"],
        high=row["high"],
        sampled_success=row["sampled_success"],
        sampled_low=round(low, 4),
        sampled_high=round(high, 4),
    )


# ---------------------------------------------------------------- the curve


def draw_curve(curve: Sequence[Row], config: Config, path: Path) -> None:
    """Success on held-out tasks over trajectories and over minutes of training."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    what = f"{config.tasks.suite}, {config.algorithm.name}, {config.policy.label}, seed {config.seed}"
    figure.suptitle(f"Success on {config.eval.episodes} held-out episodes ({what})", fontsize=13)
    has_sampled = config.eval.has_sampled
    _draw(left, curve, [row["trajectories"] for row in curve], has_sampled=has_sampled)
    _draw(right, curve, [row["wall_s"] / 60 for row in curve], has_sampled=has_sampled)
    left.set_xlabel("trajectories collected")
    left.set_ylabel("tasks solved")
    right.set_xlabel("minutes of training")
    left.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    left.legend(loc="best", frameon=True, framealpha=0.85, edgecolor="none")
    figure.savefig(path, dpi=150, metadata={"Software": f"distrl {__version__}"})


def _draw(axes: Axes, curve: Sequence[Row], places: Sequence[float], *, has_sampled: bool) -> None:
    success = [row["success"] for row in curve]
    axes.fill_between(
        places,
        [row["low"] for row in curve],
        [row["high"] for row in curve],
        color=_GREEDY,
        alpha=0.16,
        linewidth=0,
        label="95 % interval (Wilson)",
    )
    axes.axhline(success[0], color=_START, linestyle=":", linewidth=1.2, zorder=1)
    if has_sampled:
        sampled = [row["sampled_success"] for row in curve]
        axes.plot(places, sampled, color=_SAMPLED, linestyle="--", marker=".", label="sampled actions")
    axes.plot(places, success, color=_GREEDY, linewidth=2, marker="o", markersize=4, label="likeliest actions (greedy)")
    label = f"start ({success[0]:.1%})"
    axes.plot(places[:1], success[:1], "D", color="white", markeredgecolor=_START, markersize=8, zorder=5, label=label)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    axes.grid(visible=True, color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


# ---------------------------------------------------------------- the films


def film_progress(start: Decider, end: Decider, config: Config, directory: Path, *, tick: Tick = lambda: None) -> Films:
    """Film both policies at a task that tells them apart, if there is one."""
    task = choose_film_task(start, end, config, tick=tick)
    before = record(PolicyPlay(start, task, config), directory / "before.webp", on_step=tick)
    after = record(PolicyPlay(end, task, config), directory / "after.webp", on_step=tick)
    return Films(
        task=task.id,
        instruction=task.instruction,
        before="before.webp",
        after="after.webp",
        is_solved_before=before.solved,
        is_solved_after=after.solved,
    )


def num_film_candidates(config: Config) -> int:
    """How many tasks are tried to find one to film; a large model takes seconds for each step."""
    return min(MAX_FILM_CANDIDATES if config.policy.kind == "tiny" else MAX_SLOW_CANDIDATES, config.eval.episodes)


def choose_film_task(start: Decider, end: Decider, config: Config, *, tick: Tick = lambda: None) -> Task:
    """The hardest held-out task that only the end solves; else one it solves as well; else the first there is."""
    tasks = list({task.id: task for task in held_out_tasks(config)}.values())[: num_film_candidates(config)]
    settings = config.model_copy(update={"seed": EVALUATION_SEED, "devices": DevicesConfig()})

    def outcomes(policy: Decider, tried: Sequence[Task]) -> dict[Outcome, list[Task]]:
        found: dict[Outcome, list[Task]] = {}
        for played in play_tasks(policy, tried, settings, on_episode=lambda trajectory: tick()):
            found.setdefault(played.outcome, []).append(played.task)
        return found

    solved = outcomes(end, tasks).get(Outcome.SUCCEEDED, [])
    also_before = outcomes(start, solved).get(Outcome.SUCCEEDED, []) if solved else []
    learned = [task for task in solved if task not in also_before]
    return max(learned or solved or tasks[:1], key=lambda task: task.difficulty)


class PolicyPlay(Play):
    """A play in which a policy gives the hints. It sees a phone of the size it knows; the filmed one is larger."""

    def __init__(self, policy: Decider, task: Task, config: Config) -> None:
        self._policy = policy
        self._more_variations = config.phone.variations
        self._seen_phone = make_phone(seed=config.seed, scale=config.phone.scale)
        self._done: list[Step] = []
        filmed = make_phone(seed=config.seed, scale=FILM_SCALE)
        super().__init__(filmed, task, seed=config.seed, variations=config.phone.variations)

    def restart(self) -> None:
        """Both phones back to the start."""
        super().restart()
        assert self.task is not None
        arrange(self._seen_phone, self.task, more_variations=self._more_variations)
        self._done = []

    def hint(self) -> Action:
        """Let the policy do the next step, on both phones."""
        if self.is_solved or self.task is None:
            return Wait()
        seen = look(self._seen_phone)
        situation = Situation(task=self.task, steps=tuple(self._done), observation=seen)
        (decision,) = self._policy.decide([situation], None)
        self._done.append(Step(observation=seen, decision=decision, rewards={}))
        self._seen_phone.perform(decision.action)
        self.perform(decision.action)
        return decision.action

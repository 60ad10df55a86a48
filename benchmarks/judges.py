"""Agreement of judges with ground truth, by how much of an episode they are shown: a figure over screens and actions.

    python benchmarks/judges.py --episodes 40 --json benchmarks/results/judges.json --figure docs/images/judges.png

Held-out tasks are played by the start that imitation gave, with sampled actions, and judged by ground truth. Then the
judges of `distrl judge serve`, asked over HTTP like any model, are shown the last 1, 2, 4 or all screens, with the last
two actions or without. Screens are read once (OCR); half of the time is the small model's.
"""

import argparse
import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from distrl.core.config import Config, config_of
from distrl.core.config_judge import JudgeConfig
from distrl.core.types import Outcome, Trajectory
from distrl.runtime.build_judge import make_shared_judge
from distrl.runtime.evaluation import choose_episodes, wilson
from distrl.runtime.judge_check import JudgeCheck, judge_again
from distrl.runtime.ocr_judge import MODELS, OcrJudge
from distrl.runtime.players import make_player, play_tasks
from distrl.runtime.sample import from_parquet, to_parquet
from distrl.tasks.book import load_tasks

SCREENS = (1, 2, 4, 64)
"""64 is all of them: no episode has more."""
ACTIONS = (0, 2)
NAMES = {"smollm2": "OCR + SmolLM2 135M", "words": "OCR + words of the request"}


@contextmanager
def serving() -> Iterator[str]:
    """The judges' address."""
    config = uvicorn.Config(OcrJudge().app(), host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()


def play(episodes: int, scale: float) -> list[Trajectory]:
    """Half successes and half failures of the start, so that a judge which always says one thing is right in half."""
    config: Config = config_of({"phone": {"scale": scale}, "seed": 1})
    found: dict[bool, list[Trajectory]] = {True: [], False: []}

    def keep(trajectory: Trajectory) -> None:
        kind = found[trajectory.outcome is Outcome.SUCCEEDED]
        if len(kind) < episodes // 2:
            kind.extend(from_parquet(to_parquet([trajectory])))  # as a run would have recorded it

    tasks = choose_episodes(load_tasks("general", "test"), 4 * episodes, 1)
    play_tasks(make_player("imitation", mode="text"), tasks, config, is_greedy=False, on_episode=keep)
    return [*found[True], *found[False]]


async def measure(trajectories: list[Trajectory], url: str, model: str, screens: int, actions: int) -> JudgeCheck:
    """One point of the figure."""
    told = JudgeConfig(
        kind="vlm",
        url=url,
        model=model,
        key_variable="",
        num_screens=screens,
        num_actions=actions,
        attempt_s=600.0,
        deadline_s=1200.0,
    )
    judge = make_shared_judge(told)
    tally, skipped = await judge_again(
        iter(trajectories), lambda seen: judge.judge(seen.task, seen.steps, seen.final), at_once=1
    )
    return tally.result(cost=0.0, skipped=skipped)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Accuracy, and beside it the successes that were none."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharex=True)
    for colour, model in zip(("#c0392b", "#2471a3"), MODELS, strict=True):
        for actions in ACTIONS:
            line = [row for row in rows if row["model"] == model and row["actions"] == actions]
            if not line:
                continue
            label = f"{NAMES[model]}, {'last two actions' if actions else 'no actions'}"
            for panel, key in zip(panels, ("accuracy", "false_success"), strict=True):
                values = [row[key] for row in line]
                spans = [wilson(round(row[key] * row["n"]), row["n"]) for row in line]
                errors = [[v - s[0] for v, s in zip(values, spans, strict=True)]]
                errors.append([s[1] - v for v, s in zip(values, spans, strict=True)])
                places = [n + (0.06 if actions else -0.06) for n in range(len(line))]
                style = "o-" if actions else "o--"
                panel.errorbar(places, values, errors, fmt=style, color=colour, label=label, capsize=2, markersize=4)
    for panel, title in zip(panels, ("agreement with ground truth", "false successes, of all episodes"), strict=True):
        panel.set(xticks=range(4), xticklabels=("1", "2", "4", "all"), xlabel="last screens shown", title=title)
        panel.yaxis.set_major_formatter(PercentFormatter(1.0))
        panel.set_ylim(0, 1)
    panels[0].axhline(0.5, color="black", linestyle=":", linewidth=1)
    panels[1].legend(fontsize=7)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--scale", type=float, default=0.25, help="size of the phones' screens; 0.25 is a run's")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/judges.json"))
    parser.add_argument("--figure", type=Path, default=Path("docs/images/judges.png"))
    told = parser.parse_args()
    trajectories = play(told.episodes, told.scale)
    print(f"{len(trajectories)} episodes, {sum(len(t.steps) + 1 for t in trajectories)} screens", flush=True)
    rows: list[dict[str, Any]] = []
    with serving() as url:
        for model in told.models:
            for screens in SCREENS:
                for actions in ACTIONS:
                    began_s = time.monotonic()
                    found = asyncio.run(measure(trajectories, url, model, screens, actions))
                    row = {"model": model, "screens": screens, "actions": actions, **msgspec.to_builtins(found)}
                    rows.append(row | {"seconds": round(time.monotonic() - began_s, 1)})
                    print(json.dumps({key: rows[-1][key] for key in _SHOWN}), flush=True)
                    told.json.write_text(json.dumps(rows, indent=1) + "\n")
                    draw(rows, told.figure)  # as far as it goes: it may take an hour


_SHOWN = ("model", "screens", "actions", "n", "accuracy", "false_success", "false_failure", "unknown", "seconds")

if __name__ == "__main__":
    main()

"""Tables and figures of what `benchmarks/learning.py` measured: result files in, PNG and Markdown beside them out.

    python benchmarks/learning_figures.py benchmarks/results/learning.json

Each group of runs (suite, mode, regime, lag; ablations by themselves) becomes one picture, with the mean over seeds as
a line and their range as a band, and one table. Nothing is trained here.
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

Row = dict[str, Any]
KEY = ("suite", "split", "mode", "regime", "lag", "runtime", "bare", "episodes", "set")
NAMES = {
    "a_ride": "A-RIDE",
    "digirl": "DigiRL",
    "filtered_bc": "filtered BC",
    "vtrace": "V-trace",
    "ppo": "PPO",
    "grpo": "GRPO",
}
COLOURS = {name: f"C{number}" for number, name in enumerate(NAMES.values())}
"""Who has the same name has the same colour in every picture."""


def label(algorithm: str) -> str:
    """An algorithm and its options in words: `a_ride:retrace=false` is A-RIDE without retrace."""
    name, _, options = algorithm.partition(":")
    shown = NAMES.get(name, name)
    parts = [f"without {key}" if value == "false" else f"{key} {value}" for key, _, value in pairs(options)]
    return f"{shown} {', '.join(parts)}".strip().replace("_", " ")


def name_of(row: Row) -> str:
    """The algorithm of a row, and whose numbers it has if they are not the defaults."""
    preset = row.get("preset", "default")
    return label(row["algorithm"]) + ("" if preset == "default" else f", numbers of the {preset}")


def pairs(options: str) -> list[tuple[str, str, str]]:
    """`key=value,key=value` in parts."""
    return [option.partition("=") for option in options.split(",") if option]


def groups_of(rows: list[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows that can be compared with each other, the best first; an algorithm without a part beside that with it."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((*(row[k] for k in KEY), ":" in row["algorithm"]), []).append(row)
    for key, group in groups.items():
        if key[-1]:
            names = {row["algorithm"].partition(":")[0] for row in group}
            group += [row for row in groups.get((*key[:-1], False), ()) if row["algorithm"] in names]
    return {key: sorted(group, key=lambda r: -r["success"]) for key, group in sorted(groups.items())}


def title(key: tuple[Any, ...]) -> str:
    """A group in words."""
    suite, split, mode, regime, lag, runtime, is_bare, episodes, sets, is_ablation = key
    words = [suite, mode, regime, *([f"lag {lag}"] if lag else []), *(["engine"] if runtime == "local" else [])]
    words += [
        *(["train"] if split == "train" else []),
        *([f"{episodes} tasks"] if episodes != 128 else []),
        *sets.split(),
    ]
    return ", ".join(words + (["bare"] if is_bare else []) + (["ablations"] if is_ablation else []))


def draw(key: tuple[Any, ...], rows: list[Row], path: Path) -> None:
    """Success over trajectories, and over minutes where time is what was given."""
    axis = "minutes" if rows[0]["regime"] == "fresh" else "trajectories"
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    others = (f"C{number}" for number in range(len(NAMES), 99))
    for row in rows:
        draw_curve(axes, row, axis, COLOURS.get(name_of(row)) or next(others))
    axes.set(xlabel=f"{axis} of training" if axis == "minutes" else axis, ylabel="held-out success", ylim=(0, 1))
    axes.set_title(title(key))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower right", ncols=2)
    figure.savefig(path, dpi=110)


def draw_curve(axes: Axes, row: Row, axis: str, colour: str) -> None:
    """One algorithm: mean and range over its seeds, at the evaluations that all of them made."""
    at = [point[axis] for point in row["curve"]]
    by_point = [[curve[i]["success"] for curve in row["curves"]] for i in range(len(at))]
    axes.plot(at, [statistics.mean(v) for v in by_point], marker="o", ms=3, color=colour, label=name_of(row))
    axes.fill_between(at, [min(v) for v in by_point], [max(v) for v in by_point], color=colour, alpha=0.15)


def table(rows: list[Row]) -> list[str]:
    """Markdown: success at the end with its spread, greedy and sampled."""
    lines = [
        "| | start | end, mean of seeds | by seed | sampled | by seed | most lost from a best | trajectories |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        seeds = " ".join(f"{v:.3f}" for v in row["success_by_seed"])
        sampled = " ".join(f"{v:.3f}" for v in row["sampled_success_by_seed"])
        count = round(statistics.mean(row["trajectories"]))
        spread = f"± {row['success_std']:.3f}" if len(row["seeds"]) > 1 else "(one seed)"
        lines.append(
            f"| {name_of(row)} | {row['start']:.3f} | **{row['success']:.3f}** {spread} "
            f"| {seeds} | {row['sampled_success']:.3f} | {sampled} | {row['largest_drop']:.3f} | {count:,} |"
        )
    return lines


def report(paths: list[Path]) -> str:
    """All of it, as one page; the pictures are drawn on the way."""
    rows = [row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))["results"]]
    command = "python benchmarks/learning_figures.py benchmarks/results/learning.json"
    lines = ["# Learning, measured", "", f"Made by `{command}`."]
    for key, group in groups_of(rows).items():
        picture = paths[0].parent / ("-".join(title(key).replace(",", "").split()) + ".png")
        draw(key, group, picture)
        lines += ["", f"## {title(key)}", "", *table(group), ""]
        lines += [f"![curves]({picture.name})", ""]
        lines += [f"    {command}" for command in sorted({row["command"] for row in group})]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write README.md beside the first file."""
    paths = [Path(argument) for argument in sys.argv[1:]]
    if not paths:
        sys.exit("which result files? python benchmarks/learning_figures.py benchmarks/results/learning.json")
    (paths[0].parent / "README.md").write_text(report(paths), encoding="utf-8")
    print(f"wrote {paths[0].parent / 'README.md'}")


if __name__ == "__main__":
    main()

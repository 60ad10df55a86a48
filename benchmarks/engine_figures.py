"""The paper's four panels, made again: results of the engine's benchmarks in, one picture out.

    python benchmarks/engine_figures.py benchmarks/results

(a) held-out success over the fleet's time, (b) share of windows of training trajectories above 60 and 80 %, (c)
trajectories collected over time, (d) trajectories per minute over the size of the fleet. (a) to (c) are from
paper-general.json (benchmarks/paper.py), (d) is from scaling.json (benchmarks/scaling.py). The picture is panels.png.
"""

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

COLOURS = ("#c0392b", "#2471a3", "#7d8a93", "#c9b458")


def draw_success(axes: Axes, systems: list[dict[str, Any]]) -> None:
    """(a)"""
    for system, colour in zip(systems, COLOURS, strict=True):
        at = [point["at_s"] for point in system["curve"]]
        axes.plot(at, [point["success"] for point in system["curve"]], color=colour, label=system["system"])
        low = [min(point["success_by_seed"]) for point in system["curve"]]
        high = [max(point["success_by_seed"]) for point in system["curve"]]
        axes.fill_between(at, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.set(xlabel="seconds of the fleet", ylabel="held-out success", title="(a) success over time", ylim=(0.3, 0.8))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.legend(fontsize=7, loc="lower right")


def draw_windows(axes: Axes, systems: list[dict[str, Any]]) -> None:
    """(b)"""
    for place, (system, colour) in enumerate(zip(systems, COLOURS, strict=True)):
        shares = list(system["windows_above"].values())
        axes.bar([n + 0.2 * place - 0.3 for n in range(len(shares))], shares, 0.18, color=colour)
    axes.set(xticks=range(2), xticklabels=("above 60 %", "above 80 %"), ylabel="share of windows")
    axes.set_title("(b) windows of 32 training trajectories")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def draw_collected(axes: Axes, systems: list[dict[str, Any]]) -> None:
    """(c)"""
    for system, colour in zip(systems, COLOURS, strict=True):
        points = system["curve"]
        axes.plot([p["at_s"] for p in points], [p["trajectories"] for p in points], color=colour)
    axes.set(xlabel="seconds of the fleet", ylabel="trajectories", title="(c) trajectories collected")


def draw_scaling(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """(d)"""
    sizes = [row["devices"] for row in rows]
    ideal = rows[0]["per_min"] / rows[0]["devices"]
    axes.plot(sizes, [ideal * size for size in sizes], color="black", linestyle=":", linewidth=1, label="linear")
    axes.plot(
        sizes, [row["per_min"] for row in rows], "o-", color=COLOURS[0], markersize=4, label="asynchronous, measured"
    )
    axes.plot(
        sizes,
        [row["sync_per_min"] for row in rows],
        "s-",
        color=COLOURS[2],
        markersize=4,
        label="with a barrier, virtual",
    )
    axes.set(xscale="log", yscale="log", xlabel="devices", ylabel="trajectories per minute", title="(d) scaling")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.legend(fontsize=7)


def main() -> None:
    """Read, draw, say where."""
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/results")
    paper = json.loads((directory / "paper-general.json").read_text(encoding="utf-8"))
    scaling = json.loads((directory / "scaling.json").read_text(encoding="utf-8"))
    figure = Figure(figsize=(10.5, 7.0), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2)
    draw_success(panels[0][0], paper["systems"])
    draw_windows(panels[0][1], paper["systems"])
    draw_collected(panels[1][0], paper["systems"])
    draw_scaling(panels[1][1], scaling["rows"])
    for axes in panels.flat:
        axes.grid(alpha=0.3)
    path = directory / "panels.png"
    figure.savefig(path, dpi=110)
    print(path)


if __name__ == "__main__":
    main()

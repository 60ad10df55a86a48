"""The page of a check: disagreements in, one HTML file out that needs nothing else, with the screens."""

import html

from distrl.core.types import Ruling, Screen, Trajectory
from distrl.runtime.judge_check import Disagreement, JudgeCheck
from distrl.tasks.judges.question import describe, picture_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1c1b1f; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .25rem .75rem; text-align: right; }
th { border-bottom: 1px solid #999; } th:first-child, td:first-child, td.t { text-align: left; }
article { border-top: 1px solid #ccc; padding: 1rem 0; } img { height: 24rem; margin: .5rem .5rem 0 0;
border: 1px solid #ccc; border-radius: .75rem; } .bad { color: #b3261e; font-weight: 600; } .dim { color: #666; }
code { overflow-wrap: anywhere; }
"""
MAX_ACTIONS = 4


def make_page(
    title: str, check: JudgeCheck, disagreements: list[Disagreement], *, num_all: int, num_screens: int
) -> bytes:
    """The whole page. Everything that was on a screen or in an answer is shown as text, never as a part of the page."""
    shown = sorted(disagreements, key=lambda found: _ORDER.index((found.truth, found.verdict.ruling)))
    articles = "\n".join(_article(found, num_screens) for found in shown)
    missing = f"; the first {len(shown)} of them are shown" if num_all > len(shown) else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<p>{check.n} trajectories: accuracy {check.accuracy:.1%}, <b class="bad">false success {check.false_success:.1%}</b>,
false failure {check.false_failure:.1%}, unknown {check.unknown:.1%}; cost {check.cost:.4f}.</p>
{_table(check)}
<h2>Disagreements: {num_all}{missing}</h2>
{articles or "<p>none</p>"}
</body></html>
""".encode(errors="replace")


_ORDER = [
    (Ruling.FAILURE, Ruling.SUCCESS),
    (Ruling.SUCCESS, Ruling.FAILURE),
    (Ruling.FAILURE, Ruling.UNKNOWN),
    (Ruling.SUCCESS, Ruling.UNKNOWN),
]
"""The worst first: a success that was none is learned from."""


def _table(check: JudgeCheck) -> str:
    """Confusion by suite."""
    words = [ruling.value for ruling in Ruling]
    rows = "".join(
        f'<tr><td>{html.escape(suite)}</td><td class="t">{truth}</td>'
        + "".join(f"<td>{said[word]}</td>" for word in words)
        + "</tr>"
        for suite, table in check.by_suite.items()
        for truth, said in table.items()
    )
    heads = "".join(f"<th>judge: {word}</th>" for word in words)
    return f"<table><tr><th>suite</th><th>known</th>{heads}</tr>{rows}</table>"


def _article(found: Disagreement, num_screens: int) -> str:
    trajectory = found.trajectory
    actions = ", ".join(describe(step.decision.action) for step in trajectory.steps[-MAX_ACTIONS:])
    screens = "".join(f'<img alt="screen" src="{picture_of(screen)}">' for screen in _screens(trajectory, num_screens))
    return f"""<article><h3>{html.escape(trajectory.task.instruction)}</h3>
<p>known: <b>{found.truth.value}</b>; judge: <b class="bad">{found.verdict.ruling.value}</b>
({html.escape(found.verdict.reason)})</p>
<p class="dim">{html.escape(trajectory.id)}, {html.escape(trajectory.task.id)}, {len(trajectory.steps)} steps, the last:
<code>{html.escape(actions)}</code></p>{screens}</article>"""


def _screens(trajectory: Trajectory, count: int) -> list[Screen]:
    return [*(step.observation.screen for step in trajectory.steps), trajectory.final.screen][-count:]

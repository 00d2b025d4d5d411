"""Measured regret against the published panels (Markou & Rasmussen, read off their figures)."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure
from uqbench.plots import claims, theme
from uqbench.plots.words import natural
from uqbench.suites.suite import Suite

CLAIMS = "published-"
"""Begins the names of the claims that a method has the published numbers."""


def published_panels(board: StoredBoard, suite: Suite) -> Iterator[Figure]:
    """A panel a task: each method's score with its interval, and the published one."""
    data = claims.frame(board.claims, claims.published_numbers(suite))
    data = data[data["claim"].str.startswith(CLAIMS) & data["published"].notna()]
    if data.empty:
        return
    data = pd.DataFrame(
        {
            "task": data["group"],
            "method": data["label"].str.split(": ").str[-1],
            "estimate": data["estimate"],
            "low": data["low"],
            "high": data["high"],
            "published": data["published"],
            "tolerance": (data["below"] - data["above"]) / 2,
        }
    ).reset_index(drop=True)
    gap = (data["estimate"] - data["published"]).abs()
    yield Figure(
        "published-panels",
        f"{board.title}: against the published panels",
        f"Scores of {data['method'].nunique()} methods on {data['task'].nunique()} tasks, with "
        f"simultaneous intervals: {(gap <= data['tolerance']).sum()} of {len(data)} estimates lie "
        f"within the tolerance (shaded) of the published number (black), read off figures. The "
        f"largest distance is {gap.max():.3f}, of {data.loc[gap.idxmax(), 'method']} on "
        f"{data.loc[gap.idxmax(), 'task']}.",
        data,
        _chart(data, [name for name in board.methods if name in set(data["method"])]),
    )


def _chart(data: pd.DataFrame, order: list[str]) -> alt.FacetChart:
    data = data.assign(
        from_=data["published"] - data["tolerance"], to_=data["published"] + data["tolerance"]
    )
    base = alt.Chart(width=170, height=alt.Step(18)).encode(
        alt.Y("method:N", sort=order, title=None)
    )
    x = alt.X("from_:Q", title="score", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
    tolerance = base.mark_bar(height=13, color=theme.GRID).encode(x, x2="to_:Q")
    published = base.mark_tick(thickness=2, size=13, color=theme.INK).encode(x="published:Q")
    rules = base.mark_rule(strokeWidth=1.5, color=theme.BLUE).encode(x="low:Q", x2="high:Q")
    points = base.mark_point(filled=True, size=36, opacity=1, color=theme.BLUE).encode(
        x="estimate:Q"
    )
    tasks = sorted(set(data["task"]), key=natural)
    found: alt.FacetChart = (
        alt.layer(tolerance, published, rules, points, data=data)
        .facet(facet=alt.Facet("task:N", title=None, sort=tasks), columns=2, spacing=16)
        .resolve_scale(x="independent")
    )
    return found

"""Measured against published: regret, and UBE's local uncertainty (Markou & Rasmussen)."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure
from uqbench.plots import claims, theme
from uqbench.plots.words import natural, number
from uqbench.suites.suite import Suite

CLAIMS = "published-"
"""Begins the names of the claims that a method has the published numbers."""

PUBLISHED_TERMS = {"reward_term": (7e-4, 1.4e-2), "q_max_term": (0.26, 3.3)}
"""Smallest and largest bars of the supplement's chart: ζ = 1, N = 4, one run; read off."""
TERMS = {"reward_term": "variance of the mean reward", "q_max_term": "term of Q_max"}
CHART = "deepsea-4", "ube-zeta-1"
"""Task and method of the chart."""


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


def terms_of_ube(board: StoredBoard) -> Iterator[Figure]:
    """How large both terms of UBE's local uncertainty are over (s, a), and the published ones."""
    task, method = CHART
    own = board.tasks[board.tasks["method"] == method]
    if own.empty:
        return
    rows = [
        {"world": row["task"], "term": TERMS[term], "low": row[f"{term}_low"],
         "high": row[f"{term}_high"]}
        for row in own.to_dict("records")
        for term in TERMS
    ]  # fmt: skip
    rows += [
        {"world": f"{task}, published", "term": TERMS[term], "low": low, "high": high}
        for term, (low, high) in PUBLISHED_TERMS.items()
    ]
    data = pd.DataFrame(rows).sort_values(["world", "term"], kind="stable", ignore_index=True)
    shares = own["reward_share"]
    yield Figure(
        "terms-of-ube",
        f"{board.title}: the local uncertainty's two terms",
        f"From the smallest to the largest over (s, a), at the end of training with ζ = 1, means "
        f"of seeds; published: read off a bar chart of one run. At most {number(shares.max())} of "
        f"the local uncertainty is due to rewards at any (s, a), mean over training.",
        data,
        _bars(data),
    )


def _bars(data: pd.DataFrame) -> alt.Chart:
    terms = list(TERMS.values())
    x = alt.X("low:Q", title="local uncertainty ν, squared units of return",
              scale=alt.Scale(type="log"), axis=alt.Axis(format="~g", tickCount=6))  # fmt: skip
    legend = alt.Legend(title=None, orient="bottom", direction="vertical")
    worlds = sorted(set(data["world"]), key=natural)
    found: alt.Chart = (
        alt.Chart(data, width=330, height=alt.Step(12))
        .mark_bar(height=9)
        .encode(
            x,
            alt.Y("world:N", sort=worlds, title=None),
            alt.Color("term:N", sort=terms, scale=theme.colors(terms), legend=legend),
            x2="high:Q",
            yOffset=alt.YOffset("term:N", sort=terms),
        )
    )
    return found

"""Claims as a forest plot: estimate, interval, the region it must lie in, and what was published.

Claims about probabilities have an axis from 0 to 1; every other claim has its own.
"""

import math
from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure
from uqbench.suites.suite import Suite
from uqbench_report.plots import theme
from uqbench_report.plots.words import said, spelled, spoken

PROBABILITIES = ("probability of improvement", "concordance", "share")
"""Statistics that lie between 0 and 1 whatever the claim; matched as beginnings."""
COLUMNS = [
    "claim", "verdict", "label", "group", "statistic", "estimate", "low", "high", "above", "below",
    "is", "published",
]  # fmt: skip
ENDS = ("estimate", "low", "high")
ROW = 17
LABEL = 250
"""Most pixels of the names of comparisons."""

Published = Mapping[str, Mapping[str, float]]
"""Published numbers by claim and group; group "" for all of them."""


def published_numbers(suite: Suite | None) -> Published:
    """The published numbers that a suite's ``band`` claims compare with, by claim and task."""
    values: dict[str, dict[str, float]] = {}
    for claim in () if suite is None else suite.claims:
        value = claim.settings.get("value")
        if isinstance(value, Mapping):
            values[claim.id] = {str(task): float(number) for task, number in value.items()}
        elif isinstance(value, int | float):
            values[claim.id] = {"": float(value)}
    return values


def frame(claims: pd.DataFrame, published: Published | None = None) -> pd.DataFrame:
    """A row a comparison that was made, in the order of the board.

    ``claim``, ``verdict``, ``label``, ``group``, ``statistic``, ``estimate``, ``low``, ``high``,
    ``above``, ``below`` (the region; NaN for no bound), ``is`` (true, false, open or equal),
    ``published``.
    """
    made = claims[claims["estimate"].notna()]
    named = published or {}
    own = zip((named.get(claim, {}) for claim in made["claim"]), made["group"], strict=True)
    numbers = [of.get(group, of.get("", math.nan)) for of, group in own]
    label = made["comparison"].where(made["group"] == "", made["group"] + ": " + made["comparison"])
    names = {"must_be_above": "above", "must_be_below": "below", "comparison_is": "is"}
    made = made.rename(columns=names).assign(label=label, published=numbers)
    return made[COLUMNS].reset_index(drop=True)


def figures(board: StoredBoard, published: Published) -> dict[str, Figure]:
    """A figure for each claim that was compared, by the claim's name."""
    if not board.has("claims.csv") or board.claims.empty:
        return {}
    return {
        str(claim): Figure(
            f"claim-{claim}"[:60],
            f"{board.title}: {claim}: {own['verdict'].iloc[0]}",
            f"{spoken(', '.join(dict.fromkeys(own['statistic'])))} with simultaneous intervals, "
            f"against the shaded region in which each must lie.",
            own.reset_index(drop=True),
            chart(own),
            spelled((r.label, r.estimate, r.low, r.high) for r in own.itertuples()),
        )
        for claim, own in frame(board.claims, published).groupby("claim", sort=False)
    }


def chart(own: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """One claim's comparisons."""
    domain = _domain(own)
    own = own.assign(label=own["label"].map(spoken), said=said(own["label"], own[[*ENDS]]))
    order = list(dict.fromkeys(own["label"]))
    shown = own.assign(
        region_low=own["above"].fillna(domain[0]).clip(*domain),
        region_high=own["below"].fillna(domain[1]).clip(*domain),
        from_=own["low"].clip(*domain),
        to_=own["high"].clip(*domain),
        published=own["published"].where(own["published"].between(*domain)),
    )
    base = alt.Chart(width=220, height=alt.Step(ROW)).encode(
        alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=LABEL, labelFontSize=11))
    )
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    title = ", ".join(dict.fromkeys(map(spoken, own["statistic"])))
    x = alt.X("region_low:Q", scale=scale, title=title, axis=alt.Axis(tickCount=4, grid=False))
    bars = base.mark_bar(height=ROW, color=theme.GRID, opacity=0.9)
    region = bars.encode(x, alt.X2("region_high:Q"))
    truth = ["true", "false", "open", "equal"]
    colors = alt.Scale(domain=truth, range=[theme.GREEN, theme.VERMILION, theme.ORANGE, theme.INK])
    shapes = alt.Scale(domain=truth, range=["circle", "cross", "diamond", "square"])
    tint = alt.Color("is:N", scale=colors, legend=None)
    rules = base.mark_rule(strokeWidth=1.5).encode(alt.X("from_:Q"), alt.X2("to_:Q"), tint)
    shape, said_ = alt.Shape("is:N", scale=shapes, legend=None), alt.Description("said:N")
    points = base.mark_point(filled=True, size=48, opacity=1, aria=True)
    points = points.encode(alt.X("estimate:Q"), tint, shape, said_)
    ticks = base.mark_tick(thickness=2, size=ROW, color=theme.INK).encode(alt.X("published:Q"))
    published = [ticks] if own["published"].notna().any() else []
    return alt.layer(region, *published, rules, points, data=shown)


def _domain(own: pd.DataFrame) -> list[float]:
    if all(str(name).startswith(PROBABILITIES) for name in own["statistic"]):
        return [0.0, 1.0]
    numbers = own[["estimate", "low", "high", "above", "below", "published"]].to_numpy().ravel()
    numbers = numbers[np.isfinite(numbers)]
    low, high = float(numbers.min()), float(numbers.max())
    reach = 0.12 * (high - low) or max(abs(high), 1.0) * 0.12
    return [low - reach, high + reach]

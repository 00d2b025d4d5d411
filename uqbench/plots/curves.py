"""Learning curves: return, or reward of continuing tasks, by step."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure
from uqbench.plots import theme
from uqbench.statistics.quantiles import student
from uqbench.wording import count

MOST_POINTS = 10_000
"""Of single seeds: more are not drawn, as no one could tell them apart."""
_LONG = {"return": "Return of training episodes", "reward per step": "Reward per step of training"}


def frame(curves: pd.DataFrame) -> pd.DataFrame:
    """``task``, ``method``, ``step``, ``value``, ``low``, ``high``, ``seeds``.

    The mean over the seeds in whose hundredth of training an episode ended, with Student's
    pointwise 95 % interval; NaN with fewer than three seeds.
    """
    cell = curves.groupby(["task", "method", "step"])["value"]
    data = cell.agg(value="mean", std="std", seeds="count").reset_index()
    seeds = data["seeds"].to_numpy()
    reach = student((data.pop("std") / np.sqrt(seeds)).to_numpy(), seeds)
    data = data.assign(low=data["value"] - reach, high=data["value"] + reach)
    return data[["task", "method", "step", "value", "low", "high", "seeds"]]


def chart(
    data: pd.DataFrame, runs: pd.DataFrame | None, methods: Sequence[str], label: str = "return"
) -> alt.FacetChart:
    """A panel a task, a line a method with its band; ``runs`` are drawn faintly behind."""
    both = data.assign(kind="all")
    if runs is not None:
        both = pd.concat([both, runs.assign(kind="seed")], ignore_index=True)
    x = alt.X("step:Q", title="environment steps", axis=alt.Axis(tickCount=4, format="~s"))
    color, dash = theme.lines(methods, data["method"])
    y = alt.Y("value:Q", title=label, scale=alt.Scale(zero=False), axis=theme.up(4))
    base = alt.Chart(width=260, height=180)
    mean = base.transform_filter("datum.kind == 'all' && isValid(datum.value)")
    band = mean.mark_area(opacity=0.14).encode(x, alt.Y("low:Q"), y2="high:Q", color=color)
    line = mean.mark_line(strokeWidth=2).encode(x, y, color, dash)
    single = base.transform_filter("datum.kind == 'seed'").mark_line(strokeWidth=0.6, opacity=0.25)
    behind = [single.encode(x, y, color=color, detail="seed:N")] if runs is not None else []
    return theme.by_task(alt.layer(*behind, band, line, data=both), data["task"], own="xy")


def figure(board: StoredBoard) -> Figure:
    """The learning curves of a board."""
    data, runs = frame(board.curves), board.curves.dropna(subset="value").drop(columns="of")
    single = len(runs) <= MOST_POINTS
    what = str(board.curves["of"].iloc[0]).replace("_", " ")
    last = data.dropna(subset="value").groupby(["task", "method"], sort=False).tail(1)
    ends = last.groupby("method")["value"].mean().sort_values(ascending=False)
    return Figure(
        "curves",
        f"{board.title}: learning curves",
        f"{_LONG[what]} by step, mean over seeds with pointwise 95 % bands"
        f"{', single seeds faint' if single else ''}; {count(data['task'].nunique(), 'task')}. At "
        f"the end, averaged over tasks: "
        f"{'; '.join(f'{method} {value:.3g}' for method, value in ends.items())}.",
        data,
        chart(data, runs if single else None, board.methods, f"{what} (mean over seeds)"),
    )

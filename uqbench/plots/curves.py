"""Learning curves: return, or reward of continuing tasks, by step or by hours of a core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import altair as alt
import numpy as np
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure, NotDrawableError
from uqbench.plots import theme
from uqbench.statistics.quantiles import student
from uqbench.wording import count

Across = Literal["step", "hours"]
MOST_POINTS = 10_000
"""Of single seeds: more are not drawn, as no one could tell them apart."""
_LONG = {"return": "Return of training episodes", "reward per step": "Reward per step of training"}


def frame(curves: pd.DataFrame, cost: pd.DataFrame | None = None) -> pd.DataFrame:
    """``task``, ``method``, ``step``, ``hours``, ``value``, ``low``, ``high``, ``seeds``.

    The mean over the seeds in whose hundredth of training an episode ended, with Student's
    pointwise 95 % interval; NaN with fewer than three seeds. ``hours`` is the step over the
    method's median speed in ``cost``, hours of one core or device; NaN without it.
    """
    cell = curves.groupby(["task", "method", "step"])["value"]
    data = cell.agg(value="mean", std="std", seeds="count").reset_index()
    if cost is None:
        cost = pd.DataFrame(columns=["task", "method", "steps_per_s"], dtype=float)
    speeds = cost.set_index(["task", "method"])["steps_per_s"].rename("speed")
    speed = data.join(speeds, on=["task", "method"])["speed"]
    seeds = data["seeds"].to_numpy()
    reach = student((data["std"] / np.sqrt(seeds)).to_numpy(), seeds)
    data = data.assign(
        hours=data["step"] / speed / 3600, low=data["value"] - reach, high=data["value"] + reach
    )
    return data[["task", "method", "step", "hours", "value", "low", "high", "seeds"]]


def seeds(curves: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """The single runs: ``task``, ``method``, ``seed``, ``step``, ``hours``, ``value``."""
    hours = data[["task", "method", "step", "hours"]]
    runs = curves[["task", "method", "seed", "step", "value"]]
    return runs[runs["value"].notna()].merge(hours, on=["task", "method", "step"])


def chart(
    data: pd.DataFrame,
    runs: pd.DataFrame | None,
    methods: Sequence[str],
    across: Across = "step",
    label: str = "return",
) -> alt.FacetChart:
    """A panel a task, a line a method with its band; ``runs`` are drawn faintly behind."""
    both = data.assign(kind="all")
    if runs is not None:
        both = pd.concat([both, runs.assign(kind="seed")], ignore_index=True)
    title = "environment steps" if across == "step" else "hours of one core or device"
    x = alt.X(f"{across}:Q", title=title, axis=alt.Axis(tickCount=4, format="~s"))
    color, dash = theme.lines(methods, data["method"])
    y = alt.Y("value:Q", title=label, scale=alt.Scale(zero=False), axis=theme.up(4))
    base = alt.Chart(width=260, height=180)
    mean = base.transform_filter("datum.kind == 'all' && isValid(datum.value)")
    band = mean.mark_area(opacity=0.14).encode(x, alt.Y("low:Q"), y2="high:Q", color=color)
    line = mean.mark_line(strokeWidth=2).encode(x, y, color, dash)
    layers = [band, line]
    if runs is not None:
        single = base.transform_filter("datum.kind == 'seed'").mark_line(
            strokeWidth=0.6, opacity=0.25
        )
        layers.insert(0, single.encode(x, y, color=color, detail="seed:N"))
    return theme.by_task(alt.layer(*layers, data=both), data["task"], own="xy")


def figure(board: StoredBoard, across: Across = "step") -> Figure:
    """The learning curves of a board."""
    cost = board.cost if board.has("cost.csv") else None
    data = frame(board.curves, cost)
    if across == "hours" and data["hours"].isna().all():
        raise NotDrawableError(f"{board.folder} has no cost.csv with speeds: plot by step instead.")
    runs = seeds(board.curves, data)
    single = len(runs) <= MOST_POINTS
    what = str(board.curves["of"].iloc[0]).replace("_", " ")
    last = data.dropna(subset="value").groupby(["task", "method"], sort=False).tail(1)
    ends = last.groupby("method")["value"].mean().sort_values(ascending=False)
    return Figure(
        "curves" if across == "step" else "curves-hours",
        f"{board.title}: learning curves",
        f"{_LONG[what]} by {across}, mean over seeds with pointwise 95 % bands"
        f"{', single seeds faint' if single else ''}; {count(data['task'].nunique(), 'task')}. At "
        f"the end, averaged over tasks: "
        f"{'; '.join(f'{method} {value:.3g}' for method, value in ends.items())}.",
        data,
        chart(data, runs if single else None, board.methods, across, f"{what} (mean over seeds)"),
    )

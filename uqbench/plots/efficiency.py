"""Sample efficiency: the share of a method's runs that have reached a return, by step.

A run that never reaches it is censored at its last step: it stays in the denominator, so that the
curve ends at the share that did. All runs of a board end at the same step, so this is the estimate
of Kaplan & Meier (1958). The median is the step at which half of the runs have reached it, and does
not exist where fewer have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from uqbench.figure import BoardTables, Figure, NotDrawableError
from uqbench.plots import theme

SMOOTHED = 5
"""Hundredths of training whose mean return must reach the score: a lucky episode does not."""


def reached(curves: pd.DataFrame, targets: Mapping[str, float]) -> pd.DataFrame:
    """When each run reached its task's target.

    ``task``, ``method``, ``seed``, ``step``, ``reached``, ``end``; ``step`` is the last of the
    run, ``end``, where it never did.
    """
    run = ["task", "method", "seed"]
    curves = curves.sort_values([*run, "step"], kind="stable", ignore_index=True)
    own = curves.groupby(run)
    mean = own["value"].rolling(SMOOTHED, min_periods=1).mean().to_numpy()
    there = mean >= curves["task"].map(dict(targets)).to_numpy(float)
    found = own["step"].last().rename("end").to_frame()
    found["first"] = curves["step"].where(there).groupby([curves[name] for name in run]).min()
    found["reached"] = found["first"].notna()
    found["step"] = found["first"].fillna(found["end"]).astype("int64")
    return found.reset_index()[[*run, "step", "reached", "end"]]


def frame(runs: pd.DataFrame) -> pd.DataFrame:
    """``task``, ``method``, ``step``, ``share``, ``runs``: where the share grows, and the ends."""
    parts = []
    for (task, method), own in runs.groupby(["task", "method"], sort=True):
        steps = np.sort(own.loc[own["reached"], "step"].to_numpy())
        end = int(own["end"].max())
        share = np.arange(1, len(steps) + 1) / len(own)
        parts.append(
            pd.DataFrame(
                {
                    "task": task,
                    "method": method,
                    "step": [0, *steps, end],
                    "share": [0.0, *share, share[-1] if len(share) else 0.0],
                    "runs": len(own),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def medians(runs: pd.DataFrame) -> pd.Series:
    """The median step of each task and method; NaN where fewer than half of the runs got there."""
    steps = runs["step"].astype(float).where(runs["reached"], np.inf)
    ordered = steps.groupby([runs["task"], runs["method"]]).apply(
        lambda own: np.sort(own.to_numpy())[(len(own) - 1) // 2]
    )
    return ordered.replace(np.inf, np.nan)


def chart(data: pd.DataFrame, methods: Sequence[str]) -> alt.FacetChart:
    """A panel a task, a stair a method."""
    color, dash = theme.lines(methods, data["method"])
    line = (
        alt.Chart(data, width=260, height=160)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            alt.X("step:Q", title="environment steps", axis=alt.Axis(tickCount=4, format="~s")),
            alt.Y("share:Q", title="share of runs", scale=alt.Scale(domain=[0, 1]),
                  axis=theme.up(3, "%")),
            color,
            dash,
        )
    )  # fmt: skip
    return theme.by_task(line, data["task"], own="x")


def figure(board: BoardTables, score: float = 0.5) -> Figure:
    """Steps to a return: that at the share ``score`` of the way from the worst curve to the best.

    The target of a task lies between the lowest and the highest final mean of the board's methods,
    so it compares them with each other, not with a published number.
    """
    curves = board.curves
    last = curves[curves["step"] > 0.9 * curves.groupby("task")["step"].transform("max")]
    ends = last.groupby(["task", "method"])["value"].mean().groupby("task").agg(["min", "max"])
    if ends.isna().to_numpy().any():
        raise NotDrawableError(f"{board.folder}: no episode ended in the last tenth of some task.")
    targets = {str(t): float(r["min"] + score * (r["max"] - r["min"])) for t, r in ends.iterrows()}
    runs = reached(curves, targets)
    middle = medians(runs)
    said = "; ".join(
        f"{task}, {method}: " + ("fewer than half" if np.isnan(step) else f"{step:,.0f}")
        for (task, method), step in middle.items()
    )
    goals = ", ".join(f"{task} {value:.3g}" for task, value in targets.items())
    return Figure(
        "efficiency",
        f"{board.title}: steps to a return",
        f"Share of runs whose mean return has reached a target ({goals}: {100 * score:.0f} % of "
        f"the way from the worst final mean to the best); a run that never does stays counted. "
        f"Median steps: {said}.",
        frame(runs),
        chart(frame(runs), board.methods),
    )

"""Seeds: every run's score, a strip for each method, a panel for each task."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure, NotDrawableError
from uqbench.plots import theme

ROW = 18


def frame(scores: pd.DataFrame) -> pd.DataFrame:
    """``task``, ``method``, ``seed``, ``score`` of the runs that have a score."""
    found = scores[["task", "method", "seed", "score"]]
    return found[found["score"].notna()].reset_index(drop=True)


def chart(data: pd.DataFrame, methods: Sequence[str], label: str) -> alt.FacetChart:
    """A tick a run and a bold one for the mean of a method on a task."""
    order = [name for name in methods if name in set(data["method"])]
    wide = 260 if data["task"].nunique() == 1 else 190
    base = alt.Chart(width=wide, height=alt.Step(ROW)).encode(
        alt.Y("method:N", sort=order, title=None)
    )
    x = alt.X("score:Q", title=label, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
    ticks = base.mark_tick(thickness=1, size=11, color=theme.MUTED, opacity=0.55).encode(x)
    means = base.mark_tick(thickness=2.5, size=15, color=theme.BLUE).encode(
        alt.X("mean(score):Q", title=label)
    )
    return theme.by_task(alt.layer(ticks, means, data=data), data["task"], own="x")


def figure(board: StoredBoard) -> Figure:
    """The normalized scores of all runs."""
    data = frame(board.scores)
    if data.empty:
        raise NotDrawableError(f"{board.folder}: no run has a score.")
    tasks, methods = data["task"].nunique(), data["method"].nunique()
    return Figure(
        "seeds",
        f"{board.title}: every seed",
        f"The scores of {len(data)} runs of {methods} methods on {tasks} "
        f"task{'s'[: tasks != 1]}: a tick each, a thick one for the mean.",
        data,
        chart(data, board.methods, f"score ({board.primary['name']})"),
    )

"""Learning curves: return, or reward of continuing tasks, by step."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench.contract.wording import count
from uqbench_report.plots import theme
from uqbench_report.plots.words import spoken

_LONG = {"return": "Return of training episodes", "reward per step": "Reward per step of training"}


def chart(data: pd.DataFrame, methods: Sequence[str], label: str = "return") -> alt.FacetChart:
    """A panel a task, a line a method with its band, which ends where the panel does.

    Panels reach a quarter of the lines' range above the lines: a band of three seeds is wider
    than all there is to see.
    """
    data = data.dropna(subset="value")
    lines = data.groupby("task")["value"].agg(["min", "max"]).loc[data["task"]].to_numpy().T
    bottom, top = lines[0], lines[1] + 0.25 * (lines[1] - lines[0])
    data = data.assign(low=data["low"].clip(bottom, top), high=data["high"].clip(bottom, top))
    x = alt.X("step:Q", title="environment steps", axis=alt.Axis(tickCount=4, format="~s"))
    y = alt.Y("value:Q", title=label, scale=alt.Scale(zero=False), axis=theme.up(4))
    base = alt.Chart(width=240, height=180).encode(x)
    layers = theme.with_bands(base, y, methods, data["method"])
    return theme.by_task(alt.layer(*layers, data=data), data["task"], own="xy")


def figure(board: StoredBoard) -> Figure:
    """The learning curves of a board."""
    data = board.curves.drop(columns="metric")
    at = data.dropna(subset="value").groupby(["task", "step"])["value"]
    if at.size().min() > 1 == at.nunique().max():
        raise NotDrawableError("all methods have the same curves: they learn from recorded data.")
    what = spoken(board.curves["metric"].iloc[0])
    last = data.dropna(subset="value").groupby(["task", "method"], sort=False).tail(1)
    ends = last.groupby("method")["value"].mean().sort_values(ascending=False)
    return Figure(
        "curves",
        f"{board.title}: learning curves",
        f"{_LONG[what]} by step, mean over seeds with pointwise 95 % bands, cut at the edge.",
        data,
        chart(data, board.methods, f"{what} (mean over seeds)"),
        f"{count(data['task'].nunique(), 'task')}. At the end, averaged over tasks: "
        f"{'; '.join(f'{method} {value:.3g}' for method, value in ends.items())}.",
    )

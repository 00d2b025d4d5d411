"""Coverage by task: how many true values the stated intervals of each method hold on each task."""

import altair as alt
import pandas as pd

from uqbench.boards.calibration import band, coverage_column
from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench_report.plots import pairs
from uqbench_report.plots.intervals import ENDS
from uqbench_report.plots.words import natural, said, spelled, titled


def frame(tasks: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """``method``, ``task``, ``share``, ``low``, ``high``, and ``off``.

    Means over seeds with 95 % intervals, of the methods that state intervals; whether such an
    interval lies beyond the band around the level that they state.

    Args:
        tasks: ``tasks.csv``.

    Returns:
        The frame, and the level of the stated intervals.

    Raises:
        NotDrawableError: there is one task, or nobody was asked for intervals or states any.
    """
    column, level = coverage_column(f"{name}_mean" for name in tasks) or ("", 0.0)
    name = column.removesuffix("_mean")
    if name not in tasks or tasks["task"].nunique() < 2 or tasks[name].isna().all():
        raise NotDrawableError("the board has one task, or no intervals whose coverage is known.")
    data = tasks[["method", "task", *(f"{name}{end}" for end in ENDS)]].dropna(subset=name)
    data = data.set_axis(["method", "task", "share", "low", "high"], axis="columns")
    least, most = band(level)
    off = (data["high"] < least) | (data["low"] > most)
    return data.assign(off=off).reset_index(drop=True), level


def chart(data: pd.DataFrame, level: float, methods: list[str]) -> alt.LayerChart | alt.FacetChart:
    """A square a method and task; a dot where the 95 % interval lies beyond the band."""
    tasks = map(titled, sorted({*data["task"]}, key=natural))
    cells = data.assign(row=data["method"], column=data["task"].map(titled), sure=data["off"])
    names = cells["row"] + ", " + cells["column"] + ":"
    cells["said"] = said(names, cells[["share", "low", "high"]])
    rows = [name for name in methods if name in {*data["method"]}]
    return pairs.squares(cells, rows, list(tasks), level)


def figure(board: StoredBoard) -> Figure:
    """The board's methods by its tasks."""
    data, level = frame(board.tasks)
    percent, beyond = f"{100 * level:.0f} %", " to ".join(f"{100 * end:.3g}" for end in band(level))
    return Figure(
        "coverage",
        f"{board.title}: coverage by task",
        f"Percent of the true values inside the stated {percent} intervals, mean over seeds: "
        f"orange fewer than {percent}, blue more. Dot: the 95 % interval lies beyond {beyond} %.",
        data,
        chart(data, level, board.methods),
        f"{data['off'].sum()} of {len(data)} squares have a dot. "
        + spelled((f"{r.method}, {r.task}", r.share, r.low, r.high) for r in data.itertuples()),
    )

"""Trust: how well methods do, across, and how many true values their intervals hold, up."""

from functools import partial
from textwrap import wrap
from typing import Any

import altair as alt
import pandas as pd

from uqbench.boards import calibration
from uqbench.boards.calibration import NO_WORD, band
from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench_report.plots import theme
from uqbench_report.plots.intervals import ENDS, estimates
from uqbench_report.plots.labels import label_positions, named
from uqbench_report.plots.words import number, said, score_label, spelled

WIDTH = 420
UNIT = 260
"""Pixels of all true values."""
TOP = 1.04
BELOW = 0.085
"""Height of a row of a method that states no intervals, below the axis."""
LETTER, BESIDE = 6.9, 64
"""Pixels of a letter of the title, and of the axis beside the panel."""
MARKS = {
    calibration.CALIBRATED: (theme.GREEN, "circle"),
    calibration.WIDE: (theme.BLUE, "triangle-up"),
    calibration.NARROW: (theme.VERMILION, "triangle-down"),
    calibration.OPEN: (theme.ORANGE, "diamond"),
    NO_WORD: (theme.MUTED, "square"),
}
"""Color and shape of each word for intervals: on a grey print the shape tells."""


def frame(leaderboard: pd.DataFrame, ranking: str) -> tuple[pd.DataFrame, float]:
    """``method``, ``role``, ``word``, ``x``, ``x_low``, ``x_high``, ``y``, ``y_low``, ``y_high``.

    All methods, the best trivial baseline and the best oracle.

    ``x`` is the ranking statistic of the score, ``y`` the share of true values inside the stated
    intervals, NaN for methods that state none.

    Returns:
        The frame, and the level of the intervals.

    Raises:
        NotDrawableError: the board does not ask for intervals.
    """
    column = calibration.coverage_column(map(str, leaderboard))
    if column is None or "calibration" not in leaderboard:
        why = "its agents are not asked for intervals (docs/uncertainty.md)."
        raise NotDrawableError(f"the board has no metric named coverage_90 or coverage_95: {why}")
    data = estimates(leaderboard, ranking, column[0])
    data.insert(2, "word", leaderboard["calibration"])
    data = data[data["x"].notna()]
    baselines = data[data["role"].isin(["trivial", "oracle"])]
    best = baselines.loc[baselines.groupby("role")["x"].idxmax()]
    best = best.assign(y=float("nan"), y_low=float("nan"), y_high=float("nan"))
    return pd.concat([data[data["role"] == "method"], best], ignore_index=True), column[1]


def chart(
    data: pd.DataFrame, level: float, across: str, title: str, wide: float = 1.0
) -> alt.LayerChart | alt.FacetChart:
    """Points with both intervals, the band of calibrated ones; baselines are dashed lines.

    Methods that state no intervals have a row each below the axis. ``wide`` times as wide as usual.
    """
    methods = data[data["role"] == "method"].sort_values("x", ignore_index=True)
    none = methods["y"].isna()
    methods["height"] = methods["y"].fillna(-BELOW * none.cumsum())
    names = methods["method"] + ": score " + methods["x"].map(number) + ", inside"
    methods["said"] = said(names, methods[["y", "y_low", "y_high"]])
    up_ends = [-BELOW * (int(none.sum()) + 0.6), TOP]
    size = WIDTH * wide, UNIT * (up_ends[1] - up_ends[0])
    lowest, highest = data[[f"x{end}" for end in ENDS]].stack().agg(["min", "max"])
    slack = 0.04 * (highest - lowest) or 1.0
    ends = [float(lowest - slack), float(highest + slack)]
    x_scale, y_scale = (alt.Scale(domain=pair, nice=False, zero=False) for pair in (ends, up_ends))
    percent = theme.up(5, "%")
    percent["values"] = [0, 0.25, 0.5, 0.75, 1]
    x = alt.X("x:Q", title=across, scale=x_scale, axis=alt.Axis(tickCount=6, grid=False))
    inside = f"true values inside {100 * level:.0f} % intervals"
    y = alt.Y("height:Q", title=inside, scale=y_scale, axis=percent)
    used = [word for word in MARKS if word in set(methods["word"])]
    columns = 0 if wide >= 1 else 2  # 0: all side by side
    as_named = f"datum.label == '{NO_WORD}' ? 'no intervals' : datum.label"
    legend = alt.Legend(title=None, orient="top", values=used, columns=columns, labelExpr=as_named)
    scales = [alt.Scale(domain=[*MARKS], range=[*of]) for of in zip(*MARKS.values(), strict=True)]
    color = alt.Color("word:N", scale=scales[0], legend=legend)
    shape = alt.Shape("word:N", scale=scales[1], legend=legend)
    base = alt.Chart(methods, width=size[0], height=size[1])
    honest = alt.Chart(pd.DataFrame([band(level)], columns=["height", "most"]))
    area = honest.mark_rect(color=theme.GREEN, opacity=0.14)
    area = area.encode(alt.Y("height:Q"), alt.Y2("most:Q"))
    baselines = data[data["role"] != "method"].sort_values("x", ignore_index=True)
    near = baselines["x"].diff() < 0.25 * (ends[1] - ends[0])  # so that the names would touch
    baselines["height"] = TOP + 0.025 + 0.05 * near
    line = alt.Chart(baselines).encode(alt.X("x:Q"))
    rules = line.mark_rule(color=theme.MUTED, strokeDash=[2, 3])
    words = line.mark_text(color=theme.MUTED).encode(alt.Y("height:Q"), alt.Text("method:N"))
    points = base.mark_point(size=60, filled=True, opacity=1, aria=True)
    points = points.encode(x, y, color, shape, alt.Description("said:N"))
    rule = base.mark_rule(strokeWidth=1.4).encode(color)
    across_rule = rule.encode(alt.X("x_low:Q"), y, alt.X2("x_high:Q"))
    up_rule = rule.encode(x, alt.Y("y_low:Q"), alt.Y2("y_high:Q"))

    def left(x: Any) -> Any:
        return (x - ends[0]) / (ends[1] - ends[0]) * size[0]

    methods["down"] = UNIT * (TOP - methods["height"])
    bars = [(left(r.x_low), r.down, left(r.x_high), r.down) for r in methods.itertuples()]
    at = pd.DataFrame({"method": methods["method"], "x": left(methods["x"]), "y": methods["down"]})
    if 0.6 < wide < 1 and label_positions(at, size, bars)["label_x"].max() > size[0]:
        return chart(data, level, across, title, wide - 0.15)  # names at the right need its place
    labels = named(at, size, bars)
    lines = wrap(title, int((size[0] + BESIDE) / LETTER), break_on_hyphens=False)
    layers = (area, rules, words, across_rule, up_rule, points, *labels)
    return alt.layer(*layers).properties(title=alt.TitleParams(lines, fontSize=13))


def figure(board: StoredBoard) -> Figure:
    """The board's score against how many true values lie in its methods' stated intervals."""
    data, level = frame(board.leaderboard, board.ranking)
    own = data[data["role"] == "method"]
    if own.empty:
        raise NotDrawableError(f"{board.folder}: no method has all of its runs.")
    stated = own[own["y"].notna()].sort_values("y", ascending=False)
    across = score_label(board)
    draw = partial(chart, data, level, across, board.finding.replace(" %", "\u00a0%"))
    return Figure(
        "trust",
        f"{board.title}: {board.finding}",
        f"{across[0].upper()}{across[1:]} across; up, the share of true values inside the stated "
        f"{100 * level:.0f} % intervals; both with 95 % intervals over seeds. Green: where "
        f"calibrated intervals lie.",
        data,
        draw(),
        spelled((r.method, r.y, r.y_low, r.y_high) for r in stated.itertuples()),
        lambda wide: draw(wide=wide),
    )

"""What each part of a predicted uncertainty follows: noise, or data, or both."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from uqbench.figure import BoardTables, Figure, NotDrawableError
from uqbench.plots import theme
from uqbench.plots.words import spelled
from uqbench_tabular.tools.leakage import leakage

IDEAL = {
    ("aleatoric", "noise"): 1.0,
    ("aleatoric", "data"): 0.0,
    ("epistemic", "noise"): 0.0,
    ("epistemic", "data"): -0.5,
}
"""Slopes of a method that tells both apart, its posterior being that of a mean."""
Z = 1.959963984540054


def frame(scores: pd.DataFrame) -> pd.DataFrame:
    """``method``, ``part``, ``follows``, ``estimate``, ``low``, ``high`` (normal), ``ideal``."""
    rows = [
        {
            "method": row["method"],
            "part": (part := str(row["part"]).removesuffix("_std")),
            "follows": follows,
            "estimate": row[follows],
            "low": row[follows] - Z * row[f"{follows}_se"],
            "high": row[follows] + Z * row[f"{follows}_se"],
            "ideal": IDEAL[part, follows],
        }
        for row in leakage(scores).to_dict("records")
        for follows in ("noise", "data")
    ]
    return pd.DataFrame(rows)


def leakage_matrix(board: BoardTables) -> Iterator[Figure]:
    """Four panels: aleatoric and epistemic, by noise and by data."""
    if not {"aleatoric_std", "epistemic_std"} <= {*board.scores.columns}:
        raise NotDrawableError(f"{board.folder} has no aleatoric_std and epistemic_std.")
    data = frame(board.scores)
    if data.empty:
        return
    yield Figure(
        "leakage",
        f"{board.title}: what each uncertainty follows",
        "Slopes in the noise and in the logarithm of the data, with normal 95 % intervals over "
        "runs; black is a method that tells both apart. "
        + spelled(
            (f"{r.method} {r.part} by {r.follows}", r.estimate, r.low, r.high)
            for r in data.itertuples()
        ),
        data,
        chart(data, [name for name in board.methods if name in set(data["method"])]),
    )


def chart(data: pd.DataFrame, methods: list[str]) -> alt.VConcatChart:
    """A row a part, a column a cause."""
    rows = []
    for part in ("aleatoric", "epistemic"):
        panels = []
        for follows in ("noise", "data"):
            own = data[(data["part"] == part) & (data["follows"] == follows)]
            y = alt.Y(
                "method:N", sort=methods, title=None, axis=None if follows == "data" else alt.Axis()
            )
            base = alt.Chart(own, width=150, height=alt.Step(18)).encode(y)
            x = alt.X("low:Q", title=f"{part} by {follows}", axis=alt.Axis(tickCount=4))
            panels.append(
                base.mark_rule(strokeWidth=1.5, color=theme.BLUE).encode(x, x2="high:Q")
                + base.mark_point(filled=True, size=40, opacity=1, color=theme.BLUE).encode(
                    alt.X("estimate:Q")
                )
                + base.mark_tick(thickness=2, size=13, color=theme.INK).encode(alt.X("ideal:Q"))
            )
        rows.append(alt.hconcat(*panels, spacing=16))
    return alt.vconcat(*rows, spacing=14)

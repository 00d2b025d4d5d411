"""The profile as pictures: one of all methods, and one a method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure
from uqbench.plots import theme
from uqbench.plots.words import spelled
from uqbench_profile.capabilities import CAPABILITIES, profile, table

SCALE = "0 is what knows nothing or minds no risk, 1 the best that can be had"
RIGHT = "of the epistemic scale, a logarithm, 0 is right"


def profiles(board: StoredBoard) -> Iterator[Figure]:
    """A table of all methods, then each method's strengths, best methods first."""
    data = profile(board.scores)
    if data.empty:
        return
    methods = list(table(data).index)
    yield Figure(
        "profile",
        f"{board.title}: what each method's uncertainty is good for",
        f"Means over seeds; {SCALE}; {RIGHT}.",
        data,
        _all(data, methods),
        spelled(
            (f"{r.method} {r.capability}", r.estimate, r.low, r.high) for r in data.itertuples()
        ),
    )
    for method in methods:
        own = data[data["method"] == method]
        yield Figure(
            f"profile-{method}"[:60],
            f"{board.title}: the profile of {method}",
            f"Means with 95 % intervals over seeds; {SCALE}; {RIGHT}.",
            own,
            _strengths(own),
            spelled((str(r.capability), r.estimate, r.low, r.high) for r in own.itertuples()),
        )


def _all(data: pd.DataFrame, methods: list[str]) -> Any:
    off = 1 - data["estimate"].abs()
    shade = data["estimate"].where(data["capability"] != "epistemic scale", off)
    data = data.assign(shade=shade)
    base = alt.Chart(data, width=alt.Step(92), height=alt.Step(22)).encode(
        alt.X(
            "capability:N",
            sort=list(CAPABILITIES),
            title=None,
            axis=alt.Axis(orient="top", labelAngle=-30, labelColor=theme.INK, grid=False),
        ),
        alt.Y("method:N", sort=methods, title=None),
    )
    colors = alt.Scale(domain=[0, 1], range=[theme.WHITE, theme.SKY], clamp=True, interpolate="rgb")
    return alt.layer(
        base.mark_rect().encode(alt.Color("shade:Q", scale=colors, legend=None)),
        base.mark_text(color=theme.ON_LIGHT).encode(alt.Text("estimate:Q", format=".2f")),
    )


def _strengths(own: pd.DataFrame) -> Any:
    y = alt.Y("capability:N", sort=list(CAPABILITIES), title=None)
    x = alt.X("low:Q", title=SCALE, scale=alt.Scale(domain=[-1, 1.1], clamp=True))
    base = alt.Chart(own, width=360, height=alt.Step(22)).encode(y)
    ends = alt.Chart(pd.DataFrame({"at": [0.0, 1.0]})).mark_rule(color=theme.FAINT)
    return alt.layer(
        ends.encode(alt.X("at:Q")),
        base.mark_rule(strokeWidth=1.5, color=theme.BLUE).encode(x, x2="high:Q"),
        base.mark_point(filled=True, size=50, opacity=1, color=theme.BLUE).encode(
            alt.X("estimate:Q")
        ),
    )

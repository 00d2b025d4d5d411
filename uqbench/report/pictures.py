"""The pictures that a README shows: the matrix of claims, and one board's intervals."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from uqbench.figure import Figure
from uqbench.plots import theme
from uqbench.views.verdicts import WORDS, Counted

SQUARE = 17


def claims_matrix(papers: Sequence[Counted]) -> Figure | None:
    """A sign a claim, a row a paper; None without claims."""
    rows = [
        (of.paper, place, claim.verdict, claim.board.title, claim.id)
        for of in papers
        for place, claim in enumerate(of.claims)
    ]
    data = pd.DataFrame(rows, columns=["paper", "place", "verdict", "board", "claim"])
    if data.empty:
        return None
    used = [word for word in WORDS if (data["verdict"] == word).any()]
    colors, shapes, _ = zip(*(theme.VERDICTS[word] for word in used), strict=True)
    legend = alt.Legend(title=None, orient="bottom", symbolSize=110)
    chart = (
        alt.Chart(data, width=SQUARE * (int(data["place"].max()) + 1), height=alt.Step(24))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            alt.X("place:O", axis=None),
            alt.Y("paper:N", title=None, axis=alt.Axis(labelLimit=320)),
            alt.Color("verdict:N", scale=alt.Scale(domain=used, range=colors), legend=legend),
            alt.Shape("verdict:N", scale=alt.Scale(domain=used, range=shapes), legend=legend),
        )
    )
    said = "; ".join(
        f"{of.paper}: " + ", ".join(f"{of.count(w)} {w}" for w in WORDS if of.count(w))
        for of in papers
    )
    return Figure("claims-matrix", "Claims of the papers", f"A sign a claim. {said}.", data, chart)

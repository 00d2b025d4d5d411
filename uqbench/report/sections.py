"""What the page says of each board: rows and figures as the template shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from uqbench.boards.protocol import departures
from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure, NotDrawableError
from uqbench.plots import catalog, claims
from uqbench.plots.words import statistic_label
from uqbench.report.confidence_sets import QUESTIONS, FirstSet, first_set
from uqbench.report.drawing import Picture
from uqbench.report.verdicts import JudgedClaim, judged_claims

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host
    from uqbench.suites.suite import Suite

MOST_TICKS = 1_500
"""Runs of a board whose seeds the page draws one by one."""
SHOWN = (
    "intervals", "pairs", "risk", "curves", "efficiency", "reliability", "sparsification", "pit",
    "profiles", "seeds",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A method's line of a board.

    Attributes:
        place: its ranks, ``"1–3"``; empty where it has none.
        first: whether it may be first.
        cells: the row of ``leaderboard.csv``.
        hours: of one core or device, a run; NaN where that was not kept.
    """

    method: str
    role: str
    place: str
    first: bool
    cells: Mapping[str, Any]
    hours: float


@dataclass(frozen=True)
class BoardSection:
    """A board on the page.

    Attributes:
        earlier: what its suite does otherwise by now; empty for a board of today's protocol.
        first: the first sets, by question.
        added: plugins' figures, which may turn out not to be drawable.
        figures: the others.
        panels: the picture of each claim that was compared, by the claim's name.
        missing: why others are not.
    """

    board: StoredBoard
    id: str
    summary: str
    budget: str
    earlier: str
    rows: list[Row]
    first: dict[str, FirstSet]
    claims: list[JudgedClaim]
    comparisons: pd.DataFrame
    added: list[Picture]
    figures: list[Picture]
    panels: dict[str, Picture]
    missing: list[str]
    hours: float

    @property
    def statistics(self) -> list[tuple[str, str]]:
        """The columns of its table with their headings."""
        board = self.board.leaderboard.columns
        names = [self.board.ranking, "worst_quarter"]
        names += [name for name in board if str(name).startswith("improvement_over_")
                  and not str(name).endswith(("_low", "_high"))]  # fmt: skip
        if "fail_share" in board:
            names.append("fail_share")
        return [(name, _heading(name)) for name in names if name in board]

    @property
    def first_hours(self) -> tuple[float, float] | None:
        """The least and the most hours of a run of the methods that may be first."""
        for question in QUESTIONS:
            methods = self.first[question].methods
            hours = [row.hours for row in self.rows if row.method in methods and row.hours > 0]
            if hours:
                return min(hours), max(hours)
        return None

    @property
    def runs(self) -> int:
        """Planned runs."""
        return len(self.board.scores)

    @property
    def finished(self) -> int:
        """Finished runs."""
        return int((self.board.scores["status"] == "finished").sum())


def board_section(
    board: StoredBoard,
    suite: Suite | None,
    versions: Mapping[str, str],
    host: Host,
    draw: Callable[[Figure], Picture],
) -> BoardSection:
    """Everything that the page shows of a board, its pictures begun: see :func:`settled`.

    Args:
        board: stored.
        suite: as it is installed; None where it is not.
        versions: of the installed agents and estimators, by name.
        host: the plugins, some of which add figures.
        draw: begins a picture.
    """
    earlier = [] if suite is None else departures(board.manifest, suite, versions)
    added, problems = catalog.plugin_figures(board, suite, host)
    own, missing = _own_figures(board, suite, host)
    hours = _hours(board)
    judged = judged_claims(board)
    panels = claims.panels(board, claims.published_numbers(suite)) if judged else {}
    return BoardSection(
        board=board,
        id=f"board-{board.suite}-{board.name}",
        summary="" if suite is None else suite.summary,
        budget=str({**board.manifest.budget}.get("summary", "")),
        earlier="; ".join(earlier),
        rows=[_row(dict(row), hours) for _, row in board.leaderboard.iterrows()],
        first={question: first_set(board, question, suite) for question in QUESTIONS},
        claims=judged,
        comparisons=claims.frame(board.claims) if judged else pd.DataFrame(),
        added=list(map(draw, added)),
        figures=list(map(draw, own)),
        panels={claim: draw(figure) for claim, figure in panels.items()},
        missing=[*missing, *problems],
        hours=float(board.cost["device_hours"].sum()) if board.has("cost.csv") else math.nan,
    )


def settled(section: BoardSection) -> BoardSection:
    """The section with those of the plugins' pictures that could be drawn, first.

    The others are named among what is missing.
    """
    shown: list[Picture] = []
    problems: list[str] = []
    for picture in section.added:
        try:
            _ = picture.svg
        except Exception as error:  # a plugin's chart may be wrong in any way
            why = f"{type(error).__name__}: {error!s:.300}"
            problems.append(f"{section.board.title}: {picture.figure.name}: {why}")
        else:
            shown.append(picture)
    figures, missing = [*shown, *section.figures], [*section.missing, *problems]
    return replace(section, added=[], figures=figures, missing=missing)


def _own_figures(
    board: StoredBoard, suite: Suite | None, host: Host
) -> tuple[list[Figure], list[str]]:
    figures: list[Figure] = []
    missing: list[str] = []
    for name in SHOWN:
        if name == "seeds" and len(board.scores) > MOST_TICKS:
            missing.append(f"{len(board.scores):,} seeds: uqbench plot --what seeds draws them")
            continue
        try:
            figures.append(catalog.draw(board, name, suite, host))
        except NotDrawableError as error:
            missing.append(f"{name}: {str(error).replace(str(board.folder), board.title)}")
    return figures, missing


def _row(cells: dict[str, Any], hours: Mapping[str, float]) -> Row:
    low, high = cells.get("rank_low", math.nan), cells.get("rank_high", math.nan)
    place = ""
    if math.isfinite(low) and math.isfinite(high):
        place = f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"
    method = str(cells["method"])
    return Row(
        method, str(cells["role"]), place, low == 1, cells, float(hours.get(method, math.nan))
    )


def _hours(board: StoredBoard) -> dict[str, float]:
    """Hours of one core or device a run, by method."""
    if not board.has("cost.csv"):
        return {}
    sums = board.cost.groupby("method")[["device_hours", "runs"]].sum()
    return {str(name): float(row["device_hours"] / row["runs"]) for name, row in sums.iterrows()}


def _heading(name: str) -> str:
    if name.startswith("improvement_over_"):
        return f"P(better than {name.removeprefix('improvement_over_')})"
    return statistic_label(name)

"""What the page says of each board: rows and figures as the template shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from uqbench.boards.protocol import departures
from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure, NotDrawableError
from uqbench.plots import catalog, claims
from uqbench.report.confidence_sets import QUESTIONS, BestSet, best_set
from uqbench.report.drawing import Picture
from uqbench.report.verdicts import JudgedClaim, judged_claims
from uqbench.views.board_view import IMPROVEMENT, BoardView, Column, stored_estimate

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host
    from uqbench.suites.suite import Suite

MOST_TICKS = 1_500
"""Runs of a board whose seeds the page draws one by one."""
SHOWN = (
    "intervals", "pairs", "risk", "curves", "efficiency", "reliability", "sparsification", "pit",
    "profiles", "seeds",
)  # fmt: skip
ENDS = {"low": "estimate_low", "high": "estimate_high"}


@dataclass(frozen=True)
class BoardSection:
    """A board on the page.

    Attributes:
        view: its rows and columns.
        earlier: what its suite does otherwise by now; empty for a board of today's protocol.
        best: the confidence sets of the best, by question.
        comparisons: rows of the claims' comparisons, ``estimate`` being one with its interval.
        run_hours: of one core or device a run, by method; none where they were not measured.
        added: plugins' figures, which may turn out not to be drawable.
        figures: the others.
        panels: the picture of each claim that was compared, by the claim's name.
        missing: why others are not.
    """

    board: StoredBoard
    view: BoardView
    id: str
    summary: str
    budget: str
    earlier: str
    best: dict[str, BestSet]
    claims: list[JudgedClaim]
    comparisons: list[dict[str, Any]]
    added: list[Picture]
    figures: list[Picture]
    panels: dict[str, Picture]
    missing: list[str]
    hours: float
    run_hours: Mapping[str, float]

    @property
    def columns(self) -> list[Column]:
        """The columns of its table that have estimates."""
        known = self.board.leaderboard.columns
        over = [n for n in known if n.startswith(IMPROVEMENT) and f"{n}_low" in known]
        names = dict.fromkeys([self.board.ranking, "worst_quarter", *over, "fail_share"])
        return [self.view.column(name) for name in names if name in known]

    @property
    def best_hours(self) -> tuple[float, float] | None:
        """The least and the most hours of a run of the methods that may be first."""
        for question in QUESTIONS:
            methods = self.best[question].methods
            hours = [own for name, own in self.run_hours.items() if name in methods and own > 0]
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
    """Everything that the page shows of a board, its pictures begun.

    See :func:`drawn_section` for their end.

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
    judged = judged_claims(board)
    panels = claims.panels(board, claims.published_numbers(suite)) if judged else {}
    return BoardSection(
        board=board,
        view=BoardView.stored(
            board.title, board.ranking, board.ranks, board.leaderboard.to_dict("records")
        ),
        id=f"board-{board.suite}-{board.name}",
        summary="" if suite is None else suite.summary,
        budget=str({**board.manifest.budget}.get("summary", "")),
        earlier="; ".join(earlier),
        best={question: best_set(board, question, suite) for question in QUESTIONS},
        claims=judged,
        comparisons=_comparisons(board) if judged else [],
        added=list(map(draw, added)),
        figures=list(map(draw, own)),
        panels={claim: draw(figure) for claim, figure in panels.items()},
        missing=[*missing, *problems],
        hours=float(board.cost["device_hours"].sum()) if board.has("cost.csv") else math.nan,
        run_hours=_run_hours(board),
    )


def drawn_section(section: BoardSection) -> BoardSection:
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


def _comparisons(board: StoredBoard) -> list[dict[str, Any]]:
    named = claims.frame(board.claims).rename(columns=lambda name: ENDS.get(name, name))
    rows = named.to_dict("records")
    return [{**row, "estimate": stored_estimate(row, "estimate")} for row in rows]


def _run_hours(board: StoredBoard) -> dict[str, float]:
    if not board.has("cost.csv"):
        return {}
    sums = board.cost.groupby("method")[["device_hours", "runs"]].sum()
    return {str(name): float(row["device_hours"] / row["runs"]) for name, row in sums.iterrows()}

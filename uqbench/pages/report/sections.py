"""What the page says of each board: rows and figures as the template shows them."""

from collections.abc import Mapping
from functools import cached_property, partial

import pandas as pd
from markupsafe import Markup

from uqbench.boards.calibration import coverage_column
from uqbench.boards.protocol import departures
from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError, contained
from uqbench.contract.figure import Figure
from uqbench.pages.board_view import IMPROVEMENT, BoardView, Column
from uqbench.pages.plots import catalog, claims
from uqbench.pages.plots.render import svg
from uqbench.pages.verdicts import judged_claims
from uqbench.registry.definitions import source, summary
from uqbench.registry.plugins import Host
from uqbench.suites.suite import Suite

Picture = tuple[Figure, Markup]
"""A figure, and its SVG."""


PHONE = 0.7
"""Panels of trust and claims are so many times as wide as usual; a wide page enlarges them."""


def picture(prefix: str, figure: Figure, width: float = 1.0) -> Picture:
    """A figure's picture without its title, the ids in it having a prefix.

    Raises:
        Exception: whatever is wrong with the chart.
    """
    return figure, Markup(svg(figure, prefix=prefix, width=width))


class BoardSection:
    """A board on the page.

    Attributes:
        earlier: what its suite does otherwise by now; empty for a board of today's protocol.
        view: its rows and columns.
        claims: those of the board, as they were judged.
        panels: the picture of each claim that was compared, by the claim's name.
        figures: its pictures by name, plugins' first; those that could not be drawn are left out.
        missing: which figures of plugins it has not, and why.
        hours: of a core, or device, a run, by method; none where they were not measured.
        all_hours: of all of its runs; the template shows it.

    Args:
        board: stored.
        suite: as it is installed; None where it is not.
        versions: of the installed agents and estimators, by name.
        host: the plugins, some of which add figures.
    """

    def __init__(
        self,
        board: StoredBoard,
        suite: Suite | None,
        versions: Mapping[str, str],
        host: Host,
    ) -> None:
        self.board, self.host = board, host
        self.id = f"board-{board.suite}-{board.name}"
        self.summary = "" if suite is None else suite.summary
        changed = [] if suite is None else departures(board.manifest, suite, versions)
        self.earlier = "; ".join(changed)
        self.view = BoardView.of(board)
        self.claims = judged_claims(board)
        added, problems = catalog.plugin_figures(board, suite, host)
        own, _ = catalog.drawable(board)
        panels = claims.figures(board, claims.published_numbers(suite))
        draw = partial(picture, f"{self.id}-")
        self.figures: dict[str, Picture] = {}
        self.missing = problems
        for figure in added:
            why: list[str] = []
            with contained(why.append):  # a plugin's chart may be wrong in any way
                self.figures[figure.name] = draw(figure)
            self.missing += [f"{board.title}: {figure.name}: {one:.300}" for one in why]
        self.figures |= {x.name: draw(x, PHONE if x.name == "trust" else 1.0) for x in own}
        self.panels = {claim: draw(figure, PHONE) for claim, figure in panels.items()}
        sums = pd.DataFrame(columns=["device_hours", "runs"])
        if board.has("cost.csv"):
            sums = board.cost.groupby("method")[["device_hours", "runs"]].sum()
        self.hours = dict(sums["device_hours"] / sums["runs"])
        self.all_hours = float(sums["device_hours"].sum()) if self.hours else None

    def about(self, method: str) -> str:
        """What a method is an instance of, as the installed plugins say; empty where none does."""
        cells = self.board.configs.items()
        made = next(of for cell, of in cells if cell.rsplit("/", 1)[-1] == method)
        known = self.host.agents if "agent" in made else self.host.estimators
        try:
            spec = known.get(str(made.get("agent") or made.get("estimator")))
            return "" if spec is None else f"{summary(spec)} {source(spec)}".strip()
        except UqbenchError as error:
            return str(error)

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of its table that have estimates."""
        known = [str(name) for name in self.board.leaderboard.columns]
        over = [n for n in known if n.startswith(IMPROVEMENT) and f"{n}_low" in known]
        coverage = coverage_column(known)
        about = ["calibration", coverage[0]] if coverage is not None else []
        names = dict.fromkeys([self.board.ranking, *about, "worst_quarter", *over, "fail_share"])
        return [self.view.column(name) for name in names if name in known]

    @property
    def finished(self) -> int:
        """Finished runs."""
        return int((self.board.scores["status"] == "finished").sum())

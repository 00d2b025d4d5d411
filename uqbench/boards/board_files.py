"""The files of a leaderboard's folder that are made of its runs and plugins."""

from __future__ import annotations

from collections.abc import Sequence

from uqbench.boards.curves import curves_parquet, uncertainty_parquet
from uqbench.boards.scores import Score
from uqbench.boards.stored import CURVES, UNCERTAINTY
from uqbench.registry.papers import cited
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.store import Store
from uqbench.suites.plan import Plan
from uqbench.suites.sources import sources_of

STATISTICS = "Agarwal et al. 2021"
"""Of the interquartile mean, the optimality gap and the probability of improvement."""


def board_folder(plan: Plan, root: Folder) -> Folder:
    """Where a plan's leaderboard is kept."""
    return root.below(plan.suite.name, plan.name)


def curve_files(plan: Plan, scores: Sequence[Score], store: Store) -> dict[str, bytes]:
    """The curves of a board's runs, by file; without those that no run has."""
    made = {CURVES: curves_parquet, UNCERTAINTY: uncertainty_parquet}
    files = {name: make(plan, scores, store) for name, make in made.items()}
    return {name: data for name, data in files.items() if data is not None}


def papers(plan: Plan, host: Host) -> str:
    """``papers.bib``: of a board's suite and methods, and of its statistics."""
    listed, _ = cited(host, [*sources_of(plan.suite, host, plan.roles), STATISTICS])
    return "\n".join(paper.bibtex for paper in listed)

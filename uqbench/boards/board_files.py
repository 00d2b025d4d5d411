"""The files of a leaderboard, written from its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uqbench.boards.cost import cost_csv
from uqbench.boards.curves import curves_parquet
from uqbench.boards.leaderboard import Board, write
from uqbench.boards.page import index_page, page
from uqbench.boards.protocol import versions_here
from uqbench.boards.provenance import MadeWith, made_with, made_with_json, of_older_code
from uqbench.boards.scores import Score
from uqbench.boards.uncertainty_curves import uncertainty_parquet
from uqbench.registry.papers import cited
from uqbench.registry.plugins import Host
from uqbench.results import paths
from uqbench.results.files import write_data
from uqbench.results.store import Store
from uqbench.suites.plan import Plan
from uqbench.suites.reading import read_suites
from uqbench.suites.sources import sources_of

STATISTICS = "Agarwal et al. 2021"
"""Of the interquartile mean, the optimality gap and the probability of improvement."""


def board_folder(plan: Plan, root: Path) -> Path:
    """Where a plan's leaderboard is kept."""
    return paths.board_folder(root, plan.suite.name, plan.name)


def write_board(
    result: Board, store: Store, folder: Path, host: Host, stored: Sequence[MadeWith] = ()
) -> None:
    """Write a board's tables, its manifest and curves, and what its runs were made with and cost.

    ``stored`` is what those of its runs were made with that are not in the store.
    """
    made = [*made_with(result.scores), *stored]
    older = of_older_code(result.scores)
    measured = {
        "cost.csv": cost_csv(result.plan, result.scores),
        "made_with.json": made_with_json(made, older),
    }
    files = {**result.files(), **measured, "papers.bib": papers(result.plan, host)}
    text = page(result, made, files["cost.csv"], older, files["papers.bib"])
    write({**files, "README.md": text}, folder)
    for name, data in curve_files(result.plan, result.scores, store).items():
        write_data(folder / name, data)
    write_index(folder.parents[1], host)


def curve_files(plan: Plan, scores: Sequence[Score], store: Store) -> dict[str, bytes]:
    """The curves of a board's runs, by file; without those that no run has."""
    made = {"curves.parquet": curves_parquet, "uncertainty.parquet": uncertainty_parquet}
    found = {name: make(plan, scores, store) for name, make in made.items()}
    return {name: data for name, data in found.items() if data is not None}


def papers(plan: Plan, host: Host) -> str:
    """``papers.bib``: of a board's suite and methods, and of its statistics."""
    found, _ = cited(host, [*sources_of(plan.suite, host, plan.roles), STATISTICS])
    return "\n".join(paper.bibtex for paper in found)


def write_index(root: Path, host: Host) -> None:
    """Write the page that lists all leaderboards below a folder."""
    suites = read_suites(host, check=()).suites
    write({"README.md": index_page(root, suites, versions_here(host))}, root)

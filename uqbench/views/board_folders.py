"""A board's folder with its page, and the index of boards, as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uqbench.boards.board_files import curve_files, papers
from uqbench.boards.cost import cost_csv
from uqbench.boards.leaderboard import Board
from uqbench.boards.planned import Planned
from uqbench.boards.protocol import versions_here
from uqbench.boards.provenance import MadeWith, made_with, made_with_json, of_older_code
from uqbench.boards.stored import StoredBoard
from uqbench.registry.plugins import Host
from uqbench.results.files import stored_text, write_data
from uqbench.results.store import Store
from uqbench.suites.plan import Plan
from uqbench.suites.reading import read_suites
from uqbench.views.markdown import index_page, page


def write_board(
    result: Board, store: Store, folder: Path, host: Host, stored: Sequence[MadeWith] = ()
) -> None:
    """Write a board's tables, its manifest and curves, and what its runs were made with and cost.

    ``stored`` is what those of its runs were made with that are not in the store.
    """
    made = [*made_with(result.scores), *stored]
    older = of_older_code(result.scores)
    cost, bibtex = cost_csv(result.plan, result.scores), papers(result.plan, host)
    files = {
        **result.files(),
        "cost.csv": cost,
        "made_with.json": made_with_json(made, older),
        "papers.bib": bibtex,
        "README.md": page(result, made, cost, older, bibtex),
    }
    encoded = {name: text.encode() for name, text in files.items()}
    _write(encoded | curve_files(result.plan, result.scores, store), folder, host)


def stored_files(
    stored: StoredBoard, plan: Plan, older: str, planned: Planned | None
) -> dict[str, bytes]:
    """What follows from a stored board's scores, and from what was written when they were made.

    Args:
        stored: the board.
        plan: of the scores, with the claims that are judged.
        older: the packages that were older than what was installed when the page is written.
        planned: what the manifest lists.
    """
    board = stored.board(plan, planned)
    cost, bibtex = (
        stored_text(stored.files.get(name, b""), stored.folder / name)
        for name in ("cost.csv", "papers.bib")
    )
    files = {**board.files(), "README.md": page(board, stored.made[0], cost, older, bibtex)}
    return {name: text.encode() for name, text in files.items()}


def write_stored(stored: StoredBoard, host: Host) -> dict[str, bytes]:
    """Write a stored board's files, its tables and page being made anew; return them by name."""
    older, planned = of_older_code(stored.scores), Planned.of(stored.plan)
    files = stored_files(stored, stored.plan, older, planned)
    files |= {name: data for name, data in stored.files.items() if name not in files}
    _write(files, stored.folder, host)
    return files


def write_index(root: Path, host: Host) -> None:
    """Write the page that lists all leaderboards below a folder."""
    suites = read_suites(host, check=()).suites
    write_data(root / "README.md", index_page(root, suites, versions_here(host)).encode())


def _write(files: dict[str, bytes], folder: Path, host: Host) -> None:
    for name, data in files.items():
        write_data(folder / name, data)
    write_index(folder.parents[1], host)

"""A board's folder with its page, and the index of boards, as they are written."""

import zlib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from uqbench.boards import provenance
from uqbench.boards.cost import cost_csv
from uqbench.boards.curves import curve_files
from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import MANIFEST
from uqbench.boards.protocol import versions_here
from uqbench.boards.provenance import MadeWith
from uqbench.boards.stored import PACKED, PAGE, PROVENANCE, RECORDED, SCORES
from uqbench.boards.tables import csv_text
from uqbench.pages.markdown import index_page, page
from uqbench.registry.papers import cited
from uqbench.registry.plugins import Host
from uqbench.results.files import stored_text
from uqbench.results.folders import Folder
from uqbench.results.store import Store
from uqbench.suites.reading import read_suites

STATISTICS = "Agarwal et al. 2021"
"""The source of the interquartile mean, the optimality gap and the probability of improvement."""


def made_once(board: Board, host: Host) -> dict[str, bytes]:
    """``papers.bib``, of a board's suite, methods and statistics, and the tables that are kept."""
    plan = board.plan
    listed, _ = cited(host, [*plan.suite.sources(host, plan.roles), STATISTICS])
    papers = "\n".join(paper.bibtex for paper in listed)
    kept = {name: csv_text(of.frame).encode() for name, of in board.added.items() if of.kept}
    return {"papers.bib": papers.encode(), **kept}


def write_board(
    board: Board, store: Store, folder: Folder, host: Host, stored: Sequence[MadeWith] = ()
) -> None:
    """Write a board of runs: what follows from its scores, and what was recorded of its runs.

    ``stored`` is what those of its runs were made with that are not in the store.
    """
    made = [*provenance.provenance(board.scores), *stored]
    older = provenance.of_older_code(board.scores)
    recorded = {
        "cost.csv": cost_csv(board.plan, board.scores).encode(),
        PROVENANCE: provenance.provenance_json(made, older).encode(),
        **made_once(board, host),
        **curve_files(board.plan, board.scores, store),
    }
    write_files(all_files(board, recorded), folder, host)


def all_files(
    board: Board, recorded: Mapping[str, bytes], digests: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """All files of a board.

    Args:
        board: of the scores.
        recorded: the files that do not follow from them.
        digests: of these, as the manifest is to list them; None for their own.

    Raises:
        UqbenchError: a recorded file is damaged.
    """
    made, older = provenance.read_provenance(recorded.get(PROVENANCE))
    texts = {
        n: stored_text(of, Path(n)) for n, of in recorded.items() if n.endswith((".csv", ".bib"))
    }
    cost, bibtex = (texts.get(name, "") for name in ("cost.csv", "papers.bib"))
    text = page(board, made, cost, older, bibtex, texts).encode()
    if digests is None:
        digests = {name: sha256(data).hexdigest() for name, data in recorded.items()}
    others = {PAGE: sha256(text).hexdigest(), **digests}
    manifest = board.manifest(others).text.encode()
    return {**board.tables, **recorded, PAGE: text, MANIFEST: manifest}


def write_files(files: Mapping[str, bytes], folder: Folder, host: Host) -> None:
    """Write a board's files, each whole or not at all, its manifest last, and the index above it.

    Recorded files of earlier scores are removed: they are not of these.
    """
    kept = {PACKED: zlib.compress(files[SCORES], 9, wbits=zlib.MAX_WBITS | 16), **files}
    del kept[SCORES]
    folder.remove_temporaries(kept)
    for name, data in kept.items():
        folder.write(name, data)
    folder.remove(SCORES, *(set(RECORDED) - files.keys()))
    write_index(folder.parent.parent, host)


def write_index(root: Folder, host: Host) -> None:
    """Write the page that lists all leaderboards below a folder."""
    suites = read_suites(host, check=()).suites
    tables: list[Any] = [spec.load_factory() for spec in host.board_tables.values()]
    root.write("README.md", index_page(root, suites, versions_here(host), tables).encode())

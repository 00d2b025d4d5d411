"""``uqbench.load``: results from a folder of runs, or of leaderboards."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from uqbench.api.results import Results
from uqbench.api.run_tables import stored_runs
from uqbench.boards.run_boards import MANIFEST, StoredTables
from uqbench.errors import UqbenchError
from uqbench.results.files import is_linked
from uqbench.results.record_files import RECORD
from uqbench.results.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uqbench.boards.run_boards import Tables


def load(results: str | PathLike[str] = "results") -> Results:
    """Results from a folder, whoever made it: nothing in it is executed or unpickled.

    Args:
        results: a results folder (``--out`` of ``uqbench run``), a folder of leaderboards, or one
            leaderboard's folder.

    Raises:
        UqbenchError: there are neither runs nor leaderboards.

    Example:
        >>> import uqbench
        >>> uqbench.load("leaderboards").claims("sine")  # doctest: +SKIP
    """
    root = Path(results)
    if (root / MANIFEST).is_file():
        return Results(root, lambda: [StoredTables(root)])
    if any(root.glob(f"*/*/*/*/*/{RECORD}")):
        return of_store(Store(root))
    folders = [path.parent for path in sorted(root.glob(f"*/*/{MANIFEST}"))]
    whole = [folder for folder in folders if not is_linked(root, folder)]
    if not whole:
        what = "has neither runs nor leaderboards" if root.is_dir() else "is not a folder"
        raise UqbenchError(
            f"{root} {what}: expected the --out of uqbench run, or a folder of leaderboards."
        )
    return Results(root, lambda: [StoredTables(folder) for folder in whole])


def of_store(store: Store) -> Results:
    """All runs of a store; a board for each suite and budget that has some."""
    found = stored_runs(store)

    def boards() -> Sequence[Tables]:
        from uqbench.boards.found_boards import found_boards

        return found_boards(store, found)

    return Results(store.root, boards, found, store)

"""``uqbench.load``: results from a folder of runs, or of leaderboards."""

from pathlib import Path

from uqbench.api.results import Results
from uqbench.api.run_tables import CELL, stored_runs
from uqbench.api.values import Place, given
from uqbench.boards.of_runs import boards_of
from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.contract.errors import UqbenchError
from uqbench.results.store import Store


def load(results: Place = "results") -> Results:
    """Results from a folder, whoever made it: nothing in it is executed or unpickled.

    Args:
        results: a results folder (``--out`` of ``uqbench run``), a folder of leaderboards, or one
            leaderboard's folder.

    Returns:
        The results, read when they are asked for.

    Raises:
        UqbenchError: there are neither runs nor leaderboards.

    Example:
        >>> import uqbench
        >>> uqbench.load("leaderboards")["sine"].claims()  # doctest: +SKIP
    """
    root = Path(given("results", results, Place))
    store = Store(root)
    if any(place.count("/") == len(CELL) - 1 for place, _ in store.walk()):
        runs = stored_runs(store)
        return Results(root, lambda: boards_of(store, [run for _, run, _ in runs]), runs)
    folders = board_folders(root)
    if not folders:
        what = "has neither runs nor leaderboards" if root.is_dir() else "is not a folder"
        raise UqbenchError(
            f"{root} {what}: expected the --out of uqbench run, or a folder of leaderboards."
        )
    return Results(root, lambda: [StoredBoard(folder) for folder in folders])

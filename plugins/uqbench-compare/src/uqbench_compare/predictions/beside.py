"""Stored rows of the task whose test set somebody's predictions are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from uqbench.boards.manifest import MANIFEST
from uqbench.boards.scores import from_csv
from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.contract.errors import UqbenchError, contained, did_you_mean
from uqbench.contract.estimator import Dataset
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.files import stored_text
from uqbench.results.folders import Folder
from uqbench.results.scores import Score
from uqbench.suites.configs import task_config
from uqbench.suites.controls import control_of
from uqbench.suites.plan import Cell
from uqbench.suites.selection import Selection
from uqbench_compare.predictions.registered import Array

Rows = Mapping[str, Mapping[str, float]]
"""Scores by row and name."""


def stored_rows(
    targets: Array, beside: str, host: Host, say: Callable[[str], None]
) -> tuple[str, Rows]:
    """The stored rows' scores on the data set whose test targets these are.

    Args:
        targets: ``[M]``.
        beside: a suite, ``SUITE/BUDGET`` of it, or the folder of a board.
        host: the plugins.
        say: called with tasks whose data cannot be read here.

    Returns:
        The data set in words, and scores by row and registered name.

    Raises:
        UqbenchError: there is no such board, or no task of it has this test set.
    """
    board = _board(beside)
    plan = Selection(board.suite, board.name).plan(host, "cpu", say)
    names = {
        metric.statistic: metric.name
        for metric in plan.suite.metrics
        if metric.kind == "predictions" and control_of(metric) is None
    }
    path = board.folder / "scores.csv"
    stored = from_csv(stored_text(board.checked(path.name), path), str(path)).cells
    rows = [cell[i] for cell in stored for i in range(len(cell.seeds))]
    there, sizes = {(one.task, one.seed) for one in rows}, dict[str, int]()
    unread = list[str]()
    for cell in {cell.task.name: cell for cell in plan.cells if cell.task.dataset}.values():
        runs = [run for run in cell.runs if (run.task, run.seed) in there]
        with contained(unread.append, f"The data of the task {cell.task.name} cannot be read: "):
            for run, known in _test_targets(cell, runs, host):
                sizes[run.task] = len(known)
                if known.shape != targets.shape:
                    break  # the data sets of a task are of one size
                if (known == targets.astype(np.float32)).all():
                    for line in unread:
                        say(line)
                    own = [one for one in rows if (one.task, one.seed) == (run.task, run.seed)]
                    said = f"{board.title}: task {run.task}, data set {run.seed}"
                    return said, {one.method: _values(one, names) for one in own}
    read = ", ".join(f"{task} {size}" for task, size in sizes.items())
    raise UqbenchError(
        f"beside: no task of {board.title} has these {len(targets)} targets in this order as its "
        f"test set; the points of those that can be read here: {read or 'none'}. "
        f"{''.join(f'{line}. ' for line in unread)}"
        f"Without beside, the columns calibrated and climatology say what the scores are worth."
    )


def _values(one: Score, names: Mapping[str, str]) -> dict[str, float]:
    """A stored run's scores, by registered name."""
    known = {score: one.values.get(name) for score, name in names.items()}
    return {score: value for score, value in known.items() if value is not None}


def _test_targets(cell: Cell, runs: list[Run], host: Host) -> Iterator[tuple[Run, Array]]:
    """Each run with the test targets ``[M]`` of its data set."""
    from uqbench.runner.train.estimators import dataset_seeds  # it imports torch

    spec = host.datasets[str(cell.task.dataset)]
    config = task_config(cell.task, host, where=f"tasks.{cell.task.name}")
    dataset: Dataset = spec.load_factory()(config)
    for run in runs:
        sets = dataset.evaluation_sets(dataset_seeds(dataset, [run], spec.name))
        if "test" not in sets or (known := sets["test"].targets) is None:
            return
        yield run, known[0].float().numpy()


def _board(beside: str) -> StoredBoard:
    """The stored board of a suite: of the folder, of a clone or of the package uqbench-boards."""
    if (Path(beside) / MANIFEST).is_file():
        return StoredBoard.read(Folder(Path(beside)))
    try:
        import uqbench_boards

        root = uqbench_boards.folder()
    except ImportError:
        raise UqbenchError(
            f"beside={beside!r}: stored boards are in the package uqbench-boards: python -m pip "
            f"install uqbench-boards; or give a board's folder."
        ) from None
    boards = {"/".join(at.names[-2:]): at for at in board_folders(root)}
    own = [name for name in boards if beside in (name, name.partition("/")[0])]
    if not own:
        raise UqbenchError(f"beside: no stored board of {beside!r}. {did_you_mean(beside, boards)}")
    return StoredBoard.read(boards[own[0]])

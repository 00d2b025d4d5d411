"""Scores as matrices: a method's values of a metric, ``[runs, tasks]``, each gathered once."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from uqbench.results.scores import CellScores, Scores
from uqbench.suites.metrics import Metric
from uqbench.suites.suite import Suite

Matrix = NDArray[np.float64]


class MethodScores:
    """The scores of one method.

    A matrix is None where a run has no value of the metric, or one that is not finite: a method is
    judged by all of its planned runs or by none.

    Args:
        suite: whose metrics they are.
        cells: of the method, by task.
    """

    def __init__(self, suite: Suite, cells: Mapping[str, CellScores]) -> None:
        self.cells = dict(sorted(cells.items()))
        self._suite = suite

    @property
    def tasks(self) -> list[str]:
        """By name: the matrices' columns."""
        return list(self.cells)

    @cached_property
    def normalized_primary(self) -> Matrix | None:
        """The scores: the primary metric, normalized."""
        return _stacked({task: _whole(cell.score) for task, cell in self.cells.items()})

    def raw(self, metric: Metric) -> Matrix | None:
        """Raw values of a metric."""
        return _stacked(self._of(metric))

    def normalized(self, metric: Metric) -> Matrix | None:
        """Normalized values; None, too, where a task has no normalization constants."""
        constants = self._suite.normalization_constants(metric)
        found = self._of(metric)
        for task, column in found.items():
            if column is not None:
                found[task] = constants[task].normalize(column) if task in constants else None
        return _stacked(found)

    def on(self, task: str, metric: Metric) -> Matrix | None:
        """Raw values on one task, ``[runs, 1]``; None, too, where the metric is not of the task."""
        return _stacked({task: self._of(metric).get(task)})

    def _of(self, metric: Metric) -> dict[str, Matrix | None]:
        suits = {task.name for task in self._suite.tasks if metric.suits(task)}
        cells = ((task, cell) for task, cell in self.cells.items() if task in suits)
        return {task: _whole(cell.values(metric.name)) for task, cell in cells}


def by_method(suite: Suite, scores: Scores) -> dict[str, MethodScores]:
    """The scores of each method, by name."""
    cells: dict[str, dict[str, CellScores]] = {}
    for cell in scores.cells:
        cells.setdefault(cell.method, {})[cell.task] = cell
    return {method: MethodScores(suite, own) for method, own in sorted(cells.items())}


def _whole(column: Matrix) -> Matrix | None:
    return column if np.isfinite(column).all() else None


def _stacked(columns: dict[str, Matrix | None]) -> Matrix | None:
    whole = [column for column in columns.values() if column is not None]
    return np.array(whole).T if whole and len(whole) == len(columns) else None

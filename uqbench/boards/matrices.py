"""Scores as matrices: a method's values of a metric, ``[runs, tasks]``, each gathered once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from uqbench.boards.scores import Score
from uqbench.suites.metrics import Metric
from uqbench.suites.suite import Suite

Matrix = NDArray[np.float64]


class MethodScores:
    """The scores of one method.

    A matrix is None where a run has no value of the metric, or one that is not finite: a method is
    judged by all of its planned runs or by none.

    Args:
        suite: whose metrics they are.
        scores: of the method, in any order of tasks.
    """

    def __init__(self, suite: Suite, scores: Iterable[Score]) -> None:
        self.scores = list(scores)
        self._suite = suite
        by_task: dict[str, list[Score]] = {}
        for score in self.scores:
            by_task.setdefault(score.task, []).append(score)
        self._by_task = dict(sorted(by_task.items()))
        self._raw: dict[str, dict[str, Matrix | None]] = {}

    @property
    def tasks(self) -> list[str]:
        """By name: the matrices' columns."""
        return list(self._by_task)

    @cached_property
    def normalized_primary(self) -> Matrix | None:
        """The scores: the primary metric, normalized."""
        return _stacked(self._columns(lambda score: score.score))

    def raw(self, metric: Metric) -> Matrix | None:
        """Raw values of a metric."""
        return _stacked(self._of(metric))

    def normalized(self, metric: Metric) -> Matrix | None:
        """Normalized values; None, too, where a task has no normalization constants."""
        constants = self._suite.normalization_constants(metric)
        return _stacked(
            {
                task: None
                if column is None or task not in constants
                else constants[task].normalize(column)
                for task, column in self._of(metric).items()
            }
        )

    def on(self, task: str, metric: Metric) -> Matrix | None:
        """Raw values on one task, ``[runs, 1]``; None, too, where the metric is not of the task."""
        return _stacked({task: self._of(metric).get(task)})

    def _of(self, metric: Metric) -> dict[str, Matrix | None]:
        name = metric.name
        if name not in self._raw:
            columns = self._columns(lambda score: score.values.get(name)).items()
            suits = {task.name for task in self._suite.tasks if metric.suits(task)}
            self._raw[name] = {task: column for task, column in columns if task in suits}
        return self._raw[name]

    def _columns(self, value: Callable[[Score], float | None]) -> dict[str, Matrix | None]:
        columns: dict[str, Matrix | None] = {}
        for task, own in self._by_task.items():
            column = np.array([value(score) for score in own], dtype=np.float64)  # None is NaN
            columns[task] = column if np.isfinite(column).all() else None
        return columns


def by_method(suite: Suite, scores: Iterable[Score]) -> dict[str, MethodScores]:
    """The scores of each method, by name."""
    rows: dict[str, list[Score]] = {}
    for score in scores:
        rows.setdefault(score.method, []).append(score)
    return {method: MethodScores(suite, own) for method, own in sorted(rows.items())}


def _stacked(columns: dict[str, Matrix | None]) -> Matrix | None:
    whole = [column for column in columns.values() if column is not None]
    return np.array(whole).T if whole and len(whole) == len(columns) else None

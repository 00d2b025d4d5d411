"""Methods that no other one beats in everything: return, risk and uncertainty are not summed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from uqbench.boards.matrices import MethodScores
from uqbench.suites.metrics import Metric
from uqbench.suites.suite import Suite


def pareto_front(values: Mapping[str, Sequence[float | None]]) -> frozenset[str]:
    """The methods that are not dominated: no other is as good in all and better in one.

    Args:
        values: of each method, more is better; None is below any number, so that a method that
            states no uncertainty is dominated by one that equals it elsewhere.
    """
    numbers = {
        method: np.array([-np.inf if value is None else value for value in row])
        for method, row in values.items()
    }
    return frozenset(
        method
        for method, own in numbers.items()
        if not any((row >= own).all() and (row > own).any() for row in numbers.values())
    )


def pareto_methods(suite: Suite, methods: Mapping[str, MethodScores]) -> frozenset[str]:
    """The front over the means of the metrics that the suite names, without their intervals."""
    metrics = [suite.metric(name) for name in suite.pareto]
    return pareto_front(
        {name: [_mean(suite, metric, own) for metric in metrics] for name, own in methods.items()}
    )


def _mean(suite: Suite, metric: Metric, own: MethodScores) -> float | None:
    """Mean over a method's runs and tasks, normalized where the metric is; more is better."""
    if suite.normalization_constants(metric):
        values = own.normalized(metric)
        return None if values is None else float(values.mean())
    values = own.raw(metric)
    sign = 1.0 if metric.direction == "max" else -1.0
    return None if values is None else sign * float(values.mean())
